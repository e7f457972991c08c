//! Mistakes in a plan: each is one line that names the place, the key, the rule, the value and what
//! to do.

use crate::spec::SpecError;
use std::fmt;

/// All mistakes of a plan file in order of lines; never empty. Prints one line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanErrors(pub Vec<PlanError>);

/// One mistake and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// The file's name as given.
    pub file: String,
    /// The line, from 1; `None` if the mistake is in how the plan is used.
    pub line: Option<u32>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("not valid TOML: {0}; correct the line")]
    Syntax(String),
    /// A key that the table does not have.
    #[error("{key}: no such key in {table}; {advice}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The table: `[[workload]]`.
        table: &'static str,
        /// What to do.
        advice: String,
    },
    /// A key that the table must have.
    #[error("{key}: missing in {table}; {advice}")]
    Missing {
        /// The key.
        key: String,
        /// The table.
        table: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A value that breaks a rule.
    #[error("{key}: must be {rule}, got {given}; {advice}")]
    Value {
        /// The key.
        key: String,
        /// The rule.
        rule: String,
        /// The value as given.
        given: String,
        /// What to do.
        advice: String,
    },
    /// A size or duration that cannot be parsed; the reason names rule and value.
    #[error("{key}: {why}")]
    Unreadable {
        /// The key.
        key: String,
        /// The parser's message.
        why: String,
    },
    /// A name that is used twice.
    #[error("{key}: must be different for each {table}, got {given:?} as on line {line}; choose another")]
    Taken {
        /// The key.
        key: String,
        /// The table.
        table: &'static str,
        /// The name.
        given: String,
        /// The line where it was used first.
        line: u32,
    },
    /// Two keys that exclude each other.
    #[error("{key}: contradicts {other} on line {line}; {advice}")]
    Contradiction {
        /// The key.
        key: String,
        /// The other one.
        other: String,
        /// The other one's line.
        line: u32,
        /// What to do.
        advice: &'static str,
    },
    /// A key without the other key that it needs.
    #[error("{key}: means nothing without {other}; {advice}")]
    Alone {
        /// The key.
        key: String,
        /// The one it needs.
        other: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A name that does not exist in the plan.
    #[error("{key}: no {what} is called {given:?}; {advice}")]
    UnknownName {
        /// The key.
        key: String,
        /// The kind of thing it should name.
        what: &'static str,
        /// The name as written.
        given: String,
        /// What to do.
        advice: String,
    },
    /// A load that breaks a rule.
    #[error("{within}{error}")]
    Load {
        /// Prefix of the key: empty, or the workload and a dot.
        within: String,
        /// The rule it breaks.
        error: SpecError,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for PlanError {}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanErrors {}
