//! Counts in words, as tables, notes and pages say them.

/// A whole number with thousands separators: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun, `one` for a count of one and `many` otherwise: `1 run`, `2 runs`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number as u64), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_a_noun_of_its_own() {
        assert_eq!([0, 1, 1234].map(|n| count(n, "flush", "flushes")), ["0 flushes", "1 flush", "1,234 flushes"]);
    }
}
