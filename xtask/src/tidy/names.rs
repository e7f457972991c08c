//! One name, one type: a crate must not import two public types of the same name from our crates.
//!
//! This works on the text: `pub struct`, `enum`, `trait`, `union` and `type` at the left edge
//! define a name; `use` declarations and paths that begin with a crate's name import it.

use super::crates::Manifest;
use super::{Finding, Source};
use std::collections::{BTreeMap, BTreeSet};

/// Names that are always written with their crate in front.
const QUALIFIED: [&str; 1] = ["Error"];

/// The imports of a crate: for each name, the crates that define it, and the file that first
/// imports it from each.
type Taken<'s> = BTreeMap<&'s str, BTreeMap<&'s str, &'s str>>;

/// Names that a crate imports from two of ours.
pub fn check(sources: &[Source], manifests: &[Manifest]) -> Vec<Finding> {
    let code: Vec<(&str, &str, String)> = sources.iter().filter_map(of_a_crate).collect();
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, _, text) in &code {
        types.entry(name).or_default().extend(text.lines().filter_map(defined));
    }
    let mut found = Vec::new();
    for user in manifests {
        let ours: Vec<&str> = user.uses.iter().map(String::as_str).filter(|used| types.contains_key(used)).collect();
        let mut taken = Taken::new();
        for (_, path, text) in code.iter().filter(|(name, ..)| *name == user.name) {
            for (from, name) in paths(text) {
                let defines = ours.contains(&from) && types[from].contains(name);
                if defines && !QUALIFIED.contains(&name) {
                    taken.entry(name).or_default().entry(from).or_insert(path);
                }
            }
        }
        for (name, from) in taken.into_iter().filter(|(_, from)| from.len() > 1) {
            let each: Vec<String> = from.iter().map(|(from, path)| format!("{from}::{name} in {path}")).collect();
            let what = format!("takes two types called {name}: {}; rename one by its meaning", each.join(", "));
            found.push(Finding { path: user.path.clone(), line: 0, what });
        }
    }
    found
}

/// The crate, the path and the code of a source, without tests and comments; `None` for other
/// files.
fn of_a_crate(source: &Source) -> Option<(&str, &str, String)> {
    let (name, rest) = match source.path.strip_prefix("xtask/src/") {
        Some(rest) => ("xtask", rest),
        None => source.path.strip_prefix("crates/")?.split_once("/src/")?,
    };
    if !rest.ends_with(".rs") || rest.ends_with("/tests.rs") {
        return None;
    }
    let code = source.text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
    Some((name, &source.path, code))
}

/// The public type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "union ", "type "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !is_of_a_name(c)).next()
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All paths with more than one part: the first part with each of the others; every branch of a
/// `use` counts.
fn paths(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    // The first part of the current path, and those of the enclosing braces.
    let (mut first, mut outer): (Option<&str>, Vec<Option<&str>>) = (None, Vec::new());
    let mut rest = text;
    let mut joined = false;
    while let Some(c) = rest.chars().next() {
        if is_of_a_name(c) {
            let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match (joined, first) {
                (true, Some(first)) => found.push((first, word)),
                _ => first = Some(word),
            }
            (rest, joined) = (after, false);
            continue;
        }
        if let Some(after) = rest.strip_prefix("::{") {
            outer.push(first);
            (rest, joined) = (after, true);
            continue;
        }
        if let Some(after) = rest.strip_prefix("::") {
            // With nothing in front, the next part is the first: `::results::Error`.
            (rest, joined) = (after, first.is_some());
            continue;
        }
        match c {
            ',' if !outer.is_empty() => (first, joined) = (outer[outer.len() - 1], true),
            '}' if !outer.is_empty() => (first, joined) = (outer.pop().flatten(), false),
            c if c.is_whitespace() && joined => {}
            _ => (first, joined) = (None, false),
        }
        rest = &rest[c.len_utf8()..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, uses: &[&str]) -> Manifest {
        let uses = uses.iter().map(|used| (*used).to_owned()).collect();
        Manifest { name: name.into(), path: format!("crates/{name}/Cargo.toml"), uses, shares_lints: true }
    }

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn paths_are_read_through_braces() {
        let text = "use a::b::{C, d::{E, F as G}, H};\nlet x: I = j::K::new(l::m(), 3);";
        let read = paths(text);
        for pair in [("a", "b"), ("a", "C"), ("a", "E"), ("a", "F"), ("a", "H"), ("j", "K"), ("l", "m")] {
            assert!(read.contains(&pair), "{pair:?} of {read:?}");
        }
        assert!(!read.iter().any(|(_, name)| ["I", "G"].contains(name)), "{read:?}");
    }

    /// `cli` imports a phase from each of two crates; `ramp` knows two and imports one. Comments
    /// and tests do not count.
    #[test]
    fn a_name_that_is_taken_twice_is_found() {
        let phase = "//! x\n/// y\npub enum Phase {\n    A,\n}\npub(crate) struct Inner;\n";
        let taking = "//! x\nuse ramp::{Phase, run};\nfn f(at: &workload::plan::Phase) {}\n";
        let sources = |cli: &str| {
            [
                source("crates/ramp/src/lib.rs", phase),
                source("crates/workload/src/plan/mod.rs", phase),
                source("crates/cli/src/main.rs", cli),
            ]
        };
        let manifests = [manifest("ramp", &[]), manifest("workload", &[]), manifest("cli", &["ramp", "workload"])];
        let found = check(&sources(taking), &manifests);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("ramp::Phase in crates/cli/src/main.rs, workload::Phase in"), "{found:?}");
        let once = "//! x\n// use ramp::Phase;\nuse workload::plan::Phase;\n#[cfg(test)]\nmod tests {\n    use ramp::Phase;\n}\n";
        assert_eq!(check(&sources(once), &manifests), []);
    }
}
