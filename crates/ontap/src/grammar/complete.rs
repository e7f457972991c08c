//! Completion of a line that is being typed.

use super::lookup::{Pick, next_words, pick, pick_parameter};
use super::spec::{CommandSpec, Parameter};
use crate::catalogue;
use crate::word::Word;

/// The candidates, and their position in the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Byte position of the text that a candidate replaces; it reaches to the end of the line.
    pub start: usize,
    /// The possible words, in the order of the tables.
    pub candidates: Vec<Candidate>,
    /// Names that only a server knows and that could be here.
    pub names: Option<Names>,
}

/// Names that a server knows: the values of a field in a `show` command's list that begin with what
/// is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The words of the command.
    pub command: &'static str,
    /// The field.
    pub field: &'static str,
    /// The typed beginning of the name.
    pub typed: String,
}

/// One possible word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole word.
    pub word: String,
    /// Its help; may be empty.
    pub help: &'static str,
}

/// The possible continuations of a line; none if the line is invalid already, or only the user can
/// know.
pub fn complete(line: &str) -> Completion {
    let start = line.rfind(char::is_whitespace).map_or(0, |i| i + line[i..].chars().next().map_or(1, char::len_utf8));
    // An open quote reaches to the end of the line: it is a value that only the user can know.
    let Ok(words) = Word::split(&line[..start]) else { return Completion::of(start, vec![]) };
    let typed = &line[start..];
    let mut path = Vec::new();
    for word in &words {
        let next = next_words(&path);
        match pick(&word.text, &next) {
            _ if next.is_empty() => break,
            Pick::One(full) => path.push(full),
            Pick::None | Pick::Several(_) => return Completion::of(start, vec![]),
        }
    }
    let next = next_words(&path);
    match catalogue::specs().find(|s| s.words().eq(path.iter().copied())) {
        Some(spec) if next.is_empty() => behind(spec, &words[path.len()..], typed, start),
        _ => Completion::of(start, command_words(&path, &next, typed)),
    }
}

fn command_words(path: &[&'static str], next: &[&'static str], typed: &str) -> Vec<Candidate> {
    let typed = typed.to_ascii_lowercase();
    let fitting = next.iter().filter(|w| w.starts_with(&typed));
    let help = |word: &'static str| {
        let words: Vec<&str> = path.iter().copied().chain([word]).collect();
        let spec = catalogue::specs().find(|s| s.words().eq(words.iter().copied()));
        spec.map_or_else(|| catalogue::about(&words.join(" ")), CommandSpec::help)
    };
    fitting.map(|word| Candidate { word: (*word).to_owned(), help: help(word) }).collect()
}

/// Candidates after the command's words: a value if one is due, else parameters that are not given
/// yet.
fn behind(spec: &'static CommandSpec, given: &[Word], typed: &str, start: usize) -> Completion {
    let names: Vec<&'static str> = spec.parameters.iter().map(|p| p.name).collect();
    let named = |word: &Word| match pick_parameter(word.parameter()?, &names) {
        Pick::One(name) => spec.parameter(name),
        Pick::None | Pick::Several(_) => None,
    };
    let due = given.last().and_then(named);
    match due {
        Some(parameter) if !typed.starts_with('-') => values(spec, parameter, typed, start),
        _ if typed.is_empty() || typed.starts_with('-') => {
            let used: Vec<&str> = given.iter().filter_map(named).map(|p| p.name).collect();
            let typed = typed.trim_start_matches('-').to_ascii_lowercase();
            let open = spec.parameters.iter().filter(|p| !used.contains(&p.name) && p.name.starts_with(&typed));
            let candidates = open.map(|p| Candidate { word: format!("-{}", p.name), help: p.help() });
            Completion::of(start, candidates.collect())
        }
        // The first parameter may be given without its name.
        None if given.is_empty() => spec
            .parameters
            .first()
            .map_or_else(|| Completion::of(start, vec![]), |parameter| values(spec, parameter, typed, start)),
        _ => Completion::of(start, vec![]),
    }
}

/// The words that a value can be; for `-fields` the columns, one after each comma.
fn values(spec: &'static CommandSpec, parameter: &'static Parameter, typed: &str, start: usize) -> Completion {
    if parameter.name == "fields" && !spec.keys.is_empty() {
        let comma = typed.rfind(',').map_or(0, |i| i + 1);
        let last = typed[comma..].to_ascii_lowercase();
        let fitting = spec.columns().filter(|c| c.starts_with(&last));
        let help = |column| spec.parameter(column).map_or("", Parameter::help);
        let candidates = fitting.map(|c| Candidate { word: c.to_owned(), help: help(c) }).collect();
        return Completion::of(start + comma, candidates);
    }
    let names = names(spec, parameter.name, typed);
    let typed = typed.to_ascii_lowercase();
    let fitting = parameter.choices.iter().filter(|c| c.to_ascii_lowercase().starts_with(&typed));
    let candidates = fitting.map(|c| Candidate { word: (*c).to_owned(), help: "" }).collect();
    Completion { start, candidates, names }
}

/// The kind of names that a parameter takes; `None` for the name of something new.
fn names(spec: &CommandSpec, parameter: &str, typed: &str) -> Option<Names> {
    let is_new = spec.path.ends_with(" create") && spec.parameters.first().is_some_and(|first| first.name == parameter);
    let (command, field) = match parameter {
        _ if is_new => return None,
        "vserver" => ("vserver show", "vserver"),
        "volume" | "parent-volume" => ("volume show", "volume"),
        "qtree" => ("volume qtree show", "qtree"),
        "snapshot" | "parent-snapshot" => ("volume snapshot show", "snapshot"),
        "file" => ("volume file show", "file"),
        "path" if spec.path.starts_with("lun ") => ("lun show", "path"),
        "policy-group" if spec.path.starts_with("qos policy-group") => ("qos policy-group show", "policy-group"),
        "policy-group" if spec.path.starts_with("qos adaptive") => ("qos adaptive-policy-group show", "policy-group"),
        "qos-policy-group" => ("qos policy-group show", "policy-group"),
        "qos-adaptive-policy-group" | "qos-adaptive-policy-group-template" => {
            ("qos adaptive-policy-group show", "policy-group")
        }
        "user-or-group-name" | "username" => ("security login show", "user-or-group-name"),
        "workload" => ("qos workload show", "workload"),
        "aggregate" => ("storage aggregate show", "aggregate"),
        _ => return None,
    };
    Some(Names { command, field, typed: typed.to_owned() })
}

impl Completion {
    fn of(start: usize, candidates: Vec<Candidate>) -> Completion {
        Completion { start, candidates, names: None }
    }
}
