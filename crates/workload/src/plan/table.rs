//! Reads a TOML table key by key, each value with its line, and reports every mistake.
//!
//! A getter returns `None` both for a missing key and for a wrong value. The mistake is reported
//! then, and a plan with any mistake is never used. So callers use any default and go on to find
//! the remaining mistakes.

use super::error::{PlanError, PlanErrors, Problem};
use super::space::{PlanUnits, parse_space};
use super::{advice, duration, unfold};
use block::{Bytes, BytesPerSecond, Span};
use std::cell::{Cell, RefCell};
use toml::de::{DeTable, DeValue};

/// Maximum number of characters of a wrong value or key that a message repeats.
const GIVEN_MAX: usize = 60;
/// The form of a whole number, for messages.
const WHOLE: &str = "a whole number without quotes, sign, unit or point";
/// Maximum number of characters of a parser's message, which also repeats the value.
const WHY_MAX: usize = 200;

/// Collects the mistakes of one plan file.
pub(super) struct Report<'t> {
    file: &'t str,
    /// For each line the index of the byte after it.
    line_ends: Vec<usize>,
    errors: RefCell<Vec<PlanError>>,
    /// Units of space, which the file itself sets.
    units: Cell<PlanUnits>,
}

/// A table of the file.
#[derive(Clone)]
pub(super) struct Table<'t> {
    report: &'t Report<'t>,
    entries: &'t DeTable<'t>,
    /// Its name in messages: `[[workload]]`.
    name: &'static str,
    /// Prefix of its keys in messages: empty, or the workload that a phase changes and a dot.
    within: String,
    line: u32,
}

/// A value and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) line: u32,
}

impl<'t> Report<'t> {
    pub(super) fn new(text: &str, file: &'t str) -> Report<'t> {
        let line_ends = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Report { file, line_ends, errors: RefCell::default(), units: Cell::default() }
    }

    pub(super) fn note(&self, line: u32, problem: Problem) {
        self.errors.borrow_mut().push(PlanError { file: self.file.into(), line: Some(line), problem });
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        1 + self.line_ends.partition_point(|&end| end <= at) as u32
    }

    pub(super) fn is_clean(&self) -> bool {
        self.errors.borrow().is_empty()
    }

    /// All mistakes in the file's order.
    pub(super) fn into_errors(self) -> PlanErrors {
        let mut errors = self.errors.into_inner();
        errors.sort_by_key(|error| error.line);
        PlanErrors(errors)
    }
}

impl<'t> Table<'t> {
    /// The root table of the document.
    pub(super) fn root(report: &'t Report<'t>, entries: &'t DeTable<'t>) -> Table<'t> {
        Table { report, entries, name: "the plan", within: String::new(), line: 1 }
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Its name in messages: `[[workload]]`.
    pub(super) fn called(&self) -> &'static str {
        self.name
    }

    /// Prefix of its keys in messages.
    pub(super) fn within(&self) -> &str {
        &self.within
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The line of a key, or the table's line if it is missing.
    pub(super) fn line_of(&self, key: &str) -> u32 {
        self.entries.get_key_value(key).map_or(self.line, |(key, _)| self.report.line(key.span().start))
    }

    /// `file:line` of a key, or of the table if it is missing.
    pub(super) fn place_of(&self, key: &str) -> String {
        format!("{}:{}", self.report.file, self.line_of(key))
    }

    /// Its keys and their lines.
    pub(super) fn keys(&self) -> impl Iterator<Item = Found<&'t str>> {
        self.entries.keys().map(|key| Found { value: &**key.get_ref(), line: self.report.line(key.span().start) })
    }

    /// Reports every key that is not in `known`.
    pub(super) fn only(&self, known: &[&str]) {
        for key in self.keys() {
            if !known.contains(&key.value) {
                let advice = advice::advice(key.value, known);
                self.note(key.line, Problem::UnknownKey { key: self.full(key.value), table: self.name, advice });
            }
        }
    }

    pub(super) fn note(&self, line: u32, problem: Problem) {
        self.report.note(line, problem);
    }

    /// Reports that `key` is missing; a key with a wrong value was reported already.
    pub(super) fn missing(&self, key: &str, advice: &'static str) {
        if !self.has(key) {
            self.note(self.line, Problem::Missing { key: self.full(key), table: self.name, advice });
        }
    }

    /// Reports that the value of `key` breaks a rule.
    pub(super) fn wrong(&self, key: &str, rule: impl Into<String>, advice: impl Into<String>) {
        if let Some(found) = self.raw(key) {
            self.wrong_value(key, found, rule, advice);
        }
    }

    /// The key with its prefix, as in messages.
    pub(super) fn full(&self, key: &str) -> String {
        format!("{}{}", self.within, short(key.escape_debug().to_string(), GIVEN_MAX))
    }

    /// Non-empty text on one line.
    pub(super) fn text(&self, key: &str) -> Option<Found<&'t str>> {
        let found = self.raw(key)?;
        let (rule, advice) = match found.value.as_str() {
            Some(text) if is_one_line(text) => return Some(Found { value: text, line: found.line }),
            Some(text) if text.trim().is_empty() => ("not empty", "write it between the quotes, or leave the key out"),
            Some(_) => ("text on one line, without control characters", "leave them out"),
            None => ("text on one line, not empty", "put it in quotes"),
        };
        self.wrong_value(key, found, rule, advice);
        None
    }

    /// A name: text of letters, digits, `_`, `-` and `.`, so that it can be used in paths and
    /// commands.
    pub(super) fn name(&self, key: &str) -> Option<Found<&'t str>> {
        let found = self.text(key)?;
        let good = is_name(found.value);
        if !good {
            self.wrong(key, NAME_RULE, "choose a plainer name");
        }
        good.then_some(found)
    }

    /// The names that a name stands for; see [`unfold`].
    pub(super) fn names(&self, key: &str) -> Vec<String> {
        let Some(found) = self.text(key) else { return Vec::new() };
        let names = unfold(found.value);
        let good = names.iter().all(|name| is_name(name));
        if !good {
            self.wrong(key, NAME_RULE, "choose a plainer name; dev{01..30} is up to 100 names");
        }
        if good { names } else { Vec::new() }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Option<T> {
        let found = self.text(key)?;
        let known: Vec<_> = words.iter().map(|&(word, _)| word).collect();
        let choice = words.iter().find(|(word, _)| *word == found.value).map(|&(_, choice)| choice);
        if choice.is_none() {
            let meant = advice::meant(found.value, &known).unwrap_or_else(|| "choose one of them".into());
            self.wrong(key, known.join(" or "), meant);
        }
        choice
    }

    /// A boolean.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let found = self.raw(key)?;
        let DeValue::Boolean(flag) = found.value else {
            self.wrong_value(key, found, "true or false", "write it without quotes");
            return None;
        };
        Some(*flag)
    }

    /// An unsigned 64-bit number.
    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        self.integer(key, u64::MAX)
    }

    /// A whole number whose range is named in messages about other values. The caller checks the
    /// range.
    pub(super) fn whole_of(&self, key: &str, least: u64, most: u64) -> Option<u64> {
        let range = format!("a whole number from {least} to {most}");
        self.integer_or(key, u64::MAX, |_| (range.clone(), "without quotes, unit or point"))
    }

    /// An unsigned 32-bit number.
    pub(super) fn count(&self, key: &str) -> Option<u32> {
        self.integer(key, u64::from(u32::MAX)).map(|number| number as u32)
    }

    /// A fraction: above 0 and up to 1.
    pub(super) fn part(&self, key: &str) -> Option<f64> {
        self.number(key, 0.0, 1.0, "0.95 means 95 %")
    }

    /// A number above `above` and up to `most`; `advice` is for values outside.
    pub(super) fn number(&self, key: &str, above: f64, most: f64, advice: &str) -> Option<f64> {
        let found = self.raw(key)?;
        let number = match found.value {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let number = number.filter(|&number: &f64| number > above && number <= most);
        if number.is_none() {
            self.wrong_value(key, found, format!("a number above {above} and up to {most}"), advice);
        }
        number
    }

    /// A size: a number of bytes, or text with a unit.
    pub(super) fn size(&self, key: &str) -> Option<Bytes> {
        let found = self.raw(key)?;
        let Some(text) = found.value.as_str() else { return self.whole(key).map(Bytes) };
        self.readable(key, text.parse::<Bytes>())
    }

    /// A bandwidth with its unit.
    pub(super) fn rate(&self, key: &str) -> Option<BytesPerSecond> {
        let found = self.text(key)?;
        self.readable(key, found.value.parse())
    }

    /// A size of space: like [`Table::size`], but in the units of the plan's server.
    pub(super) fn space(&self, key: &str) -> Option<Bytes> {
        let found = self.raw(key)?;
        let Some(text) = found.value.as_str() else { return self.whole(key).map(Bytes) };
        self.readable(key, parse_space(text, self.report.units.get()))
    }

    /// Sets the units of all sizes of space that are read from now on.
    pub(super) fn count_in(&self, units: PlanUnits) {
        self.report.units.set(units);
    }

    /// A duration with its unit.
    pub(super) fn duration(&self, key: &str) -> Option<Span> {
        let found = self.text(key)?;
        self.readable(key, duration::parse_duration(found.value))
    }

    /// An array of texts, each on one line.
    pub(super) fn texts(&self, key: &str) -> Vec<Found<&'t str>> {
        let Some(found) = self.raw(key) else { return Vec::new() };
        let DeValue::Array(items) = found.value else {
            self.wrong_value(key, found, "a list of texts", "put it in brackets: [\"…\"]");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            let line = self.report.line(item.span().start);
            match item.get_ref().as_str().filter(|text| is_one_line(text)) {
                Some(value) => texts.push(Found { value, line }),
                None => {
                    let item = Found { value: item.get_ref(), line };
                    self.wrong_value(key, item, "a list of texts on one line each, none empty", "correct this one");
                }
            }
        }
        texts
    }

    /// A single text or an array of texts; empty if the key is missing.
    pub(super) fn text_or_texts(&self, key: &str) -> Vec<Found<&'t str>> {
        match self.raw(key) {
            Some(found) if matches!(found.value, DeValue::Array(_)) => self.texts(key),
            _ => self.text(key).into_iter().collect(),
        }
    }

    /// The table under `key`, called `name` in messages.
    pub(super) fn table(&self, key: &str, name: &'static str) -> Option<Table<'t>> {
        let found = self.raw(key)?;
        let DeValue::Table(entries) = found.value else {
            self.wrong_value(key, found, format!("a table {name}"), "write its keys below that line");
            return None;
        };
        Some(Table { entries, name, within: String::new(), line: self.line_of(key), report: self.report })
    }

    /// The table under `key`, if it is one, with keys that messages prefix by its name:
    /// `server1.depth`.
    pub(super) fn table_within(&self, key: &str) -> Option<Table<'t>> {
        let entries = self.raw(key)?.value.as_table()?;
        let within = format!("{}.", self.full(key));
        Some(Table { entries, name: self.name, within, line: self.line_of(key), report: self.report })
    }

    /// Whether the value of `key` is an array.
    pub(super) fn is_list(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|found| matches!(found.value, DeValue::Array(_)))
    }

    /// Whether the value of `key` is an empty array.
    pub(super) fn is_empty_list(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|found| matches!(found.value, DeValue::Array(items) if items.is_empty()))
    }

    /// The array of tables under `key`, called `name` in messages.
    pub(super) fn tables(&self, key: &str, name: &'static str) -> Vec<Table<'t>> {
        let Some(found) = self.raw(key) else { return Vec::new() };
        let items = found.value.as_array().map_or(&[][..], |items| &items[..]);
        let tables: Vec<_> = items
            .iter()
            .filter_map(|item| {
                let line = self.report.line(item.span().start);
                let entries = item.get_ref().as_table()?;
                Some(Table { entries, name, within: String::new(), line, report: self.report })
            })
            .collect();
        if tables.is_empty() || tables.len() != items.len() {
            self.wrong_value(key, found, format!("tables {name}"), "write its keys below a line of that form");
        }
        tables
    }

    fn raw(&self, key: &str) -> Option<Found<&'t DeValue<'t>>> {
        let value = self.entries.get(key)?;
        Some(Found { value: value.get_ref(), line: self.line_of(key) })
    }

    /// The parsed value of `key`; reports why it could not be parsed.
    fn readable<T, E: std::fmt::Display>(&self, key: &str, read: Result<T, E>) -> Option<T> {
        read.map_err(|why| {
            let problem = Problem::Unreadable { key: self.full(key), why: short(why.to_string(), WHY_MAX) };
            self.note(self.line_of(key), problem);
        })
        .ok()
    }

    fn integer(&self, key: &str, most: u64) -> Option<u64> {
        // Further rules for a number are checked by the caller.
        self.integer_or(key, most, |is_negative| match is_negative {
            true => (WHOLE.into(), "such as 8"),
            false => ("a smaller number".into(), "this one has too many digits"),
        })
    }

    /// `wrong` returns the rule and the advice for a number that is too large or, given true,
    /// negative.
    fn integer_or(&self, key: &str, most: u64, wrong: impl Fn(bool) -> (String, &'static str)) -> Option<u64> {
        let found = self.raw(key)?;
        let DeValue::Integer(digits) = found.value else {
            self.wrong_value(key, found, WHOLE, "such as 8");
            return None;
        };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok().filter(|&number| number <= most);
        if number.is_none() {
            let (rule, advice) = wrong(digits.as_str().starts_with('-'));
            self.wrong_value(key, found, rule, advice);
        }
        number
    }

    fn wrong_value(&self, key: &str, found: Found<&DeValue<'_>>, rule: impl Into<String>, advice: impl Into<String>) {
        let (key, given) = (self.full(key), given(found.value));
        self.note(found.line, Problem::Value { key, rule: rule.into(), given, advice: advice.into() });
    }
}

/// A value on one line, as a message repeats it.
fn given(value: &DeValue<'_>) -> String {
    let text = match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(items) if items.is_empty() => "an empty list".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    };
    short(text, GIVEN_MAX)
}

fn short(text: String, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The rule of [`is_name`], for messages.
const NAME_RULE: &str = "1 to 64 letters, digits, _, - and ., the first a letter, digit or _";

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    text.len() <= 64 && text.chars().all(plain) && !text.starts_with(['-', '.'])
}

fn is_one_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}
