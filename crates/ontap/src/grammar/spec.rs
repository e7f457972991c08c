//! The shape of a table row: a command, its parameters, and how a field of its struct is read from
//! the command line.

use super::{Arguments, Problem};
use crate::catalogue::Command;
use crate::value::{Switch, Value, ValueError};
use crate::word::Word;

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// Its words, for example `volume create`.
    pub path: &'static str,
    pub(crate) help: &'static str,
    /// Its parameters; the first may be given without its name.
    pub parameters: &'static [Parameter],
    /// Pairs of parameters that exclude one another.
    pub apart: &'static [(&'static str, &'static str)],
    /// Names of other commands' parameters that must not be taken for abbreviations of this
    /// command's own, with what to write instead.
    pub refused: &'static [(&'static str, &'static str)],
    /// For a `show` command: the fields that together identify an object.
    pub keys: &'static [&'static str],
    pub(crate) build: fn(&Arguments) -> Result<Command, Vec<Problem>>,
}

/// One parameter of a command.
#[derive(Debug)]
pub struct Parameter {
    /// Its name without the hyphen.
    pub name: &'static str,
    /// Whether it may be left out.
    pub need: Need,
    /// How its value is written.
    pub syntax: &'static str,
    /// The words that its value can be, if there are only a few.
    pub choices: &'static [&'static str],
    /// The value that is used if it is left out.
    pub default: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) check: fn(&Word) -> Result<(), ValueError>,
}

/// Whether a parameter may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must be given.
    Required,
    /// It may be left out.
    Optional,
    /// It may be left out, and its value too: the name alone means `true`.
    Switch,
}

impl CommandSpec {
    /// Its words one by one.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.path.split(' ')
    }

    /// What it does, in a sentence.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// The parameter with exactly this name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// For a `show` command: the fields that can be shown, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        let names = self.parameters.iter().map(|p| p.name);
        names.filter(|n| !["fields", "instance", "output"].contains(n)).filter(|_| !self.keys.is_empty())
    }

    /// The command with its parameters; brackets are around what may be left out.
    pub fn usage(&self) -> String {
        self.usage_parts().collect::<Vec<_>>().join(" ")
    }

    /// The parts of the usage that must not be split across lines.
    pub(super) fn usage_parts(&self) -> impl Iterator<Item = String> {
        let parameters = self.parameters.iter().enumerate().map(|(i, p)| {
            let name =
                if i == 0 && p.need == Need::Required { format!("[-{}]", p.name) } else { format!("-{}", p.name) };
            match p.need {
                Need::Required => format!("{name} {}", p.syntax),
                Need::Optional => format!("[{name} {}]", p.syntax),
                Need::Switch => format!("[{name}]"),
            }
        });
        std::iter::once(self.path.to_owned()).chain(parameters)
    }
}

impl Parameter {
    /// The row for a parameter whose value is a `T`.
    pub(crate) const fn new<T: Field>(
        name: &'static str,
        help: &'static str,
        default: Option<&'static str>,
    ) -> Parameter {
        let need = match (T::NEED, default) {
            (Need::Required, Some(_)) => Need::Optional,
            (need, _) => need,
        };
        Parameter { name, need, syntax: T::SYNTAX, choices: T::CHOICES, default, help, check: T::check }
    }

    /// What it is, in a sentence.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }
}

/// The possible types of a field in a command's struct: a value (which is then required), an
/// `Option` of one, or a [`Switch`].
pub(crate) trait Field: Sized {
    const NEED: Need;
    const SYNTAX: &'static str;
    const CHOICES: &'static [&'static str];

    /// Checks that the word is a valid value.
    fn check(word: &Word) -> Result<(), ValueError>;

    /// Reads the value; `word` is `None` if it was left out and has no default.
    fn read(word: Option<&Word>) -> Result<Self, ValueError>;
}

impl<T: Value> Field for T {
    const NEED: Need = Need::Required;
    const SYNTAX: &'static str = T::SYNTAX;
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn check(word: &Word) -> Result<(), ValueError> {
        T::from_word(word).map(drop)
    }

    fn read(word: Option<&Word>) -> Result<T, ValueError> {
        // Required parameters are checked before anything is built; this error is for a caller that
        // did not.
        word.map_or_else(|| Err(ValueError::new("", "is missing")), T::from_word)
    }
}

impl<T: Value> Field for Option<T> {
    const NEED: Need = Need::Optional;
    const SYNTAX: &'static str = T::SYNTAX;
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn check(word: &Word) -> Result<(), ValueError> {
        T::from_word(word).map(drop)
    }

    fn read(word: Option<&Word>) -> Result<Option<T>, ValueError> {
        word.map(T::from_word).transpose()
    }
}

impl Field for Switch {
    const NEED: Need = Need::Switch;
    const SYNTAX: &'static str = <bool as Value>::SYNTAX;
    const CHOICES: &'static [&'static str] = <bool as Value>::CHOICES;

    fn check(word: &Word) -> Result<(), ValueError> {
        bool::from_word(word).map(drop)
    }

    fn read(word: Option<&Word>) -> Result<Switch, ValueError> {
        word.map_or(Ok(Switch(false)), |w| bool::from_word(w).map(Switch))
    }
}
