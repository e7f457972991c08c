//! Queries on fields, as in `show` commands and `volume modify -volume`: `vol1`, `epic_rhel1_*`,
//! `vol1|vol2`, `!vol1`, `>1GB`, `10..20`. Quotes make a query literal.

use super::{Value, ValueError};
use crate::word::Word;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// If true, values that match none of the terms are selected.
    negated: bool,
    /// At least one.
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// Exactly this.
    Exact(String),
    /// With `*` for any text.
    Pattern(String),
    /// Smaller or larger than this.
    Compare(Comparison, String),
    /// From this to that, both included.
    Range(String, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
}

const COMPARISONS: [(&str, Comparison); 4] =
    [("<=", Comparison::AtMost), (">=", Comparison::AtLeast), ("<", Comparison::Less), (">", Comparison::More)];

const RULE: &str = "is not a query: write a name, * for any text, a|b for either, !a for not, <a, <=a, >a, >=a or a..b";

impl Query {
    /// Exactly this text, without special characters.
    pub fn exact(text: impl Into<String>) -> Query {
        Query { negated: false, terms: vec![Term::Exact(text.into())] }
    }

    /// The one text that it can match, if it is not a pattern.
    pub fn literal(&self) -> Option<&str> {
        match &self.terms[..] {
            [Term::Exact(only)] if !self.negated => Some(only),
            _ => None,
        }
    }

    /// Whether the text is selected. Case counts, as it does in names; `<` and the like compare
    /// alphabetically.
    pub fn matches(&self, text: &str) -> bool {
        let by_alphabet = |other: &str| Some(text.cmp(other));
        self.terms.iter().any(|term| term.holds(text, by_alphabet)) != self.negated
    }

    /// Whether a list is selected: if any of its names matches a term, or none does where the query
    /// is negated.
    pub fn matches_any(&self, names: &[String]) -> bool {
        let is_one =
            |name: &String| self.terms.iter().any(|term| term.holds(name, |other| Some(name.as_str().cmp(other))));
        names.iter().any(is_one) != self.negated
    }

    /// Whether a number is selected that is printed as `text`; `read` returns the number of an
    /// operand. An operand that is not a number selects nothing.
    pub fn matches_number(&self, number: u64, text: &str, read: impl Fn(&str) -> Option<u64>) -> bool {
        self.matches_value(number, text, read, |one, other| Some(one.cmp(&other)))
    }

    /// The same for a value that is compared by `order`, which may be partial: two values are equal
    /// if they compare as equal in both directions.
    pub fn matches_value<T: Copy>(
        &self,
        value: T,
        text: &str,
        read: impl Fn(&str) -> Option<T>,
        order: impl Fn(T, T) -> Option<Ordering>,
    ) -> bool {
        let is_equal = |one: T, other: T| order(one, other) == Some(Ordering::Equal);
        let is_same = |term: &Term| match term {
            Term::Exact(other) => read(other).is_some_and(|other| is_equal(value, other) && is_equal(other, value)),
            _ => false,
        };
        let with = |other: &str| read(other).and_then(|other| order(value, other));
        self.terms.iter().any(|term| is_same(term) || term.holds(text, with)) != self.negated
    }

    /// The operands, without patterns, and whether each is in a comparison.
    pub(super) fn operands(&self) -> impl Iterator<Item = (&str, bool)> {
        self.terms
            .iter()
            .flat_map(|term| match term {
                Term::Exact(text) => [Some((text.as_str(), false)), None],
                Term::Pattern(_) => [None, None],
                Term::Compare(_, operand) => [Some((operand.as_str(), true)), None],
                Term::Range(from, to) => [Some((from.as_str(), true)), Some((to.as_str(), true))],
            })
            .flatten()
    }
}

impl Term {
    fn read(text: &str) -> Option<Term> {
        for (sign, comparison) in COMPARISONS {
            if let Some(operand) = text.strip_prefix(sign) {
                return (!operand.is_empty()).then(|| Term::Compare(comparison, operand.to_owned()));
            }
        }
        match text.split_once("..") {
            _ if text.is_empty() => None,
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Some(Term::Range(from.to_owned(), to.to_owned())),
            Some(_) => None,
            None if text.contains('*') => Some(Term::Pattern(text.to_owned())),
            None => Some(Term::Exact(text.to_owned())),
        }
    }

    fn holds(&self, text: &str, order: impl Fn(&str) -> Option<Ordering>) -> bool {
        match self {
            Term::Exact(other) => other == text,
            Term::Pattern(pattern) => wildcard(pattern, text),
            Term::Compare(comparison, operand) => order(operand).is_some_and(|order| comparison.holds(order)),
            Term::Range(from, to) => order(from).is_some_and(Ordering::is_ge) && order(to).is_some_and(Ordering::is_le),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::AtMost => order.is_le(),
            Comparison::More => order.is_gt(),
            Comparison::AtLeast => order.is_ge(),
        }
    }
}

/// `*` matches any run of characters, including none. After a mismatch only the last star has to
/// grow, because an earlier one could not match more than it did. So the work is bounded by the
/// product of the lengths.
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

impl FromStr for Query {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Query, ValueError> {
        let (negated, body) = match text.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let terms: Option<Vec<Term>> = body.split('|').map(Term::read).collect();
        terms.map(|terms| Query { negated, terms }).ok_or_else(|| ValueError::new(text, RULE))
    }
}

impl Value for Query {
    const SYNTAX: &'static str = "<query>";

    fn from_word(word: &Word) -> Result<Query, ValueError> {
        if word.quoted { Ok(Query::exact(&word.text)) } else { word.text.parse() }
    }
}

/// As it would be typed: a text that would not parse as itself is quoted.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.literal() {
            let quoted = text.parse().as_ref() != Ok(self);
            return Word { text: text.to_owned(), quoted }.fmt(f);
        }
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        write!(f, "{}{}", if self.negated { "!" } else { "" }, terms.join("|"))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Exact(text) | Term::Pattern(text) => f.write_str(text),
            Term::Compare(comparison, operand) => {
                let sign = COMPARISONS.iter().find(|(_, c)| c == comparison).map_or("", |(sign, _)| sign);
                write!(f, "{sign}{operand}")
            }
            Term::Range(from, to) => write!(f, "{from}..{to}"),
        }
    }
}
