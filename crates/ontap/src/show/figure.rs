//! How ONTAP writes figures. The rules are derived from published output; the examples in the tests
//! are taken from there.

use crate::value::SizeUnits;

/// Latencies below this are printed in microseconds, in nanoseconds. Published tables have
/// 1264.00us and 2.52ms, so the limit is in between.
const MICROSECONDS_BELOW_NS: u64 = 1_300_000;

const SIZE_UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];

/// A size in the largest unit that it reaches: whole numbers without a fraction (`20MB`), others
/// with four digits (`99.78MB`, `972.5MB`, `1023MB`).
pub fn size(bytes: u64, units: SizeUnits) -> String {
    let base: u128 = base(units).into();
    let bytes = u128::from(bytes);
    let (mut power, mut unit) = (0, 1);
    while power + 1 < SIZE_UNITS.len() && bytes >= unit * base {
        power += 1;
        unit *= base;
    }
    let name = SIZE_UNITS[power];
    let whole = bytes / unit;
    let digits: u32 = match whole {
        _ if bytes % unit == 0 => return format!("{whole}{name}"),
        0..100 => 2,
        100..1_000 => 1,
        _ => 0,
    };
    format!("{}{name}", decimal(bytes, unit, digits))
}

/// Bytes per second as KB/s or MB/s; zero is `0KB/s`.
///
/// ONTAP counts these in powers of 1024, although limits count in powers of 1000: a published row
/// has 7219 operations of 4 KiB as 28.20MB/s, and 7219 · 4096 / 2^20 = 28.20. The caller chooses.
pub fn throughput(bytes_per_second: u64, units: SizeUnits) -> String {
    let base = u128::from(base(units));
    let bytes = u128::from(bytes_per_second);
    match bytes {
        0 => "0KB/s".to_owned(),
        _ if bytes < base * base => format!("{}KB/s", decimal(bytes, base, 2)),
        _ => format!("{}MB/s", decimal(bytes, base * base, 2)),
    }
}

/// A latency in nanoseconds as microseconds or milliseconds; zero is `0ms`.
pub fn latency(ns: u64) -> String {
    match ns {
        0 => "0ms".to_owned(),
        _ if ns < MICROSECONDS_BELOW_NS => format!("{}us", decimal(ns.into(), 1_000, 2)),
        _ => format!("{}ms", decimal(ns.into(), 1_000_000, 2)),
    }
}

/// A latency in nanoseconds in eight columns: to a microsecond below 10 ms, to a tenth of a
/// millisecond below 10 s, then to a second. Zero is `0ms`.
pub fn short_latency(ns: u64) -> String {
    match ns {
        0 => "0ms".to_owned(),
        _ if ns < 9_999_500 => format!("{}us", decimal(ns.into(), 1_000, 0)),
        _ if ns < 9_999_950_000 => format!("{}ms", decimal(ns.into(), 1_000_000, 1)),
        _ => format!("{}s", decimal(ns.into(), 1_000_000_000, 0)),
    }
}

fn base(units: SizeUnits) -> u64 {
    match units {
        SizeUnits::Decimal => 1_000,
        SizeUnits::Binary => 1_024,
    }
}

/// `number / unit` with this many digits after the point, rounded to the nearest, halves up.
fn decimal(number: u128, unit: u128, digits: u32) -> String {
    let scale = 10_u128.pow(digits);
    let scaled = (number * scale + unit / 2) / unit;
    match digits {
        0 => scaled.to_string(),
        _ => format!("{}.{:0width$}", scaled / scale, scaled % scale, width = digits as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_four_digits_unless_they_are_whole() {
        let mb = 1 << 20;
        // 1 GiB; 20 MiB; 99.78 MiB; 972.5 MiB; 1023 MiB and a byte; 1.5 GiB; just under 100 GiB
        // rounds up.
        let cases = [
            (1 << 30, "1GB"),
            (20 * mb, "20MB"),
            (9_978 * mb / 100, "99.78MB"),
            (9_725 * mb / 10 + 1, "972.5MB"),
            (1_023 * mb + 1, "1023MB"),
            (1_536 * mb, "1.50GB"),
            ((100 << 30) - 1, "100.00GB"),
            (0, "0B"),
            (512, "512B"),
            (u64::MAX, "16.00EB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes, SizeUnits::Binary), text, "{bytes}");
        }
        assert_eq!(size(100_000_000_000, SizeUnits::Decimal), "100GB");
        assert_eq!(size(107_374_182_400, SizeUnits::Decimal), "107.4GB");
        assert_eq!(size(107_374_182_400, SizeUnits::Binary), "100GB");
    }

    #[test]
    fn throughput_turns_from_kilobytes_to_megabytes() {
        assert_eq!(throughput(0, SizeUnits::Binary), "0KB/s");
        // 10.92 KiB; 0.22 KiB; 7219 operations of 4 KiB.
        assert_eq!(throughput(11_182, SizeUnits::Binary), "10.92KB/s");
        assert_eq!(throughput(225, SizeUnits::Binary), "0.22KB/s");
        assert_eq!(throughput(7_219 * 4_096, SizeUnits::Binary), "28.20MB/s");
        assert_eq!(throughput(999_999, SizeUnits::Decimal), "1000.00KB/s");
        assert_eq!(throughput(200_000_000, SizeUnits::Decimal), "200.00MB/s");
        assert_eq!(throughput(u64::MAX, SizeUnits::Decimal), "18446744073709.55MB/s");
    }

    #[test]
    fn a_short_latency_has_eight_columns_at_most() {
        let cases = [
            (0, "0ms"),
            (400, "0us"),
            (1_264_000, "1264us"),
            (9_999_499, "9999us"),
            (9_999_500, "10.0ms"),
            (216_870_000, "216.9ms"),
            (9_999_949_999, "9999.9ms"),
            (9_999_950_000, "10s"),
        ];
        for (ns, text) in cases {
            assert_eq!(short_latency(ns), text);
            assert!(text.len() <= 8);
        }
    }

    #[test]
    fn latency_turns_from_microseconds_to_milliseconds() {
        let cases = [
            (0, "0ms"),
            (496_000, "496.00us"),
            (1_264_000, "1264.00us"),
            (1_299_999, "1300.00us"),
            (1_300_000, "1.30ms"),
            (2_520_000, "2.52ms"),
            (216_870_000, "216.87ms"),
        ];
        for (ns, text) in cases {
            assert_eq!(latency(ns), text);
        }
    }
}
