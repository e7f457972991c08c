//! Parses counts and spaces as users write them.

use block::Bytes;

/// A space: `5` and `5TB`, `2.5TB`, `500GB`, `64MiB`. Without a unit it is in TB, as in policies.
pub fn space(given: &str) -> Result<Bytes, String> {
    let (number, unit) = split(given);
    let unit: f64 = match unit.as_str() {
        "pb" => 1e15,
        "" | "t" | "tb" => 1e12,
        "g" | "gb" => 1e9,
        "m" | "mb" => 1e6,
        "k" | "kb" => 1e3,
        "pib" => 50f64.exp2(),
        "tib" => 40f64.exp2(),
        "gib" => 30f64.exp2(),
        "mib" => 20f64.exp2(),
        "kib" => 10f64.exp2(),
        _ => 0.0,
    };
    let bytes = number * unit;
    match (1e6..=1e18).contains(&bytes) {
        true => Ok(Bytes(bytes.round() as u64)),
        false => Err("must be a space such as 5TB, 2.5TB, 500GB or 64MiB, from 1 MB to 1000000 TB".into()),
    }
}

/// A count: `75000`, `75k`, `1.5M`, each optionally followed by `IOPS`. A k of operations is a
/// thousand.
pub fn count(given: &str) -> Result<u64, String> {
    let (number, unit) = split(given);
    let factor = match unit.strip_suffix("iops").unwrap_or(&unit).trim_end() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        _ => 0.0,
    };
    let count = number * factor;
    match (1.0..=1e15).contains(&count) && count.fract() == 0.0 {
        true => Ok(count as u64),
        false => Err("must be a whole number above 0, such as 75000, 75k or 1.5M".into()),
    }
}

/// The number (0 if there is none) and the text after it in lower case.
fn split(given: &str) -> (f64, String) {
    let text = given.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    (number.parse().unwrap_or(0.0), unit.trim_start().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn spaces_are_read() {
        let tb = 1000 * GB;
        let given = [
            ("5", 5 * tb),
            ("5t", 5 * tb),
            ("2.5TB", 2500 * GB),
            ("500GB", 500 * GB),
            ("75 tb", 75 * tb),
            ("64MiB", 64 << 20),
        ];
        for (text, bytes) in given {
            assert_eq!(space(text), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["0", "lots", "inf", "-5TB", "5 XB", "", "1000001TB", "1.2.3GB", "99999999EB"] {
            assert!(space(text).is_err_and(|rule| rule.ends_with("to 1000000 TB")), "{text}");
        }
    }

    #[test]
    fn counts_are_read() {
        let given = [("75000", 75_000), ("75k", 75_000), ("75KIOPS", 75_000), ("1.5M", 1_500_000), ("20 iops", 20)];
        for (text, of) in given {
            assert_eq!(count(text), Ok(of), "{text}");
        }
        for text in ["0", "", "k", "-5", "75kk", "75ki", "0.5", "1.0005k", "inf", "1e5", "9999999999M"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
