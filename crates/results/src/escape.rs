//! The escapes of ODBC, as published queries have them, taken away: `{fn ROUND(x, 2)}` is
//! `ROUND(x, 2)`, `{d '2026-11-23'}` is `'2026-11-23'`. What stands in quotes, in brackets or in a
//! comment stays as it is.

use super::Error;

/// Functions that ODBC calls otherwise than SQLite, or that mean something else there: `LOG` is the
/// natural logarithm of the one and that to the base 10 of the other.
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

/// A statement without its escapes.
///
/// # Errors
/// An escape that is begun does not end.
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
            // A brace that nothing begins is for SQLite to refuse.
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

/// How long what begins here is, if it is not looked into: words or a name in quotes, a name in
/// brackets, a comment.
fn quoted(rest: &str) -> Option<usize> {
    let to = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match rest.as_bytes() {
        // A doubled quote ends here and begins again there: it comes to the same.
        [b'\'', ..] => Some(to("'", 1)),
        [b'"', ..] => Some(to("\"", 1)),
        [b'`', ..] => Some(to("`", 1)),
        [b'[', ..] => Some(to("]", 1)),
        [b'-', b'-', ..] => Some(to("\n", 2)),
        [b'/', b'*', ..] => Some(to("*/", 2)),
        _ => None,
    }
}

/// Whether an escape begins here, and what follows on its word; true for a function.
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
