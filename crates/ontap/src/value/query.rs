//! A pattern that picks objects: `vol1`, `epic_rhel1_*`, `vol1|vol2`, `!vol1`. Quotes make it literal.

use super::{Value, ValueError};
use crate::word::Word;
use std::fmt;

/// What a name must look like to be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    negated: bool,
    alternatives: Vec<String>,
    literal: bool,
}

impl Query {
    /// Exactly this text.
    pub fn exact(text: impl Into<String>) -> Query {
        Query { negated: false, alternatives: vec![text.into()], literal: true }
    }

    /// The one text that it can match, where it is no pattern.
    pub fn literal(&self) -> Option<&str> {
        match &self.alternatives[..] {
            [only] if !self.negated && (self.literal || !only.contains('*')) => Some(only),
            _ => None,
        }
    }

    /// True if the text is picked. Case counts, as it does in names.
    pub fn matches(&self, text: &str) -> bool {
        let hit = |pattern: &String| if self.literal { pattern == text } else { wildcard(pattern, text) };
        self.alternatives.iter().any(hit) != self.negated
    }
}

/// `*` stands for any run of characters, also none. Linear: after a mismatch only the last star needs to grow, because
/// an earlier one could not match more than it did.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut i, mut j) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while j < t.len() {
        if p.get(i) == Some(&'*') {
            star = Some((i, j));
            i += 1;
        } else if p.get(i) == Some(&t[j]) {
            i += 1;
            j += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            i = at + 1;
            j = taken + 1;
        } else {
            return false;
        }
    }
    p[i..].iter().all(|c| *c == '*')
}

impl Value for Query {
    const SYNTAX: &'static str = "<query>";

    fn from_word(word: &Word) -> Result<Query, ValueError> {
        if word.quoted {
            return Ok(Query::exact(&word.text));
        }
        let (negated, body) = match word.text.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, word.text.as_str()),
        };
        let alternatives: Vec<String> = body.split('|').map(str::to_owned).collect();
        if alternatives.iter().any(String::is_empty) {
            return Err(ValueError::new(
                &word.text,
                "is not a query: write a name, * for any text, a|b for either, !a for not",
            ));
        }
        Ok(Query { negated, alternatives, literal: false })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.literal {
            return Word { text: self.alternatives.concat(), quoted: true }.fmt(f);
        }
        write!(f, "{}{}", if self.negated { "!" } else { "" }, self.alternatives.join("|"))
    }
}
