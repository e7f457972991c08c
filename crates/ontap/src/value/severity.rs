//! The severity of events.

use super::{ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// The severity of an event, most severe first, so that `<=ERROR` selects errors and worse, as in
/// ONTAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Service is interrupted.
    Emergency,
    /// Something has to be done at once.
    Alert,
    /// Something went wrong or was refused.
    Error,
    /// Normal, and worth knowing.
    Notice,
    /// Useful for finding a cause.
    Informational,
    /// For developers.
    Debug,
}

impl Severity {
    /// All of them, most severe first.
    pub const ALL: [Severity; 6] = [
        Severity::Emergency,
        Severity::Alert,
        Severity::Error,
        Severity::Notice,
        Severity::Informational,
        Severity::Debug,
    ];

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Emergency => "EMERGENCY",
            Severity::Alert => "ALERT",
            Severity::Error => "ERROR",
            Severity::Notice => "NOTICE",
            Severity::Informational => "INFORMATIONAL",
            Severity::Debug => "DEBUG",
        }
    }

    /// Its rank; 0 is the most severe.
    pub fn rank(self) -> u64 {
        self as u64
    }
}

impl FromStr for Severity {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Severity, ValueError> {
        let found = Severity::ALL.into_iter().find(|severity| severity.word().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let words = Severity::ALL.map(Severity::word);
            let error = ValueError::new(text, format!("is not a severity: write one of {}", words.join(", ")));
            match nearest::to(&text.to_ascii_uppercase(), words.into_iter()) {
                Some(meant) => error.meaning(meant),
                None => error,
            }
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

plain_value!(Severity, "<severity>");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_read_as_they_print_and_the_gravest_is_the_least() {
        for (rank, severity) in Severity::ALL.into_iter().enumerate() {
            assert_eq!(severity.to_string().to_lowercase().parse(), Ok(severity));
            assert_eq!(severity.rank(), rank as u64);
        }
        assert!(Severity::Emergency < Severity::Debug);
        let error = "ERORR".parse::<Severity>().unwrap_err();
        assert!(error.to_string().contains("did you mean \"ERROR\""), "{error}");
    }
}
