//! What a reader of TOML says of a configuration, in words of the file: the key, the rule, what was
//! given.

/// What is wrong in a line of a configuration, counted from 1, where the reader said `message`.
pub(super) fn wrong(text: &str, line: usize, message: &str) -> String {
    let message = message.trim().replace('\n', " ");
    let words = in_words(&message);
    match key(text, line) {
        // The rest names the key itself, or there is none.
        Some(key) if words.starts_with("must be") || words.starts_with('"') => format!("{key}: {words}"),
        _ => words,
    }
}

/// `invalid type: string "x", expected a boolean` as `must be true or false, got "x"`.
fn in_words(message: &str) -> String {
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
        return format!("must be {}, got {}", kind(expected), given.trim_matches('`'));
    }
    if let Some((given, names)) = between(message, "unknown field ") {
        return format!("{given}: there is no such key; here it is one of {names}");
    }
    if let Some((given, names)) = between(message, "unknown variant ") {
        return format!("must be one of {names}, got {given:?}");
    }
    match message.strip_prefix("missing field ") {
        Some(name) => format!("{}: is missing", name.trim_matches('`')),
        None => message.into(),
    }
}

/// What was given, and the names that would do.
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
        "u32" | "u64" => "a whole number, not negative",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// The key of a line, with its table before it: `limits.memory`.
fn key(text: &str, line: usize) -> Option<String> {
    let key = text.lines().nth(line - 1)?.split_once('=')?.0.trim();
    let table = text.lines().take(line - 1).filter_map(|line| line.trim().strip_prefix('[')).last();
    let table = table.map(|table| table.trim_start_matches('[').split(']').next().unwrap_or(table).trim());
    (!key.is_empty()).then(|| table.map_or(key.into(), |table| format!("{table}.{key}")))
}
