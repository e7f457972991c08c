//! JSON in fio's layout: two spaces per level, a space on both sides of the colon, six decimals,
//! keys in the given order.

use std::fmt::Write as _;

/// A JSON value whose keys keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// A number with six decimals. NaN and infinities become 0, because JSON has neither.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// Null.
    Null,
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object with these members.
    pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Json)>) -> Json {
        Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// Appends a member; only for objects.
    pub fn insert(&mut self, key: &str, value: Json) {
        if let Json::Object(members) = self {
            members.push((key.to_owned(), value));
        }
    }

    /// The whole document, with a newline at the end.
    pub fn document(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Json::Text(text) => quote(out, text),
            Json::Whole(number) => append(out, format_args!("{number}")),
            Json::Real(number) if number.is_finite() => append(out, format_args!("{number:.6}")),
            Json::Real(_) => out.push_str("0.000000"),
            Json::Bool(value) => append(out, format_args!("{value}")),
            Json::Null => out.push_str("null"),
            Json::List(values) => {
                let parts = values.iter().map(|value| (None, value));
                block(out, depth, ('[', ']'), parts);
            }
            Json::Object(members) => {
                let parts = members.iter().map(|(key, value)| (Some(key.as_str()), value));
                block(out, depth, ('{', '}'), parts);
            }
        }
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Json {
        Json::Whole(i128::from(number))
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Json {
        Json::Whole(i128::from(number))
    }
}

/// Writing into a string cannot fail.
fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn block<'j>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    parts: impl Iterator<Item = (Option<&'j str>, &'j Json)>,
) {
    out.push(open);
    let mut first = true;
    for (key, value) in parts {
        out.push_str(if first { "\n" } else { ",\n" });
        first = false;
        indent(out, depth + 1);
        if let Some(key) = key {
            quote(out, key);
            out.push_str(" : ");
        }
        value.write(out, depth + 1);
    }
    out.push('\n');
    indent(out, depth);
    out.push(close);
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 => append(out, format_args!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_fios() {
        let inner = Json::object([("min", Json::from(0u64)), ("mean", Json::Real(0.5))]);
        let json = Json::object([("slat_ns", inner), ("jobs", Json::List(vec![Json::text("a\"b")]))]);
        let expected = "{\n  \"slat_ns\" : {\n    \"min\" : 0,\n    \"mean\" : 0.500000\n  },\n  \"jobs\" : [\n    \
                        \"a\\\"b\"\n  ]\n}\n";
        assert_eq!(json.document(), expected);
    }

    proptest! {
        /// Whatever a text or a number holds, the document is valid and parses to the same text.
        #[test]
        fn every_document_is_valid(text in any::<String>(), number in any::<f64>()) {
            let document = Json::object([(text.clone(), Json::text(text.clone())), ("n".into(), Json::Real(number))]).document();
            let read: serde_json::Value = serde_json::from_str(&document).unwrap();
            if text != "n" {
                prop_assert_eq!(&read[&text], &serde_json::Value::String(text));
            }
            prop_assert!(read["n"].is_number());
        }
    }
}
