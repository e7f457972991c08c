//! The output of `help` and `?`, made from the tables.

use super::lookup::{self, Pick, next_words, pick};
use super::spec::{CommandSpec, Need, Parameter};
use super::{Problem, Word};
use crate::catalogue;

/// The subject of help: a command, or all commands that begin with some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    path: Vec<&'static str>,
}

impl Topic {
    /// The topic of a line that asks for help: `help …`, `man …`, or `…` followed by `?`. `None`
    /// for any other line.
    pub(super) fn asked(words: &[Word]) -> Option<Result<Topic, Problem>> {
        let mark = |w: &Word| !w.quoted && (w.text == "?" || w.text == "-?");
        match words {
            [first, rest @ ..]
                if !first.quoted && ["help", "man"].iter().any(|word| first.text.eq_ignore_ascii_case(word)) =>
            {
                Some(Topic::of(rest))
            }
            [rest @ .., last] if mark(last) => Some(Topic::of(rest)),
            _ => None,
        }
    }

    /// Follows the command words down the tables; words after a complete command are ignored.
    fn of(words: &[Word]) -> Result<Topic, Problem> {
        let mut path = Vec::new();
        for word in words {
            let next = next_words(&path);
            match pick(&word.text, &next) {
                _ if next.is_empty() || word.parameter().is_some() => break,
                Pick::One(full) => path.push(full),
                Pick::None => return Err(lookup::unknown_word(&word.text, &path, &next)),
                Pick::Several(choices) => return Err(lookup::ambiguous(&word.text, &choices)),
            }
        }
        Ok(Topic { path })
    }

    /// The help text.
    pub fn text(&self) -> String {
        match catalogue::specs().find(|s| s.words().eq(self.path.iter().copied())) {
            Some(spec) => about(spec),
            None => self.list(),
        }
    }

    /// Every command under these words, with what it does.
    fn list(&self) -> String {
        let specs: Vec<_> =
            catalogue::specs().filter(|s| s.words().take(self.path.len()).eq(self.path.iter().copied())).collect();
        let width = specs.iter().map(|s| s.path.len()).max().unwrap_or(0);
        let row = |spec: &&CommandSpec| {
            let words = spec.help().split(' ').map(str::to_owned);
            let below = format!("\n{:1$}", "", width + 4);
            format!("  {:width$}  {}\n", spec.path, filled(words, COLUMNS - width - 4).join(&below))
        };
        specs.iter().map(row).collect()
    }
}

/// The width of help; no line is longer unless a single word or parameter is.
const COLUMNS: usize = 80;
/// Parameters longer than this have their help on the next line.
const HEAD_MOST: usize = 32;

/// One command: what it does, how it is written, and each parameter.
fn about(spec: &CommandSpec) -> String {
    let heads: Vec<String> = spec.parameters.iter().map(head).collect();
    let width = heads.iter().map(String::len).filter(|&length| length <= HEAD_MOST).max().unwrap_or(HEAD_MOST);
    let rows = spec.parameters.iter().zip(&heads).map(|(parameter, head)| row(parameter, head, width));
    let first = spec.parameters.first().map(|p| format!("The name \"-{}\" may be left out.\n", p.name));
    let apart = spec.apart.iter().map(|(one, other)| format!("\"-{one}\" cannot be used with \"-{other}\".\n"));
    let usage = filled(spec.usage_parts(), COLUMNS - USAGE.len()).join(&format!("\n{:1$}", "", USAGE.len()));
    let does = filled(spec.help().split(' ').map(str::to_owned), COLUMNS).join("\n");
    let parts = [format!("{does}\n\n{USAGE}{usage}\n\n")];
    parts.into_iter().chain(rows).chain(["\n".to_owned()]).chain(first).chain(apart).collect()
}

const USAGE: &str = "Usage: ";

/// A parameter and its help beside it, or below it where it is long.
fn row(parameter: &Parameter, head: &str, width: usize) -> String {
    let default = parameter.default.map(|default| format!(" (default {default})")).unwrap_or_default();
    let help = format!("{}{default}", parameter.help());
    let words = help.split(' ').map(str::to_owned);
    let mut lines = filled(words, COLUMNS - width - 4).into_iter();
    let beside = if head.len() <= width { lines.next() } else { None };
    let first = format!("  {head:width$}  {}", beside.unwrap_or_default());
    let below = lines.map(|line| format!("\n  {:width$}  {line}", ""));
    first.trim_end().chars().chain(below.collect::<String>().chars()).chain(['\n']).collect()
}

/// Joins the parts with blanks into lines of at most `columns`.
pub(crate) fn filled(parts: impl Iterator<Item = String>, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + part.len() <= columns => *line = format!("{line} {part}"),
            _ => lines.push(part),
        }
    }
    lines
}

/// A parameter in the style of ONTAP's help: brackets around what may be left out.
fn head(parameter: &Parameter) -> String {
    let (name, syntax) = (parameter.name, parameter.syntax);
    match parameter.need {
        Need::Required => format!("  -{name} {syntax}"),
        Need::Optional => format!("[ -{name} {syntax} ]"),
        Need::Switch => format!("[ -{name} [{syntax}] ]"),
    }
}
