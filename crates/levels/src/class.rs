//! The file of classes: what each promises per TB, and what it costs a month.
//!
//! ```toml
//! currency = "EUR"
//! month_hours = 730                   # hours that a month's price is for
//!
//! [[class]]
//! name = "gold"
//! about = "databases"
//! expected_iops_per_tb = 2000         # the floor
//! peak_iops_per_tb = 4000             # the ceiling
//! absolute_min_iops = 200             # the floor of small volumes; left out, as the policy's default
//! expected_space = "allocated-space"  # or "used-space": which TB count
//! peak_space = "allocated-space"
//! block_size = "4K"                   # makes a limit in bytes of the rates; left out, 32K
//! latency_ms = 2.0                    # what the mean of an hour should not exceed
//! price_per_tb = 120.0                # for each TB of the space that the floor counts
//! price_per_iops = 0.02               # for each IOPS that is promised
//! ```

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;

/// The classes of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// The currency of prices: `EUR`.
    pub currency: String,
    /// Hours that a month's price is for.
    pub month_hours: f64,
    /// The classes, at least one.
    pub classes: Vec<Class>,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// The floor in IOPS per TB.
    pub expected_iops_per_tb: u64,
    /// The ceiling in IOPS per TB.
    pub peak_iops_per_tb: u64,
    /// The least floor, for small spaces; `None` for the policy's default.
    pub absolute_min_iops: Option<u64>,
    /// The space that the floor depends on.
    #[serde(default = "Space::allocated")]
    pub expected_space: Space,
    /// The space that the ceiling depends on.
    #[serde(default = "Space::used")]
    pub peak_space: Space,
    /// Operation size that turns the rates into limits in bytes, as in the policy's parameter.
    pub block_size: Option<String>,
    /// What the mean latency of an hour should not exceed, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Price of a TB for a month.
    #[serde(default)]
    pub price_per_tb: f64,
    /// Price of a promised IOPS for a month.
    #[serde(default)]
    pub price_per_iops: f64,
}

/// The space that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// The volume's size.
    AllocatedSpace,
    /// The space that is written.
    UsedSpace,
}

impl Space {
    fn allocated() -> Space {
        Space::AllocatedSpace
    }

    fn used() -> Space {
        Space::UsedSpace
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::AllocatedSpace => "allocated-space",
            Space::UsedSpace => "used-space",
        })
    }
}

/// What is wrong with a file of classes; one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassesError {
    /// It is not valid TOML, lacks a key or has an unknown one.
    #[error("line {line}: {what}")]
    Form {
        /// The line.
        line: usize,
        /// The error.
        what: String,
    },
    /// There is no class.
    #[error("it names no class; begin one with [[class]]")]
    Empty,
    /// Two classes have the same name.
    #[error("class {0}: is there twice; each needs a name of its own")]
    Twice(String),
    /// A value of a class breaks a rule.
    #[error("class {class}: {key}: must be {rule}, got {given}")]
    Value {
        /// The class's name.
        class: String,
        /// The key.
        key: &'static str,
        /// The rule.
        rule: String,
        /// The value given.
        given: String,
    },
    /// A value of the file as a whole breaks a rule.
    #[error("{key}: must be {rule}, got {given}")]
    Whole {
        /// The key.
        key: &'static str,
        /// The rule.
        rule: &'static str,
        /// The value given.
        given: String,
    },
}

/// Longest name of a class: a policy group's name has 127 characters, and the SVM's name has to fit
/// too.
const NAME_MAX: usize = 32;
/// The highest price, so that no sum overflows.
const PRICE_MAX: f64 = 1e9;
/// The highest rate.
const IOPS_MAX: u64 = i32::MAX as u64;
/// The block sizes of policies.
const BLOCK_SIZES: [&str; 7] = ["ANY", "4K", "8K", "16K", "32K", "64K", "128K"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "euro")]
    currency: String,
    #[serde(default = "month")]
    month_hours: f64,
    #[serde(default)]
    class: Vec<Class>,
}

fn euro() -> String {
    "EUR".into()
}

/// A twelfth of a year, in hours.
fn month() -> f64 {
    730.0
}

impl Classes {
    /// Parses the file's text.
    ///
    /// # Errors
    /// The first error in it.
    pub fn read(text: &str) -> Result<Classes, ClassesError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let (line, what) = nearest::toml::wrong(text, error.span(), error.message());
            ClassesError::Form { line, what }
        })?;
        let File { currency, month_hours, class: classes } = file;
        let whole = |key, rule, given: String| Err(ClassesError::Whole { key, rule, given });
        if !(1..=8).contains(&currency.chars().count()) || !currency.chars().all(char::is_alphabetic) {
            return whole("currency", "1 to 8 letters, as in EUR", format!("{currency:?}"));
        }
        if !(1.0..=10_000.0).contains(&month_hours) {
            return whole("month_hours", "from 1 to 10000", month_hours.to_string());
        }
        if classes.is_empty() {
            return Err(ClassesError::Empty);
        }
        let mut names = BTreeSet::new();
        for class in &classes {
            class.check()?;
            if !names.insert(&class.name) {
                return Err(ClassesError::Twice(class.name.clone()));
            }
        }
        Ok(Classes { currency, month_hours, classes })
    }

    /// The class whose policy group in an SVM has that name.
    pub fn of_policy(&self, policy: &str, svm: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.policy(svm) == policy)
    }
}

impl Class {
    /// The name of its policy group in an SVM; these names are unique in a pool.
    pub fn policy(&self, svm: &str) -> String {
        // A policy group's name must not have dots.
        format!("{}-{}", self.name, svm.replace('.', "_"))
    }

    fn check(&self) -> Result<(), ClassesError> {
        let wrong =
            |key, rule: String, given: String| Err(ClassesError::Value { class: self.name.clone(), key, rule, given });
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let named = self.name.starts_with(|c: char| c.is_ascii_alphanumeric()) && self.name.chars().all(plain);
        if !named || self.name.len() > NAME_MAX {
            let rule = format!("1 to {NAME_MAX} letters, digits, _ and -, the first a letter or digit");
            return wrong("name", rule, format!("{:?}", self.name));
        }
        let rates = [
            ("expected_iops_per_tb", self.expected_iops_per_tb),
            ("peak_iops_per_tb", self.peak_iops_per_tb),
            ("absolute_min_iops", self.absolute_min_iops.unwrap_or(1)),
        ];
        for (key, rate) in rates {
            if !(1..=IOPS_MAX).contains(&rate) {
                return wrong(key, format!("from 1 to {IOPS_MAX}"), rate.to_string());
            }
        }
        if self.expected_iops_per_tb > self.peak_iops_per_tb {
            let rule = format!("at most peak_iops_per_tb, which is {}", self.peak_iops_per_tb);
            return wrong("expected_iops_per_tb", rule, self.expected_iops_per_tb.to_string());
        }
        if let Some(size) = self.block_size.as_ref().filter(|size| !BLOCK_SIZES.contains(&size.as_str())) {
            return wrong("block_size", format!("one of {}", BLOCK_SIZES.join(", ")), format!("{size:?}"));
        }
        let latency = self.latency_ms.unwrap_or(1.0);
        if !(latency > 0.0 && latency <= 1e6) {
            return wrong("latency_ms", "above 0 and at most 1000000".into(), latency.to_string());
        }
        for (key, price) in [("price_per_tb", self.price_per_tb), ("price_per_iops", self.price_per_iops)] {
            if !(0.0..=PRICE_MAX).contains(&price) {
                return wrong(key, format!("from 0 to {PRICE_MAX}"), price.to_string());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLD: &str = "[[class]]\nname = \"gold\"\nexpected_iops_per_tb = 2000\npeak_iops_per_tb = 4000\n";

    #[test]
    fn what_is_left_out_has_its_default() {
        let classes = Classes::read(GOLD).unwrap();
        assert_eq!((classes.currency.as_str(), classes.month_hours), ("EUR", 730.0));
        let gold = &classes.classes[0];
        assert_eq!((gold.expected_space, gold.peak_space), (Space::AllocatedSpace, Space::UsedSpace));
        assert_eq!((gold.absolute_min_iops, gold.latency_ms, gold.price_per_tb), (None, None, 0.0));
        assert_eq!(gold.policy("svm.01"), "gold-svm_01");
        assert!(
            classes.of_policy("gold-svm01", "svm01").is_some() && classes.of_policy("gold-svm01", "svm02").is_none()
        );
        // A group that somebody made by the class's bare name promises whatever they gave it.
        assert!(classes.of_policy("gold", "svm01").is_none());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            (String::new(), "it names no class; begin one with [[class]]"),
            (format!("{GOLD}{GOLD}"), "class gold: is there twice"),
            (format!("{GOLD}colour = 1"), "line 5: colour: there is no such key; here it is one of name, about"),
            (GOLD.replace("name = \"gold\"\n", ""), "line 1: name: is missing"),
            (GOLD.replace("gold", "g/old"), "class g/old: name: must be 1 to 32 letters"),
            (
                GOLD.replace("2000", "5000"),
                "expected_iops_per_tb: must be at most peak_iops_per_tb, which is 4000, got 5000",
            ),
            (GOLD.replace("2000", "0"), "expected_iops_per_tb: must be from 1 to 2147483647, got 0"),
            (format!("{GOLD}price_per_tb = \"lots\""), "line 5: class.price_per_tb: must be a number, got \"lots\""),
            (
                format!("{GOLD}peak_space = \"all\""),
                "line 5: class.peak_space: must be one of allocated-space, used-space, got \"all\"",
            ),
            (format!("{GOLD}block_size = \"5K\""), "block_size: must be one of ANY, 4K"),
            (format!("{GOLD}latency_ms = 0.0"), "latency_ms: must be above 0"),
            (format!("{GOLD}price_per_tb = -1.0"), "price_per_tb: must be from 0 to 1000000000, got -1"),
            (format!("{GOLD}price_per_iops = nan"), "price_per_iops: must be"),
            (format!("month_hours = 0.0\n{GOLD}"), "month_hours: must be from 1 to 10000, got 0"),
            (format!("currency = \"\"\n{GOLD}"), "currency: must be 1 to 8 letters"),
            (format!("currency = \"1234\"\n{GOLD}"), "currency: must be 1 to 8 letters, as in EUR, got \"1234\""),
            (format!("currency = \"<b>\"\n{GOLD}"), "currency: must be 1 to 8 letters"),
            (format!("currency = \"a b\"\n{GOLD}"), "currency: must be 1 to 8 letters"),
        ] {
            let refused = Classes::read(&text).unwrap_err().to_string();
            assert!(refused.contains(words) && !refused.contains('\n'), "{text}: {refused}");
        }
    }
}
