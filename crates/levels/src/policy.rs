//! The adaptive policy groups of the classes, and the commands that make them on a server.

use crate::class::{Class, Classes, Space};

/// An adaptive policy group that exists on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its name.
    pub name: String,
    /// Expected IOPS per TB.
    pub expected: u64,
    /// Peak IOPS per TB.
    pub peak: u64,
    /// The absolute minimum in force.
    pub absolute_min: u64,
    /// The space that the floor depends on.
    pub expected_space: String,
    /// The space that the ceiling depends on.
    pub peak_space: String,
    /// The block size in bytes; `None` for any.
    pub block_bytes: Option<u64>,
}

/// The step for a class in an SVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassStep {
    /// The line that makes its policy group.
    Make(String),
    /// The line that changes its policy group, which exists with other settings.
    Change(String),
    /// The name of its policy group, which exists with the right settings.
    Keep(String),
}

impl ClassStep {
    /// The command line, if one is needed.
    pub fn line(&self) -> Option<&str> {
        match self {
            ClassStep::Make(line) | ClassStep::Change(line) => Some(line),
            ClassStep::Keep(_) => None,
        }
    }
}

/// The steps that give every class its policy group in an SVM, given the `existing` ones. `least`
/// is the default absolute minimum of a policy, by its expected IOPS per TB. It is always part of
/// the line, because a group with another minimum would keep that.
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

/// The default block size of a class.
const BLOCK_SIZE: &str = "32K";

fn differs(class: &Class, minimum: u64, there: &Existing) -> bool {
    let wanted = (class.expected_iops_per_tb, class.peak_iops_per_tb);
    let spaces = [class.expected_space, class.peak_space].map(|space: Space| space.to_string());
    wanted != (there.expected, there.peak)
        || minimum != there.absolute_min
        || spaces != [there.expected_space.clone(), there.peak_space.clone()]
        || block_bytes(class) != there.block_bytes
}

/// The block size in bytes; `None` for `ANY`.
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

    /// A missing group is made, a different one is changed, and a correct one is left alone,
    /// whatever others exist.
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

    /// A class without a minimum gets the policy's default, whatever its group had before: the
    /// result depends on the file alone.
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
