//! Charts of policies: the published ones as printed, and what cannot be drawn.

use crate::Administration;
use block::Time;

const EPIC: &str = "-expected-iops 15000 -peak-iops 30000 -absolute-min-iops 7500";
const USED: &str = "-expected-iops-allocation used-space -peak-iops-allocation used-space -block-size any";

/// The chart of a policy with these settings.
fn chart(settings: &str, arguments: &str) -> Result<String, String> {
    let mut administration = Administration::new(qos::RegistrySettings::default());
    let create = format!("qos adaptive-policy-group create AqosEpicProd -vserver epic {settings}");
    let mut said = Ok(String::new());
    for line in ["vserver create epic", &create, &format!("qos adaptive-policy-group chart AqosEpicProd {arguments}")] {
        let outcome = administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        said = outcome.map(|outcome| outcome.answer.text());
    }
    said
}

/// The published policy of the record system: 15 000 IOPS/TB, at most 30 000, at least 7 500. For 5
/// TB that is 75 000 and 150 000. The minimum applies below half a TB, and the ceiling is above the
/// floor from a quarter on.
#[test]
fn the_published_policy_is_drawn() {
    let said = chart(&format!("{EPIC} {USED}"), "").unwrap();
    insta::assert_snapshot!(said);
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    assert!(said.contains("\n    0.500 TB       7,500        15,000  "), "{said}");
    assert!(said.contains("\n    5.000 TB      75,000       150,000  "), "{said}");
    // 5 TB in three years at 20 %: 8.64 TB.
    assert!(said.contains("\n      year 3     129,600       259,200  "), "{said}");
}

/// The published settings for a database of 75 TB: 1000, 2000, 500.
#[test]
fn the_policy_of_the_database_of_75_tb_is_drawn() {
    let said = chart(&format!("-expected-iops 1000 -peak-iops 2000 -absolute-min-iops 500 {USED}"), "-used-space 75TB");
    insta::assert_snapshot!(said.unwrap());
}

/// By default, the floor depends on allocated space and the ceiling on used space. With a fifth of
/// 5 TB used both are 75 000, as published; the ceiling rises from half on.
#[test]
fn a_floor_by_allocated_space_is_flat() {
    let said = chart(EPIC, "-size 5TB -used-space 1TB -growth 50 -years 2").unwrap();
    assert!(said.contains("\n    1.000 TB      75,000        75,000  ####"), "{said}");
    let flowing = said.replace('\n', " ");
    assert!(flowing.contains("The floor goes by the allocated space; the absolute minimum of 7,500 IOPS is below it."));
    // 75 000 × 32 KiB = 2457.6 MB/s.
    assert!(flowing.contains("at least 2,458 and at most 2,458 MB/s"), "{said}");
    assert!(said.contains("\n    2.500 TB      75,000        75,000  "), "the ceiling's knee: {said}");
    assert!(said.contains("\n    5.000 TB      75,000       150,000  "), "the volume is full: {said}");
    assert!(said.contains("\n      year 2      75,000        75,000  "), "2.25 TB: {said}");
    let full = chart(EPIC, "-size 5TB -used-space 4TB -growth 50 -years 2").unwrap();
    assert!(full.contains("\n      year 2      75,000       150,000  "), "it holds no more than 5 TB: {full}");
}

#[test]
fn it_is_a_picture_and_a_page_too() {
    let settings = format!("{EPIC} {USED}");
    let svg = chart(&settings, "-format svg").unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("absolute minimum 7,500, up to 0.500 TB"), "{svg}");
    assert!(!svg.contains("NaN"));
    let page = chart(&settings, "-format page").unwrap();
    // Two charts, wide and narrow.
    assert_eq!(page.matches("<svg").count(), 4);
    assert!(page.contains("Policy group AqosEpicProd") && page.contains("at least 75,000, at most 150,000 IOPS"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    for (arguments, words) in [
        ("-used-space 6TB -size 5TB", "a volume of 5000000000000 bytes holds no more than that; make -size larger"),
        ("-used-space 0TB", "size 0TB: a chart is of 1 byte to 1 EiB"),
        ("-years 0", "is not a number of years: write 1 to 30"),
        ("-growth -5", "growth"),
        ("-format png", "choose from text, svg, page"),
    ] {
        let refused = chart(EPIC, arguments).unwrap_err();
        assert!(refused.contains(words), "{arguments}: {refused}");
    }
    let mut administration = Administration::new(qos::RegistrySettings::default());
    let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map(|outcome| outcome.answer.text());
    let _ = run("vserver create s").unwrap();
    let _ = run("qos policy-group create fixed -max-throughput 5IOPS").unwrap();
    assert!(run("qos adaptive-policy-group chart fixed").unwrap_err().to_string().contains("fixed"));
    assert!(run("qos adaptive-policy-group chart none-such").is_err());
    // Built-in groups too, and without a given space: 500 / 2048 TB is the knee.
    assert!(run("qos adaptive-policy-group chart performance").unwrap().contains("Up to 0.244 TB"));
}
