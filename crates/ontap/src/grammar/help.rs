//! What `help` and `?` print. All of it comes from the tables.

use super::lookup::{self, Pick, next_words, pick};
use super::spec::{CommandSpec, Need, Parameter};
use super::{Problem, Word};
use crate::catalogue;

/// What somebody wants to know about: a command, or all that begins with some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    path: Vec<&'static str>,
}

impl Topic {
    /// The topic of a line that asks for help: `help …`, or `…` with `?` behind it. `None` for any other line.
    pub(super) fn asked(words: &[Word]) -> Option<Result<Topic, Problem>> {
        let mark = |w: &Word| !w.quoted && (w.text == "?" || w.text == "-?");
        match words {
            [first, rest @ ..] if !first.quoted && first.text.eq_ignore_ascii_case("help") => Some(Topic::of(rest)),
            [rest @ .., last] if mark(last) => Some(Topic::of(rest)),
            _ => None,
        }
    }

    /// Command words lead down the tables; what stands behind a whole command does not matter.
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

    /// The answer.
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
        specs.iter().map(|s| format!("  {:width$}  {}\n", s.path, s.help())).collect()
    }
}

/// One command: what it does, how it is written, and each parameter.
fn about(spec: &CommandSpec) -> String {
    let heads: Vec<String> = spec.parameters.iter().map(head).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    let rows = spec.parameters.iter().zip(&heads).map(|(p, head)| {
        let default = p.default.map(|d| format!(" (default {d})")).unwrap_or_default();
        format!("  {head:width$}  {}{default}\n", p.help())
    });
    let first = spec.parameters.first().map(|p| format!("The name \"-{}\" may be left out.\n", p.name));
    let apart = spec.apart.iter().map(|(one, other)| format!("\"-{one}\" cannot be used with \"-{other}\".\n"));
    let parts = [format!("{}\n\nUsage: {}\n\n", spec.help(), spec.usage())];
    parts.into_iter().chain(rows).chain(["\n".to_owned()]).chain(first).chain(apart).collect()
}

/// A parameter as ONTAP's help has it: brackets around what may be left out.
fn head(parameter: &Parameter) -> String {
    let (name, syntax) = (parameter.name, parameter.syntax);
    match parameter.need {
        Need::Required => format!("  -{name} {syntax}"),
        Need::Optional => format!("[ -{name} {syntax} ]"),
        Need::Switch => format!("[ -{name} [{syntax}] ]"),
    }
}
