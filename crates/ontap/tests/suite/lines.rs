//! Lines composed of an administrator's words in any order: each is parsed or refused, completed
//! and explained without a panic, and a proposal is valid. `fuzz/fuzz_targets/command_line.rs` does
//! the same with arbitrary bytes.

use proptest::prelude::*;

const WORDS: &[&str] = &[
    "volume",
    "show",
    "modify",
    "create",
    "delete",
    "size",
    "lun",
    "resize",
    "snapshot",
    "qos",
    "policy-group",
    "df",
    "set",
    "rows",
    "man",
    "?",
    "-volume",
    "--volume",
    "-vserver",
    "-size",
    "-new-size",
    "-path",
    "-privilege",
    "-aggr-list",
    "-max-throughput",
    "-is-shared",
    "-force",
    "-fields",
    "-instance",
    "-output",
    "json",
    "true",
    "+500MB",
    "-1GB",
    "100GB",
    "18446744073709551615P",
    "/vol/v/l",
    "10iops,3MB/s",
    "5iops/tb",
    "!a|b",
    ">1000",
    "1..2",
    "..",
    "v*",
    "none",
    "\"",
    "''",
    "\u{2013}volume",
    "advanced",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2_000)))]

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(WORDS), 0..9), glue in "[ |,.]") {
        for line in [words.join(" "), words.join(&glue)] {
            let _ = ontap::complete(&line);
            let _ = ontap::output_of(&line);
            match ontap::parse(&line) {
                Ok(command) => drop((command.shows(), command.question())),
                Err(error) => {
                    prop_assert!(!error.problems.is_empty() && !error.report().is_empty());
                    if let Some(meant) = &error.suggestion {
                        prop_assert!(ontap::parse(meant).is_ok(), "{meant:?}");
                    }
                }
            }
        }
    }
}
