//! The fields of POST and PATCH bodies of each resource, for the OpenAPI document. A test compares
//! them with what the resources accept, both ways.

use serde_json::{Value, json};

/// A field of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its dotted name.
    pub name: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// The methods that accept it.
    pub place: Place,
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A text.
    Text,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A whole number, not negative.
    Number,
    /// A boolean.
    Truth,
    /// `{"name": …}`, `{"uuid": …}`, or both of the same.
    Named,
    /// A list of such references.
    NamedList,
    /// A policy by name or identifier, or limits in its place.
    Policy,
}

/// The methods that accept a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// POST, which requires it.
    Required,
    /// POST.
    Post,
    /// PATCH.
    Patch,
    /// Both.
    Both,
    /// Both, and POST requires it.
    RequiredAndPatch,
}

impl Place {
    fn is_in(self, method: &str) -> bool {
        match self {
            Place::Required | Place::Post => method == "POST",
            Place::Patch => method == "PATCH",
            Place::Both | Place::RequiredAndPatch => true,
        }
    }

    fn is_required_in(self, method: &str) -> bool {
        method == "POST" && matches!(self, Place::Required | Place::RequiredAndPatch)
    }
}

/// Makes an entry for a field.
pub(crate) const fn setting(name: &'static str, takes: Takes, place: Place) -> Setting {
    Setting { name, takes, place }
}

/// The fields that a method's body accepts.
pub(crate) fn of_method<'a>(settings: &'a [Setting], method: &'a str) -> impl Iterator<Item = &'a Setting> {
    settings.iter().filter(move |setting| setting.place.is_in(method))
}

/// The schema of a method's body: the fields by their dotted names, no others, and the required
/// ones.
pub(crate) fn body_schema(settings: &[Setting], method: &str) -> Value {
    let mut schema = closed(&json!({}));
    for setting in of_method(settings, method) {
        let mut place = &mut schema;
        let mut parts = setting.name.split('.').peekable();
        while let Some(part) = parts.next() {
            if setting.place.is_required_in(method) {
                require(place, part);
            }
            let inner = &mut place["properties"][part];
            if parts.peek().is_none() {
                *inner = setting.takes.schema();
            } else if inner.is_null() {
                *inner = closed(&json!({}));
            }
            place = &mut place["properties"][part];
        }
    }
    schema
}

fn require(schema: &mut Value, part: &str) {
    let required = &mut schema["required"];
    if required.is_null() {
        *required = json!([]);
    }
    if let Value::Array(names) = required
        && !names.iter().any(|name| name == part)
    {
        names.push(part.into());
    }
}

fn closed(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

impl Takes {
    fn schema(self) -> Value {
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer", "minimum": 0 }));
        let named = || closed(&json!({ "name": text, "uuid": text }));
        match self {
            Takes::Text => text,
            Takes::OneOf(words) => json!({ "type": "string", "enum": words }),
            Takes::Number => number,
            Takes::Truth => json!({ "type": "boolean" }),
            Takes::Named => named(),
            Takes::NamedList => json!({ "type": "array", "items": named() }),
            Takes::Policy => {
                let limit = |unit: &str| json!({ "type": "integer", "minimum": 0, "description": unit });
                closed(&json!({
                    "name": text, "uuid": text,
                    "max_throughput_iops": limit("IOPS; 0 is none"), "max_throughput_mbps": limit("MB/s; 0 is none"),
                    "min_throughput_iops": limit("IOPS; 0 is none"), "min_throughput_mbps": limit("MB/s; 0 is none"),
                    "max_throughput": text, "min_throughput": text,
                }))
            }
        }
    }

    /// The type in words.
    pub fn word(self) -> &'static str {
        match self {
            Takes::Text => "a text",
            Takes::OneOf(_) => "one of its words",
            Takes::Number => "a whole number, not negative",
            Takes::Truth => "true or false",
            Takes::Named | Takes::Policy => "an object with a name or uuid",
            Takes::NamedList => "a list of objects",
        }
    }

    /// Whether a value has the type.
    pub fn fits(self, value: &Value) -> bool {
        let of = |names: &[&str], numbers: &[&str]| {
            value.as_object().is_some_and(|fields| {
                fields.iter().all(|(name, value)| {
                    value.is_null()
                        || names.contains(&name.as_str()) && value.is_string()
                        || numbers.contains(&name.as_str()) && value.is_u64()
                })
            })
        };
        match self {
            Takes::Text => value.is_string(),
            Takes::OneOf(words) => {
                value.as_str().is_some_and(|text| words.iter().any(|word| word.eq_ignore_ascii_case(text)))
            }
            Takes::Number => value.is_u64(),
            Takes::Truth => value.is_boolean(),
            Takes::Named => of(&["name", "uuid"], &[]),
            Takes::NamedList => value.as_array().is_some_and(|list| list.iter().all(|one| Takes::Named.fits(one))),
            Takes::Policy => of(
                &["name", "uuid", "max_throughput", "min_throughput"],
                &["max_throughput_iops", "max_throughput_mbps", "min_throughput_iops", "min_throughput_mbps"],
            ),
        }
    }

    /// An example of the type, for the test.
    #[cfg(test)]
    pub fn example(self) -> Value {
        match self {
            Takes::Text => json!("x"),
            Takes::OneOf(words) => json!(words[0]),
            Takes::Number => json!(1 << 20),
            Takes::Truth => json!(true),
            Takes::Named => json!({ "name": "x" }),
            Takes::NamedList => json!([{ "name": "x" }]),
            Takes::Policy => json!({ "max_throughput_iops": 5 }),
        }
    }
}
