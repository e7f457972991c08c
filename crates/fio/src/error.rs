//! What is wrong with a command line or a job file, and where: one line that names file, line,
//! section, option, the value given, the rule, and what to write instead.

use crate::value::Rule;
use std::fmt;

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The job file, or `None` for the command line.
    pub file: Option<String>,
    /// Its line, from 1; 0 where no single line is meant.
    pub line: u32,
    /// The section (the job's name), or nothing outside of any.
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

/// Wrong input: what and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Error {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub problem: Box<Problem>,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Neither fio nor we know the option.
    #[error("no option {option:?}{}", .nearest.as_ref().map_or(String::new(), |n| format!("; the nearest is {n:?}")))]
    UnknownOption {
        /// As typed.
        option: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// fio has the option, and we do not.
    #[error("{option}: fio has this option and seawall does not; {instead}")]
    NotHere {
        /// As typed.
        option: String,
        /// The nearest that we have, and how it differs.
        instead: String,
    },
    /// A value breaks the option's rule.
    #[error("{option}={value}: {rule}")]
    Value {
        /// As typed.
        option: String,
        /// As typed, variables expanded.
        value: String,
        /// The rule that it breaks, and what to write instead.
        rule: Rule,
    },
    /// An option that needs a value stands alone.
    #[error("{option}: needs a value, as in {option}={example}")]
    NeedsValue {
        /// As typed.
        option: String,
        /// One that would do.
        example: String,
    },
    /// An option that needs a value is given a variable that is not set.
    #[error(
        "{option}: needs a value, and ${{{variable}}} is not set; set it in the environment, as in {variable}={example}"
    )]
    UnsetVariable {
        /// As typed.
        option: String,
        /// Its name.
        variable: String,
        /// A value that would do.
        example: String,
    },
    /// A line of a job file before its first section.
    #[error("{0:?} stands before the first [section]; put [global] or [a-name] above it")]
    OutsideSection(String),
    /// A section's head without its end.
    #[error("{0:?} begins a section and has no closing bracket; write [a-name]")]
    SectionHead(String),
    /// A section's head with no name in it.
    #[error("a section needs a name; write [a-name]")]
    SectionName,
    /// A section within an included file.
    #[error("{0:?}: an included file holds options only, no sections; move the section to the job file")]
    SectionIncluded(String),
    /// Files that include each other.
    #[error("include {path}: more than {limit} files deep; does it include itself?")]
    IncludeDepth {
        /// The file that was to be read.
        path: String,
        /// How deep is allowed.
        limit: u32,
    },
    /// A text is longer than anything that makes sense.
    #[error("{what}: {given} is more than the limit of {limit}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much.
        given: u64,
        /// How much is allowed.
        limit: u64,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
    /// `${NAME` without its end.
    #[error("{0:?}: a variable is written ${{NAME}}, and the closing brace is missing")]
    Variable(String),
    /// A section was asked for by name, and there is none.
    #[error("--section={name}: no such section; there are {there}")]
    NoSuchSection {
        /// As typed.
        name: String,
        /// Those that are there.
        there: String,
    },
    /// Nothing to run.
    #[error("no job: name a job file, or give --name=NAME with its options")]
    NoJob,
    /// Options that do not go together, or one that is missing.
    #[error("{0}")]
    Rule(String),
}

impl Error {
    /// `problem` at `place`.
    pub fn at(place: &Place, problem: Problem) -> Error {
        Error { place: place.clone(), problem: Box::new(problem) }
    }

    /// Something wrong with the command line itself.
    pub fn on_command_line(problem: Problem) -> Error {
        Error { place: Place::default(), problem: Box::new(problem) }
    }
}
