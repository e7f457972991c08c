//! A request's body, whose fields are taken one by one; a field that is left at the end is refused
//! by name.

use crate::problem::{Problem, code};
use crate::setting::{Setting, of_method};
use ontap::value::ValueError;
use serde_json::{Map, Value};
use std::str::FromStr;

/// An object of a body, and its position in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Body {
    /// Prefix of its fields' dotted names, such as `fixed.`; empty for the whole body.
    place: String,
    fields: Map<String, Value>,
}

impl From<Map<String, Value>> for Body {
    fn from(fields: Map<String, Value>) -> Body {
        Body { place: String::new(), fields }
    }
}

impl Body {
    /// The dotted name of a field.
    pub fn name(&self, field: &str) -> String {
        format!("{}{field}", self.place)
    }

    /// Whether it has no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The first of these fields that is present.
    pub fn first_of(&self, fields: &[&'static str]) -> Option<&'static str> {
        fields.iter().copied().find(|field| self.fields.get(*field).is_some_and(|value| !value.is_null()))
    }

    fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field).filter(|value| !value.is_null())
    }

    /// Takes a text.
    pub fn text(&mut self, field: &str) -> Result<Option<String>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(field, "a text", &other)),
        }
    }

    /// Checks that all fields are allowed in a method's body and have the right type.
    ///
    /// # Errors
    /// A field is not; the message names it.
    pub fn check(&self, settings: &[Setting], method: &str) -> Result<(), Problem> {
        for (field, value) in self.fields.iter().filter(|(field, value)| *field != "_links" && !value.is_null()) {
            let name = self.name(field);
            let mut of = of_method(settings, method);
            if let Some(setting) = of.find(|setting| setting.name == name) {
                if !setting.takes.fits(value) {
                    return Err(self.wrong(field, setting.takes.word(), value));
                }
                continue;
            }
            let beneath = format!("{name}.");
            if !of_method(settings, method).any(|setting| setting.name.starts_with(&beneath)) {
                return Err(not_settable(&name));
            }
            let Value::Object(fields) = value else { return Err(self.wrong(field, "an object", value)) };
            Body { place: beneath, fields: fields.clone() }.check(settings, method)?;
        }
        Ok(())
    }

    /// Takes a text or number at a dotted name, as a text: a key.
    pub fn at(&mut self, field: &str) -> Result<Option<String>, Problem> {
        if let Some((first, rest)) = field.split_once('.') {
            let Some(mut inner) = self.object(first)? else { return Ok(None) };
            return inner.at(rest);
        }
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(self.wrong(field, "a text or a number", &other)),
        }
    }

    /// Sets a text at a dotted name to what the URL says; refuses a different value that is there
    /// already.
    pub fn put(&mut self, field: &str, text: &str) -> Result<(), Problem> {
        if let Some((first, rest)) = field.split_once('.') {
            let place = format!("{}.", self.name(first));
            let mut inner = self.object(first)?.unwrap_or(Body { place, fields: Map::new() });
            inner.put(rest, text)?;
            self.fields.insert(first.into(), inner.fields.into());
            return Ok(());
        }
        match self.fields.insert(field.into(), text.into()) {
            Some(Value::String(other)) if other != text => {
                let name = self.name(field);
                let message =
                    format!("{name}: is {text:?} in the URL and {other:?} in the body; leave it out of the body");
                Err(Problem::bad(code::INVALID_VALUE, &name, message))
            }
            _ => Ok(()),
        }
    }

    /// Takes a text and parses it: a name, a path.
    pub fn value<T: FromStr<Err = ValueError>>(&mut self, field: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(field)? else { return Ok(None) };
        let name = self.name(field);
        text.parse().map(Some).map_err(|error| Problem::bad(code::INVALID_VALUE, &name, format!("{name}: {error}")))
    }

    /// Requires a value.
    pub fn required<T>(&self, field: &str, value: Option<T>) -> Result<T, Problem> {
        let name = self.name(field);
        value.ok_or_else(|| Problem::bad(code::BAD_FIELD, &name, format!("{name}: is missing; give it")))
    }

    /// Takes a whole number.
    pub fn number(&mut self, field: &str) -> Result<Option<u64>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(field, "a whole number, not negative", &value)),
            },
        }
    }

    /// Takes a boolean.
    pub fn truth(&mut self, field: &str) -> Result<Option<bool>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(truth)),
            Some(other) => Err(self.wrong(field, "true or false", &other)),
        }
    }

    /// Takes an object.
    pub fn object(&mut self, field: &str) -> Result<Option<Body>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Body { place: format!("{}.", self.name(field)), fields })),
            Some(other) => Err(self.wrong(field, "an object", &other)),
        }
    }

    /// Takes a list of objects.
    pub fn list(&mut self, field: &str) -> Result<Option<Vec<Body>>, Problem> {
        let list = match self.take(field) {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.wrong(field, "a list", &other)),
        };
        let place = format!("{}.", self.name(field));
        let one = |value| match value {
            Value::Object(fields) => Ok(Body { place: place.clone(), fields }),
            other => Err(self.wrong(field, "a list of objects", &other)),
        };
        list.into_iter().map(one).collect::<Result<_, _>>().map(Some)
    }

    /// Takes a text that may have only one value here.
    pub fn only(&mut self, field: &str, only: &str) -> Result<(), Problem> {
        match self.text(field)? {
            Some(text) if !text.eq_ignore_ascii_case(only) => {
                let name = self.name(field);
                let message = format!("{name}: is always {only:?} here, got {text:?}; leave it out");
                Err(Problem::bad(code::INVALID_VALUE, &name, message))
            }
            _ => Ok(()),
        }
    }

    /// Refuses fields that were not taken.
    pub fn end(mut self) -> Result<(), Problem> {
        self.fields.remove("_links");
        match self.fields.keys().next() {
            None => Ok(()),
            Some(field) => Err(not_settable(&self.name(field))),
        }
    }

    /// The refusal of two fields that exclude one another.
    pub fn exclusive(&self, one: &str, other: &str) -> Problem {
        let (one, other) = (self.name(one), self.name(other));
        Problem::bad(code::EXCLUSIVE, &other, format!("{one} and {other} exclude one another; give one of them"))
    }

    fn wrong(&self, field: &str, kind: &str, value: &Value) -> Problem {
        let name = self.name(field);
        Problem::bad(code::INVALID_VALUE, &name, format!("{name}: must be {kind}, got {value}"))
    }
}

fn not_settable(name: &str) -> Problem {
    Problem::bad(code::NOT_SETTABLE, name, format!("{name}: is no field that can be set here; leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(value: Value) -> Body {
        let Value::Object(fields) = value else { panic!("{value}") };
        fields.into()
    }

    #[test]
    fn fields_are_taken_and_the_rest_is_refused_by_name() {
        let mut whole = body(json!({ "name": "p", "fixed": { "iops": 5, "odd": 1 }, "uuid": null }));
        assert_eq!(whole.text("name").unwrap().as_deref(), Some("p"));
        let mut fixed = whole.object("fixed").unwrap().unwrap();
        assert_eq!(fixed.number("iops").unwrap(), Some(5));
        let problem = fixed.end().unwrap_err();
        assert_eq!((problem.code, problem.target.as_deref()), (code::NOT_SETTABLE, Some("fixed.odd")));
        assert_eq!(whole.text("uuid").unwrap(), None, "null is not there");
        assert_eq!(whole.end(), Ok(()));
    }

    #[test]
    fn values_of_the_wrong_kind_name_their_field() {
        for (value, target) in [(json!(1.5), "a.n"), (json!(-1), "a.n"), (json!("5"), "a.n")] {
            let mut inner = body(json!({ "a": { "n": value } })).object("a").unwrap().unwrap();
            let problem = inner.number("n").unwrap_err();
            assert_eq!((problem.code, problem.target.as_deref()), (code::INVALID_VALUE, Some(target)));
        }
        assert!(body(json!({ "a": [1] })).list("a").is_err());
        assert!(body(json!({ "style": "flexgroup" })).only("style", "flexvol").is_err());
        assert!(body(json!({ "name": "a b" })).value::<ontap::value::ObjectName>("name").is_err());
    }
}
