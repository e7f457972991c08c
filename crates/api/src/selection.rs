//! The selection of fields: `fields=name,svm.{name,uuid},qos,!size,*`.

use crate::problem::{Problem, code};

/// The fields that a client wants in each record, beside its keys and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Dotted names; each includes everything beneath it.
    wanted: Vec<String>,
    /// Names after `!`, which are excluded.
    unwanted: Vec<String>,
    /// `*`, or `**`.
    all: Option<Cost>,
}

/// The cost of reading a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cost {
    /// Always shown.
    Key,
    /// Known here: shown with `*`.
    Known,
    /// Requires asking the data thread: shown with `**`, or if it is named.
    Asked,
}

/// Deepest nesting of brackets.
const NESTING_MAX: usize = 8;
/// Most names in all.
const NAMES_MAX: usize = 500;

impl Selection {
    /// Parses the parameter's value.
    ///
    /// # Errors
    /// Brackets do not match, or a name is invalid.
    pub fn read(text: &str) -> Result<Selection, Problem> {
        let mut selection = Selection::default();
        let wrong = |what: &str| {
            let message = format!("fields: {text:?}: {what}; write names as in name,svm.{{name,uuid}},!size, or *");
            Problem::bad(code::INVALID_VALUE, "fields", message)
        };
        let names = unfolded(text, "", 0).map_err(wrong)?;
        for name in names {
            match name.as_str() {
                "*" => selection.all = selection.all.max(Some(Cost::Known)),
                "**" => selection.all = Some(Cost::Asked),
                name => {
                    let (list, name) = match name.strip_prefix('!') {
                        Some(name) => (&mut selection.unwanted, name),
                        None => (&mut selection.wanted, name),
                    };
                    // `svm.*` is the same as `svm`.
                    let name = name.strip_suffix(".*").unwrap_or(name);
                    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c)) {
                        return Err(wrong(&format!("{name:?} is no field's name")));
                    }
                    list.push(name.to_owned());
                }
            }
        }
        // With exclusions only, everything else is shown.
        if selection.wanted.is_empty() && selection.all.is_none() {
            selection.all = Some(Cost::Known);
        }
        Ok(selection)
    }

    /// Whether the field `name` is shown.
    pub fn shows(&self, name: &str, cost: Cost) -> bool {
        let is_among = |names: &[String]| names.iter().any(|wanted| is_within(name, wanted) || is_within(wanted, name));
        if cost == Cost::Key {
            return true;
        }
        let unwanted = self.unwanted.iter().any(|unwanted| is_within(name, unwanted));
        !unwanted && (self.all.is_some_and(|all| cost <= all) || is_among(&self.wanted))
    }

    /// All names that were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().chain(&self.unwanted).map(String::as_str)
    }
}

/// Whether `name` is `above`, or beneath it.
pub(crate) fn is_within(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Expands brackets: `a,b.{c,d}` is `a`, `b.c` and `b.d`.
fn unfolded(text: &str, prefix: &str, depth: usize) -> Result<Vec<String>, &'static str> {
    if depth > NESTING_MAX {
        return Err("brackets are nested too deeply");
    }
    let mut names = Vec::new();
    for part in split(text)? {
        match part.split_once('{') {
            None => names.push(joined(prefix, part)),
            Some((before, rest)) => {
                let inner = rest.strip_suffix('}').ok_or("something follows a bracket")?;
                let before = before.strip_suffix('.').ok_or("a bracket follows a name and a dot")?;
                names.extend(unfolded(inner, &joined(prefix, before), depth + 1)?);
            }
        }
        if names.len() > NAMES_MAX {
            return Err("these are too many names");
        }
    }
    Ok(names)
}

/// Joins names: `b` and `c` make `b.c`, `b` and `!c` make `!b.c`.
fn joined(prefix: &str, name: &str) -> String {
    match (prefix, name.strip_prefix('!')) {
        ("", _) => name.to_owned(),
        (prefix, Some(name)) => format!("!{prefix}.{name}"),
        (prefix, None) => format!("{prefix}.{name}"),
    }
}

/// Splits at the commas outside of brackets.
fn split(text: &str) -> Result<Vec<&str>, &'static str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1).ok_or("a bracket is closed that was not opened")?,
            ',' if depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    if depth > 0 { Err("a bracket is not closed") } else { Ok(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIELDS: [(&str, Cost); 6] = [
        ("uuid", Cost::Key),
        ("name", Cost::Key),
        ("size", Cost::Known),
        ("svm.name", Cost::Known),
        ("svm.uuid", Cost::Known),
        ("space.used", Cost::Asked),
    ];

    fn shown(text: &str) -> Vec<&'static str> {
        let selection = Selection::read(text).unwrap();
        FIELDS.iter().filter(|(name, cost)| selection.shows(name, *cost)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn names_stars_brackets_and_exclusions() {
        for (text, wanted) in [
            ("size", &["uuid", "name", "size"][..]),
            ("svm", &["uuid", "name", "svm.name", "svm.uuid"]),
            ("svm.name", &["uuid", "name", "svm.name"]),
            ("svm.{uuid},size", &["uuid", "name", "size", "svm.uuid"]),
            ("svm.{!uuid,*}", &["uuid", "name", "svm.name"]),
            ("space.used", &["uuid", "name", "space.used"]),
            ("space", &["uuid", "name", "space.used"]),
            ("*", &["uuid", "name", "size", "svm.name", "svm.uuid"]),
            ("**", &["uuid", "name", "size", "svm.name", "svm.uuid", "space.used"]),
            ("*,!svm", &["uuid", "name", "size"]),
            ("!svm.name", &["uuid", "name", "size", "svm.uuid"]),
        ] {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_fields_is_refused() {
        let deep = format!("{}a{}", "a.{".repeat(10), "}".repeat(10));
        for text in ["", "svm.{name", "svm}", "a.{b}c", "{a}", "a b", &deep] {
            let problem = Selection::read(text).unwrap_err();
            assert_eq!((problem.status, problem.target.as_deref()), (400, Some("fields")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_ends_the_reader(text in "[a-c{}.,*!]{0,40}") {
            let _ = Selection::read(&text);
        }
    }
}
