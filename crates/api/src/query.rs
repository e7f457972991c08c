//! The query string: which records, which of their fields, in which order, and how many.
//!
//! ```text
//!   fields=name,svm.{name,uuid},!size   name=vol*|db*   size=>=1000   order_by=name desc,size
//!   max_records=100   offset=200   return_records=false   return_timeout=15
//! ```

use crate::filter::Filter;
use crate::problem::{Problem, code};
use crate::selection::Selection;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A parsed query string.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    /// The fields of each record; `None` for the default ones.
    pub fields: Option<Selection>,
    /// Conditions on fields, all of which a record must satisfy.
    pub filters: Vec<(String, Filter)>,
    /// Fields to sort by; `true` for descending order.
    pub order_by: Vec<(String, bool)>,
    /// Most records in an answer.
    pub max_records: Option<usize>,
    /// Records that are skipped.
    pub offset: usize,
    /// Whether records are returned, or only their number.
    pub return_records: Option<bool>,
    /// How long the client waits for a job to end, in seconds; 0 for an answer at once.
    pub return_timeout: Option<u32>,
    /// All parameters as they came, without the offset: the link to the next page repeats them.
    kept: Vec<(String, String)>,
}

/// The longest time that a client may wait for a job, in seconds.
const RETURN_TIMEOUT_MAX: u32 = 120;
/// Most parameters: more than any resource has fields.
const PARAMETERS_MAX: usize = 200;

impl Query {
    /// Parses what follows the question mark.
    ///
    /// # Errors
    /// A parameter's value is invalid, or it is given twice.
    pub fn read(text: &str) -> Result<Query, Problem> {
        let mut query = Query::default();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            query.take(decoded(name)?, decoded(value)?)?;
        }
        Ok(query)
    }

    fn take(&mut self, name: String, value: String) -> Result<(), Problem> {
        if self.kept.len() >= PARAMETERS_MAX {
            let message = format!("a query has at most {PARAMETERS_MAX} parameters");
            return Err(Problem::new(400, code::UNEXPECTED, message));
        }
        if self.kept.iter().any(|(known, _)| *known == name) {
            let message = format!("{name}: is given twice; write alternatives in one, as {name}=a|b");
            return Err(Problem::bad(code::BAD_FIELD, &name, message));
        }
        let number = |max: u64| {
            value.parse::<u64>().ok().filter(|number| *number <= max).ok_or_else(|| {
                let message = format!("{name}: must be a whole number from 0 to {max}, got {value:?}");
                Problem::bad(code::INVALID_VALUE, &name, message)
            })
        };
        match name.as_str() {
            "fields" => self.fields = Some(Selection::read(&value)?),
            "order_by" => self.order_by = order(&value)?,
            "max_records" => self.max_records = Some(number(u32::MAX.into())? as usize).filter(|max| *max > 0),
            "offset" => self.offset = number(u32::MAX.into())? as usize,
            "return_records" => self.return_records = Some(truth(&name, &value)?),
            "return_timeout" => self.return_timeout = Some(number(RETURN_TIMEOUT_MAX.into())? as u32),
            "pretty" | "ignore_unknown_fields" | "continue_on_failure" | "serial_records" => {
                truth(&name, &value)?;
            }
            field if is_field(field) => self.filters.push((name.clone(), Filter::read(&name, &value)?)),
            _ => {
                let message = format!("{name:?} is no parameter and no field's name");
                return Err(Problem::bad(code::UNEXPECTED, &name, message));
            }
        }
        if name != "offset" {
            self.kept.push((name, value));
        }
        Ok(())
    }

    /// The raw text of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.kept.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Takes out a parameter that is specific to its path and no filter; returns its text. Links
    /// still repeat it.
    pub fn take_own(&mut self, name: &str) -> Option<&str> {
        self.filters.retain(|(field, _)| field != name);
        self.text(name)
    }

    /// Refuses filters, for a path that names one record or picks none. `but` are parameters with
    /// another purpose.
    ///
    /// # Errors
    /// There is a filter; the message names its field.
    pub fn picks_nothing(&self, what: &str, but: &[&str]) -> Result<(), Problem> {
        let Some((name, _)) = self.filters.iter().find(|(name, _)| !but.contains(&name.as_str())) else {
            return Ok(());
        };
        let message = format!("{name:?} is no parameter here: {what} is not picked by its fields; leave it out");
        Err(Problem::bad(code::UNEXPECTED, name, message))
    }

    /// A link to the records from `offset` on, with all other parameters.
    pub fn link(&self, path: &str, offset: usize) -> String {
        let mut parts: Vec<String> =
            self.kept.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        if offset > 0 {
            parts.push(format!("offset={offset}"));
        }
        if parts.is_empty() { path.to_owned() } else { format!("{path}?{}", parts.join("&")) }
    }
}

fn is_field(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c))
}

/// Parses `name desc,size`.
fn order(text: &str) -> Result<Vec<(String, bool)>, Problem> {
    let one = |part: &str| {
        let mut words = part.split_whitespace();
        let read = match (words.next(), words.next(), words.next()) {
            (Some(field), None | Some("asc"), None) if is_field(field) => Some((field.to_owned(), false)),
            (Some(field), Some("desc"), None) if is_field(field) => Some((field.to_owned(), true)),
            _ => None,
        };
        read.ok_or_else(|| {
            let message = format!("order_by: {part:?} is no field with asc or desc behind it");
            Problem::bad(code::INVALID_VALUE, "order_by", message)
        })
    };
    text.split(',').map(one).collect()
}

/// The client sends Python's `True` and `False`.
fn truth(name: &str, text: &str) -> Result<bool, Problem> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            let message = format!("{name}: must be true or false, got {text:?}");
            Err(Problem::bad(code::INVALID_VALUE, name, message))
        }
    }
}

/// Decodes a part of a URL: `%2C` is a comma, and `+` a blank.
///
/// # Errors
/// A `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> Result<String, Problem> {
    let wrong =
        || Problem::new(400, code::INVALID_VALUE, format!("the URL's part {text:?} is not encoded as UTF-8 in %XX"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16));
                let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else { return Err(wrong()) };
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// What is encoded in a part of a URL: everything but letters, digits and these four.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a part of a URL.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_client_sends_is_read() {
        let query =
            Query::read("fields=%2A&name=pol%2A%7Cx%2A&order_by=name%20desc%2Csize&max_records=1&svm.name=s").unwrap();
        assert!(query.fields.is_some());
        assert_eq!(query.order_by, [("name".into(), true), ("size".into(), false)]);
        assert_eq!(query.max_records, Some(1));
        let fields: Vec<&str> = query.filters.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["name", "svm.name"]);
        assert_eq!(Query::read("return_records=False").unwrap().return_records, Some(false));
        assert_eq!(Query::read("return_timeout=15").unwrap().return_timeout, Some(15));
    }

    /// The client follows the link without adding anything.
    #[test]
    fn a_link_carries_every_parameter_and_its_own_offset() {
        let query = Query::read("name=a%2A%7Cb&max_records=2&offset=2&fields=name,svm").unwrap();
        let link = query.link("/api/storage/volumes", 4);
        assert_eq!(link, "/api/storage/volumes?name=a%2A%7Cb&max_records=2&fields=name%2Csvm&offset=4");
        let (_, behind) = link.split_once('?').unwrap();
        let next = Query::read(behind).unwrap();
        assert_eq!(Query { offset: 4, ..query }, next);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, field, code) in [
            ("name=a&name=b", "name", code::BAD_FIELD),
            ("max_records=x", "max_records", code::INVALID_VALUE),
            ("return_timeout=121", "return_timeout", code::INVALID_VALUE),
            ("return_records=maybe", "return_records", code::INVALID_VALUE),
            ("order_by=name%20up", "order_by", code::INVALID_VALUE),
            ("a-b=1", "a-b", code::UNEXPECTED),
        ] {
            let problem = Query::read(text).unwrap_err();
            assert_eq!((problem.status, problem.target.as_deref(), problem.code), (400, Some(field), code), "{text}");
        }
        assert_eq!(Query::read("name=%zz").unwrap_err().status, 400);
        assert_eq!(Query::read("name=%ff").unwrap_err().status, 400);
    }

    proptest! {
        #[test]
        fn an_encoded_text_reads_back(text in "\\PC{0,20}") {
            prop_assert_eq!(decoded(&encoded(&text)).unwrap(), text);
        }

        #[test]
        fn no_query_string_ends_the_reader(text in "[a-z%=&{}.,*!|<>\" 0-9]{0,60}") {
            let _ = Query::read(&text);
        }
    }
}
