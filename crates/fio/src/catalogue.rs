//! All options of fio's jobs, each with its name, kind of value, meaning and effect in one place.
//! The parser, the help and the table in the documentation are made from it.
//!
//! Options that fio has and seawall lacks are in `missing`, with the nearest replacement of each.

mod course;
mod data;
mod missing;
mod pace;
mod pattern;
mod report;
mod target;

use crate::dialect::Dialect;
use crate::options::{Engine, Options};
use crate::value::{Rule, Value};

/// An option of a job.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// fio's name for it.
    pub name: &'static str,
    /// Its aliases.
    pub aliases: &'static [&'static str],
    /// The kind of value it takes.
    pub form: Form,
    /// Its meaning, in a few words.
    pub about: &'static str,
    /// Stores a value in the options; an error is the rule that the value breaks.
    pub set: Set,
}

/// Stores a value in the options.
pub type Set = fn(&mut Options, Value<'_>) -> Result<(), Rule>;

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 0 or 1; without a value it means 1.
    Flag,
    /// 0 or 1. fio requires the value; here it is optional.
    Bool,
    /// A whole number.
    Whole,
    /// Bytes, with a unit.
    Size,
    /// A duration, with a unit.
    Time,
    /// A number with a fraction.
    Fraction,
    /// The beginning of a file's name; without a value it is the job's name.
    Prefix,
    /// Anything else, such as this example.
    Text(&'static str),
}

impl Form {
    /// Whether the value is optional.
    pub fn may_stand_alone(self) -> bool {
        matches!(self, Form::Flag | Form::Bool | Form::Prefix)
    }

    /// A valid value, for messages.
    pub fn example(self) -> &'static str {
        match self {
            Form::Flag | Form::Bool | Form::Whole => "1",
            Form::Size => "4k",
            Form::Time => "60s",
            Form::Fraction => "99.9",
            Form::Prefix => "run1",
            Form::Text(example) => example,
        }
    }

    /// Its name in help.
    pub fn name(self) -> &'static str {
        match self {
            Form::Flag => "flag",
            Form::Bool => "0 or 1",
            Form::Whole => "number",
            Form::Size => "size",
            Form::Time => "duration",
            Form::Fraction => "number with a fraction",
            Form::Prefix => "prefix of a name",
            Form::Text(_) => "text",
        }
    }
}

const fn option(name: &'static str, form: Form, about: &'static str, set: Set) -> Definition {
    Definition { name, aliases: &[], form, about, set }
}

impl Definition {
    const fn also(mut self, aliases: &'static [&'static str]) -> Definition {
        self.aliases = aliases;
        self
    }

    /// The words that it takes, if it takes only certain words.
    pub fn words(&self) -> Option<Vec<String>> {
        // No option takes this value.
        match (self.set)(&mut Options::default(), Value::new("????????", Dialect::default())) {
            Err(Rule::OneOf { words, .. }) => Some(words),
            _ => None,
        }
    }

    fn has_name(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// fio sorts the options of a section before it reads them: units come first and names of files
    /// last.
    pub fn rank(&self) -> i32 {
        match self.name {
            "kb_base" | "unit_base" => -1,
            "filename" | "filename_format" => 1,
            _ => 0,
        }
    }
}

/// All options by subject.
pub const SUBJECTS: [(&str, &[Definition]); 6] = [
    ("Files, devices, engines", target::OPTIONS),
    ("Directions, places, block sizes", pattern::OPTIONS),
    ("Depth, rates, pauses", pace::OPTIONS),
    ("Data, checking, durability", data::OPTIONS),
    ("Clones, groups, start and end", course::OPTIONS),
    ("Reports and logs", report::OPTIONS),
];

/// All options.
pub fn all() -> impl Iterator<Item = &'static Definition> {
    SUBJECTS.iter().flat_map(|(_, options)| options.iter())
}

/// The option with this name.
pub fn find(name: &str) -> Option<&'static Definition> {
    all().find(|definition| definition.has_name(name))
}

/// The engines: name, kind here, and how they differ from fio's.
pub fn engines() -> impl Iterator<Item = (&'static str, Engine, &'static str)> {
    target::ENGINES.into_iter()
}

/// The options that only this engine has.
pub fn engine_options(engine: Engine) -> impl Iterator<Item = &'static Definition> {
    let of_engine = target::ENGINE_OPTIONS.iter().filter(move |(other, _)| *other == engine);
    of_engine.flat_map(|(_, names)| names.iter()).filter_map(|name| find(name))
}

/// The replacement for an engine that fio has and seawall lacks.
pub fn engine_replacement(name: &str) -> Option<&'static str> {
    target::MISSING_ENGINES.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

/// The replacement for an option that fio has and seawall lacks.
pub fn replacement(name: &str) -> Option<&'static str> {
    missing::OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

/// The options that fio has and seawall lacks, each with its replacement.
pub fn missing() -> impl Iterator<Item = (&'static str, &'static str)> {
    missing::OPTIONS.iter().flat_map(|(names, instead)| names.iter().map(move |name| (*name, *instead)))
}

/// The option whose name is nearest to what was typed: by spelling, or else one that begins with
/// it.
pub fn nearest_to(typed: &str) -> Option<String> {
    let names = || all().flat_map(|definition| std::iter::once(&definition.name).chain(definition.aliases)).copied();
    let by_beginning = || names().find(|name| typed.len() >= 3 && name.starts_with(typed));
    nearest::to(typed, names()).or_else(by_beginning).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_stands_once() {
        let mut seen = BTreeSet::new();
        let ours = all().flat_map(|d| std::iter::once(&d.name).chain(d.aliases)).copied();
        for name in ours.chain(missing().map(|(name, _)| name)) {
            assert!(seen.insert(name), "{name} occurs twice");
        }
    }

    #[test]
    fn the_nearest_is_found() {
        assert_eq!(nearest_to("iodepht").as_deref(), Some("iodepth"));
        assert_eq!(nearest_to("bss").as_deref(), Some("bs"));
        assert_eq!(nearest_to("thinktim").as_deref(), Some("thinktime"));
        assert_eq!(nearest_to("qqqqqq"), None);
    }

    #[test]
    fn words_are_those_that_are_taken() {
        let words = |name: &str| find(name).unwrap().words().map(|words| words.join(", "));
        assert_eq!(words("zonemode").as_deref(), Some("none, strided, zbd"));
        assert!(words("rw").unwrap().starts_with("read, write, "));
        assert!(words("verify").unwrap().ends_with(", pattern_hdr"), "no guess at what was meant");
        assert_eq!((words("filename"), words("iodepth")), (None, None));
    }

    #[test]
    fn options_of_engines_are_options() {
        for (engine, names) in target::ENGINE_OPTIONS {
            let found: Vec<&str> = engine_options(*engine).map(|definition| definition.name).collect();
            assert_eq!(found, *names);
        }
        assert_eq!(engine_options(Engine::Null).count(), 0);
    }

    /// An example in a message must be a value that the option accepts.
    #[test]
    fn examples_are_values() {
        for definition in all() {
            let value = Value::new(definition.form.example(), Dialect::default());
            let set = (definition.set)(&mut Options::default(), value);
            assert_eq!(set, Ok(()), "{}={}", definition.name, definition.form.example());
        }
    }
}
