//! The published spelling: `do ##class(PerfTools.RanRead).Run("/dir",20,10000)`.

use super::GrammarError;

/// The method and its arguments, as command word and values; `None` if it is not a call. Arguments
/// left out at the end are absent; those left out before others are empty.
pub fn unfold(typed: &str) -> Option<Result<Vec<String>, GrammarError>> {
    let rest = typed.trim();
    let call = rest.strip_prefix("do ").or_else(|| rest.strip_prefix("DO ")).or_else(|| rest.strip_prefix("Do "));
    let call = call.unwrap_or(rest).trim_start();
    if call.len() == rest.len() && !call.to_ascii_lowercase().starts_with("##class") {
        return None;
    }
    Some(words(typed, call))
}

fn words(typed: &str, call: &str) -> Result<Vec<String>, GrammarError> {
    let wrong = |rule| GrammarError::Call { given: typed.into(), rule };
    let rest = call.get(..8).filter(|start| start.eq_ignore_ascii_case("##class(")).map(|start| &call[start.len()..]);
    let (class, rest) = rest.and_then(|rest| rest.split_once(").")).ok_or(wrong("must name a class and a method"))?;
    if class.trim() != "PerfTools.RanRead" {
        return Err(wrong("the class must be PerfTools.RanRead"));
    }
    let (method, rest) = rest.split_once('(').ok_or(wrong("the method must have its arguments in parentheses"))?;
    let list = rest.trim_end().strip_suffix(')').ok_or(wrong("the call must end with its parenthesis"))?;
    let mut words = vec![method.trim().to_ascii_lowercase()];
    words.extend(arguments(list).ok_or(wrong("a text must stand in double quotes"))?);
    Ok(words)
}

/// Values between commas; a quote within quotes is doubled.
fn arguments(list: &str) -> Option<Vec<String>> {
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    let (mut found, mut value, mut quoted, mut was_quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                value.push('"');
            }
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            ',' if !quoted => {
                found.push(std::mem::take(&mut value));
                was_quoted = false;
            }
            letter if quoted => value.push(letter),
            letter if letter.is_whitespace() => {}
            // Numbers are unquoted, words are not.
            letter if was_quoted || !(letter.is_ascii_digit() || letter == '.') => return None,
            letter => value.push(letter),
        }
    }
    found.push(value);
    (!quoted).then_some(found)
}
