//! Names of policy groups, and of SVMs, volumes, qtrees and LUNs.

use super::{ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// Longest name of a policy group, in characters.
pub const POLICY_NAME_CHARS_MAX: usize = 127;

/// Longest name of an SVM, volume, qtree, LUN or snapshot, in characters.
pub const OBJECT_NAME_CHARS_MAX: usize = 203;

/// The name of a policy group: 1–127 letters, digits, `_` and `-`, the first a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyName(String);

/// The name of an SVM, volume, qtree, LUN or snapshot: 1–203 letters, digits, `_`, `-` and dots,
/// the first a letter, digit or `_`. Slashes and colons never occur, so that export names stay
/// unambiguous.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(String);

impl PolicyName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ObjectName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What administrators note about a snapshot: up to 255 characters on one line, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comment(String);

/// Most characters of a comment.
const COMMENT_CHARS_MAX: usize = 255;

impl Comment {
    /// The comment as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Comment {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Comment, ValueError> {
        if text.chars().count() > COMMENT_CHARS_MAX || text.contains(char::is_control) {
            let rule =
                format!("is not a comment: at most {COMMENT_CHARS_MAX} characters, and none that controls a terminal");
            return Err(ValueError::new(text, rule));
        }
        Ok(Comment(text.to_owned()))
    }
}

impl fmt::Display for Comment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PolicyName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<PolicyName, ValueError> {
        let rule = "is not a policy group's name: 1 to 127 letters, digits, _ and -, the first a letter or digit";
        if text.eq_ignore_ascii_case("none") {
            return Err(ValueError::new(text, "cannot name a policy group: it is the word that detaches one"));
        }
        let fits = |s: &str| {
            let mut chars = s.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphanumeric())
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        check(text, rule, POLICY_NAME_CHARS_MAX, fits).map(PolicyName)
    }
}

impl FromStr for ObjectName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ObjectName, ValueError> {
        let rule = "is not a name: 1 to 203 letters, digits, _, - and dots, the first a letter, digit or _";
        let fits = |s: &str| {
            let mut chars = s.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        check(text, rule, OBJECT_NAME_CHARS_MAX, fits).map(ObjectName)
    }
}

/// Proposes the name without surrounding hyphens and typographic quotes and with `_` for invalid
/// characters, if that is valid.
fn check(text: &str, rule: &str, chars_max: usize, fits: impl Fn(&str) -> bool) -> Result<String, ValueError> {
    let length = text.chars().count();
    if length > chars_max {
        return Err(ValueError::new(text, format!("{rule}; this one has {length} characters")));
    }
    if fits(text) {
        return Ok(text.to_owned());
    }
    let error = ValueError::new(text, rule);
    let mended: String = text.trim_matches(['-', '“', '”', '‘', '’']).replace([' ', '/', '.'], "_");
    Err(if fits(&mended) { error.meaning(mended) } else { error })
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

plain_value!(PolicyName, "<text>");
plain_value!(Comment, "<text>");
plain_value!(ObjectName, "<text>");
