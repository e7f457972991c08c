//! The answers printed in published documents: the block of one policy group to the column; and the
//! built-in adaptive groups, which the document prints without columns, word for word.

use ontap::Command;
use ontap::catalogue::{AdaptiveCommand, PolicyGroupCommand};
use ontap::show::{AdaptiveRow, Listing, PolicyGroupRow};
use ontap::value::{AdaptiveRate, Allocation, BlockSize, PeakMode, PerSize, SizeUnits, ThroughputLimits};

const SHOWS: &str = include_str!("../published_shows.txt");

/// Each line that was typed, and the output below it.
fn shows() -> Vec<(&'static str, &'static str)> {
    let blocks = SHOWS.split("::> ").skip(1).map(|block| block.split("\n# ").next().unwrap());
    blocks.map(|block| block.split_once('\n').unwrap()).collect()
}

fn answer(line: &str) -> String {
    match ontap::parse(line).unwrap() {
        Command::PolicyGroup(PolicyGroupCommand::Show(selection)) => {
            let row = PolicyGroupRow {
                policy_group: "policy1".into(),
                vserver: "svm01".into(),
                uuid: "63ab2b0a-bc09-11ec-81f5-abba8ceb7752".into(),
                class: "user-defined".into(),
                pgid: 1664,
                max_throughput: Some(ThroughputLimits { iops: Some(10_000), bytes_per_second: Some(300_000_000) }),
                ..PolicyGroupRow::default()
            };
            Listing::new([row], &selection, SizeUnits::Decimal).text()
        }
        Command::Adaptive(AdaptiveCommand::Show(selection)) => {
            let row = |(name, expected, peak, least): (&str, u64, u64, u64)| AdaptiveRow {
                policy_group: name.into(),
                vserver: "fp-g9a".into(),
                uuid: String::new(),
                class: "preset".into(),
                pgid: 1,
                expected_iops: AdaptiveRate { iops: expected, per: PerSize::Terabyte },
                peak_iops: AdaptiveRate { iops: peak, per: PerSize::Terabyte },
                expected_iops_allocation: Allocation::Allocated,
                peak_iops_allocation: Allocation::Used,
                absolute_min_iops: least,
                expected_latency: None,
                block_size: BlockSize::K32,
                peak_mode: PeakMode::Ceiling,
                num_workloads: 0,
                burst: None,
            };
            let rows = [("extreme", 6144, 12288, 1000), ("performance", 2048, 4096, 500), ("value", 128, 512, 75)];
            Listing::new(rows.map(row), &selection, SizeUnits::Decimal).text()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_published_is_printed() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shows = shows();
    assert_eq!(shows.len(), 2);
    for (line, published) in shows {
        let ours = answer(line);
        if line.contains("adaptive") {
            for row in published.lines().skip_while(|row| !row.starts_with("extreme")) {
                assert!(ours.lines().any(|our| words(our) == words(row)), "{row}\n{ours}");
            }
            continue;
        }
        // The document has non-breaking blanks. Fields that are ours alone follow.
        let published = published.replace('\u{a0}', " ");
        assert!(ours.starts_with(published.trim_matches('\n')), "{published}\n{ours}");
    }
}
