//! Removes ODBC escapes, which published queries use: `{fn ROUND(x, 2)}` becomes `ROUND(x, 2)`, `{d
//! '2026-11-23'}` becomes `'2026-11-23'`. Text in quotes, in brackets or in comments stays as it
//! is.

use super::Error;

/// ODBC functions that SQLite names differently, or that mean something else there: `LOG` is the
/// natural logarithm in ODBC and the logarithm to base 10 in SQLite.
const NAMES: [(&str, &str); 9] = [
    ("ASCII", "unicode"),
    ("CHARACTER_LENGTH", "length"),
    ("CHAR_LENGTH", "length"),
    ("CURDATE", "date"),
    ("CURTIME", "time"),
    ("LCASE", "lower"),
    ("LOG", "ln"),
    ("NOW", "datetime"),
    ("UCASE", "upper"),
];

/// Removes the escapes of a statement.
///
/// # Errors
/// An escape is not closed.
pub(super) fn without(sql: &str) -> Result<String, Error> {
    let (mut out, mut rest, mut open) = (String::with_capacity(sql.len()), sql, Vec::new());
    while let Some(letter) = rest.chars().next() {
        if let Some(whole) = quoted(rest) {
            out.push_str(&rest[..whole]);
            rest = &rest[whole..];
        } else if let Some((function, behind)) = begun(rest) {
            open.push(rest);
            rest = behind;
            if function {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&rest[..end]));
                out.push_str(known.map_or(&rest[..end], |(_, ours)| ours));
                rest = &rest[end..];
            }
        } else {
            rest = &rest[letter.len_utf8()..];
            // An unmatched brace is left for SQLite to refuse.
            if letter != '}' || open.pop().is_none() {
                out.push(letter);
            }
        }
    }
    match open.pop() {
        None => Ok(out),
        Some(from) => {
            let shown: String = from.chars().take(20).collect();
            Err(Error::Query { why: format!("the escape {shown:?} has no closing brace") })
        }
    }
}

/// Length of a quoted text or name, a name in brackets, or a comment that begins here.
fn quoted(rest: &str) -> Option<usize> {
    let to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match rest.as_bytes() {
        // A doubled quote ends one text and begins another, which has the same effect.
        [b'\'', ..] => Some(to("'", 1)),
        [b'"', ..] => Some(to("\"", 1)),
        [b'`', ..] => Some(to("`", 1)),
        [b'[', ..] => Some(to("]", 1)),
        [b'-', b'-', ..] => Some(to("\n", 2)),
        [b'/', b'*', ..] => Some(to("*/", 2)),
        _ => None,
    }
}

/// Recognises the beginning of an escape and returns what follows its keyword; true for a function.
fn begun(rest: &str) -> Option<(bool, &str)> {
    let inside = rest.strip_prefix('{')?.trim_start();
    let word = inside.find(|c: char| !c.is_ascii_alphabetic())?;
    let behind = inside[word..].trim_start();
    match inside[..word].to_ascii_lowercase().as_str() {
        "fn" if behind.len() < inside.len() - word => Some((true, behind)),
        "d" | "t" | "ts" if behind.starts_with('\'') => Some((false, behind)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_taken_away_and_words_are_not() {
        for (sql, wanted) in [
            ("SELECT {fn ROUND(AVG(x),2)} As y", "SELECT ROUND(AVG(x),2) As y"),
            ("{FN round({ fn  ABS(x) }, 0)}", "round(ABS(x) , 0)"),
            ("{fn LOG(x)} {fn LOG10(x)} {fn ucase(n)}", "ln(x) LOG10(x) upper(n)"),
            (
                "a >= {d '2026-11-23'} AND b = {ts '2026-11-23 01:02:03'}",
                "a >= '2026-11-23' AND b = '2026-11-23 01:02:03'",
            ),
            ("'{fn ROUND(1,2)}'", "'{fn ROUND(1,2)}'"),
            ("'it''s {fn x}' || {fn ABS(1)}", "'it''s {fn x}' || ABS(1)"),
            ("\"{fn a}\" [{fn b}] `{fn c}`", "\"{fn a}\" [{fn b}] `{fn c}`"),
            ("1 -- {fn a}\n+ /* {fn b} */ {fn ABS(2)}", "1 -- {fn a}\n+ /* {fn b} */ ABS(2)"),
            ("{fn CONCAT('}', {fn LCASE('{fn')})}", "CONCAT('}', lower('{fn'))"),
            ("{fnord} {x} } ä {", "{fnord} {x} } ä {"),
            ("'{fn never closed", "'{fn never closed"),
        ] {
            assert_eq!(without(sql).unwrap(), wanted, "{sql}");
        }
        let why = without("SELECT {fn ROUND(x, 2) FROM y").unwrap_err().to_string();
        assert!(why.ends_with("the escape \"{fn ROUND(x, 2) FROM\" has no closing brace"), "{why}");
    }
}
