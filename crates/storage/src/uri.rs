//! What all kinds of URIs have in common.

use std::ops::RangeInclusive;

/// The longest time to try to re-establish a connection, in seconds: a day.
pub(crate) const RECONNECT_MAX: u64 = 86_400;

/// Parses a parameter that is a number.
pub(crate) fn whole(name: &str, value: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| range.contains(number));
    let (least, most) = (range.start(), range.end());
    number.ok_or_else(|| format!("{name} must be a whole number from {least} to {most}, not {value:?}"))
}

/// Parses a parameter that is true or false.
pub(crate) fn truth(name: &str, word: &str) -> Result<bool, String> {
    match word {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(format!("{name} must be true or false, not {word:?}")),
    }
}

/// Decodes `%41` and the like; anything else stays unchanged.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten();
        let code =
            code.and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
