//! The names of the classic tools: called by one of them, the program is that tool.

use std::ffi::OsString;
use std::path::Path;

/// A tool's name, and the command that it is here.
pub const NAMES: [(&str, &str); 7] = [
    ("fio", "fio"),
    ("dgen.pl", "dgen"),
    ("dgen", "dgen"),
    ("RampRun.pl", "ramp"),
    ("RampRun", "ramp"),
    ("ranread", "ranread"),
    ("orion", "orion"),
];

/// The words as `seawall` itself takes them: behind a classic name stands its command.
pub fn unfold(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let called = words.first().and_then(|word| Path::new(word).file_name()).and_then(|name| name.to_str());
    if let Some((_, command)) = called.and_then(|called| NAMES.iter().find(|(name, _)| *name == called)) {
        words.insert(1, command.into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_name_is_its_command() {
        let of = |words: &[&str]| unfold(words.iter().map(OsString::from));
        assert_eq!(of(&["/usr/local/bin/fio", "--name=j"]), ["/usr/local/bin/fio", "fio", "--name=j"]);
        assert_eq!(of(&["RampRun.pl", "-miniops", "500"]), ["RampRun.pl", "ramp", "-miniops", "500"]);
        assert_eq!(of(&["seawall", "fio"]), ["seawall", "fio"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
