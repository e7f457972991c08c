//! Whole numbers and sizes in fio's notation: `4096`, `0x1000`, `4k`, `16GB`, `(2*4k)`.
//!
//! fio reads as far as it understands and drops the rest: `1.5M` is 1 byte, `1e3` is 1, `4q` is 4.
//! Its `4KiB` is 4000 bytes unless `kb_base=1000`. All of these are refused here with advice on
//! what to write instead; `--strict-fio` accepts them as fio does. fio's behaviour was found by
//! running 3.33.

use crate::dialect::{Dialect, KbBase};
use crate::expression;

/// The letters of the units and their powers.
const POWERS: [(char, u32); 5] = [('k', 1), ('m', 2), ('g', 3), ('t', 4), ('p', 5)];

/// A number of bytes, or any whole number; fio accepts a unit with both.
///
/// # Errors
/// The rule that the text breaks, with what to write instead.
pub fn whole(text: &str, dialect: Dialect) -> Result<u64, String> {
    let given = text.trim();
    if given.starts_with('(') {
        return expression::whole(given, |unit| factor(unit, dialect.kb_base).map(|f| f as f64));
    }
    let unsigned = given.strip_prefix('+').unwrap_or(given);
    if unsigned.starts_with('-') {
        return Err("must not be negative".into());
    }
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return hexadecimal(hex, dialect);
    }
    let (digits, unit) = split(unsigned);
    if digits.is_empty() {
        return Err("is not a number; write a whole number, with a unit if needed, as in 4096 or 4k".into());
    }
    let number: u64 = digits.parse().map_err(|_| "is more than 2^64 - 1".to_owned())?;
    let factor = if dialect.strict_fio {
        factor_of_fio(unit, dialect.kb_base)
    } else {
        factor(unit, dialect.kb_base).ok_or_else(|| correction(unsigned, number, unit, dialect.kb_base))?
    };
    number.checked_mul(factor).ok_or_else(|| "is more than 2^64 - 1".to_owned())
}

/// Splits a text into its digits and what follows them.
pub fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn hexadecimal(digits: &str, dialect: Dialect) -> Result<u64, String> {
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    if end < digits.len() && !dialect.strict_fio {
        return Err(format!("a hexadecimal number takes no unit; fio reads it without {:?}", &digits[end..]));
    }
    u64::from_str_radix(&digits[..end], 16).map_err(|_| "is no hexadecimal number of up to 64 bits".to_owned())
}

/// The factor of a unit with one meaning only; `None` for a unit that fio does not read as it
/// looks.
fn factor(unit: &str, base: KbBase) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let mut chars = unit.chars();
    let first = chars.next()?;
    let (_, power) = POWERS.iter().find(|(letter, _)| *letter == first)?;
    match chars.as_str() {
        "" | "b" => Some(base.plain().pow(*power)),
        "ib" if base == KbBase::Decimal => Some(base.iec().pow(*power)),
        _ => None,
    }
}

/// The factor that fio uses: it looks at the first letter, and at `ib` after it.
fn factor_of_fio(unit: &str, base: KbBase) -> u64 {
    let unit = unit.to_ascii_lowercase();
    let Some((_, power)) = POWERS.iter().find(|(letter, _)| unit.starts_with(*letter)) else { return 1 };
    let is_iec = unit[1..].starts_with("ib");
    (if is_iec { base.iec() } else { base.plain() }).pow(*power)
}

/// Why a number with this unit is refused, and what was probably meant.
fn correction(given: &str, number: u64, unit: &str, base: KbBase) -> String {
    let lower = unit.to_ascii_lowercase();
    let letter = lower.chars().next().unwrap_or_default();
    let power = POWERS.iter().find(|(l, _)| *l == letter).map(|(_, power)| *power);
    if lower.starts_with('.') || lower.starts_with('e') {
        let read = number;
        let instead = fraction(given, base).map_or("a whole number".to_owned(), |meant| meant);
        return format!("fio reads this as {read}; write {instead} (--strict-fio copies fio)");
    }
    match (&lower[letter.len_utf8()..], power) {
        ("ib", Some(power)) => format!(
            "fio reads this as {} bytes unless kb_base=1000; write {number}{letter} for {}, or set kb_base=1000 \
             (--strict-fio copies fio)",
            number.saturating_mul(base.iec().saturating_pow(power)),
            number.saturating_mul(base.plain().saturating_pow(power)),
        ),
        ("i", Some(_)) => {
            format!(
                "fio's manual and fio differ on the unit {unit:?}; write {number}{letter} or {number} with \
                 kb_base=1000 and {letter}iB (--strict-fio copies fio)"
            )
        }
        _ => format!("unknown unit {unit:?}; sizes take b, k, m, g, t, p, also as kb, mb, gb, tb, pb"),
    }
}

/// `1.5M` as `1536k`, `1e3` as `1000`: the same amount as a whole number, if there is one.
fn fraction(given: &str, base: KbBase) -> Option<String> {
    let end = given.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == 'e' || c == 'E')).unwrap_or(given.len());
    let (number, unit) = given.split_at(end);
    let number: f64 = number.parse().ok()?;
    let bytes = number * factor(unit, base)? as f64;
    // Beyond 2^53, a float does not hold every whole number.
    if bytes.fract() != 0.0 || bytes > 9e15 {
        return None;
    }
    let mut bytes = bytes as u64;
    let mut letter = String::new();
    for (next, _) in POWERS {
        if bytes == 0 || !bytes.is_multiple_of(base.plain()) || unit.is_empty() {
            break;
        }
        bytes /= base.plain();
        letter = next.to_string();
    }
    Some(format!("{bytes}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(text: &str) -> Result<u64, String> {
        whole(text, Dialect::default())
    }

    fn strict(text: &str, kb_base: KbBase) -> u64 {
        whole(text, Dialect { strict_fio: true, kb_base }).unwrap()
    }

    #[test]
    fn plain_numbers_and_units() {
        for (text, bytes) in [
            ("4096", 4096),
            ("+4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4KB", 4096),
            ("4096b", 4096),
            ("4096B", 4096),
            ("0x1000", 4096),
            ("16GB", 16 << 30),
            ("1t", 1 << 40),
            ("2P", 2 << 50),
            ("010", 10),
            (" 4k ", 4096),
            ("(2*4k)", 8192),
            ("(4k+512)", 4608),
            ("(1.5*4k)", 6144),
        ] {
            assert_eq!(ours(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn base_1000_follows_the_standards() {
        let decimal = |text| whole(text, Dialect { strict_fio: false, kb_base: KbBase::Decimal });
        assert_eq!(decimal("4k"), Ok(4000));
        assert_eq!(decimal("1MB"), Ok(1_000_000));
        assert_eq!(decimal("4KiB"), Ok(4096));
        assert_eq!(decimal("1MiB"), Ok(1 << 20));
    }

    #[test]
    fn surprises_are_refused_with_the_fix() {
        for (text, fix) in [
            ("1.5M", "write 1536k"),
            ("1e3", "write 1000 "),
            ("0.5k", "write 512 "),
            ("1.5g", "write 1536m"),
            ("4KiB", "write 4k for 4096"),
            ("1MiB", "as 1000000 bytes"),
            ("4ki", "write 4k"),
            ("4q", "unknown unit \"q\""),
            ("4kk", "unknown unit \"kk\""),
            ("4 k", "unknown unit \" k\""),
            ("2*4k", "unknown unit"),
            ("-1", "negative"),
            ("", "not a number"),
            ("k", "not a number"),
            ("99999999999999999999", "2^64"),
            ("99999999p", "2^64"),
            ("0x10k", "takes no unit"),
            ("0x", "no hexadecimal"),
        ] {
            let message = ours(text).unwrap_err();
            assert!(message.contains(fix), "{text}: {message}");
        }
    }

    /// The right column is what `fio --name=j --bs=X` printed (3.33).
    #[test]
    fn strict_copies_fio() {
        for (text, bytes) in [
            ("4KiB", 4000),
            ("4ki", 4096),
            ("4kib", 4000),
            ("1.5k", 1),
            ("1e3", 1),
            ("4 k", 4),
            ("2*4k", 2),
            ("4q", 4),
            ("4kk", 4096),
            ("4kbb", 4096),
            ("4k)", 4096),
            ("0x10k", 16),
            ("4s", 4),
        ] {
            assert_eq!(strict(text, KbBase::Binary), bytes, "{text}");
        }
        assert_eq!(strict("4KiB", KbBase::Decimal), 4096);
        assert_eq!(strict("1.5M", KbBase::Decimal), 1);
    }
}
