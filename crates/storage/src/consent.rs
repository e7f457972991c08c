//! What a user agreed to lose: names, patterns and folders; for devices in use, names only.

use crate::place::{Place, whole};
use glob::{MatchOptions, Pattern};
use std::path::Path;

/// `*` and `?` do not match a slash, as in a shell.
const AS_A_SHELL: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// Places that may be overwritten even if they hold something.
#[derive(Clone, Debug)]
pub struct Consent {
    destroy: Vec<String>,
    even_in_use: Vec<String>,
    all: bool,
    ours: fn(&[u8]) -> bool,
}

impl Default for Consent {
    /// Agrees to nothing.
    fn default() -> Consent {
        Consent { destroy: Vec::new(), even_in_use: Vec::new(), all: false, ours: |_| false }
    }
}

impl Consent {
    /// The values of `--destroy-data` and `--even-in-use`.
    pub fn new(destroy: &[String], even_in_use: &[String]) -> Consent {
        Consent { destroy: destroy.into(), even_in_use: even_in_use.into(), ..Consent::default() }
    }

    /// In addition, files whose first 8 KiB `ours` recognises belong to the caller.
    #[must_use]
    pub fn knowing(self, ours: fn(&[u8]) -> bool) -> Consent {
        Consent { ours, ..self }
    }

    /// In addition, any place that is asked about may be overwritten, but still not one in use.
    #[must_use]
    pub fn to_all(self) -> Consent {
        Consent { all: true, ..self }
    }

    /// Whether the contents of `place` may be lost.
    pub fn covers(&self, place: &Place) -> bool {
        self.all || self.destroy.iter().any(|word| covers(word, place))
    }

    /// Whether it may be written even if it is in use. Patterns do not count.
    pub(crate) fn covers_in_use(&self, place: &Place) -> bool {
        self.even_in_use.iter().any(|name| place.is_called(name))
    }

    /// Whether a file with this beginning belongs to the caller.
    pub(crate) fn knows(&self, beginning: &[u8]) -> bool {
        (self.ours)(beginning)
    }

    /// A line for each word that names none of `places`, which are all that will be written, and
    /// none of the caller's own `names`.
    pub fn idle(&self, places: &[Place], names: &[&str]) -> Vec<String> {
        let line = |option, word: &String| format!("--{option}={word}: names nothing that is written here");
        let destroy = self
            .destroy
            .iter()
            .filter(|word| !names.contains(&word.as_str()) && !places.iter().any(|place| covers(word, place)));
        let in_use = self.even_in_use.iter().filter(|name| !places.iter().any(|place| place.is_called(name)));
        destroy.map(|word| line("destroy-data", word)).chain(in_use.map(|name| line("even-in-use", name))).collect()
    }
}

/// Whether a word names a place: by its name, by a pattern, or by a folder above a file. A folder
/// does not name devices: `/dev` would mean all devices of the machine.
fn covers(word: &str, place: &Place) -> bool {
    if place.is_called(word) {
        return true;
    }
    let fits = |pattern: &str, text: &str| {
        !text.is_empty() && Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_with(text, AS_A_SHELL))
    };
    match place {
        Place::Nothing(_) => false,
        Place::Joined { members, .. } => members.iter().any(|member| covers(word, member)),
        Place::Nbd { uri, export } => fits(word, uri) || fits(word, &export.name),
        Place::Nfs { uri, file } => fits(word, uri) || fits(word, &file.path),
        Place::Path(path) => {
            let (text, at) = (path.to_string_lossy(), whole(path));
            let absolute = std::path::absolute(word).unwrap_or_else(|_| word.into());
            let below = || Path::new(word).is_dir() && at.starts_with(whole(Path::new(word)));
            fits(word, &text)
                || fits(&absolute.to_string_lossy(), &at.to_string_lossy())
                || (below() && !place.is_block_device())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(words: &[&str], place: &str) -> bool {
        let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
        Consent::new(&words, &[]).covers(&Place::parse(place).unwrap())
    }

    #[test]
    fn names_patterns_and_folders() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("sub")).unwrap();
        let folder = scratch.path().to_str().unwrap();
        let file = format!("{folder}/sub/job.0.0");
        std::os::unix::fs::symlink(&file, scratch.path().join("link")).unwrap();
        std::fs::write(&file, "").unwrap();
        for word in ["", "/sub", "/sub/", "/sub/job.*", "/*/job.?.[0-9]", "/link", "/sub/../sub/job.0.0"] {
            assert!(covered(&[&format!("{folder}{word}")], &file), "{word}");
        }
        assert!(covered(&[folder], &format!("{folder}/link")), "a link to a file below it");
        for word in ["/other", "/sub/job.1", "/*", "/sub/job", "/su", "/sub/job.0.0/"] {
            // A path that ends in / is that of a folder, and no file is one.
            assert!(!covered(&[&format!("{folder}{word}")], &file) || word.ends_with('/'), "{word}");
        }
        assert!(covered(&["nbd://h/vol*"], "nbd://h/vol1") && covered(&["vol?"], "nbd://h/vol1"));
        assert!(!covered(&["nbd://h/other"], "nbd://h/vol1") && !covered(&[""], "nbd://h/"));
        assert!(covered(&["a[b"], "a[b"), "no pattern, but a name");
        assert!(Consent::default().to_all().covers(&Place::parse("x").unwrap()));
    }

    #[test]
    fn words_that_name_nothing_are_told_and_use_needs_the_name() {
        let given = ["/dev/x*".to_owned(), "typo".to_owned()];
        let consent = Consent::new(&given, &["/dev/x*".into(), "/dev/xa".into()]);
        let place = Place::parse("/dev/xa").unwrap();
        assert_eq!(
            consent.idle(std::slice::from_ref(&place), &[]),
            [
                "--destroy-data=typo: names nothing that is written here",
                "--even-in-use=/dev/x*: names nothing that is written here"
            ]
        );
        assert!(consent.covers(&place) && consent.covers_in_use(&place));
        assert!(!consent.covers_in_use(&Place::parse("/dev/xb").unwrap()));
    }
}
