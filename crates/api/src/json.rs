//! JSON from clients: of limited depth, and without duplicate keys, which readers could interpret
//! differently.

use crate::problem::{Problem, code};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::fmt;

/// Deepest nesting of objects and lists; no request needs more than four levels.
const DEPTH_MAX: u32 = 16;

/// The object in a body; an empty body counts as an empty object, because clients send either with
/// DELETE.
///
/// # Errors
/// It is not JSON or not an object, is nested too deeply, or has a key twice.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    let bad = |message: String| Problem::new(400, code::BAD_JSON, message);
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = Depth(DEPTH_MAX).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match read.map_err(|error| bad(refused(&error)))? {
        Value::Object(object) => Ok(object),
        _ => Err(bad("the body must be a JSON object, such as {\"name\": \"vol1\"}".into())),
    }
}

/// What a body was refused for and where, in terms of JSON and not of its reader.
fn refused(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof => "the body is not complete JSON: it ends before its object is closed".to_owned(),
        Category::Data => {
            let text = error.to_string();
            let rule = text.rsplit_once(" at line ").map_or(text.as_str(), |(rule, _)| rule);
            format!("the body: {rule} (line {line}, column {column})")
        }
        Category::Syntax | Category::Io => format!("the body is not valid JSON at line {line}, column {column}"),
    }
}

/// The levels that are still allowed.
#[derive(Clone, Copy)]
struct Depth(u32);

impl Depth {
    fn below<E: serde::de::Error>(self) -> Result<Depth, E> {
        let below = self.0.checked_sub(1).map(Depth);
        below.ok_or_else(|| E::custom(format!("objects and lists may be {DEPTH_MAX} deep at most")))
    }
}

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let (below, mut found) = (self.below()?, Vec::new());
        while let Some(value) = list.next_element_seed(below)? {
            found.push(value);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (below, mut found) = (self.below()?, Map::new());
        while let Some(key) = map.next_key::<String>()? {
            if found.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in one object")));
            }
            let value = map.next_value_seed(below)?;
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert_eq!(object(b"").unwrap(), Map::new());
        assert_eq!(object(b" {} \n").unwrap(), Map::new());
        let read = object(br#"{"a": [1, -2, 1.5, "x", null, true], "b": {"c": {}}}"#).unwrap();
        assert_eq!(Value::Object(read), json!({"a": [1, -2, 1.5, "x", null, true], "b": {"c": {}}}));
    }

    #[test]
    fn what_is_not_taken_is_said() {
        let deep = format!("{}1{}", "{\"a\":".repeat(17), "}".repeat(17));
        for (body, word) in [
            ("[]", "must be a JSON object"),
            ("{", "is not complete JSON"),
            (r#"{"name": "vol1"#, "is not complete JSON"),
            ("{} {}", "is not valid JSON at line 1, column 4"),
            ("{\n  \"name\": vol1}", "is not valid JSON at line 2, column 11"),
            ("{\"size\": 1,}", "is not valid JSON at line 1, column 12"),
            ("{\"name\": \"\\ud800\"}", "is not valid JSON at line 1"),
            (r#"{"size": 1, "size": 2}"#, "\"size\" stands twice"),
            (r#"{"a": {"b": 1, "b": 1}}"#, "\"b\" stands twice"),
            (&deep, "16 deep"),
        ] {
            let problem = object(body.as_bytes()).unwrap_err();
            assert_eq!((problem.status, problem.code), (400, code::BAD_JSON), "{body}");
            assert!(problem.message.contains(word), "{body}: {}", problem.message);
        }
        let fits = format!("{}1{}", "{\"a\":".repeat(16), "}".repeat(16));
        assert!(object(fits.as_bytes()).is_ok());
    }
}
