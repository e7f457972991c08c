//! HTML and SVG elements as text. All external text is escaped here.

use std::fmt::Write;

/// A page or a drawing in progress.
#[derive(Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// The finished text.
    pub(crate) fn finish(self) -> String {
        self.0
    }

    /// Adds an element without content; attribute values are escaped.
    pub(crate) fn element(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.0.truncate(self.0.len() - 1);
        self.0.push_str("/>\n");
    }

    /// Adds an element with text, which is escaped.
    pub(crate) fn text(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.0.push_str(&escape(text));
        self.close(name);
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        write!(self.0, "<{name}").expect("writing to a string");
        // Empty classes are left out.
        for (key, value) in attributes.iter().filter(|(key, value)| *key != "class" || !value.is_empty()) {
            write!(self.0, " {key}=\"{}\"", escape(value)).expect("writing to a string");
        }
        self.0.push('>');
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, name: &str) {
        writeln!(self.0, "</{name}>").expect("writing to a string");
    }

    /// Adds text to the open element.
    pub(crate) fn content(&mut self, text: &str) {
        self.0.push_str(&escape(text));
    }

    /// Adds text of several lines.
    pub(crate) fn lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.0.push('\n');
            }
            self.content(line.trim_end_matches('\r'));
        }
    }

    /// Adds text that is markup already.
    pub(crate) fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

/// A coordinate, rounded to a tenth of a pixel, without trailing zeros.
pub(crate) fn place(number: f64) -> String {
    let text = format!("{number:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

/// Escapes text for XML and HTML, in content and quoted attributes. Control characters, which XML
/// forbids, become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_become_markup() {
        let mut svg = Markup::default();
        svg.text("text", &[("class", "a\" onload=\"x")], "<script>&'\u{0}");
        assert_eq!(svg.finish(), "<text class=\"a&quot; onload=&quot;x\">&lt;script&gt;&amp;&#39; </text>\n");
    }

    #[test]
    fn places_are_short() {
        assert_eq!([1.0, 1.25, -0.01, 12.34].map(place), ["1", "1.2", "0", "12.3"]);
    }
}
