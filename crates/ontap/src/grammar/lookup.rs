//! Finds the command at the start of a line. Every word may be abbreviated as long as it is
//! unambiguous.

use super::Problem;
use super::spec::CommandSpec;
use crate::catalogue::{self, OUTPUT};
use crate::word::Word;

/// A line split into its command and its arguments.
pub(super) struct Found<'a> {
    pub spec: &'static CommandSpec,
    /// The words of the command, as typed.
    pub command: &'a [Word],
    /// The words that follow.
    pub arguments: &'a [Word],
}

/// A line that does not start with a command.
pub(super) struct Miss {
    pub problem: Problem,
    pub mended: Option<Vec<Word>>,
}

/// Follows the words, keeping the rows that still match.
pub(super) fn find(words: &[Word]) -> Result<Found<'_>, Miss> {
    let mut path: Vec<&'static str> = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let next = next_words(&path);
        if next.is_empty() {
            break;
        }
        if word.parameter().is_some() {
            return Err(Miss { problem: incomplete(&path, &next), mended: None });
        }
        match pick(&word.text, &next) {
            Pick::One(full) => path.push(full),
            Pick::None => return Err(unknown(words, i, &path, &next)),
            Pick::Several(choices) => return Err(Miss { problem: ambiguous(&word.text, &choices), mended: None }),
        }
    }
    let (command, arguments) = words.split_at(path.len());
    match catalogue::specs().find(|s| s.words().eq(path.iter().copied())) {
        Some(spec) => Ok(Found { spec, command, arguments }),
        None if path.is_empty() => Err(Miss { problem: Problem::Empty, mended: None }),
        None => Err(Miss { problem: incomplete(&path, &next_words(&path)), mended: None }),
    }
}

/// What an abbreviation stands for.
pub(super) enum Pick {
    None,
    One(&'static str),
    Several(Vec<&'static str>),
}

/// The one choice that begins with what was typed; an exact match always wins. Case does not count.
pub(super) fn pick(typed: &str, choices: &[&'static str]) -> Pick {
    if let Some(exact) = choices.iter().find(|c| c.eq_ignore_ascii_case(typed)) {
        return Pick::One(exact);
    }
    let begins = |c: &&str| c.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed));
    let fitting: Vec<&'static str> = choices.iter().copied().filter(|c| !typed.is_empty() && begins(c)).collect();
    match fitting[..] {
        [] => Pick::None,
        [one] => Pick::One(one),
        _ => Pick::Several(fitting),
    }
}

/// The parameter that a name or an abbreviation stands for. `-output` is not a parameter of ONTAP,
/// so an abbreviation that fits another one too means that one: `-o` is `-ostype` in `lun show`, as
/// in published lines. A complete name may be written without its hyphens, because older releases
/// have `-messagename`.
pub(super) fn pick_parameter(typed: &str, names: &[&'static str]) -> Pick {
    match pick(typed, names) {
        Pick::Several(fitting) => {
            let theirs: Vec<&'static str> = fitting.into_iter().filter(|name| *name != OUTPUT.name).collect();
            if let [one] = theirs[..] { Pick::One(one) } else { Pick::Several(theirs) }
        }
        Pick::None => {
            let typed = typed.to_ascii_lowercase();
            names.iter().find(|name| name.replace('-', "") == typed).map_or(Pick::None, |name| Pick::One(name))
        }
        picked => picked,
    }
}

/// The words that can follow these, each once, in the order of the tables.
pub(super) fn next_words(path: &[&'static str]) -> Vec<&'static str> {
    let mut next = Vec::new();
    for spec in catalogue::specs() {
        let words: Vec<&'static str> = spec.words().collect();
        match words.get(path.len()) {
            Some(word) if words.starts_with(path) && !next.contains(word) => next.push(*word),
            _ => {}
        }
    }
    next
}

/// The problem of a word that is not possible here.
pub(super) fn unknown_word(word: &str, path: &[&'static str], next: &[&'static str]) -> Problem {
    let nearest = nearest::to(word, next.iter().copied()).map(str::to_owned);
    Problem::UnknownCommand { word: word.to_owned(), path: path.join(" "), nearest, choices: owned(next) }
}

/// The problem of an abbreviation with several meanings.
pub(super) fn ambiguous(word: &str, choices: &[&'static str]) -> Problem {
    Problem::AmbiguousCommand { word: word.to_owned(), choices: owned(choices) }
}

fn unknown(words: &[Word], at: usize, path: &[&'static str], next: &[&'static str]) -> Miss {
    let word = &words[at].text;
    let mended = nearest::to(word, next.iter().copied()).map(|meant| {
        let mut mended = words.to_vec();
        mended[at] = Word::plain(meant);
        mended
    });
    Miss { problem: unknown_word(word, path, next), mended }
}

fn incomplete(path: &[&'static str], next: &[&'static str]) -> Problem {
    if path.is_empty() {
        Problem::Empty
    } else {
        Problem::IncompleteCommand { path: path.join(" "), choices: owned(next) }
    }
}

fn owned(words: &[&'static str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}
