//! Numbers as in fio's normal output: at most four digits, with the prefix of a unit.

/// The kind of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// k, M, G: powers of 1000.
    Decimal,
    /// Ki, Mi, Gi: powers of 1024.
    Binary,
}

const DECIMAL: [&str; 6] = ["", "k", "M", "G", "T", "P"];
const BINARY: [&str; 6] = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/// `number` in at most `digits` characters before its prefix and `unit`, such as `28.7k` or
/// `112MiB`. A number with that few digits is kept, such as `4096KiB`.
pub fn short(number: u64, digits: usize, prefix: Prefix, unit: &str) -> String {
    let (thousand, names) = match prefix {
        Prefix::Decimal => (1000, DECIMAL),
        Prefix::Binary => (1024, BINARY),
    };
    let (mut whole, mut rest, mut power) = (number, None, 0);
    while whole.to_string().len() > digits && power + 1 < names.len() {
        rest = Some(whole % thousand);
        whole /= thousand;
        power += 1;
    }
    let name = names[power];
    let Some(rest) = rest else { return format!("{whole}{name}{unit}") };
    // The decimal point takes a place, too.
    let decimals = digits.saturating_sub(whole.to_string().len() + 1);
    match decimals {
        0 => format!("{}{name}{unit}", whole + u64::from(rest >= thousand / 2)),
        _ => format!("{:.decimals$}{name}{unit}", whole as f64 + rest as f64 / thousand as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right column is what fio 3.33 printed for about these numbers.
    #[test]
    fn numbers_are_as_short_as_fios() {
        for (number, prefix, unit, text) in [
            (4096, Prefix::Binary, "B", "4096B"),
            (16_384, Prefix::Binary, "B", "16.0KiB"),
            (2 << 20, Prefix::Binary, "B", "2048KiB"),
            (4 << 20, Prefix::Decimal, "B", "4194kB"),
            (28_730, Prefix::Decimal, "", "28.7k"),
            (2_757_000, Prefix::Decimal, "", "2757k"),
            (14_824_704, Prefix::Binary, "B/s", "14.1MiB/s"),
            (14_824_704, Prefix::Decimal, "B/s", "14.8MB/s"),
            (117_600_000, Prefix::Binary, "B/s", "112MiB/s"),
            (11_292_000_000, Prefix::Binary, "B/s", "10.5GiB/s"),
            (0, Prefix::Binary, "B", "0B"),
        ] {
            assert_eq!(short(number, 4, prefix, unit), text, "{number}");
        }
        // The longest latency has six characters.
        assert_eq!(short(4_772_168, 6, Prefix::Decimal, ""), "4772.2k");
        assert_eq!(short(849_668, 6, Prefix::Decimal, ""), "849668");
        assert_eq!(short(u64::MAX, 4, Prefix::Binary, "B"), "16384PiB");
    }
}
