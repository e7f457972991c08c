//! Rates in IOPS, as all commands take them.

/// A whole number above 0: `75000`, `75k`, `1.5M`, each also with `IOPS` after it. A k is a
/// thousand.
pub(super) fn rate(given: &str) -> Option<u64> {
    let text = given.trim().to_ascii_lowercase();
    let text = text.strip_suffix("iops").unwrap_or(&text).trim_end();
    let (number, decimals) = match text.chars().last()? {
        'k' => (text[..text.len() - 1].trim_end(), 3),
        'm' => (text[..text.len() - 1].trim_end(), 6),
        'g' => (text[..text.len() - 1].trim_end(), 9),
        _ => (text, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) {
        return None;
    }
    let part = part.trim_end_matches('0');
    if part.len() > decimals {
        return None;
    }
    // `1.5` with six decimals is 1500000.
    format!("{whole}{part}{:0<1$}", "", decimals - part.len()).parse().ok().filter(|rate| *rate > 0)
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn rates_have_suffixes() {
        let given = [
            ("75000", 75_000),
            ("75k", 75_000),
            ("75K", 75_000),
            ("75 kIOPS", 75_000),
            ("1.5M", 1_500_000),
            ("1.50m", 1_500_000),
            ("2.0k", 2000),
            ("20 iops", 20),
            ("1G", 1_000_000_000),
        ];
        for (text, of) in given {
            assert_eq!(rate(text), Some(of), "{text}");
        }
        for text in
            ["0", "", "k", "-5", "+5", "75kk", "75ki", "0.5", "1.0005k", "inf", "1e5", "1.k", ".5k", "99999999999G"]
        {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
