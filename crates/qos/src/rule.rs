//! The rules an administrator can break, each with its code, and the refusal that names the rule,
//! whom it concerns and what was given.
//!
//! Codes 8454144 … 8454899 and the small general ones are those of ONTAP's REST interface where its
//! meaning is published; which of a pair (8454277/8, 8454327/8, 8454379/80) stands for which kind
//! is our reading. Codes from 8454900 on are ours, for rules whose code is not published; they mean
//! nothing to ONTAP.

use std::fmt;

/// Why a change was refused. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {rule}; got {given}")]
pub struct Refusal {
    /// The rule that was broken.
    pub rule: Rule,
    /// Whom it concerns: `policy group policy1`, `LUN svm01:/vol/vol1/lun1`.
    pub subject: String,
    /// The value or the state that broke it.
    pub given: String,
    /// The rate that broke it, where the rule is one for several rates of a policy.
    pub rate: Option<RateName>,
}

/// A rate of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateName {
    /// The ceiling of a fixed policy.
    Ceiling,
    /// The floor of a fixed policy.
    Floor,
    /// The expected IOPS of an adaptive policy.
    Expected,
    /// The peak IOPS of an adaptive policy.
    Peak,
    /// The absolute minimum IOPS of an adaptive policy.
    AbsoluteMin,
}

impl fmt::Display for RateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RateName::Ceiling => "a ceiling of",
            RateName::Floor => "a floor of",
            RateName::Expected => "expected IOPS",
            RateName::Peak => "peak IOPS",
            RateName::AbsoluteMin => "absolute minimum IOPS",
        })
    }
}

impl Refusal {
    pub(crate) fn new(rule: Rule, subject: impl fmt::Display, given: impl fmt::Display) -> Refusal {
        Refusal { rule, subject: subject.to_string(), given: given.to_string(), rate: None }
    }

    /// A refusal because of one rate of a policy.
    pub(crate) fn of_rate(rule: Rule, subject: impl fmt::Display, rate: RateName, given: impl fmt::Display) -> Refusal {
        Refusal { rate: Some(rate), ..Refusal::new(rule, subject, format_args!("{rate} {given}")) }
    }

    /// The rule's code.
    pub fn code(&self) -> u32 {
        self.rule.code()
    }
}

/// What is in the way, for a program that is to react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// What was named is not there.
    Missing,
    /// What was to be made is there already.
    Exists,
    /// It still has something that must go first, or somebody uses it.
    InUse,
    /// What was given breaks a rule, by itself or beside what there is.
    Invalid,
    /// Nobody may do that.
    Denied,
    /// There is no such function here.
    Unsupported,
    /// A limit is reached, or there is no room.
    Full,
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $kind:ident, $text:literal;)*) => {
        /// A rule of the administrators' side. Its text states it and what to do; its code is
        /// stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule, for documents and tests.
            pub const ALL: &[Rule] = &[$(Rule::$name),*];

            /// Its code.
            pub const fn code(self) -> u32 {
                match self {
                    $(Rule::$name => $code,)*
                }
            }

            /// What kind of refusal breaking it is.
            pub const fn kind(self) -> RefusalKind {
                match self {
                    $(Rule::$name => RefusalKind::$kind,)*
                }
            }

            /// What it demands and what to do.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Rule::$name => $text,)*
                }
            }
        }
    };
}

rules! {
    /// An object of this name exists there already.
    ObjectTaken = 1, Exists, "the name is in use there: choose another";
    /// No such object.
    NoObject = 4, Missing, "there is no such object";
    /// No such policy group. (ONTAP answers the general code 4 here too.)
    NoGroup = 8454903, Missing, "there is no such policy group";

    /// More policy groups than the settings allow.
    GroupsMax = 8454147, Full, "the number of policy groups is at its limit: delete one or raise the limit in the settings";
    /// Renamed to a name in use.
    NameTaken = 8454154, Exists, "another policy group has the name: choose another";
    /// A floor above its ceiling.
    FloorAboveCeiling = 8454194, Invalid, "a floor must not exceed the ceiling: lower the floor or raise the ceiling";
    /// A zero in an adaptive policy.
    AdaptiveZero = 8454273, Invalid, "the rates of an adaptive policy must not be zero";
    /// More expected than at the peak.
    ExpectedAbovePeak = 8454274, Invalid, "the expected rate must not exceed the peak rate";
    /// A new adaptive group named like a fixed one.
    NameOfFixed = 8454277, Exists, "a fixed policy group has the name: choose another";
    /// A new fixed group named like an adaptive one.
    NameOfAdaptive = 8454278, Exists, "an adaptive policy group has the name: choose another";
    /// A built-in group is read-only.
    Preset = 8454286, Denied, "built-in policy groups cannot be changed: make one of your own";
    /// Adaptive settings for a fixed group.
    FixedToAdaptive = 8454327, Invalid, "a fixed policy group cannot become adaptive: make a new group";
    /// Fixed settings for an adaptive group.
    AdaptiveToFixed = 8454328, Invalid, "an adaptive policy group cannot become fixed: make a new group";
    /// A new fixed group named like a fixed one.
    FixedTaken = 8454379, Exists, "a fixed policy group of this name exists: choose another";
    /// A new adaptive group named like an adaptive one.
    AdaptiveTaken = 8454380, Exists, "an adaptive policy group of this name exists: choose another";
    /// Two ways to say the same thing.
    BurstExclusive = 8454389, Invalid, "a burst is given in percent or in IOPS, not both: set one of them to 0";

    /// A policy group's name.
    GroupName = 8454901, Invalid,
        "a policy group's name has 1 to 127 letters, digits, '_' or '-', the first a letter or digit";
    /// More objects under policies than the settings allow.
    WorkloadsMax = 8454902, Full,
        "the number of workloads (objects in a policy group) is at its limit: detach one or raise the limit in the settings";
    /// More objects than numbers.
    ObjectsMax = 8454904, Full, "the numbers for objects are used up";
    /// A rate out of range.
    RateRange = 8454905, Invalid, "a limit is at most 2147483647 IOPS and 4398046511104 bytes/s";
    /// A burst out of range.
    BurstRange = 8454906, Invalid, "a burst is at most 1000000 percent or 2147483647 IOPS, for at most 3600 s";
    /// A burst in IOPS above nothing.
    BurstNeedsIops = 8454907, Invalid, "a burst in IOPS needs a ceiling in IOPS: give one, or the burst in percent";
    /// Credits define the burst themselves.
    BurstWithCredits = 8454908, Invalid, "where the peak is reached on credits, only the burst's duration can be set: leave out percent and IOPS";
    /// Shared or not is for life.
    SharedImmutable = 8454909, Invalid, "whether a policy group is shared cannot be changed: make a new group";
    /// A shared floor guarantees nobody anything.
    SharedFloor = 8454910, Invalid, "a shared policy group with a floor has one member at most: make the group non-shared";
    /// Floors need something smaller than an SVM.
    FloorOnSvm = 8454911, Invalid, "an SVM cannot have a floor: attach the group to its volumes";
    /// Adaptive policies follow a size.
    AdaptiveKind = 8454912, Invalid, "an adaptive policy group fits volumes, LUNs and files only";
    /// A policy group belongs to one SVM.
    OtherSvm = 8454913, Invalid, "an object and its policy group must be in the same SVM";
    /// Policies at two levels that exclude one another.
    Nested = 8454914, Invalid,
        "a LUN or file and what contains it cannot both be in policy groups: detach one, or set nesting to free";
    /// Only an adaptive group may be a template.
    TemplateKind = 8454915, Invalid, "an SVM's template is an adaptive policy group";
    /// A template beside a policy of the SVM's own.
    TemplateAndPolicy = 8454916, Invalid, "an SVM has a template or is in a policy group, not both: take one away";
    /// Members would lose their policy.
    GroupInUse = 8454917, InUse, "a policy group in use cannot be deleted: detach its members or force it";
    /// An object's name.
    ObjectName = 8454918, Invalid,
        "names of SVMs, volumes and qtrees have 1 to 203 letters, digits, '_', '-' or '.', the first a letter, digit or '_'";
    /// A LUN's path.
    LunPath = 8454919, Invalid, "a LUN's path is /vol/VOLUME/LUN or /vol/VOLUME/QTREE/LUN, without control characters";
    /// A file's path.
    FilePath = 8454920, Invalid, "a file's path is /NAME or /FOLDER/…/NAME inside its volume, each name of 255 bytes at most, without '.', '..' and control characters";
    /// A rename that would move.
    Moves = 8454921, Invalid, "a rename cannot move an object to another volume or qtree: make it anew there";
    /// What contains others stays.
    ObjectInUse = 8454922, InUse, "an SVM goes last: remove its volumes and its policy groups first";
    /// The wrong kind of object for the operation.
    WrongKind = 8454923, Invalid, "the operation does not fit this kind of object";
    /// An expected latency out of range.
    LatencyRange = 8454900, Invalid, "an expected latency is 10 us to 60 s: give one within, or 0 for none";
    /// A record that fits nothing.
    Catalogue = 8454924, Invalid, "the catalogue contradicts itself";
}

impl Rule {
    /// Whether the registry's settings decide if something breaks it: what was right can become
    /// wrong by a new setting.
    pub(crate) const fn is_of_settings(self) -> bool {
        matches!(self, Rule::Nested | Rule::BurstWithCredits | Rule::ExpectedAbovePeak | Rule::WorkloadsMax)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_has_its_own_code_and_one_line() {
        let codes: BTreeSet<u32> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        assert_eq!(codes.len(), Rule::ALL.len());
        assert!(Rule::ALL.iter().all(|rule| !rule.text().contains('\n')));
    }

    #[test]
    fn a_refusal_reads_as_one_line() {
        let refusal = Refusal::new(Rule::Preset, "policy group value", "a change");
        assert_eq!(
            refusal.to_string(),
            "policy group value: built-in policy groups cannot be changed: make one of your own; got a change"
        );
        assert_eq!(refusal.code(), 8454286);
    }
}
