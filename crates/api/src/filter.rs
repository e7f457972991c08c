//! What a field must be like for its record to be picked: ONTAP's query syntax, as the command line
//! has it ([`ontap::value::Query`]), and besides `null`, and quotes that take the signs their
//! meaning.

use crate::problem::{Problem, code};
use serde_json::Value;

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// `null`: it has no value.
    Absent,
    /// `!null`: it has one.
    Present,
    /// A value that fits.
    Fits {
        /// What fits.
        query: ontap::value::Query,
        /// No value fits too: what is not gold may be without any policy.
        absent_too: bool,
    },
}

impl Filter {
    /// Reads the value of the parameter `field`.
    ///
    /// # Errors
    /// It is no query.
    pub fn read(field: &str, text: &str) -> Result<Filter, Problem> {
        let quoted = [('"', '"'), ('{', '}')]
            .into_iter()
            .find_map(|(open, close)| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)));
        if let Some(exact) = quoted {
            return Ok(Filter::Fits { query: ontap::value::Query::exact(exact), absent_too: false });
        }
        match text {
            "null" => return Ok(Filter::Absent),
            "!null" => return Ok(Filter::Present),
            _ => {}
        }
        let query = text.parse().map_err(|error: ontap::value::ValueError| {
            Problem::bad(code::INVALID_VALUE, field, format!("{field}: {error}"))
        })?;
        Ok(Filter::Fits { query, absent_too: text.starts_with('!') })
    }

    /// Whether a field is like that. Of a list one value must be.
    pub fn holds(&self, value: Option<&Value>) -> bool {
        let value = value.filter(|value| !value.is_null());
        match (self, value) {
            (Filter::Absent, value) => value.is_none(),
            (Filter::Present, value) => value.is_some(),
            (Filter::Fits { absent_too, .. }, None) => *absent_too,
            (Filter::Fits { query, .. }, Some(Value::Number(number))) => match number.as_u64() {
                Some(whole) => query.matches_number(whole, &number.to_string(), |text| text.parse().ok()),
                None => query.matches(&number.to_string()),
            },
            (Filter::Fits { query, .. }, Some(Value::String(text))) => query.matches(text),
            (Filter::Fits { query, .. }, Some(Value::Bool(truth))) => {
                query.matches(if *truth { "true" } else { "false" })
            }
            (filter, Some(Value::Array(list))) => list.iter().any(|value| filter.holds(Some(value))),
            (Filter::Fits { .. }, Some(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_pick_what_they_say() {
        for (text, picked, left) in [
            ("vol*", json!("vol1"), json!("db1")),
            ("vol1|db*", json!("db7"), json!("x")),
            ("!vol*", json!("db1"), json!("vol1")),
            ("\"vol*\"", json!("vol*"), json!("vol1")),
            ("{a|b}", json!("a|b"), json!("a")),
            (">=1000", json!(1000), json!(999)),
            ("5..10", json!(7), json!(11)),
            ("<9", json!(8), json!(10)),
            ("true", json!(true), json!(false)),
            ("aggr1", json!(["aggr0", "aggr1"]), json!(["aggr0"])),
            ("!null", json!("x"), Value::Null),
            ("null", Value::Null, json!("x")),
        ] {
            let filter = Filter::read("f", text).unwrap();
            assert!(filter.holds(Some(&picked)), "{text} picks {picked}");
            assert!(!filter.holds(Some(&left)), "{text} leaves {left}");
        }
        assert!(Filter::read("f", "null").unwrap().holds(None));
        assert!(Filter::read("f", "!gold").unwrap().holds(None), "what has none is not gold");
        assert!(!Filter::read("f", "*").unwrap().holds(None));
        assert_eq!(Filter::read("size", "a..").unwrap_err().target.as_deref(), Some("size"));
    }
}
