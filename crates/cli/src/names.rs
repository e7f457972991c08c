//! The names of the classic tools. When called by one of them, the program is that tool.

use oltp::{Charbench, CharbenchError};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The tool whose options are rewritten here: they have one dash.
pub const CHARBENCH: &str = "charbench";

/// A tool's name and its command here.
pub const NAMES: [(&str, &str); 8] = [
    ("fio", "fio"),
    ("dgen.pl", "dgen"),
    ("dgen", "dgen"),
    ("RampRun.pl", "ramp"),
    ("RampRun", "ramp"),
    ("ranread", "ranread"),
    ("orion", "orion"),
    (CHARBENCH, "oltp"),
];

/// The classic name by which the program was called, if any, and its command here.
fn classic(word: &OsStr) -> Option<(&'static str, &'static str)> {
    let called = Path::new(word).file_name()?.to_str()?;
    NAMES.into_iter().find(|(name, _)| *name == called)
}

/// A usage text for a program that was called by a classic name: without the command that is
/// inserted here.
pub fn folded(text: &str) -> String {
    match std::env::args_os().next().as_deref().and_then(classic) {
        Some((name, command)) => text.replace(&format!("{name} {command}"), name),
        None => text.to_owned(),
    }
}

/// What was typed, without classic names.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// The words as `seawall` itself takes them: after a classic name stands its command.
    Words(Vec<OsString>),
    /// The help of a classic tool.
    Help(String),
}

/// Puts the command after a classic name, and translates the options of charbench, which is also
/// taken as a command: `seawall charbench`.
///
/// # Errors
/// Options that charbench does not have.
pub fn unfold(words: impl Iterator<Item = OsString>) -> Result<Typed, CharbenchError> {
    let mut words: Vec<OsString> = words.collect();
    let called = words.first().and_then(|word| classic(word));
    let is_command = called.is_none() && words.get(1).is_some_and(|word| word == CHARBENCH);
    match called {
        _ if is_command || called.is_some_and(|(name, _)| name == CHARBENCH) => {
            let rest = words.drain(1..).skip(usize::from(is_command));
            let rest: Vec<String> = rest.map(|word| word.to_string_lossy().into_owned()).collect();
            match oltp::unfold(&rest)? {
                Charbench::Help(help) => return Ok(Typed::Help(help)),
                Charbench::Words(rest) => {
                    words.push("oltp".into());
                    words.extend(rest.into_iter().map(OsString::from));
                }
            }
        }
        Some((_, command)) => words.insert(1, command.into()),
        None => {}
    }
    Ok(Typed::Words(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_name_is_its_command() {
        let of = |words: &[&str]| match unfold(words.iter().map(OsString::from)).unwrap() {
            Typed::Words(words) => words,
            Typed::Help(help) => vec![help.into()],
        };
        assert_eq!(of(&["/usr/local/bin/fio", "--name=j"]), ["/usr/local/bin/fio", "fio", "--name=j"]);
        assert_eq!(of(&["RampRun.pl", "-miniops", "500"]), ["RampRun.pl", "ramp", "-miniops", "500"]);
        let charbench = of(&["charbench", "-uc", "2"]);
        assert_eq!(charbench[..5], ["charbench", "oltp", "run", "--users", "2"]);
        assert_eq!(of(&["seawall", "charbench", "-uc", "2"])[1..], charbench[1..]);
        for line in [["charbench", "-h"].as_slice(), &["charbench", "--help"], &["seawall", "charbench", "-h"]] {
            assert!(of(line)[0].to_string_lossy().starts_with("usage: parameters:\n"), "{line:?}");
        }
        assert_eq!(of(&["seawall", "fio"]), ["seawall", "fio"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
