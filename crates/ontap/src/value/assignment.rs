//! The policy group that is assigned to an object: a name, or `none` to detach.

use super::{PolicyName, Value, ValueError};
use crate::word::Word;
use std::fmt;

/// The value of `-qos-policy-group` and its relatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyAssignment {
    /// `none`: detaches the object from its policy group.
    Detach,
    /// The group that the object joins.
    Group(PolicyName),
    /// Limits of the object alone, which REST gives in place of a name: a group of its own is made
    /// for them and deleted with them. The command line has no syntax for this.
    Own(OwnLimits),
}

/// Limits of one object alone; `None` leaves a limit as it is, and zero removes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// The most operations per second.
    pub max_iops: Option<u64>,
    /// The most bytes per second.
    pub max_bytes: Option<u64>,
    /// The least operations per second.
    pub min_iops: Option<u64>,
    /// The least bytes per second.
    pub min_bytes: Option<u64>,
}

impl PolicyAssignment {
    /// The group's name, if there is one.
    pub fn group(&self) -> Option<&PolicyName> {
        match self {
            PolicyAssignment::Detach | PolicyAssignment::Own(_) => None,
            PolicyAssignment::Group(name) => Some(name),
        }
    }
}

impl Value for PolicyAssignment {
    const SYNTAX: &'static str = "<text>|none";
    const CHOICES: &'static [&'static str] = &["none"];

    /// `non` and `no` are taken for typing errors: a group of that name is far less likely than an
    /// incomplete `none`, and attaching to it would leave an object limited that should be free. In
    /// quotes they are names.
    fn from_word(word: &Word) -> Result<PolicyAssignment, ValueError> {
        if word.text.eq_ignore_ascii_case("none") {
            return Ok(PolicyAssignment::Detach);
        }
        if !word.quoted && ["non", "no"].iter().any(|slip| word.text.eq_ignore_ascii_case(slip)) {
            let rule =
                "looks like a cut-off \"none\", which detaches (a group that is really called so goes in quotes)";
            return Err(ValueError::new(&word.text, rule).meaning("none"));
        }
        word.text.parse().map(PolicyAssignment::Group)
    }
}

/// As it would be typed: names that look like a typing error are quoted.
impl fmt::Display for PolicyAssignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyAssignment::Detach => f.write_str("none"),
            PolicyAssignment::Group(name) if ["non", "no"].iter().any(|s| name.as_str().eq_ignore_ascii_case(s)) => {
                write!(f, "\"{name}\"")
            }
            PolicyAssignment::Group(name) => name.fmt(f),
            PolicyAssignment::Own(_) => f.write_str("limits of its own"),
        }
    }
}
