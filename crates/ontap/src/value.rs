//! The values of parameters. Every type parses text ([`std::str::FromStr`]) and prints one
//! canonical form, which parses to the same value.

mod adaptive;
mod assignment;
mod choice;
mod kind;
mod latency;
mod login;
mod name;
mod new_size;
mod number;
mod path;
mod permissions;
mod query;
mod severity;
mod size;
mod throughput;
mod volumes;

pub use adaptive::{AbsoluteMinimum, AdaptiveRate, PerSize};
pub use assignment::{OwnLimits, PolicyAssignment};
pub use choice::{
    Allocation, BlockSize, ChartFormat, Confirmations, Enabled, Interval, OsType, Output, PeakMode, Privilege, Switch,
};
pub use kind::FieldKind;
pub use latency::ExpectedLatency;
pub use login::{AuthenticationMethod, LoginApplication, LoginName, LoginRole};
pub use name::{Comment, ObjectName, PolicyName};
pub use new_size::NewSize;
pub use number::{Count, RowCount, Years};
pub use path::{ExportName, FilePath, JunctionPath, LunPath};
pub use permissions::UnixPermissions;
pub use query::Query;
pub use severity::Severity;
pub(crate) use size::AskedSize;
pub use size::{SIZE_BLOCK, SizeUnit, SizeUnits, UnitSize};
pub use throughput::{MinThroughput, Throughput, ThroughputLimits};
pub use volumes::{VolumeList, VolumeName};

use crate::word::Word;

/// Largest number of operations per second that ONTAP accepts for a limit or a rate (its REST
/// fields end there).
pub const IOPS_MAX: u64 = 2_147_483_647;

/// Largest throughput that ONTAP accepts for a limit: 4 194 303 MB/s, in bytes per second.
pub const BYTES_PER_SECOND_MAX: u64 = 4_194_303 * 1_000_000;

/// A value of a parameter.
pub trait Value: Sized {
    /// Its syntax in usage lines, for example `<size>`.
    const SYNTAX: &'static str;
    /// The possible words, if there are only a few; completion offers them.
    const CHOICES: &'static [&'static str] = &[];
    /// Parses a word; quotes may remove a special meaning.
    fn from_word(word: &Word) -> Result<Self, ValueError>;
}

/// An invalid value: what was given, the rule, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} {rule}{}", meant.as_ref().map(|m| format!("; did you mean {m:?}?")).unwrap_or_default())]
pub struct ValueError {
    /// The text as typed.
    pub given: String,
    /// The rule that it breaks, as the end of a sentence: `is not a size: write …`.
    pub rule: String,
    /// A valid value that is close to what was typed.
    pub meant: Option<String>,
}

impl ValueError {
    /// An error without a proposal.
    pub fn new(given: &str, rule: impl Into<String>) -> ValueError {
        ValueError { given: given.to_owned(), rule: rule.into(), meant: None }
    }

    /// The same with a proposal.
    #[must_use]
    pub fn meaning(mut self, meant: impl Into<String>) -> ValueError {
        self.meant = Some(meant.into());
        self
    }
}

/// Implements [`Value`] for types that ignore quotes.
macro_rules! plain_value {
    ($type:ty, $syntax:literal) => {
        impl crate::value::Value for $type {
            const SYNTAX: &'static str = $syntax;
            fn from_word(word: &crate::word::Word) -> Result<Self, crate::value::ValueError> {
                word.text.parse()
            }
        }
    };
}
use plain_value;

/// The digits at the front of a text, and the rest. `None` in place of the number if it exceeds 64
/// bits.
fn leading_number(text: &str) -> Option<(Option<u64>, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    (digits > 0).then(|| (number.parse().ok(), rest))
}

#[cfg(test)]
mod tests;
