//! The adaptive policy groups of the classes: what has to be said to a server so that it has them.

use crate::class::{Class, Classes, Space};

/// An adaptive policy group that a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its name.
    pub name: String,
    /// IOPS for every TB, at least.
    pub expected: u64,
    /// IOPS for every TB, at most.
    pub peak: u64,
    /// The absolute minimum in force.
    pub absolute_min: u64,
    /// The space that the floor counts.
    pub expected_space: String,
    /// The space that the ceiling counts.
    pub peak_space: String,
    /// The block size in bytes; `None` is any.
    pub block_bytes: Option<u64>,
}

/// What becomes of a class in an SVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassStep {
    /// Its policy group is made.
    Make(String),
    /// It is there with other settings, and changed.
    Change(String),
    /// It is there as it should be; its name.
    Keep(String),
}

impl ClassStep {
    /// The line that does it.
    pub fn line(&self) -> Option<&str> {
        match self {
            ClassStep::Make(line) | ClassStep::Change(line) => Some(line),
            ClassStep::Keep(_) => None,
        }
    }
}

/// What has to be done in an SVM for every class to have its policy group, where these are there.
/// `least` is the absolute minimum of a policy that is given none, by its expected IOPS for a TB:
/// it is said too, as a group that had another one would keep that.
pub fn steps(classes: &Classes, svm: &str, existing: &[Existing], least: impl Fn(u64) -> u64) -> Vec<ClassStep> {
    let step = |class: &Class| {
        let name = class.policy(svm);
        let minimum = class.absolute_min_iops.unwrap_or_else(|| least(class.expected_iops_per_tb));
        match existing.iter().find(|existing| existing.name == name) {
            None => ClassStep::Make(line("create", &name, Some(svm), class, minimum)),
            Some(there) if !differs(class, minimum, there) => ClassStep::Keep(name),
            Some(_) => ClassStep::Change(line("modify", &name, None, class, minimum)),
        }
    };
    classes.classes.iter().map(step).collect()
}

/// The block size of a class that names none.
const BLOCK_SIZE: &str = "32K";

fn differs(class: &Class, minimum: u64, there: &Existing) -> bool {
    let wanted = (class.expected_iops_per_tb, class.peak_iops_per_tb);
    let spaces = [class.expected_space, class.peak_space].map(|space: Space| space.to_string());
    wanted != (there.expected, there.peak)
        || minimum != there.absolute_min
        || spaces != [there.expected_space.clone(), there.peak_space.clone()]
        || block_bytes(class) != there.block_bytes
}

/// `4K` in bytes; nothing of `ANY`.
fn block_bytes(class: &Class) -> Option<u64> {
    let size = class.block_size.as_deref().unwrap_or(BLOCK_SIZE);
    size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok()).map(|kib| kib << 10)
}

fn line(verb: &str, name: &str, svm: Option<&str>, class: &Class, minimum: u64) -> String {
    let svm = svm.map_or(String::new(), |svm| format!(" -vserver {svm}"));
    format!(
        "qos adaptive-policy-group {verb} -policy-group {name}{svm} -expected-iops {}IOPS/TB -peak-iops {}IOPS/TB \
         -absolute-min-iops {minimum}IOPS -expected-iops-allocation {} -peak-iops-allocation {} -block-size {}",
        class.expected_iops_per_tb,
        class.peak_iops_per_tb,
        class.expected_space,
        class.peak_space,
        class.block_size.as_deref().unwrap_or(BLOCK_SIZE),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is missing is made, one that differs changed, and one that is as it should be left
    /// alone, whatever others there are.
    #[test]
    fn what_is_there_as_it_should_be_stays() {
        let class = |name: &str| {
            format!(
                "[[class]]\nname = \"{name}\"\nexpected_iops_per_tb = 100\npeak_iops_per_tb = 200\nabsolute_min_iops = 50\n"
            )
        };
        let text: String = ["new", "other", "same"].map(class).concat();
        let classes = Classes::read(&text).unwrap();
        let there = |name: &str, peak| Existing {
            name: name.into(),
            expected: 100,
            peak,
            absolute_min: 50,
            expected_space: "allocated-space".into(),
            peak_space: "used-space".into(),
            block_bytes: Some(32 << 10),
        };
        let existing = [there("other-s1", 300), there("same-s1", 200), there("new-s2", 200)];
        let settings = "-expected-iops 100IOPS/TB -peak-iops 200IOPS/TB -absolute-min-iops 50IOPS \
                        -expected-iops-allocation allocated-space -peak-iops-allocation used-space -block-size 32K";
        assert_eq!(
            steps(&classes, "s1", &existing, |_| 75),
            [
                ClassStep::Make(format!(
                    "qos adaptive-policy-group create -policy-group new-s1 -vserver s1 {settings}"
                )),
                ClassStep::Change(format!("qos adaptive-policy-group modify -policy-group other-s1 {settings}")),
                ClassStep::Keep("same-s1".into()),
            ]
        );
    }

    /// A class without a minimum has the policy's own, whatever its group had before: one file
    /// comes to one state.
    #[test]
    fn a_minimum_that_is_left_out_is_the_policys() {
        let text = "[[class]]\nname = \"gold\"\nexpected_iops_per_tb = 2000\npeak_iops_per_tb = 4000\n";
        let classes = Classes::read(text).unwrap();
        let there = |absolute_min| Existing {
            name: "gold-s1".into(),
            expected: 2000,
            peak: 4000,
            absolute_min,
            expected_space: "allocated-space".into(),
            peak_space: "used-space".into(),
            block_bytes: Some(32 << 10),
        };
        let step = |existing: &[Existing]| steps(&classes, "s1", existing, |expected| expected / 4).remove(0);
        assert_eq!(step(&[there(500)]), ClassStep::Keep("gold-s1".into()));
        for existing in [&[there(200)][..], &[]] {
            let step = step(existing);
            assert!(step.line().is_some_and(|line| line.contains(" -absolute-min-iops 500IOPS ")), "{step:?}");
        }
    }
}
