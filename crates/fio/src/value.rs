//! The value of one option and the ways to parse it. An error is the rule that the value breaks.

use crate::dialect::Dialect;
use crate::duration::{self, Bare};
use crate::number;
use crate::options::Triple;
use block::Span;
use stats::PerDirection;
use workload::job::Amount;

/// The rule that a value breaks, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// The value is none of the words that the option takes.
    #[error("must be one of {}{}", .words.join(", "), .meant.as_ref().map_or(String::new(), |word| format!("; did you mean {word}?")))]
    OneOf {
        /// The words that the option takes.
        words: Vec<String>,
        /// The nearest of them, if one is near.
        meant: Option<String>,
    },
    /// Any other rule, as one clause.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Rule {
    fn from(rule: String) -> Rule {
        Rule::Other(rule)
    }
}

impl From<&str> for Rule {
    fn from(rule: &str) -> Rule {
        Rule::Other(rule.to_owned())
    }
}

/// The text after the `=`.
#[derive(Clone, Copy, Debug)]
pub struct Value<'t> {
    text: &'t str,
    dialect: Dialect,
}

impl<'t> Value<'t> {
    /// The value `text`, to be parsed in `dialect`.
    pub fn new(text: &'t str, dialect: Dialect) -> Value<'t> {
        Value { text: text.trim(), dialect }
    }

    /// As typed.
    pub fn text(self) -> &'t str {
        self.text
    }

    /// How numbers are read.
    pub fn dialect(self) -> Dialect {
        self.dialect
    }

    /// Another text, parsed in the same way.
    pub fn part(self, text: &'t str) -> Value<'t> {
        Value::new(text, self.dialect)
    }

    /// Parses an owned text in the same way.
    pub fn part_owned<T>(self, text: &str, read: impl FnOnce(Value<'_>) -> T) -> T {
        read(Value::new(text, self.dialect))
    }

    /// `0` or `1`; an empty value means 1.
    pub fn flag(self) -> Result<bool, Rule> {
        match self.text {
            "" | "1" => Ok(true),
            "0" => Ok(false),
            _ => Err("must be 0 or 1".into()),
        }
    }

    /// A size in bytes.
    pub fn size(self) -> Result<u64, Rule> {
        number::whole(self.text, self.dialect).map_err(Rule::from)
    }

    /// A whole number within bounds.
    pub fn whole(self, least: u64, most: u64) -> Result<u64, Rule> {
        let number = number::whole(self.text, self.dialect)?;
        match number {
            number if (least..=most).contains(&number) => Ok(number),
            _ if most == u64::MAX => Err(format!("must be at least {least}").into()),
            _ => Err(format!("must be between {least} and {most}").into()),
        }
    }

    /// A whole number of at least `least` that fits into 32 bits.
    pub fn count(self, least: u32) -> Result<u32, Rule> {
        self.whole(u64::from(least), u64::from(u32::MAX)).map(|number| number as u32)
    }

    /// 0 to 100, with or without a percent sign.
    pub fn percent(self) -> Result<u32, Rule> {
        let bare = self.part(self.text.strip_suffix('%').unwrap_or(self.text));
        bare.whole(0, 100).map(|number| number as u32)
    }

    /// A size, or a percentage of what is there: `4g`, `50%`.
    pub fn amount(self) -> Result<Amount, Rule> {
        match self.text.strip_suffix('%') {
            Some(percent) => Ok(Amount::Percent(self.part(percent).percent()?)),
            None if self.text.ends_with(['z', 'Z']) => {
                Err("counts zones of a zoned device, which seawall does not know; write bytes or percent".into())
            }
            None => self.size().map(|bytes| Amount::Bytes(block::Bytes(bytes))),
        }
    }

    /// A duration.
    pub fn span(self, bare: Bare) -> Result<Span, Rule> {
        duration::span(self.text, bare, self.dialect).map_err(Rule::from)
    }

    /// A number with a fraction.
    pub fn fraction(self) -> Result<f64, Rule> {
        let number: f64 = self.text.parse().map_err(|_| Rule::from("is not a number"))?;
        if number.is_finite() { Ok(number) } else { Err("is not a finite number".into()) }
    }

    /// One of some words.
    pub fn choice<T: Copy>(self, words: &[(&str, T)]) -> Result<T, Rule> {
        let found = words.iter().find(|(word, _)| *word == self.text).map(|(_, value)| *value);
        // An option that may stand alone has a value for that, which has no name.
        let named = || words.iter().map(|(word, _)| *word).filter(|word| !word.is_empty());
        found.ok_or_else(|| Rule::OneOf {
            words: named().map(str::to_owned).collect(),
            meant: nearest::to(self.text, named()).map(str::to_owned),
        })
    }

    /// `reads`, `reads,writes` or `reads,writes,trims`. One value is for all directions. The second
    /// of two is for writes and trims. An empty place keeps its default.
    pub fn triple<T: Clone>(self, read: impl Fn(Value<'t>) -> Result<T, Rule>) -> Result<Triple<T>, Rule> {
        let parts: Vec<&str> = self.text.split(',').collect();
        if parts.len() > 3 && !self.dialect.strict_fio {
            return Err("takes at most three values: reads,writes,trims".into());
        }
        if self.text.is_empty() {
            return Err("needs a value".into());
        }
        let one = |index: usize| match parts[index].trim() {
            "" => Ok(None),
            part => read(self.part(part)).map(Some),
        };
        match parts.len() {
            1 => one(0).map(|value| PerDirection { read: value.clone(), write: value.clone(), trim: value }),
            2 => Ok(PerDirection { read: one(0)?, write: one(1)?, trim: one(1)? }),
            _ => Ok(PerDirection { read: one(0)?, write: one(1)?, trim: one(2)? }),
        }
    }

    /// `low-high` or `low:high`; a single value is both. Swapped bounds are put in order, as in
    /// fio.
    pub fn range<T: Ord + Copy>(self, read: impl Fn(Value<'t>) -> Result<T, Rule>) -> Result<(T, T), Rule> {
        let Some((low, high)) = self.text.split_once(['-', ':']) else {
            return read(self).map(|both| (both, both));
        };
        let (low, high) = (read(self.part(low))?, read(self.part(high))?);
        Ok((low.min(high), low.max(high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        Value::new(text, Dialect::default())
    }

    /// What `fio --bs=X` showed for R, W, T (3.33); 4096 is the default there.
    #[test]
    fn triples_fill_their_places_as_in_fio() {
        for (text, read, write, trim) in [
            ("8k", Some(8), Some(8), Some(8)),
            ("4k,8k", Some(4), Some(8), Some(8)),
            ("4k,", Some(4), None, None),
            ("4k,,8k", Some(4), None, Some(8)),
            (",8k", None, Some(8), Some(8)),
            (",8k,", None, Some(8), None),
            ("4k,8k,16k", Some(4), Some(8), Some(16)),
        ] {
            let found = value(text).triple(|v| v.size()).unwrap();
            let kib = |n: Option<u64>| n.map(|n| n << 10);
            assert_eq!((found.read, found.write, found.trim), (kib(read), kib(write), kib(trim)), "{text}");
        }
        assert!(value("1,2,3,4").triple(|v| v.size()).unwrap_err().to_string().contains("at most three"));
    }

    #[test]
    fn ranges_swap_and_single_values_double() {
        assert_eq!(value("8k-4k").range(|v| v.size()), Ok((4096, 8192)));
        assert_eq!(value("4k:8k").range(|v| v.size()), Ok((4096, 8192)));
        assert_eq!(value("4k").range(|v| v.size()), Ok((4096, 4096)));
        assert!(value("4k-").range(|v| v.size()).is_err());
    }

    #[test]
    fn words_percents_and_bounds() {
        let words = [("none", 0), ("sync", 1)];
        assert_eq!(value("sync").choice(&words), Ok(1));
        assert_eq!(
            value("syn").choice(&words).unwrap_err().to_string(),
            "must be one of none, sync; did you mean sync?"
        );
        assert_eq!(value("50%").amount(), Ok(Amount::Percent(50)));
        assert!(value("101%").amount().unwrap_err().to_string().contains("between 0 and 100"));
        assert!(value("4z").amount().unwrap_err().to_string().contains("zones"));
        assert_eq!(value("0").count(1).unwrap_err().to_string(), "must be between 1 and 4294967295");
        assert_eq!((value("").flag(), value("0").flag()), (Ok(true), Ok(false)));
        assert!(value("yes").flag().is_err());
        assert!(value("nan").fraction().is_err());
    }
}
