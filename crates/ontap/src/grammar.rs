//! One parser for every command. It knows no command by name: the tables of [`crate::catalogue`]
//! define which words exist, which parameters they take and how each value is read.
//!
//! ```text
//!   line ─ word::split ─► words ─ lookup ─► the table row ─ bind ─► arguments ─ row.build ─► Command
//!                                   │                        │          │
//!                                   └──────── problems, each with the words as they were probably meant
//! ```
//! Parsing continues after a mistake. All problems of a line are reported together. If each of them
//! has a likely fix, the corrected line is parsed again and, if it is valid, proposed.

mod bind;
mod complete;
mod help;
mod lookup;
mod problem;
mod spec;

pub use complete::{Candidate, Completion, Names, complete};
pub use help::Topic;
pub use problem::{CommandError, Problem};
pub use spec::{CommandSpec, Need, Parameter};

pub(crate) use bind::Arguments;
pub(crate) use help::filled;

use crate::catalogue::{Command, Output};
use crate::word::Word;

/// Longest command line, in bytes: several times what any command needs, and small enough to parse
/// at once.
pub const LINE_BYTES_MAX: usize = 16 << 10;

/// How often a corrected line may be corrected again before no proposal is made.
const MENDINGS_MAX: usize = 4;

/// Parses one command line.
///
/// ```
/// use ontap::{Command, catalogue::VolumeCommand};
/// let command = ontap::parse("vol modify -vol vol1 -qos-policy-group none").unwrap();
/// assert!(matches!(command, Command::Volume(VolumeCommand::Modify(_))));
/// ```
pub fn parse(line: &str) -> Result<Command, CommandError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(CommandError::of(Problem::TooLong { bytes: line.len() }));
    }
    let words = Word::split(line).map_err(|e| CommandError::of(Problem::Quote(e)))?;
    if let Some(topic) = Topic::asked(&words) {
        return topic.map(Command::Help).map_err(CommandError::of);
    }
    let attempt = Attempt::at(&words);
    attempt.result.map_err(|problems| CommandError {
        problems,
        usage: attempt.spec.map(CommandSpec::usage),
        suggestion: attempt.mended.and_then(mend),
    })
}

/// The form of output that a line asks for, even if the line is invalid: its refusal has that form
/// too.
pub fn output_of(line: &str) -> Output {
    let Ok(words) = Word::split(line) else { return Output::Text };
    let asked = words.windows(2).find_map(|pair| {
        let name = pair[0].parameter()?.to_ascii_lowercase();
        "output".starts_with(&name).then(|| pair[1].text.parse().ok())?
    });
    asked.unwrap_or_default()
}

/// The result of parsing a line once.
struct Attempt {
    spec: Option<&'static CommandSpec>,
    result: Result<Command, Vec<Problem>>,
    /// The words as they were probably meant, if every problem has a likely fix.
    mended: Option<Vec<Word>>,
}

impl Attempt {
    fn at(words: &[Word]) -> Attempt {
        let found = match lookup::find(words) {
            Ok(found) => found,
            Err(miss) => return Attempt { spec: None, result: Err(vec![miss.problem]), mended: miss.mended },
        };
        let bound = bind::bind(found.spec, found.arguments);
        let mended = bound.mended.map(|rest| [found.command, &rest].concat());
        let result = match bound.problems {
            problems if !problems.is_empty() => Err(problems),
            _ => (found.spec.build)(&bound.arguments),
        };
        Attempt { spec: Some(found.spec), result, mended }
    }
}

/// Parses the corrected line, and corrects problems that show only then. Only a valid line is
/// returned.
fn mend(mut words: Vec<Word>) -> Option<String> {
    for _ in 0..MENDINGS_MAX {
        let attempt = Attempt::at(&words);
        if attempt.result.is_ok() {
            return Some(Word::join(&words));
        }
        words = attempt.mended?;
    }
    None
}

#[cfg(test)]
mod tests;
