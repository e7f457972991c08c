//! Formats numbers and lines for people, in one place, so that table, page and live view agree.
//!
//! Lengths are in characters. External text passes through [`printable`] first, so that a name can
//! neither move the cursor nor break a line.

use block::Span;
pub use block::{count, thousands};
use stats::{Counts, Histogram, Machine, Scale};

/// A rate of operations as a whole number with thousands separators; below ten with one decimal,
/// because rounding would change it by up to a twentieth: `12,346`, `10`, `3.4`, `0`.
pub fn iops(rate: f64) -> String {
    if rate > 0.0 && rate < 9.95 { format!("{rate:.1}") } else { thousands(rate.round() as u64) }
}

/// A number with at least three significant digits if its size allows: `1,204`, `45.1`, `2.28`,
/// `0.085`. Anything below a thousandth is zero.
pub fn significant(number: f64) -> String {
    if number >= 99.95 {
        thousands(number.round() as u64)
    } else if number >= 9.995 {
        format!("{number:.1}")
    } else if number >= 0.9995 {
        format!("{number:.2}")
    } else if number >= 0.0005 {
        format!("{number:.3}")
    } else {
        "0".into()
    }
}

/// [`significant`] without trailing zeros, for numbers that were chosen and not measured: `40`,
/// `2.5`.
pub fn short(number: f64) -> String {
    let text = significant(number);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Bytes per second in MB/s (10^6 bytes), with one decimal so that columns align; like
/// [`significant`] if that would be too coarse or too fine: `38.4`, `2.0`, `0.041`, `1,204`.
pub fn megabytes(bytes_per_second: f64) -> String {
    let megabytes = bytes_per_second / 1e6;
    if (0.95..999.95).contains(&megabytes) { format!("{megabytes:.1}") } else { significant(megabytes) }
}

/// [`megabytes`], or a dash if the number of bytes is not known.
pub fn megabytes_or_dash(counts: &Counts, bytes_per_second: f64) -> String {
    if counts.has_bytes() { megabytes(bytes_per_second) } else { "–".into() }
}

/// A duration in milliseconds without its unit, as [`significant`] prints it; below ten
/// microseconds with up to two digits: `0.0042`, `0.002`, `0.00015`, `0.00004`.
pub fn millis(span: Span) -> String {
    let millis = span.as_millis_f64();
    let digits = match span.as_nanos() {
        1..10 => 6,
        10..995 => 5,
        995..9_950 => 4,
        _ => return significant(millis),
    };
    format!("{millis:.digits$}").trim_end_matches('0').to_owned()
}

/// [`millis`], or a dash if the duration is not known.
pub fn millis_or_dash(span: Option<Span>) -> String {
    span.map_or("–".into(), millis)
}

/// The mean in milliseconds, or a dash without a time.
pub fn mean_or_dash(times: &Histogram) -> String {
    millis_or_dash((times.count() > 0).then(|| times.mean()))
}

/// A duration as minutes and seconds, rounded down: `0:07`, `12:34`, `1:02:03`.
pub fn clock(span: Span) -> String {
    let seconds = span.as_nanos() / Span::SECOND.as_nanos();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Seconds with at most one decimal, if needed: `8`, `8.5`.
pub fn seconds(span: Span) -> String {
    let tenths = (span.as_secs_f64() * 10.0).round() as u64;
    if tenths.is_multiple_of(10) {
        thousands(tenths / 10)
    } else {
        format!("{}.{}", thousands(tenths / 10), tenths % 10)
    }
}

/// A length of time with its unit: as [`seconds`], or if it is shorter than a second in one that
/// suits it: `8 s`, `8.5 s`, `2.98 ms`.
pub fn length(span: Span) -> String {
    if Span::ZERO < span && span < Span::SECOND { span.to_string() } else { format!("{} s", seconds(span)) }
}

/// From where to where in a run: `0–8 s`, `0–2.98 ms`; if seconds do not tell the two apart, how
/// long and from when: `3.12 ms from 2.98 ms on`.
pub fn stretch(from: Span, to: Span) -> String {
    let (first, last) = (seconds(from), seconds(to));
    if from == Span::ZERO {
        format!("0–{}", length(to))
    } else if to >= Span::SECOND && first != last {
        format!("{first}–{last} s")
    } else {
        format!("{} from {} on", length(to.saturating_sub(from)), length(from))
    }
}

/// Date and time of milliseconds since 1970: `2026-11-21 20:19:10 UTC`.
pub fn date(unix_ms: u64) -> String {
    block::date(unix_ms / 1000, "%Y-%m-%d %H:%M:%S UTC")
}

/// The text with each control character replaced by a space, so that it is one line.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_steering(c) { ' ' } else { c }).collect()
}

/// Width of a text in characters.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text if it fits into `columns`, otherwise its start with an ellipsis.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.into();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    if columns == 0 { kept } else { kept.trim_end().to_string() + "…" }
}

/// Splits text into lines of at most `columns`, at spaces but not before a percent sign; longer
/// words are cut. Never empty.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    const NO_BREAK: char = '\u{a0}';
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let text = text.replace(" %", &format!("{NO_BREAK}%"));
    for mut word in text.split(|c: char| c.is_whitespace() && c != NO_BREAK).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("starts with one");
        let room = columns.saturating_sub(width(line) + usize::from(!line.is_empty()));
        if width(word) <= room {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        while width(word) > columns {
            let cut = word.char_indices().nth(columns).map_or(word.len(), |(at, _)| at);
            lines.last_mut().expect("starts with one").push_str(&word[..cut]);
            lines.push(String::new());
            word = &word[cut..];
        }
        lines.last_mut().expect("starts with one").push_str(word);
    }
    lines.into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// A share from 0 to 1 as a percentage, rounded to one digit; `100.0` only if it is all.
pub fn percent(share: f64) -> String {
    let rounded = (1000.0 * share).round() / 10.0;
    format!("{:.1}", if share < 1.0 { rounded.min(99.9) } else { rounded })
}

/// When and on what something was measured, one line: `2026-11-21 20:45:00 UTC · vm · 2 cores ·
/// io_uring`.
pub fn facts(unix_ms: u64, machine: &Machine) -> String {
    let cores = (machine.cores > 0).then(|| count(machine.cores as usize, "core", "cores"));
    let facts = [Some(date(unix_ms)), Some(machine.host.clone()), cores, Some(machine.backend.clone())];
    facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// How the plan was scaled to the machine, one sentence; `None` if it was not.
pub fn scale(scale: Option<Scale>) -> Option<String> {
    let Scale { factor, published_iops, measured_iops } = scale?;
    let start = format!("Depths and limits × {}", significant(factor));
    Some(match measured_iops {
        Some(measured) => {
            format!("{start}: this machine does {} IOPS, the published {}", iops(measured), iops(published_iops))
        }
        None if published_iops > 0.0 => {
            format!("{start}, as asked; the published machine did {} IOPS", iops(published_iops))
        }
        None => format!("{start}, as asked"),
    })
}

/// Control characters, and those that change the writing direction.
fn is_steering(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_keep_three_digits_and_set_thousands_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 3.42, 9.96, 12_345.6].map(iops), ["0", "3.4", "10", "12,346"]);
        assert_eq!(
            [0.0, 0.0004, 0.0851, 0.99949, 0.9996, 2.277, 9.996, 45.06, 99.96, 1204.2].map(significant),
            ["0", "0", "0.085", "0.999", "1.00", "2.28", "10.0", "45.1", "100", "1,204"]
        );
    }

    #[test]
    fn only_all_is_100_percent() {
        let shares = [0.0, 0.000_49, 0.5, 0.999_499, 0.9999, 1.0 - f64::EPSILON, 1.0];
        assert_eq!(shares.map(percent), ["0.0", "0.0", "50.0", "99.9", "99.9", "99.9", "100.0"]);
    }

    #[test]
    fn chosen_numbers_have_no_empty_decimals() {
        assert_eq!([0.0, 8.0, 2.5, 40.0, 1000.0].map(short), ["0", "8", "2.5", "40", "1,000"]);
    }

    #[test]
    fn throughput_has_one_decimal_where_that_is_enough() {
        assert_eq!(
            [0.0, 41_000.0, 2_400_000.0, 38_371_000.0, 1.2044e9].map(megabytes),
            ["0", "0.041", "2.4", "38.4", "1,204"]
        );
    }

    #[test]
    fn durations_print_as_on_a_clock() {
        assert_eq!([7, 754, 3723].map(|s| clock(Span::from_secs(s))), ["0:07", "12:34", "1:02:03"]);
        assert_eq!([8000, 8500, 8549, 999_960].map(|ms| seconds(Span::from_millis(ms))), ["8", "8.5", "8.5", "1,000"]);
    }

    /// A run of milliseconds has a length, and a median of 150 ns is not 0.
    #[test]
    fn short_times_are_told_too() {
        let ns = Span::from_nanos;
        assert_eq!(
            [0, 4, 40, 150, 994, 995, 1_449, 9_949, 9_950].map(|n| millis(ns(n))),
            ["0", "0.000004", "0.00004", "0.00015", "0.00099", "0.001", "0.0014", "0.0099", "0.010"]
        );
        let told = [0, 870, 2_980_000, 999_000_000, 1_000_000_000, 8_500_000_000].map(|n| length(ns(n)));
        assert_eq!(told, ["0 s", "870 ns", "2.98 ms", "999 ms", "1 s", "8.5 s"]);
        let stretches = [(0, 0), (0, 8_000), (8_000, 16_000), (0, 3), (3, 6), (3_000, 3_006), (800, 1_600)];
        let told = stretches.map(|(from, to)| stretch(Span::from_millis(from), Span::from_millis(to)));
        let wanted =
            ["0–0 s", "0–8 s", "8–16 s", "0–3.00 ms", "3.00 ms from 3.00 ms on", "6.00 ms from 3 s on", "0.8–1.6 s"];
        assert_eq!(told, wanted);
    }

    #[test]
    fn dates_are_gregorian() {
        // The day counts come from `date -u -d DATE +%s` / 86400.
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_709_251_199_999), "2024-02-29 23:59:59 UTC");
        assert_eq!(date(4_107_542_400_000), "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn a_plan_that_names_no_published_machine_is_compared_with_none() {
        let asked = |published_iops| scale(Some(Scale { factor: 2.0, published_iops, measured_iops: None }));
        assert_eq!(asked(0.0).as_deref(), Some("Depths and limits × 2.00, as asked"));
        let published = "Depths and limits × 2.00, as asked; the published machine did 100 IOPS";
        assert_eq!(asked(100.0).as_deref(), Some(published));
    }

    #[test]
    fn text_from_outside_cannot_steer_a_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d"), "a [2Jb c d");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_are_cut() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefgh b", 3), ["a", "abc", "def", "gh", "b"]);
        assert_eq!(wrap("half is 50 % of it", 10), ["half is", "50 % of it"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
    }

    proptest! {
        /// No line is longer than asked, and only spaces are lost.
        #[test]
        fn wrapping_keeps_every_character(text in "[a-zé ]{0,60}", columns in 1usize..20) {
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| width(line) <= columns));
            let bare = |s: &str| s.replace(' ', "");
            prop_assert_eq!(bare(&lines.concat()), bare(&text));
        }
    }
}
