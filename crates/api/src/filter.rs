//! Conditions on fields, by which records are picked: ONTAP's query syntax as on the command line
//! ([`ontap::value::Query`]), plus `null`, and quotes, in which operators have no meaning.

use crate::problem::{Problem, code};
use ontap::value::{FieldKind, Query, ValueError};
use serde_json::Value;

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// `null`: it has no value.
    Absent,
    /// `!null`: it has one.
    Present,
    /// It has a matching value.
    Fits {
        /// The query that it must match.
        query: Query,
        /// Whether a missing value matches too: `!gold` also picks what has no policy.
        absent_too: bool,
    },
}

impl Filter {
    /// Parses the value of the parameter `field`.
    ///
    /// # Errors
    /// It is not a valid query.
    pub fn read(field: &str, text: &str) -> Result<Filter, Problem> {
        let quoted = [('"', '"'), ('{', '}')]
            .into_iter()
            .find_map(|(open, close)| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)));
        if let Some(exact) = quoted {
            return Ok(Filter::Fits { query: Query::exact(exact), absent_too: false });
        }
        match text {
            "null" => return Ok(Filter::Absent),
            "!null" => return Ok(Filter::Present),
            _ => {}
        }
        let query = text.parse().map_err(|error| refused(field, &error))?;
        Ok(Filter::Fits { query, absent_too: text.starts_with('!') })
    }

    /// Converts the condition for a field of this kind.
    ///
    /// # Errors
    /// No value of the kind could match.
    pub fn of_kind(&self, kind: FieldKind, field: &str) -> Result<Filter, Problem> {
        let Filter::Fits { query, absent_too } = self else { return Ok(self.clone()) };
        let query = kind.read(query.clone()).map_err(|error| refused(field, &error))?;
        Ok(Filter::Fits { query, absent_too: *absent_too })
    }

    /// Whether a field's value satisfies the condition; of a list, one element must.
    pub fn holds(&self, kind: FieldKind, value: Option<&Value>) -> bool {
        let value = value.filter(|value| !value.is_null());
        match (self, value) {
            (Filter::Absent, value) => value.is_none(),
            (Filter::Present, value) => value.is_some(),
            (Filter::Fits { absent_too, .. }, None) => *absent_too,
            (Filter::Fits { query, .. }, Some(Value::Number(number))) => kind.picks(query, &number.to_string()),
            (Filter::Fits { query, .. }, Some(Value::String(text))) => kind.picks(query, text),
            (Filter::Fits { query, .. }, Some(Value::Bool(truth))) => kind.picks(query, &truth.to_string()),
            (filter, Some(Value::Array(list))) => list.iter().any(|value| filter.holds(kind, Some(value))),
            (Filter::Fits { .. }, Some(_)) => false,
        }
    }
}

fn refused(field: &str, error: &ValueError) -> Problem {
    Problem::bad(code::INVALID_VALUE, field, format!("{field}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_pick_what_they_say() {
        for (kind, text, picked, left) in [
            (FieldKind::Text, "vol*", json!("vol1"), json!("db1")),
            (FieldKind::Text, "vol1|db*", json!("db7"), json!("x")),
            (FieldKind::Text, "!vol*", json!("db1"), json!("vol1")),
            (FieldKind::Text, "\"vol*\"", json!("vol*"), json!("vol1")),
            (FieldKind::Text, "{a|b}", json!("a|b"), json!("a")),
            (FieldKind::Count, ">=1000", json!(1000), json!(999)),
            (FieldKind::Count, "5..10", json!(7), json!(11)),
            (FieldKind::Count, "<9", json!(8), json!(10)),
            (FieldKind::Truth, "true", json!(true), json!(false)),
            (FieldKind::Text, "aggr1", json!(["aggr0", "aggr1"]), json!(["aggr0"])),
            (FieldKind::Text, "!null", json!("x"), Value::Null),
            (FieldKind::Text, "null", Value::Null, json!("x")),
            (FieldKind::Truth, "False", json!(false), json!(true)),
            (FieldKind::Ceiling, ">1000IOPS", json!("2000IOPS"), json!("500IOPS")),
            (FieldKind::Floor, "0..500", json!("50IOPS"), json!("1000IOPS")),
            (FieldKind::Time, "<11/22/2026", json!("2026-11-21T23:59:59Z"), json!("2026-11-22T00:00:00Z")),
        ] {
            let filter = Filter::read("f", text).unwrap().of_kind(kind, "f").unwrap();
            assert!(filter.holds(kind, Some(&picked)), "{text} picks {picked}");
            assert!(!filter.holds(kind, Some(&left)), "{text} leaves {left}");
        }
        assert!(Filter::read("f", "null").unwrap().holds(FieldKind::Text, None));
        assert!(Filter::read("f", "!gold").unwrap().holds(FieldKind::Text, None), "what has none is not gold");
        assert!(!Filter::read("f", "*").unwrap().holds(FieldKind::Text, None));
        assert_eq!(Filter::read("size", "a..").unwrap_err().target.as_deref(), Some("size"));
    }
}
