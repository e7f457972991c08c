//! The names of the classic tools: called by one of them, the program is that tool.

use oltp::CharbenchError;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The one whose options are rewritten here: they are words behind one dash.
pub const CHARBENCH: &str = "charbench";

/// A tool's name, and the command that it is here.
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

/// The classic name that the program was called by, if it was, and the command that it is here.
fn classic(word: &OsStr) -> Option<(&'static str, &'static str)> {
    let called = Path::new(word).file_name()?.to_str()?;
    NAMES.into_iter().find(|(name, _)| *name == called)
}

/// A text of the command line's usage as whoever called the program by a classic name wrote it:
/// without the command that stands behind it here.
pub fn folded(text: &str) -> String {
    match std::env::args_os().next().as_deref().and_then(classic) {
        Some((name, command)) => text.replace(&format!("{name} {command}"), name),
        None => text.to_owned(),
    }
}

/// The words as `seawall` itself takes them: behind a classic name stands its command.
///
/// # Errors
/// Words of charbench that mean nothing there.
pub fn unfold(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, CharbenchError> {
    let mut words: Vec<OsString> = words.collect();
    if let Some((name, command)) = words.first().and_then(|word| classic(word)) {
        if name == CHARBENCH {
            let rest: Vec<String> = words.drain(1..).map(|word| word.to_string_lossy().into_owned()).collect();
            words.extend(oltp::unfold(&rest)?.into_iter().map(OsString::from));
        }
        words.insert(1, command.into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_name_is_its_command() {
        let of = |words: &[&str]| unfold(words.iter().map(OsString::from)).unwrap();
        assert_eq!(of(&["/usr/local/bin/fio", "--name=j"]), ["/usr/local/bin/fio", "fio", "--name=j"]);
        assert_eq!(of(&["RampRun.pl", "-miniops", "500"]), ["RampRun.pl", "ramp", "-miniops", "500"]);
        assert_eq!(
            of(&["charbench", "-uc", "2"]),
            ["charbench", "oltp", "run", "--users", "2", "--warm-up", "0", "--columns", "users,tpm,tps,errs,vresp"]
        );
        assert_eq!(of(&["seawall", "fio"]), ["seawall", "fio"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
