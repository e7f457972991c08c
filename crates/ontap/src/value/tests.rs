//! Parsing and printing of every value, by example and by property: a printed value parses to the
//! same value, and canonical text prints unchanged.

use super::*;
use proptest::prelude::*;

#[test]
fn throughput_takes_both_orders_any_case_and_powers_of_ten() {
    let both = Throughput::Limits(ThroughputLimits { iops: Some(10_000), bytes_per_second: Some(300_000_000) });
    for text in ["10000IOPS,300MB/s", "300mb/S,10000iops", "10000,300000KB/s"] {
        assert_eq!(text.parse(), Ok(both), "{text}");
    }
    assert_eq!(both.to_string(), "10000IOPS,300MB/s");
    assert_eq!("800KB/s,100iops".parse::<Throughput>().unwrap().to_string(), "100IOPS,800KB/s");
    assert_eq!("1500MB/s".parse::<Throughput>().unwrap().to_string(), "1500MB/s");
    assert_eq!("2000MB/s".parse::<Throughput>().unwrap().to_string(), "2GB/s");
    assert_eq!("inf".parse(), Ok(Throughput::Infinite));
    assert_eq!("NONE".parse(), Ok(Throughput::None));
    for zero in ["0", "0IOPS", "0MB/s,0IOPS"] {
        assert_eq!(zero.parse(), Ok(Throughput::Zero), "{zero}");
    }
    assert_eq!("0IOPS,1MB/s".parse::<Throughput>().unwrap().to_string(), "1MB/s");
}

#[test]
fn throughput_ends_where_the_rest_fields_end() {
    assert!("2147483647IOPS,4194303MB/s".parse::<Throughput>().is_ok());
    for text in ["2147483648IOPS", "4194304MB/s", "99999999999999999999IOPS", "99999999999TB/s"] {
        assert!(text.parse::<Throughput>().unwrap_err().rule.contains("the largest limit"), "{text}");
    }
}

#[test]
fn throughput_mistakes_come_with_a_proposal() {
    let meant = |text: &str| text.parse::<Throughput>().unwrap_err().meant;
    assert_eq!(meant("10000IOPS,300MB").as_deref(), Some("10000IOPS,300MB/s"));
    assert_eq!(meant("300MBps").as_deref(), Some("300MB/s"));
    assert_eq!(meant("10iop").as_deref(), Some("10IOPS"));
    assert_eq!(meant("non").as_deref(), Some("none"));
    assert_eq!(meant("fast"), None);
    assert!("10IOPS,20IOPS".parse::<Throughput>().unwrap_err().rule.contains("twice"));
    assert!("INF".parse::<MinThroughput>().unwrap_err().to_string().starts_with("\"INF\" is no floor"));
    for text in ["", ",", "10IOPS,", "10 IOPS", "-1IOPS", "1.5MB/s", "IOPS", "INF,1MB/s"] {
        assert!(text.parse::<Throughput>().is_err(), "{text:?}");
    }
}

#[test]
fn adaptive_rates_count_per_terabyte_unless_told_otherwise() {
    for text in ["5000", "5000IOPS", "5000iops/tb"] {
        assert_eq!(text.parse(), Ok(AdaptiveRate { iops: 5000, per: PerSize::Terabyte }), "{text}");
    }
    assert_eq!("1000IOPS/GB".parse(), Ok(AdaptiveRate { iops: 1000, per: PerSize::Gigabyte }));
    assert_eq!("300/tb".parse::<AdaptiveRate>().unwrap_err().meant.as_deref(), Some("300IOPS/TB"));
    assert_eq!("75iops".parse(), Ok(AbsoluteMinimum(75)));
    assert_eq!("75IOPS/TB".parse::<AbsoluteMinimum>().unwrap_err().meant.as_deref(), Some("75IOPS"));
    assert!("5000MB/TB".parse::<AdaptiveRate>().is_err());
    assert!("2147483648".parse::<AdaptiveRate>().is_err());
}

#[test]
fn block_sizes_are_bytes() {
    let bytes = |text: &str| text.parse::<BlockSize>().unwrap().bytes();
    assert_eq!(
        ["any", "4k", "8K", "16k", "32K", "64k", "128K"].map(bytes),
        [0, 4, 8, 16, 32, 64, 128].map(|k| { (k > 0).then_some(k * 1024) })
    );
    let error = "4KB".parse::<BlockSize>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"4KB\" is not a block size: choose from ANY, 4K, 8K, 16K, 32K, 64K, 128K; did you mean \"4K\"?"
    );
}

#[test]
fn sizes_leave_decimal_or_binary_to_the_caller() {
    let size = |text: &str| text.parse::<UnitSize>().unwrap();
    assert_eq!(size("1GB").bytes(SizeUnits::Decimal), Some(1_000_000_000));
    assert_eq!(size("1g").bytes(SizeUnits::Binary), Some(1 << 30));
    assert_eq!(size("512MiB").bytes(SizeUnits::Decimal), Some(512 << 20));
    assert_eq!(size("100g").to_string(), "100GB");
    assert_eq!(size("4096").bytes(SizeUnits::Decimal), Some(4096));
    // 16384 P = 2^14 · 2^50 = 2^64 is one too many.
    assert_eq!(size("16383PB").bytes(SizeUnits::Binary), Some(16_383 << 50));
    assert!("16384PB".parse::<UnitSize>().unwrap_err().rule.contains("largest"));
    for text in ["", "GB", "1 GB", "1.5GB", "1XB", "-1GB", "1Bi"] {
        assert!(text.parse::<UnitSize>().is_err(), "{text:?}");
    }
}

#[test]
fn names_keep_their_rule() {
    assert!("a".repeat(127).parse::<PolicyName>().is_ok());
    assert!("a".repeat(128).parse::<PolicyName>().unwrap_err().rule.ends_with("has 128 characters"));
    assert!("a".repeat(203).parse::<ObjectName>().is_ok());
    assert!("a".repeat(204).parse::<ObjectName>().unwrap_err().rule.ends_with("has 204 characters"));
    for text in ["policy1", "1-shared_x", "A"] {
        assert!(text.parse::<PolicyName>().is_ok(), "{text}");
    }
    for text in ["", "-a", "_a", "a.b", "a b", "a/b", "ä", "none"] {
        assert!(text.parse::<PolicyName>().is_err(), "{text:?}");
    }
    assert!("_hidden.1".parse::<ObjectName>().is_ok());
    for text in ["", ".a", "-a", "a:b", "a/b"] {
        assert!(text.parse::<ObjectName>().is_err(), "{text:?}");
    }
}

#[test]
fn a_comment_is_one_line_of_text() {
    for text in ["", "before the upgrade to \"9.15\"", &"ä".repeat(255)] {
        assert_eq!(text.parse::<Comment>().unwrap().as_str(), text);
    }
    for text in ["two\nlines", "\u{1b}[2J", &"a".repeat(256)] {
        assert!(text.parse::<Comment>().unwrap_err().rule.starts_with("is not a comment: at most 255 "), "{text:?}");
    }
}

#[test]
fn paths_are_taken_apart() {
    let export: ExportName = "svm01:/vol/v1/dir/a:b".parse().unwrap();
    assert_eq!(
        (export.svm.unwrap().as_str(), export.volume.as_str(), export.path.as_str()),
        ("svm01", "v1", "/dir/a:b")
    );
    assert_eq!("/vol/v1/lun1".parse::<ExportName>().unwrap().svm, None);
    for text in
        ["", "lun1", "/vol/v1", "/vol/v1/", "/vol//l", "/vol/v1//l", ":/vol/v1/l", "a:b:/vol/v1/l", "/vol/v:1/l"]
    {
        let error = text.parse::<ExportName>().unwrap_err();
        assert!(error.rule.starts_with("must be a LUN's or file's path"), "{text}: {error}");
    }
    let path: LunPath = "/vol/v1/q1/lun1".parse().unwrap();
    assert_eq!((path.volume.as_str(), path.lun.as_str()), ("v1", "lun1"));
    assert_eq!(path.qtree.map(|q| q.to_string()).as_deref(), Some("q1"));
    assert_eq!("v1/lun1".parse::<LunPath>().unwrap_err().meant.as_deref(), Some("/vol/v1/lun1"));
    for text in ["/vol/v1", "/vol/v1/", "/vol//lun", "/vol/a/b/c/d", "/vol/v1/.", "/vol/v:1/l"] {
        assert!(text.parse::<LunPath>().is_err(), "{text:?}");
    }
    assert!("/dir/file one".parse::<FilePath>().is_ok());
    assert_eq!("file".parse::<FilePath>().unwrap_err().meant.as_deref(), Some("/file"));
    for text in ["/", "//a", "/a/../b", "/a/./b", "/a/"] {
        assert!(text.parse::<FilePath>().is_err(), "{text:?}");
    }
}

#[test]
fn a_cut_off_none_is_noticed_unless_quoted() {
    let read = |text: &str, quoted| PolicyAssignment::from_word(&Word { text: text.to_owned(), quoted });
    assert_eq!(read("none", false), Ok(PolicyAssignment::Detach));
    assert_eq!(read("non", false).unwrap_err().meant.as_deref(), Some("none"));
    assert_eq!(read("non", true), Ok(PolicyAssignment::Group("non".parse().unwrap())));
}

#[test]
fn queries_pick_names() {
    let query = |text: &str| Query::from_word(&Word::plain(text)).unwrap();
    assert!(query("epic_rhel1_*").matches("epic_rhel1_01"));
    assert!(query("epic_rhel1_*").matches("epic_rhel1_"));
    assert!(!query("epic_rhel1_*").matches("epic_rhel2_01"));
    assert!(query("a*b*c").matches("aXbXbc"));
    assert!(!query("a*b*c").matches("aXbXb"));
    assert!(query("a|b").matches("b") && !query("a|b").matches("c"));
    assert!(query("!a*").matches("b") && !query("!a*").matches("ab"));
    assert_eq!(query("vol1").literal(), Some("vol1"));
    assert_eq!((query("vol*").literal(), query("!vol1").literal(), query("a|b").literal()), (None, None, None));
    let quoted = Query::from_word(&Word { text: "a*".to_owned(), quoted: true }).unwrap();
    assert!(quoted.matches("a*") && !quoted.matches("ab"));
    for text in ["", "!", "a|", "|a", "<", ">=", "..b", "a.."] {
        assert!(Query::from_word(&Word::plain(text)).is_err(), "{text:?}");
    }
    assert!(query("b..d").matches("b") && query("b..d").matches("d") && !query("b..d").matches("e"));
    assert!(query("<b").matches("a") && !query("<b").matches("b"));
}

#[test]
fn queries_pick_numbers_by_their_size() {
    let picks = |text: &str, bytes: u64| {
        let read = |operand: &str| operand.parse::<UnitSize>().ok()?.bytes(SizeUnits::Binary);
        text.parse::<Query>().unwrap().matches_number(bytes, "1GB", read)
    };
    let gib = 1 << 30;
    // Strictly more, at least, another way to write the same number, the printed text, and
    // something that is not a number.
    assert!(picks(">512MB", gib) && !picks(">1GB", gib) && picks(">=1GB", gib));
    assert!(picks("1024MB", gib) && picks("1G*", gib) && !picks(">big", gib));
    assert!(picks("512MB..1GB", gib) && !picks("2GB..3GB", gib) && picks("!2GB", gib));
}

/// A slow but obviously correct matcher: the first character of the pattern decides, and a star
/// tries every suffix.
fn slow_wildcard(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|n| slow_wildcard(rest, &text[n..])),
        Some((c, rest)) => text.first() == Some(c) && slow_wildcard(rest, &text[1..]),
    }
}

fn limits() -> impl Strategy<Value = ThroughputLimits> {
    let iops = proptest::option::of(1..=IOPS_MAX);
    let bytes =
        proptest::option::of(prop_oneof![1..=BYTES_PER_SECOND_MAX, (1..=4_194_303u64).prop_map(|n| n * 1_000_000)]);
    (iops, bytes).prop_map(|(iops, bytes_per_second)| ThroughputLimits { iops, bytes_per_second })
}

/// Prints and parses a value, as the grammar would.
fn again<T: Value + std::fmt::Display>(value: &T) -> T {
    let words = Word::split(&value.to_string()).unwrap();
    assert_eq!(words.len(), 1, "{value}");
    T::from_word(&words[0]).unwrap_or_else(|e| panic!("{e}"))
}

proptest! {
    #[test]
    fn printed_limits_read_back(limits in limits()) {
        let max = Throughput::from(limits);
        prop_assert_eq!(again(&max), max);
        let min = MinThroughput::new(limits);
        prop_assert_eq!(again(&min), min);
    }

    #[test]
    fn printed_rates_and_sizes_read_back(iops in 0..=IOPS_MAX, gb: bool, number in 0u64..16_384, unit in 0u8..11) {
        let rate = AdaptiveRate { iops, per: if gb { PerSize::Gigabyte } else { PerSize::Terabyte } };
        prop_assert_eq!(again(&rate), rate);
        prop_assert_eq!(again(&AbsoluteMinimum(iops)), AbsoluteMinimum(iops));
        let unit = match unit { 0 => SizeUnit::Bytes, 1..=5 => SizeUnit::Scaled(unit), _ => SizeUnit::Binary(unit - 5) };
        let size = UnitSize { number, unit };
        prop_assert_eq!(again(&size), size);
    }

    #[test]
    fn canonical_text_prints_as_it_was(iops in 1..=IOPS_MAX, mb in 1u64..1_000, name in "[a-zA-Z0-9][a-zA-Z0-9_-]{0,126}") {
        let same = |text: String| text.parse::<Throughput>().map(|t| t.to_string()) == Ok(text);
        let canonical = [format!("{iops}IOPS,{mb}MB/s"), format!("{mb}KB/s")].map(same);
        prop_assert_eq!(canonical, [true, true]);
        prop_assume!(!name.eq_ignore_ascii_case("none"));
        prop_assert_eq!(name.parse::<PolicyName>().unwrap().to_string(), name.clone());
        prop_assert_eq!(name.parse::<ObjectName>().unwrap().to_string(), name.clone());
        let path = format!("/vol/{name}/{name}/l");
        prop_assert_eq!(path.parse::<LunPath>().unwrap().to_string(), path);
        let group = PolicyAssignment::Group(name.parse().unwrap());
        prop_assert_eq!(again(&group), group);
    }

    #[test]
    fn the_matcher_agrees_with_the_slow_one(pattern in "[ab*]{0,8}", text in "[ab]{0,8}") {
        let chars = |s: &str| s.chars().collect::<Vec<_>>();
        prop_assume!(!pattern.is_empty());
        let query: Query = pattern.parse().unwrap();
        prop_assert_eq!(query.matches(&text), slow_wildcard(&chars(&pattern), &chars(&text)));
        prop_assert_eq!(again(&query), query);
    }

    #[test]
    fn printed_queries_read_back(text in "[a*|!<>=. \"]{1,8}", quoted: bool) {
        // Text outside of quotes contains neither blanks nor quotes.
        prop_assume!(quoted || !text.contains([' ', '"']));
        if let Ok(query) = Query::from_word(&Word { text, quoted }) {
            prop_assert_eq!(again(&query), query);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,40}|[0-9A-Za-z/,*|!. -]{0,40}", quoted: bool) {
        let word = Word { text, quoted };
        let _ = (Throughput::from_word(&word), MinThroughput::from_word(&word), AdaptiveRate::from_word(&word));
        let _ = (AbsoluteMinimum::from_word(&word), UnitSize::from_word(&word), LunPath::from_word(&word));
        let _ = (PolicyName::from_word(&word), ObjectName::from_word(&word), PolicyAssignment::from_word(&word));
        let _ = (Query::from_word(&word), BlockSize::from_word(&word), bool::from_word(&word));
        let _ = (FilePath::from_word(&word), JunctionPath::from_word(&word), Count::from_word(&word), RowCount::from_word(&word));
    }
}
