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
pub fn steps(classes: &Classes, svm: &str, existing: &[Existing]) -> Vec<ClassStep> {
    let step = |class: &Class| {
        let name = class.policy(svm);
        match existing.iter().find(|existing| existing.name == name) {
            None => ClassStep::Make(line("create", &name, Some(svm), class)),
            Some(there) if !differs(class, there) => ClassStep::Keep(name),
            Some(_) => ClassStep::Change(line("modify", &name, None, class)),
        }
    };
    classes.classes.iter().map(step).collect()
}

/// The block size of a class that names none.
const BLOCK_SIZE: &str = "32K";

fn differs(class: &Class, there: &Existing) -> bool {
    let wanted = (class.expected_iops_per_tb, class.peak_iops_per_tb);
    let spaces = [class.expected_space, class.peak_space].map(|space: Space| space.to_string());
    wanted != (there.expected, there.peak)
        || class.absolute_min_iops.is_some_and(|minimum| minimum != there.absolute_min)
        || spaces != [there.expected_space.clone(), there.peak_space.clone()]
        || block_bytes(class) != there.block_bytes
}

/// `4K` in bytes; nothing of `ANY`.
fn block_bytes(class: &Class) -> Option<u64> {
    let size = class.block_size.as_deref().unwrap_or(BLOCK_SIZE);
    size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok()).map(|kib| kib << 10)
}

fn line(verb: &str, name: &str, svm: Option<&str>, class: &Class) -> String {
    let svm = svm.map_or(String::new(), |svm| format!(" -vserver {svm}"));
    let minimum = class.absolute_min_iops.map_or(String::new(), |iops| format!(" -absolute-min-iops {iops}IOPS"));
    format!(
        "qos adaptive-policy-group {verb} -policy-group {name}{svm} -expected-iops {}IOPS/TB -peak-iops {}IOPS/TB\
         {minimum} -expected-iops-allocation {} -peak-iops-allocation {} -block-size {}",
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
            steps(&classes, "s1", &existing),
            [
                ClassStep::Make(format!(
                    "qos adaptive-policy-group create -policy-group new-s1 -vserver s1 {settings}"
                )),
                ClassStep::Change(format!("qos adaptive-policy-group modify -policy-group other-s1 {settings}")),
                ClassStep::Keep("same-s1".into()),
            ]
        );
    }
}
