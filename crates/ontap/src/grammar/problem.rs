//! What can be wrong with a line, reported with the word, the rule and what to do.

use crate::grammar::LINE_BYTES_MAX;
use crate::value::ValueError;
use crate::word::UnclosedQuote;
use std::fmt;

/// An invalid line: everything that is wrong with it, and the line that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// At least one.
    pub problems: Vec<Problem>,
    /// The command's syntax, once the command is known.
    pub usage: Option<String>,
    /// The line as it was probably meant; it is valid.
    pub suggestion: Option<String>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A quote is open at the end of the line.
    #[error(transparent)]
    Quote(#[from] UnclosedQuote),
    /// The line is longer than any command.
    #[error("the line has {bytes} bytes; a command may have {LINE_BYTES_MAX} at most")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Nothing was typed.
    #[error("no command was given; type \"?\" for the list")]
    Empty,
    /// A command word that does not exist.
    #[error("{word:?} is not a recognized command{}; {}", after(path), instead(nearest.as_deref(), choices))]
    UnknownCommand {
        /// The word.
        word: String,
        /// The words before it, in full.
        path: String,
        /// The word that was probably meant.
        nearest: Option<String>,
        /// What could stand here.
        choices: Vec<String>,
    },
    /// An abbreviation with several meanings.
    #[error("{word:?} is ambiguous; it could be {}", or(choices))]
    AmbiguousCommand {
        /// The abbreviation.
        word: String,
        /// What it could mean.
        choices: Vec<String>,
    },
    /// The words begin a command but do not end one.
    #[error("{path:?} is not a whole command; continue with {}", or(choices))]
    IncompleteCommand {
        /// The words, in full.
        path: String,
        /// What could follow.
        choices: Vec<String>,
    },
    /// A parameter that the command does not have.
    #[error("{path:?} has no parameter {word:?}; {}", instead(nearest.as_deref(), choices))]
    UnknownParameter {
        /// The command.
        path: &'static str,
        /// The parameter as typed.
        word: String,
        /// The parameter that was probably meant.
        nearest: Option<String>,
        /// All that it has.
        choices: Vec<String>,
    },
    /// A parameter of other commands that this one refuses by name.
    #[error("{path:?} has no parameter {word:?}: {instead}")]
    RefusedParameter {
        /// The command.
        path: &'static str,
        /// The parameter as typed.
        word: String,
        /// The reason, and what to write instead.
        instead: &'static str,
    },
    /// An abbreviated parameter with several meanings.
    #[error("the parameter {word:?} is ambiguous; it could be {}", or(choices))]
    AmbiguousParameter {
        /// The abbreviation.
        word: String,
        /// What it could mean.
        choices: Vec<String>,
    },
    /// A parameter's name with a blank in it.
    #[error("{typed:?} has no value: {next:?} follows; did you mean {joined:?}, without the blank?")]
    SplitParameter {
        /// The first part of the name, which is a parameter by itself.
        parameter: &'static str,
        /// The first part, as typed.
        typed: String,
        /// The second part, as typed.
        next: String,
        /// Both parts together: a parameter too.
        joined: String,
    },
    /// A parameter at the end of the line, or directly before another one.
    #[error(
        "\"-{parameter}\" has no value{}; write \"-{parameter} {syntax}\" or leave it out",
        before(next.as_deref())
    )]
    MissingValue {
        /// The parameter.
        parameter: &'static str,
        /// How its value is written.
        syntax: &'static str,
        /// The parameter that follows, as typed.
        next: Option<String>,
    },
    /// An invalid value.
    #[error("-{parameter}: {error}")]
    BadValue {
        /// The parameter.
        parameter: &'static str,
        /// What is wrong with the value.
        error: ValueError,
    },
    /// A parameter that was given before.
    #[error("\"-{parameter}\" is given twice, as {first:?} and as {second:?}; give it once")]
    Repeated {
        /// The parameter.
        parameter: &'static str,
        /// Its first value.
        first: String,
        /// Its second value.
        second: String,
    },
    /// The second half of a value with a blank in it.
    #[error(
        "{word:?} is unexpected: \"-{parameter}\" has the value {value:?} already; \
         did you mean {joined:?}, without the blank?"
    )]
    SplitValue {
        /// The second half.
        word: String,
        /// The parameter before it.
        parameter: &'static str,
        /// The first half.
        value: String,
        /// Both halves together.
        joined: String,
    },
    /// A word that belongs to no parameter.
    #[error("{word:?} is unexpected: it belongs to no parameter; put a value with blanks in quotes")]
    Unexpected {
        /// The word.
        word: String,
    },
    /// A required parameter that was left out.
    #[error("\"-{parameter}\" is missing: {help} (\"-{parameter} {syntax}\")")]
    MissingParameter {
        /// The parameter.
        parameter: &'static str,
        /// How its value is written.
        syntax: &'static str,
        /// What it is.
        help: &'static str,
    },
    /// Two parameters that exclude one another.
    #[error("\"-{first}\" cannot be used with \"-{second}\"; give one of them")]
    Apart {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

impl CommandError {
    pub(crate) fn of(problem: Problem) -> CommandError {
        CommandError { problems: vec![problem], usage: None, suggestion: None }
    }

    /// The answer for a terminal: a line for every problem, then the proposal and the usage on
    /// lines of their own.
    pub fn report(&self) -> String {
        let mut lines: Vec<String> = self.problems.iter().map(|p| format!("Error: {p}")).collect();
        lines.extend(self.suggestion.as_ref().map(|s| format!("Try: {s}")));
        lines.extend(self.usage.as_ref().map(|u| format!("Usage: {u}")));
        lines.join("\n") + "\n"
    }
}

/// One line: the problems, and the proposal if there is one.
impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        let told = problems.into_iter().reduce(|told, next| format!("{told}{} {next}", parting(&told)));
        let told = told.unwrap_or_default();
        let try_it = if told.ends_with('?') { "Try" } else { "try" };
        match &self.suggestion {
            Some(line) => write!(f, "{told}{} {try_it}: {line}", parting(&told)),
            None => f.write_str(&told),
        }
    }
}

impl std::error::Error for CommandError {}

/// What stands between a text and what follows it: a question has its mark already.
fn parting(text: &str) -> &'static str {
    if text.ends_with('?') { "" } else { ";" }
}

fn after(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" after {path:?}") }
}

fn before(next: Option<&str>) -> String {
    next.map(|n| format!(": {n:?} follows")).unwrap_or_default()
}

fn or(choices: &[String]) -> String {
    choices.join(", ")
}

fn instead(nearest: Option<&str>, choices: &[String]) -> String {
    match nearest {
        Some(word) => format!("did you mean {word:?}?"),
        None => format!("it has {}", choices.join(", ")),
    }
}
