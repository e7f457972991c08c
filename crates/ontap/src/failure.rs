//! A command that was understood and could not be done: what is said, and the number that stands for it.

use std::fmt;

/// Why a command could not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("command failed: {reason}{}", code.map(|c| format!(" (code {c})")).unwrap_or_default())]
pub struct Failure {
    /// What was given, which rule it breaks, and what to do.
    pub reason: String,
    /// The number under which the manuals list it, where there is one.
    pub code: Option<Code>,
}

impl Failure {
    /// A failure that has no number.
    pub fn new(reason: impl Into<String>) -> Failure {
        Failure { reason: reason.into(), code: None }
    }

    /// The same with its number.
    #[must_use]
    pub fn with(mut self, code: Code) -> Failure {
        self.code = Some(code);
        self
    }

    /// The line for a terminal: `Error: command failed: <reason>`.
    pub fn report(&self) -> String {
        format!("Error: {self}\n")
    }
}

/// Defines the numbers with their meaning.
macro_rules! codes {
    ($( $(#[doc = $gist:literal])+ $variant:ident = $number:literal, )+) => {
        /// The numbers of ONTAP's message list, as its REST reference gives them. Which of 8454277 and 8454278, and
        /// which of 8454327 and 8454328, goes which way is not told there; the order here is a guess.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $( $(#[doc = $gist])+ $variant, )+
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// The number.
            pub fn number(self) -> u32 {
                match self { $( Code::$variant => $number, )+ }
            }

            /// What it means, in a few words.
            pub fn gist(self) -> &'static str {
                match self { $( Code::$variant => concat!($($gist),+).trim_ascii(), )+ }
            }
        }
    };
}

codes! {
    /// duplicate entry
    Duplicate = 1,
    /// a field is wrong
    BadField = 2,
    /// not supported
    Unsupported = 3,
    /// entry doesn't exist
    NotFound = 4,
    /// permission denied
    Denied = 6,
    /// in use
    InUse = 8,
    /// unexpected argument
    UnexpectedArgument = 262179,
    /// nothing to change
    NothingToChange = 262190,
    /// the field cannot be set here
    NotSettable = 262196,
    /// invalid value
    InvalidValue = 262197,
    /// the body is no JSON
    BadJson = 262199,
    /// not authorised
    Unauthorised = 6691623,
    /// too many policy groups
    TooManyPolicies = 8454147,
    /// the name is taken
    NameTaken = 8454154,
    /// the floor exceeds the ceiling
    FloorAboveCeiling = 8454194,
    /// IOPS and MB/s are out of proportion
    BadRatio = 8454260,
    /// a rate of zero in an adaptive policy
    AdaptiveZero = 8454273,
    /// the expected rate exceeds the peak
    ExpectedAbovePeak = 8454274,
    /// the name is taken by an adaptive policy group
    NameTakenByAdaptive = 8454277,
    /// the name is taken by a fixed policy group
    NameTakenByFixed = 8454278,
    /// built-in policy groups cannot be changed
    ReadOnlyPreset = 8454286,
    /// a fixed policy group cannot become adaptive
    FixedToAdaptive = 8454327,
    /// an adaptive policy group cannot become fixed
    AdaptiveToFixed = 8454328,
    /// a fixed policy group of that name exists
    FixedExists = 8454379,
    /// an adaptive policy group of that name exists
    AdaptiveExists = 8454380,
    /// fields that exclude one another
    Exclusive = 8454389,
}

impl Code {
    /// The code with this number.
    pub fn of(number: u32) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.number() == number)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_prints_its_reason_and_number() {
        let failure = Failure::new("policy group \"a\": expected IOPS 3000 exceed the peak of 2000");
        assert_eq!(
            failure.report(),
            "Error: command failed: policy group \"a\": expected IOPS 3000 exceed the peak of 2000\n"
        );
        let failure = failure.with(Code::ExpectedAbovePeak);
        assert!(failure.report().ends_with("the peak of 2000 (code 8454274)\n"));
    }

    #[test]
    fn every_number_is_one_code() {
        for code in Code::ALL {
            assert_eq!(Code::of(code.number()), Some(*code), "{}", code.gist());
        }
        assert_eq!(Code::of(7), None);
    }
}
