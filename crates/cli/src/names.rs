//! The names of the classic tools. When called by one of them, the program is that tool.

use oltp::{Charbench, CharbenchError, StandsFor};
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
    /// The words as `seawall` itself takes them, after a classic name stands its command; and
    /// options that were typed under another name.
    Words(Vec<OsString>, AsTyped),
    /// Print this help or version of a classic tool.
    Text(String),
}

/// Options that were typed under another name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AsTyped(Vec<StandsFor>);

impl AsTyped {
    /// A message with the options as they were typed.
    pub fn message(&self, message: &str) -> String {
        self.0.iter().fold(message.to_owned(), |message, StandsFor { ours, theirs }| {
            let mut parts = message.split(ours).peekable();
            let mut said = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                // What goes on is a longer option.
                let is_longer = part.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
                said = said + if is_longer { ours } else { theirs } + part;
            }
            said
        })
    }
}

/// Puts the command after a classic name, answers `--version`, and translates the options of
/// charbench, which is also taken as a command: `seawall charbench`.
///
/// # Errors
/// Options that charbench does not have.
pub fn unfold(words: impl Iterator<Item = OsString>) -> Result<Typed, CharbenchError> {
    let mut words: Vec<OsString> = words.collect();
    let called = words.first().and_then(|word| classic(word));
    // fio's has a version of its own.
    if let (Some((name, command)), Some("--version")) = (called, words.get(1).and_then(|word| word.to_str()))
        && command != "fio"
    {
        let name = if command == "orion" { orion::VERSION } else { name };
        return Ok(Typed::Text(format!("{name} (Seawall {})\n", env!("CARGO_PKG_VERSION"))));
    }
    let mut as_typed = AsTyped::default();
    let is_command = called.is_none() && words.get(1).is_some_and(|word| word == CHARBENCH);
    match called {
        _ if is_command || called.is_some_and(|(name, _)| name == CHARBENCH) => {
            let rest = words.drain(1..).skip(usize::from(is_command));
            let rest: Vec<String> = rest.map(|word| word.to_string_lossy().into_owned()).collect();
            match oltp::unfold(&rest)? {
                Charbench::Help(help) => return Ok(Typed::Text(help)),
                Charbench::Words(rest, names) => {
                    as_typed = AsTyped(names);
                    words.push("oltp".into());
                    words.extend(rest.into_iter().map(OsString::from));
                }
            }
        }
        Some((_, command)) => words.insert(1, command.into()),
        None => {}
    }
    Ok(Typed::Words(words, as_typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_name_is_its_command() {
        let of = |words: &[&str]| match unfold(words.iter().map(OsString::from)).unwrap() {
            Typed::Words(words, _) => words,
            Typed::Text(text) => vec![text.into()],
        };
        assert_eq!(of(&["/usr/local/bin/fio", "--name=j"]), ["/usr/local/bin/fio", "fio", "--name=j"]);
        assert_eq!(of(&["RampRun.pl", "-miniops", "500"]), ["RampRun.pl", "ramp", "-miniops", "500"]);
        let charbench = of(&["charbench", "-uc", "2"]);
        assert_eq!(charbench[..5], ["charbench", "oltp", "run", "--users", "2"]);
        assert_eq!(of(&["seawall", "charbench", "-uc", "2"])[1..], charbench[1..]);
        for line in [["charbench", "-h"].as_slice(), &["charbench", "--help"], &["seawall", "charbench", "-h"]] {
            assert!(of(line)[0].to_string_lossy().starts_with("usage: parameters:\n"), "{line:?}");
        }
        for (name, version) in [("dgen.pl", "dgen.pl"), ("bin/orion", "ORION: ORacle IO Numbers -- Version 11.2")] {
            let said = of(&[name, "--version"]);
            assert_eq!(said, [OsString::from(format!("{version} (Seawall {})\n", env!("CARGO_PKG_VERSION")))]);
        }
        assert_eq!(of(&["fio", "--version"]), ["fio", "fio", "--version"]);
        assert_eq!(of(&["seawall", "fio"]), ["seawall", "fio"]);
        assert_eq!(of(&[]), [""; 0]);
    }

    #[test]
    fn messages_name_options_as_they_were_typed() {
        let typed = ["charbench", "-uc", "0", "-cs", "sqlite:x"].iter().map(OsString::from);
        let Typed::Words(_, as_typed) = unfold(typed).unwrap() else { panic!("it is a run") };
        assert_eq!(as_typed.message("--users: must be 1; --database"), "-uc: must be 1; -cs");
        assert_eq!(as_typed.message("--xml x: and --think, --database-size"), "-r x: and --think, --database-size");
        assert_eq!(AsTyped::default().message("--users: x"), "--users: x");
    }
}
