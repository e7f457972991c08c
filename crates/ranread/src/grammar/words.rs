//! Separates words into values, in their order, and options with their values.

use super::GrammarError;

/// An option of a command.
pub struct Known {
    pub name: &'static str,
    /// Whether it has a value.
    pub valued: bool,
}

pub const fn valued(name: &'static str) -> Known {
    Known { name, valued: true }
}

pub const fn switch(name: &'static str) -> Known {
    Known { name, valued: false }
}

/// The words of a command.
#[derive(Debug, Default)]
pub struct Words {
    values: Vec<String>,
    options: Vec<(&'static str, String)>,
}

impl Words {
    /// Separates words; options are those of `known`, each as `--name value` or `--name=value`.
    pub fn of(typed: &[String], command: &'static str, known: &[&[Known]]) -> Result<Words, GrammarError> {
        let mut words = Words::default();
        let mut rest = typed.iter();
        while let Some(word) = rest.next() {
            let Some(option) = word.strip_prefix("--") else {
                words.values.push(word.clone());
                continue;
            };
            let (name, given) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let all = || known.iter().flat_map(|some| some.iter());
            let Some(found) = all().find(|known| known.name == name) else {
                let near = nearest::to(name, all().map(|known| known.name));
                let near = near.and_then(|near| all().map(|known| known.name).find(|name| *name == near));
                return Err(GrammarError::Option { typed: name.into(), command, near });
            };
            let form = |rule| GrammarError::Form { option: name.into(), rule };
            let value = match (found.valued, given) {
                (true, Some(value)) => value.to_owned(),
                (true, None) => rest.next().cloned().ok_or(form("needs a value behind it"))?,
                (false, None) => String::new(),
                (false, Some(_)) => return Err(form("takes no value")),
            };
            words.options.push((found.name, value));
        }
        Ok(words)
    }

    /// The value at a position; an empty one counts as absent.
    pub fn value(&self, at: usize) -> Option<&str> {
        self.values.get(at).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Refuses more than this many values.
    pub fn at_most(&self, most: usize, command: &'static str, example: &'static str) -> Result<(), GrammarError> {
        match self.values.get(most) {
            Some(given) => Err(GrammarError::Extra { command, given: given.clone(), most, example }),
            None => Ok(()),
        }
    }

    /// The option's last value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// All of the option's values.
    pub fn all(&self, name: &str) -> Vec<String> {
        self.options.iter().filter(|(known, _)| *known == name).map(|(_, value)| value.clone()).collect()
    }

    /// Whether the option was given.
    pub fn has(&self, name: &str) -> bool {
        self.option(name).is_some()
    }
}
