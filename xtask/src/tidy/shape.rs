//! The shape of a Rust file: its length, the length of its functions, its head and its name.

use super::{Finding, Source};

/// Most lines of a file. Beyond it, two ideas probably share a name.
const FILE_LINES_MAX: usize = 500;

/// Most lines of a function, from `fn` to its closing brace. A test may be longer, since it tells a
/// story; so may [`LONG`].
const FUNCTION_LINES_MAX: usize = 60;
const TEST_LINES_MAX: usize = 120;

/// Most characters in a line of a comment. Diagrams, tables and examples may be wider.
const COMMENT_WIDTH_MAX: usize = 100;

/// Functions that are longer because they read best so: a long flat table or match. They may stay,
/// but not grow: (path, name, lines).
const LONG: [(&str, &str, usize); 1] = [("crates/report/examples/sample/noisy_neighbour.rs", "scenes", 66)];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 5] = ["utils.rs", "util.rs", "helpers.rs", "common.rs", "misc.rs"];

/// Violations in the shape of `source`.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut note = |line, what: String| found.push(Finding { path: source.path.clone(), line, what });
    for (line, width) in mark_of(&source.path).map_or_else(Vec::new, |mark| wide_comments(&source.text, mark)) {
        note(line, format!("has a comment of {width} characters, at most {COMMENT_WIDTH_MAX} are allowed; break it"));
    }
    if !source.path.ends_with(".rs") {
        return found;
    }
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        note(
            0,
            format!("has {lines} lines, at most {FILE_LINES_MAX} are allowed; give its second idea a file of its own"),
        );
    }
    if !source.text.starts_with("//!") {
        note(1, "begins without a comment; say with `//!` what the file is and the idea behind it".into());
    }
    let name = source.path.rsplit('/').next().unwrap_or_default();
    if EMPTY_NAMES.contains(&name) {
        note(0, "is named for no idea; name it after the noun it is about".into());
    }
    for function in functions(&source.text) {
        let known = LONG.iter().find(|(path, name, _)| *path == source.path && *name == function.name);
        let test = function.is_test || source.path.contains("/tests/");
        let most = known.map_or(if test { TEST_LINES_MAX } else { FUNCTION_LINES_MAX }, |(_, _, lines)| *lines);
        if function.lines > most {
            let (name, lines) = (function.name, function.lines);
            note(function.line, format!("{name} has {lines} lines, at most {most} are allowed; take it apart"));
        }
    }
    found
}

/// The characters that start a comment in a file; `None` if its comments are not checked.
/// Migrations of the results database (`version_4.sql`) stay as they are.
fn mark_of(path: &str) -> Option<&'static str> {
    let (rest, kind) = path.rsplit_once('.')?;
    match kind {
        "rs" | "mjs" => Some("//"),
        "py" | "toml" => Some("#"),
        "sql" if !rest.contains("/version_") => Some("--"),
        _ => None,
    }
}

/// Lines of prose in comments that are too wide, counted from 1, with their widths.
fn wide_comments(text: &str, mark: &str) -> Vec<(usize, usize)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix(mark) else { continue };
        let words = comment.trim_start_matches(['/', '!']);
        fenced ^= words.trim_start().starts_with("```");
        let is_drawn = fenced || words.starts_with(" |") || words.starts_with("  ");
        let width = line.chars().count();
        if width > COMMENT_WIDTH_MAX && !is_drawn {
            found.push((index + 1, width));
        }
    }
    found
}

/// A function in a file.
#[derive(Debug, PartialEq, Eq)]
struct Function<'t> {
    name: &'t str,
    /// Its first line, counted from 1.
    line: usize,
    lines: usize,
    is_test: bool,
}

/// The functions of formatted code: each ends with a brace at the indentation of its first line.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut is_test = false;
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        is_test |= matches!(code, "#[test]");
        let Some(name) = function_name(code) else { continue };
        // A function on one line, or without a body, has no closing brace of its own.
        let end = lines[index..].iter().position(|later| later.len() == indent + 1 && later.trim_start() == "}");
        let one_line = code.ends_with('}') || code.ends_with(';');
        if let Some(length) = end.filter(|_| !one_line) {
            found.push(Function { name, line: index + 1, lines: length + 1, is_test });
        }
        is_test = false;
    }
    found
}

/// The name of the function that begins in a line.
fn function_name(code: &str) -> Option<&str> {
    let mut words = code.split_inclusive(' ');
    let mut rest = code;
    loop {
        let word = words.next()?;
        rest = &rest[word.len()..];
        match word.trim_end() {
            "fn" => break,
            "pub" | "const" | "async" | "unsafe" | "pub(crate)" | "pub(super)" => {}
            _ => return None,
        }
    }
    Some(rest.split(['(', '<', ' ']).next().unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn functions_are_measured_from_their_first_line_to_their_brace() {
        let text = "//! x\n\npub fn short() {}\n\nimpl A {\n    pub(crate) fn three<T>(t: T) {\n        t;\n    }\n\n    fn no_body();\n}\n\n#[test]\nfn shown() {\n}\n";
        let all = functions(text);
        assert_eq!(all[0], Function { name: "three", line: 6, lines: 3, is_test: false });
        assert_eq!(all[1], Function { name: "shown", line: 14, lines: 2, is_test: true });
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn a_function_may_have_so_many_lines_and_not_one_more() {
        let with = |body: usize| format!("//! x\nfn f() {{\n{}}}\n", "    x;\n".repeat(body));
        assert!(check(&source("a/src/b.rs", &with(FUNCTION_LINES_MAX - 2))).is_empty());
        let found = check(&source("a/src/b.rs", &with(FUNCTION_LINES_MAX - 1)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }

    #[test]
    fn a_file_may_have_so_many_lines_and_not_one_more() {
        let with = |lines: usize| "//! x\n".repeat(lines);
        assert!(check(&source("a.rs", &with(FILE_LINES_MAX))).is_empty());
        assert_eq!(check(&source("a.rs", &with(FILE_LINES_MAX + 1))).len(), 1);
        assert!(check(&source("a.txt", &with(FILE_LINES_MAX + 1))).is_empty(), "only code is measured");
    }

    #[test]
    fn comments_in_words_are_of_one_width() {
        let wide = "x".repeat(COMMENT_WIDTH_MAX - 3);
        let drawn = format!("//! x\n//! ```text\n//! {wide}x\n//! ```\n/// | {wide} |\n//   {wide}\n// {wide}\n");
        assert_eq!(wide_comments(&drawn, "//"), []);
        let words = format!("//! x\nfn f() {{\n    // {wide}\n}}\n");
        assert_eq!(wide_comments(&words, "//"), [(3, COMMENT_WIDTH_MAX + 4)]);
        let python = format!("x = 1\n    # {wide}\n#   {wide}\n");
        assert_eq!(wide_comments(&python, "#"), [(2, COMMENT_WIDTH_MAX + 3)]);
        assert_eq!(
            ["a/b.py", "c/version_4.sql", "d/views.sql", "e.md"].map(mark_of),
            [Some("#"), None, Some("--"), None]
        );
    }

    #[test]
    fn heads_and_names_are_asked_for() {
        assert_eq!(check(&source("a/src/b.rs", "fn main() {}\n")).len(), 1);
        assert_eq!(check(&source("a/src/utils.rs", "//! All sorts of things.\n")).len(), 1);
    }
}
