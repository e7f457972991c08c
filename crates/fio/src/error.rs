//! What is wrong with a command line or a job file, and where: one line with file, line, section,
//! option, value, rule, and what to write instead.

use crate::value::Rule;
use std::fmt;

/// A position in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The job file, or `None` for the command line.
    pub file: Option<String>,
    /// The line, from 1; 0 if the position is not a single line.
    pub line: u32,
    /// The section (the job's name), or `None` outside of any.
    pub section: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (None, _) => f.write_str("command line")?,
            (Some(file), 0) => f.write_str(file)?,
            (Some(file), line) => write!(f, "{file}:{line}")?,
        }
        match &self.section {
            Some(section) => write!(f, " [{section}]"),
            None => Ok(()),
        }
    }
}

/// Wrong input: position and problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Error {
    /// The position.
    pub place: Place,
    /// The problem.
    pub problem: Box<Problem>,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The option is not known to fio or seawall.
    #[error("no option {option:?}{}", .nearest.as_ref().map_or(String::new(), |n| format!("; the nearest is {n:?}")))]
    UnknownOption {
        /// As typed.
        option: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// fio has the option and seawall does not.
    #[error("{option}: fio has this option and seawall does not; {instead}")]
    NotHere {
        /// As typed.
        option: String,
        /// The nearest replacement, and how it differs.
        instead: String,
    },
    /// A value breaks the option's rule.
    #[error("{option}={value}: {rule}")]
    Value {
        /// As typed.
        option: String,
        /// As typed, with variables replaced.
        value: String,
        /// The rule that it breaks, and what to write instead.
        rule: Rule,
    },
    /// An option that needs a value has none.
    #[error("{option}: needs a value, as in {option}={example}")]
    NeedsValue {
        /// As typed.
        option: String,
        /// A valid value.
        example: String,
    },
    /// An option that needs a value has a variable that is not set.
    #[error(
        "{option}: needs a value, and ${{{variable}}} is not set; set it in the environment, as in {variable}={example}"
    )]
    UnsetVariable {
        /// As typed.
        option: String,
        /// The variable's name.
        variable: String,
        /// A valid value.
        example: String,
    },
    /// A line of a job file before the first section.
    #[error("{0:?} is before the first [section]; put [global] or [a-name] above it")]
    OutsideSection(String),
    /// The head of a section without its closing bracket.
    #[error("{0:?} begins a section and has no closing bracket; write [a-name]")]
    SectionHead(String),
    /// The head of a section without a name.
    #[error("a section needs a name; write [a-name]")]
    SectionName,
    /// A section within an included file.
    #[error("{0:?}: an included file holds options only, no sections; move the section to the job file")]
    SectionIncluded(String),
    /// Files include each other.
    #[error("include {path}: more than {limit} files deep; does it include itself?")]
    IncludeDepth {
        /// The file that was to be read next.
        path: String,
        /// The limit.
        limit: u32,
    },
    /// A limit was exceeded.
    #[error("{what}: {given} is more than the limit of {limit}")]
    TooMuch {
        /// The quantity.
        what: &'static str,
        /// The amount given.
        given: u64,
        /// The limit.
        limit: u64,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's message.
        why: String,
    },
    /// `${NAME` without its closing brace.
    #[error("{0:?}: a variable is written ${{NAME}}, and the closing brace is missing")]
    Variable(String),
    /// A section was selected that does not exist.
    #[error("--section={name}: no such section; there are {there}")]
    NoSuchSection {
        /// As typed.
        name: String,
        /// The sections that exist.
        there: String,
    },
    /// Nothing to run.
    #[error("no job: name a job file, or give --name=NAME with its options")]
    NoJob,
    /// Options conflict, or one is missing.
    #[error("{0}")]
    Rule(String),
}

impl Error {
    /// An error at `place`.
    pub fn at(place: &Place, problem: Problem) -> Error {
        Error { place: place.clone(), problem: Box::new(problem) }
    }

    /// An error of the command line itself.
    pub fn on_command_line(problem: Problem) -> Error {
        Error { place: Place::default(), problem: Box::new(problem) }
    }
}
