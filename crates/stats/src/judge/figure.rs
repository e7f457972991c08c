//! Figures in verdicts: a bound with all of its digits, and a measured figure with enough digits to
//! show on which side of the bound it is.

use block::Span;

/// Maximum number of decimals.
const DECIMALS_MOST: usize = 9;

/// A figure with `decimals` decimals, or as many more as are needed to show on which side of each
/// bound it is.
pub fn told(value: f64, bounds: &[f64], decimals: usize) -> String {
    let shown = |decimals: usize| format!("{value:.decimals$}");
    let is_true = |text: &String| {
        let side = |value: f64| bounds.iter().map(|bound| value.total_cmp(bound)).collect::<Vec<_>>();
        text.parse().is_ok_and(|shown| side(shown) == side(value))
    };
    let text = (decimals..=DECIMALS_MOST).map(shown).find(is_true).unwrap_or_else(|| shown(decimals));
    // A figure that rounds to zero has no sign.
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|digit| matches!(digit, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// A percentage with no more decimals than needed: `1 %`, `0.5 %`.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", (part * 1e11).round() / 1e9)
}

/// Percentage points: `1 point`, `2 points`.
pub(super) fn in_points(points: f64) -> String {
    format!("{points} {}", if points == 1.0 { "point" } else { "points" })
}

/// A span in its usual form with all digits: `3.999 ms`.
pub(super) fn exact(span: Span) -> String {
    let (value, unit, decimals) = in_unit(span);
    format!("{} {unit}", told(value, &[value], decimals))
}

/// A span in its usual form, or with as many more digits as are needed to show on which side of the
/// bound it is.
pub(super) fn time_told(span: Span, bound: Span) -> String {
    let (value, unit, decimals) = in_unit(span);
    let ratio = if span == Span::ZERO { 1.0 } else { value / span.as_nanos() as f64 };
    format!("{} {unit}", told(value, &[bound.as_nanos() as f64 * ratio], decimals))
}

/// The number, unit and decimals of a span in its usual form.
fn in_unit(span: Span) -> (f64, String, usize) {
    let text = span.to_string();
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value = match unit {
        "ns" => span.as_nanos() as f64,
        "µs" => span.as_micros_f64(),
        "ms" => span.as_millis_f64(),
        _ => span.as_secs_f64(),
    };
    (value, unit.to_owned(), decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_seen_on_its_side_of_the_bound() {
        assert_eq!(told(101.010_1, &[101.0], 1), "101.01");
        assert_eq!(told(99.96, &[100.0], 0), "99.96");
        assert_eq!(told(100.0, &[100.0], 1), "100.0");
        assert_eq!(told(94.96, &[95.0, 105.0], 0), "94.96");
        assert_eq!(told(80.4, &[95.0], 0), "80");
        assert_eq!([told(-0.001, &[-1.0, 1.0], 2), told(-0.2, &[], 1)], ["0.00", "-0.2"]);
    }

    #[test]
    fn a_bound_has_all_of_its_digits() {
        let us = Span::from_micros;
        assert_eq!(
            [us(3999), us(4000), us(49_000), us(5_000_000)].map(exact),
            ["3.999 ms", "4.00 ms", "49.0 ms", "5.00 s"]
        );
        assert_eq!(time_told(us(4000), us(3999)), "4.00 ms");
        assert_eq!(time_told(Span::from_nanos(3_998_400), us(3999)), "3.998 ms");
        assert_eq!(time_told(Span::from_nanos(999_990), Span::from_millis(1)), "999.99 µs");
        assert_eq!([0.01, 0.07, 0.95, 1.05, 0.000_01].map(percent), ["1 %", "7 %", "95 %", "105 %", "0.001 %"]);
    }
}
