//! Binds the words after a command to its parameters. For every mistake it notes the words that
//! were probably meant, so that a corrected line can be proposed.

use super::Problem;
use super::lookup::{Pick, pick, pick_parameter};
use super::spec::{CommandSpec, Field, Need, Parameter};
use crate::value::{Query, Value};
use crate::word::Word;
use std::collections::BTreeMap;

/// The values of a line, by the full names of their parameters.
#[derive(Debug, Default)]
pub struct Arguments(BTreeMap<&'static str, Word>);

impl Arguments {
    /// The value of a parameter, if it was given.
    pub(crate) fn get(&self, name: &str) -> Option<&Word> {
        self.0.get(name)
    }

    /// Reads the value of a parameter, or its default.
    pub(crate) fn read<T: Field>(&self, name: &'static str, default: Option<&str>) -> Result<T, Vec<Problem>> {
        let default = default.map(Word::plain);
        T::read(self.get(name).or(default.as_ref())).map_err(|error| vec![Problem::BadValue { parameter: name, error }])
    }
}

/// The result of binding.
pub(super) struct Bound {
    pub arguments: Arguments,
    pub problems: Vec<Problem>,
    /// The words as they were probably meant; `None` if a problem has no likely fix.
    pub mended: Option<Vec<Word>>,
}

pub(super) fn bind(spec: &'static CommandSpec, words: &[Word]) -> Bound {
    let mut binder =
        Binder { spec, words, at: 0, arguments: Arguments::default(), problems: Vec::new(), mended: Some(vec![]) };
    let first_is_named = words.iter().any(|w| binder.names_first(w));
    while let Some(word) = binder.next() {
        match word.parameter() {
            Some(typed) => binder.parameter(word, typed),
            None => binder.bare(word, first_is_named),
        }
    }
    binder.missing();
    binder.apart();
    Bound { arguments: binder.arguments, problems: binder.problems, mended: binder.mended }
}

struct Binder<'a> {
    spec: &'static CommandSpec,
    words: &'a [Word],
    at: usize,
    arguments: Arguments,
    problems: Vec<Problem>,
    mended: Option<Vec<Word>>,
}

impl<'a> Binder<'a> {
    fn next(&mut self) -> Option<&'a Word> {
        let word = self.words.get(self.at);
        self.at += 1;
        word
    }

    /// The next word, if it is a value and not a parameter.
    fn next_value(&mut self) -> Option<&'a Word> {
        let word = self.words.get(self.at).filter(|w| w.parameter().is_none());
        self.at += usize::from(word.is_some());
        word
    }

    fn names(&self) -> Vec<&'static str> {
        self.spec.parameters.iter().map(|p| p.name).collect()
    }

    /// The parameter named by a word with a hyphen.
    fn named(&self, word: &Word) -> Option<&'static Parameter> {
        match pick_parameter(word.parameter()?, &self.names()) {
            Pick::One(name) => self.spec.parameter(name),
            Pick::None | Pick::Several(_) => None,
        }
    }

    fn names_first(&self, word: &Word) -> bool {
        self.named(word).is_some_and(|p| self.spec.parameters.first().is_some_and(|first| first.name == p.name))
    }

    /// The advice for a word that is a name refused here, or the beginning of one, if it is the
    /// beginning of at most one of the command's own.
    fn refused(&self, typed: &str) -> Option<&'static str> {
        if let Pick::Several(_) = pick_parameter(typed, &self.names()) {
            return None;
        }
        let own = pick_parameter(typed, &self.names());
        let typed = typed.to_ascii_lowercase();
        // An abbreviation of one of the command's own parameters means that one, unless the refused
        // name is an abbreviation of it too.
        let is_refused_first = |name: &str| match own {
            Pick::One(own) => own.starts_with(name),
            _ => true,
        };
        let means =
            |name: &str| typed == name || (!typed.is_empty() && name.starts_with(&typed) && is_refused_first(name));
        self.spec.refused.iter().find(|(name, _)| means(name)).map(|(_, instead)| *instead)
    }

    /// A word with a hyphen: find its parameter, then its value.
    fn parameter(&mut self, word: &Word, typed: &str) {
        if let Some(instead) = self.refused(typed) {
            let (path, word) = (self.spec.path, word.text.clone());
            self.problems.push(Problem::RefusedParameter { path, word, instead });
            self.mended = None;
            self.next_value();
            return;
        }
        if let Pick::Several(choices) = pick_parameter(typed, &self.names()) {
            let choices = choices.iter().map(|c| format!("-{c}")).collect();
            self.problems.push(Problem::AmbiguousParameter { word: word.text.clone(), choices });
            self.mended = None;
            self.next_value();
            return;
        }
        match self.named(word).filter(|_| word.has_one_hyphen()) {
            Some(parameter) => self.value(parameter, word),
            None => self.unknown(word, typed),
        }
    }

    fn unknown(&mut self, word: &Word, typed: &str) {
        let names = self.names();
        let meant = match pick_parameter(typed, &names) {
            Pick::One(name) => Some(name),
            _ => nearest::to(typed, names.iter().copied()),
        };
        let choices = names.iter().map(|n| format!("-{n}")).collect();
        let nearest = meant.map(|n| format!("-{n}"));
        let mended = nearest.clone().map(Word::plain);
        self.problems.push(Problem::UnknownParameter {
            path: self.spec.path,
            word: word.text.clone(),
            nearest,
            choices,
        });
        let value = self.next_value();
        match mended {
            Some(name) => self.keep([Some(name), value.cloned()].into_iter().flatten()),
            None => self.mended = None,
        }
        // It counts as given, so that it is not reported as missing as well.
        if let (Some(name), Some(value)) = (meant, value) {
            self.arguments.0.entry(name).or_insert_with(|| value.clone());
        }
    }

    /// Takes the next word as the value of a known parameter.
    fn value(&mut self, parameter: &'static Parameter, name: &Word) {
        if parameter.need == Need::Switch && self.words.get(self.at).is_none_or(|w| (parameter.check)(w).is_err()) {
            self.keep([name.clone()]);
            return self.store(parameter, &Word::plain("true"));
        }
        match self.next_value() {
            Some(value) => {
                self.keep([name.clone()]);
                self.take(parameter, value);
            }
            None => self.no_value(parameter, name),
        }
    }

    /// A parameter without a value. In `-peak-iops -allocation used-space` there is a blank too
    /// many.
    fn no_value(&mut self, parameter: &'static Parameter, typed: &Word) {
        let follows = self.words.get(self.at);
        let next = follows.map(|w| w.text.clone());
        // The blank may also be in the middle of an abbreviated name: `-qos-adaptive-policy
        // -group`.
        let halves = [Some(parameter.name), typed.parameter()].into_iter().flatten();
        let second = follows.and_then(Word::parameter).unwrap_or_default();
        let whole = halves.map(|half| format!("{half}-{second}").to_ascii_lowercase());
        let whole = whole.filter_map(|joined| self.spec.parameter(&joined)).next();
        let (Some(next), Some(whole)) = (next.clone(), whole) else {
            let syntax = parameter.syntax;
            return self.problems.push(Problem::MissingValue { parameter: parameter.name, syntax, next });
        };
        self.at += 1;
        let joined = format!("-{}", whole.name);
        self.problems.push(Problem::SplitParameter {
            parameter: parameter.name,
            typed: typed.text.clone(),
            next,
            joined: joined.clone(),
        });
        self.value(whole, &Word::plain(joined));
    }

    fn take(&mut self, parameter: &'static Parameter, value: &Word) {
        let value = whole(parameter, value);
        self.check(parameter, &value);
        self.store(parameter, &value);
    }

    fn check(&mut self, parameter: &'static Parameter, value: &Word) {
        let Err(mut error) = (parameter.check)(value) else { return self.keep([value.clone()]) };
        if value.text.contains('*') && parameter.syntax != <Query as Value>::SYNTAX {
            error.rule = format!("is a pattern; this command takes one {} alone", parameter.syntax);
        }
        match &error.meant {
            Some(meant) => self.keep([Word::plain(meant)]),
            None => self.mended = None,
        }
        self.problems.push(Problem::BadValue { parameter: parameter.name, error });
    }

    fn store(&mut self, parameter: &'static Parameter, value: &Word) {
        if let Some(first) = self.arguments.0.insert(parameter.name, value.clone()) {
            let (first, second) = (first.text, value.text.clone());
            self.problems.push(Problem::Repeated { parameter: parameter.name, first, second });
            self.mended = None;
        }
    }

    /// A value without a parameter: it belongs to the first parameter, if that is not given yet.
    fn bare(&mut self, word: &Word, first_is_named: bool) {
        match self.spec.parameters.first() {
            Some(first) if !first_is_named && !self.arguments.0.contains_key(first.name) => {
                self.take(first, word);
            }
            _ => self.unexpected(word),
        }
    }

    /// A word that belongs to no parameter. In `aqos- epic-prod1` there is a blank too many, if
    /// both halves make a value of the preceding parameter.
    fn unexpected(&mut self, word: &Word) {
        let text = word.text.clone();
        let halves = self.at.checked_sub(3).map(|i| (&self.words[i], &self.words[i + 1]));
        let halves = halves.filter(|(_, value)| value.parameter().is_none());
        let parameter = halves.and_then(|(name, value)| Some((self.named(name)?, value)));
        if let Some((parameter, value)) = parameter {
            let joined = Word { text: format!("{}{text}", value.text), quoted: value.quoted };
            // `svm01 1GB` are two values, `10 GB` is one.
            let is_another =
                value.text.ends_with(char::is_alphanumeric) && text.starts_with(|c: char| c.is_ascii_digit());
            if !is_another && (parameter.check)(&joined).is_ok() {
                if let Some(mended) = &mut self.mended {
                    mended.pop();
                    mended.push(joined.clone());
                }
                let (parameter, value) = (parameter.name, value.text.clone());
                return self.problems.push(Problem::SplitValue { word: text, parameter, value, joined: joined.text });
            }
        }
        self.problems.push(Problem::Unexpected { word: text });
        self.mended = None;
    }

    fn keep(&mut self, words: impl IntoIterator<Item = Word>) {
        if let Some(mended) = &mut self.mended {
            mended.extend(words);
        }
    }

    fn missing(&mut self) {
        for p in self.spec.parameters.iter().filter(|p| p.need == Need::Required) {
            let told = self
                .problems
                .iter()
                .any(|b| matches!(b, Problem::MissingValue { parameter, .. } if *parameter == p.name));
            if !told && !self.arguments.0.contains_key(p.name) {
                let missing = Problem::MissingParameter { parameter: p.name, syntax: p.syntax, help: p.help() };
                self.problems.push(missing);
                self.mended = None;
            }
        }
    }

    fn apart(&mut self) {
        for (first, second) in self.spec.apart {
            if self.arguments.0.contains_key(first) && self.arguments.0.contains_key(second) {
                self.problems.push(Problem::Apart { first, second });
                self.mended = None;
            }
        }
    }
}

/// The value in whole, where it is the beginning of one word of a choice. A word that has no other
/// beside it is no choice: it stands for something that may have any name.
fn whole(parameter: &Parameter, value: &Word) -> Word {
    match pick(&value.text, parameter.choices) {
        Pick::One(whole) if !value.quoted && parameter.choices.len() > 1 => Word::plain(whole),
        _ => value.clone(),
    }
}
