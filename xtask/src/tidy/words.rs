//! Words that mark unfinished work, and paths that exist only on one machine.

use super::{Finding, Source};

/// Unwanted words with reasons. Each is written in two halves, so that this table does not match
/// itself.
const WORDS: [(&str, &str, &str); 12] = [
    ("to", "do!(", "unfinished; build it or leave it out"),
    ("unimple", "mented!(", "unfinished; build it or leave it out"),
    ("db", "g!(", "left from a search for a fault; take it out"),
    ("FIX", "ME", "fix it, or file an issue that says when it is done"),
    ("XX", "X:", "fix it, or file an issue that says when it is done"),
    ("HA", "CK", "say what is done and why it must be done so"),
    ("/ho", "me/", "a path of one machine; take it from an argument or the environment"),
    ("/ro", "ot/", "a path of one machine; take it from an argument or the environment"),
    ("/wo", "rk/", "a path of one machine; take it from an argument or the environment"),
    ("/tm", "p/wt", "a path of one machine; take it from an argument or the environment"),
    ("/Us", "ers/", "a path of one machine; take it from an argument or the environment"),
    ("<<<<", "<<< ", "a merge that was not finished"),
];

/// The word for open work; it is allowed with the condition that ends it, `(when X):`, after it.
const OPEN: (&str, &str) = ("TO", "DO");

/// Unwanted words in `source`.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let open = [OPEN.0, OPEN.1].concat();
    for (index, line) in source.text.lines().enumerate() {
        let mut note = |what| found.push(Finding { path: source.path.clone(), line: index + 1, what });
        for (first, second, why) in WORDS {
            let word = [first, second].concat();
            if line.contains(&word) {
                note(format!("{word:?}: {why}"));
            }
        }
        let is_open = line.split(|c: char| !c.is_alphanumeric()).any(|word| word == open);
        if is_open && !line.contains(&format!("{open} (when ")) {
            note(format!("{open:?}: say when it is done: `{open} (when …): …`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Source { path: "a.md".into(), text: text.into() }).len()
    }

    #[test]
    fn each_word_is_found_and_said_where() {
        for (first, second, _) in WORDS {
            assert_eq!(count(&format!("good\nbad {first}{second} bad\n")), 1, "{first}{second}");
        }
        let found = check(&Source { path: "a.rs".into(), text: format!("good\n{}{}1)", "db", "g!(") });
        assert_eq!(found[0].line, 2);
    }

    #[test]
    fn open_work_needs_the_condition_that_ends_it() {
        let open = [OPEN.0, OPEN.1].concat();
        assert_eq!(count(&format!("// {open}: later")), 1);
        assert_eq!(count(&format!("// {open} (when kernels 6.8 are common): use it")), 0);
        assert_eq!(count("TODOS is a name"), 0);
    }
}
