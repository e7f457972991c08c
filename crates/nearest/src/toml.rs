//! Rewords the TOML reader's errors in terms of the file: the key, the rule, and the value given.

use std::ops::Range;

/// The line of an error, counted from 1, and the reworded error, given the reader's `message` about
/// `part` of the text.
pub fn wrong(text: &str, part: Option<Range<usize>>, message: &str) -> (usize, String) {
    let start = part.map_or(0, |part| part.start.min(text.len()));
    let line = text[..start].matches('\n').count() + 1;
    let message = message.trim().replace('\n', " ");
    let words = in_words(&message);
    match key(text, line) {
        // Other messages name the key already, or there is none.
        Some(key) if words.starts_with("must be") || words.starts_with('"') => (line, format!("{key}: {words}")),
        _ => (line, words),
    }
}

/// Turns `invalid type: string "x", expected a boolean` into `must be true or false, got "x"`.
pub(crate) fn in_words(message: &str) -> String {
    let invalid = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    if let Some((given, expected)) = invalid.and_then(|rest| rest.rsplit_once(", expected ")) {
        let given = ["string ", "integer ", "boolean ", "floating point "]
            .iter()
            .find_map(|kind| given.strip_prefix(kind))
            .unwrap_or(match given {
                "sequence" => "a list",
                "map" => "a table",
                other => other,
            });
        // The reader appends its own type to a number that does not fit in 64 bits.
        let given = given.strip_suffix(" as i128").or(given.strip_suffix(" as u128")).unwrap_or(given);
        return format!("must be {}, got {}", kind(expected), given.trim_matches('`'));
    }
    if let Some((given, names)) = between(message, "unknown field ") {
        return format!("{given}: there is no such key; here it is one of {names}");
    }
    if let Some((given, names)) = between(message, "unknown variant ") {
        return format!("must be one of {names}, got {given:?}");
    }
    if message.starts_with("data did not match any variant of untagged enum") {
        return "must be a text in quotes or a number".into();
    }
    match message.strip_prefix("missing field ") {
        Some(name) => format!("{}: is missing", name.trim_matches('`')),
        None => message.into(),
    }
}

/// The value given, and the names that would be valid.
fn between(message: &str, start: &str) -> Option<(String, String)> {
    let (given, names) = message.strip_prefix(start)?.split_once(", expected ")?;
    let names = names.trim_start_matches("one of ").replace(" or ", ", ").replace('`', "");
    Some((given.trim_matches('`').into(), names))
}

fn kind(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list in brackets",
        "a boolean" => "true or false",
        "a string" | "path string" => "a text in quotes",
        "u32" => "a whole number from 0 to 4294967295",
        "u8" | "u16" | "u64" | "usize" => "a whole number, not negative",
        "f32" | "f64" => "a number",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// The key in a line, with the name of its table: `limits.memory`.
fn key(text: &str, line: usize) -> Option<String> {
    let key = text.lines().nth(line - 1)?.split_once('=')?.0.trim();
    let table = text.lines().take(line - 1).filter_map(|line| line.trim().strip_prefix('[')).last();
    let table = table.map(|table| table.trim_start_matches('[').split(']').next().unwrap_or(table).trim());
    (!key.is_empty()).then(|| table.map_or(key.into(), |table| format!("{table}.{key}")))
}

/// The line, counted from 1, of the key that a message about a rule begins with: `limits.memory:
/// …`. `None` if the text does not have the key under that name.
pub fn line_of(text: &str, reason: &str) -> Option<usize> {
    let named = reason.split_once(": ")?.0;
    (1..=text.lines().count()).find(|line| key(text, *line).as_deref() == Some(named))
}

#[cfg(test)]
mod tests {
    use super::wrong;

    /// Messages about the reader's types are reworded in terms of the file. No key is prefixed to a
    /// message that names one already.
    #[test]
    fn a_readers_words_become_those_of_the_file() {
        let text = "unit = 1\n[[class]]\nprice = \"lots\"\n";
        let at = |message| wrong(text, Some(20..21), message);
        let said = |words: &str| (3, words.to_owned());
        let price = "class.price: must be a number, got \"lots\"";
        assert_eq!(at("invalid type: string \"lots\", expected f64"), said(price));
        let long = "class.price: must be a whole number, not negative, got 99999999999999999999";
        assert_eq!(at("invalid type: integer `99999999999999999999` as i128, expected u64"), said(long));
        let word = "class.price: must be one of a, b, got \"c\"";
        assert_eq!(at("unknown variant `c`, expected `a` or `b`"), said(word));
        assert_eq!(at("missing field `name`"), said("name: is missing"));
        let key = "x: there is no such key; here it is one of y, z";
        assert_eq!(at("unknown field `x`, expected one of `y`, `z`"), said(key));
        let loose = "class.price: must be a text in quotes or a number";
        assert_eq!(at("data did not match any variant of untagged enum Loose"), said(loose));
        assert_eq!(wrong("a = ", None, "no value\nhere"), (1, "no value here".into()));
    }
}
