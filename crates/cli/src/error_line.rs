//! Error messages in one line: what was given, which rule it breaks, and what to do.

use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// The line for a command that failed: the chain of causes, without repetitions.
pub fn of(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = without_numbers(&cause.to_string());
        if line.is_empty() {
            line = text;
        } else if !line.ends_with(&text) {
            // Some errors include their cause already.
            line = format!("{line}: {text}");
        }
    }
    line
}

/// The line for a wrong command line of these words.
pub fn of_usage(error: &clap::Error, words: &[OsString]) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let cause = std::error::Error::source(error).map(ToString::to_string);
    match (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue), cause) {
        (Some(argument), Some(value), Some(rule)) => {
            let name = argument.split(' ').next().unwrap_or(argument);
            let (rule, got) = (as_rule(&rule), format!("got {value:?}"));
            // Some rules include the value already.
            if rule.ends_with(&got) { format!("{name}: {rule}") } else { format!("{name}: {rule}, {got}") }
        }
        (Some(argument), None, None) if argument.parse::<f64>().is_ok_and(|number| number < 0.0) => {
            negative(argument, words)
        }
        _ => plain(&error.to_string()),
    }
}

/// The line for a negative number, with the word before it. clap takes the first digit for an
/// option.
fn negative(digit: &str, words: &[OsString]) -> String {
    let mut pairs = words.windows(2).filter_map(|pair| Some((pair[0].to_str()?, pair[1].to_str()?)));
    match pairs.find(|(_, value)| value.starts_with(digit)) {
        Some((name, value)) => format!("{name}: must not be negative, got {value:?}"),
        None => format!("{digit}: must not be negative; --help tells what there is"),
    }
}

/// Turns the messages of clap and the standard library about a number into a rule.
fn as_rule(rule: &str) -> String {
    if let Some((_, bounds)) = rule.split_once(" is not in ") {
        return match bounds.split_once("..") {
            Some((least, "")) => format!("must be at least {least}"),
            Some(("", most)) => format!("must be at most {}", most.trim_start_matches('=')),
            Some((least, most)) => format!("must be from {least} to {}", most.trim_start_matches('=')),
            None => rule.into(),
        };
    }
    match rule {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number, not negative"
        }
        "number too large to fit in target type" => "is too large",
        rule => rule,
    }
    .into()
}

/// clap's message of several lines in one, without the part that is always the same.
fn plain(text: &str) -> String {
    let said = text.split("\n\nUsage:").next().unwrap_or(text);
    let said = said.split("\n\nFor more information").next().unwrap_or(said);
    let mut line = String::new();
    for part in said.lines().map(str::trim).filter(|part| !part.is_empty()) {
        let part = part.strip_prefix("error: ").or(part.strip_prefix("tip: ")).unwrap_or(part);
        let joint = match line.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        line = line + joint + part;
    }
    line + "; --help tells what there is"
}

/// The system's message without the error number at its end, such as ` (os error 2)`.
fn without_numbers(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once(" (os error ") {
        kept.push_str(before);
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn causes_are_joined_without_repetition() {
        let error = anyhow!("no such folder (os error 2)").context("p: make it: no such folder").context("--pool");
        assert_eq!(of(&error), "--pool: p: make it: no such folder");
        assert_eq!(of(&anyhow!("gone (os error 5)").context("a (os error 5); try b")), "a; try b: gone");
    }

    #[test]
    fn ranges_are_rules() {
        assert_eq!(as_rule("0 is not in 1..=4096"), "must be from 1 to 4096");
        assert_eq!(as_rule("0 is not in 1.."), "must be at least 1");
        assert_eq!(as_rule("9 is not in ..=5"), "must be at most 5");
        assert_eq!(as_rule("must be a size"), "must be a size");
    }

    #[test]
    fn a_negative_number_is_named_with_its_option() {
        let of = |words: &str| negative("-1", &words.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("seawall size --growth -10"), "--growth: must not be negative, got \"-10\"");
        assert_eq!(of("seawall size --used-space -1TB"), "--used-space: must not be negative, got \"-1TB\"");
        assert_eq!(of("seawall results show -1"), "show: must not be negative, got \"-1\"");
    }

    #[test]
    fn a_message_of_clap_becomes_a_line() {
        let text = "error: unexpected argument '--sizee' found\n\n  tip: a similar argument exists: '--size'\n\n\
                    Usage: seawall demo --size <SIZE>\n\nFor more information, try '--help'.\n";
        let line =
            "unexpected argument '--sizee' found; a similar argument exists: '--size'; --help tells what there is";
        assert_eq!(plain(text), line);
        let text = "error: the following required arguments were not provided:\n  --pool <DIR>\n\nUsage: seawall serve";
        let line = "the following required arguments were not provided: --pool <DIR>; --help tells what there is";
        assert_eq!(plain(text), line);
    }
}
