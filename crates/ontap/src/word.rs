//! Splits a line into words, like a shell: at blanks, except within `"…"` and `'…'`. It records
//! whether a word was quoted, because quotes remove the special meaning of `*`, `|`, `none` and a
//! leading hyphen.

use std::fmt;

/// One word of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// True if any part of it was in quotes: then it is a plain value, whatever it looks like.
    pub quoted: bool,
}

/// The hyphen, and the characters that pasted text has in its place: en dash, em dash, minus sign.
const DASHES: [char; 4] = ['-', '\u{2013}', '\u{2014}', '\u{2212}'];

/// A quote was opened and never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the quote {0} is not closed; add the closing {0}")]
pub struct UnclosedQuote(pub char);

impl Word {
    /// A word as typed without quotes.
    pub fn plain(text: impl Into<String>) -> Word {
        Word { text: text.into(), quoted: false }
    }

    /// The name, if the word names a parameter (`-volume`) and is not a value such as `-5`. Two
    /// hyphens and the long dashes of word processors are accepted too; [`Word::has_one_hyphen`]
    /// distinguishes them. Three or more are part of a value, as in permissions such as
    /// `---rwxr-x---`.
    pub fn parameter(&self) -> Option<&str> {
        let name = self.text.trim_start_matches(DASHES);
        let dashes = self.text[..self.text.len() - name.len()].chars().count();
        (matches!(dashes, 1 | 2) && !self.quoted && name.starts_with(char::is_alphabetic)).then_some(name)
    }

    /// Whether a parameter is named with exactly one hyphen.
    pub fn has_one_hyphen(&self) -> bool {
        self.text.strip_prefix('-').is_some_and(|name| !name.starts_with(DASHES))
    }

    /// The words of a line.
    pub fn split(line: &str) -> Result<Vec<Word>, UnclosedQuote> {
        let mut words = Vec::new();
        let mut word: Option<Word> = None;
        let mut open: Option<char> = None;
        for c in line.chars() {
            match open {
                Some(quote) if c == quote => open = None,
                None if c == '"' || c == '\'' => {
                    open = Some(c);
                    word.get_or_insert_with(|| Word::plain("")).quoted = true;
                }
                None if c.is_whitespace() => words.extend(word.take()),
                _ => word.get_or_insert_with(|| Word::plain("")).text.push(c),
            }
        }
        words.extend(word);
        open.map_or(Ok(words), |quote| Err(UnclosedQuote(quote)))
    }

    /// Joins words into a line.
    pub fn join(words: &[Word]) -> String {
        words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// As it would be typed: quoted if that is necessary for parsing it back. A word that contains both
/// kinds of quotes is written in pieces, because neither kind can contain itself.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let special = |c: char| c.is_whitespace() || c == '"' || c == '\'';
        if !self.quoted && !self.text.is_empty() && !self.text.contains(special) {
            return f.write_str(&self.text);
        }
        if self.text.is_empty() {
            return f.write_str("\"\"");
        }
        for piece in self.text.split_inclusive('"') {
            let body = piece.strip_suffix('"').unwrap_or(piece);
            if !body.is_empty() {
                write!(f, "\"{body}\"")?;
            }
            if piece.ends_with('"') {
                f.write_str("'\"'")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(line: &str) -> Vec<String> {
        Word::split(line).unwrap().into_iter().map(|w| w.text).collect()
    }

    #[test]
    fn blanks_split_and_quotes_hold_together() {
        assert_eq!(texts("  vol   modify\t-volume vol1 "), ["vol", "modify", "-volume", "vol1"]);
        assert_eq!(texts(r#"-comment "two words" 'it "is"'"#), ["-comment", "two words", "it \"is\""]);
        assert_eq!(texts(r#"a"b c"d """#), ["ab cd", ""]);
        assert_eq!(texts(""), Vec::<String>::new());
        assert_eq!(Word::split("say 'no"), Err(UnclosedQuote('\'')));
    }

    #[test]
    fn hyphens_name_parameters_and_quotes_and_numbers_do_not() {
        let words = Word::split("-vol --vol \u{2013}vol \"-vol\" -5 - vol ---rwxr-x---").unwrap();
        let names: Vec<_> = words.iter().map(|w| w.parameter().map(|name| (name, w.has_one_hyphen()))).collect();
        let vol = |one| Some(("vol", one));
        assert_eq!(names, [vol(true), vol(false), vol(false), None, None, None, None, None]);
    }

    proptest! {
        #[test]
        fn a_printed_word_reads_back(text in "\\PC{0,12}|[\"' a-z]{0,12}", quoted: bool) {
            let back = Word::split(&Word { text: text.clone(), quoted }.to_string()).unwrap();
            prop_assert_eq!(back.len(), 1);
            prop_assert_eq!(&back[0].text, &text);
        }
    }
}
