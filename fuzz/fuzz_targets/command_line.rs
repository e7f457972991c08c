//! An administrator's line: whatever it is, it is read or refused, completed and asked about
//! without a panic; a proposal reads as it stands, and every value prints as what reads back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ontap::value::{AdaptiveRate, NewSize, Query, Throughput, UnitSize};
use std::fmt::Display;
use std::str::FromStr;

fuzz_target!(|data: &[u8]| {
    let line = String::from_utf8_lossy(data);
    let _ = ontap::complete(&line);
    let _ = ontap::output_of(&line);
    match ontap::parse(&line) {
        Ok(command) => drop((command.shows(), command.question())),
        Err(error) => {
            assert!(!error.problems.is_empty() && !error.report().is_empty());
            if let Some(meant) = &error.suggestion {
                assert!(ontap::parse(meant).is_ok(), "{meant:?}");
            }
        }
    }
    reads_back::<UnitSize>(&line);
    reads_back::<NewSize>(&line);
    reads_back::<AdaptiveRate>(&line);
    let _ = line.parse::<Throughput>();
    if let Ok(query) = line.parse::<Query>() {
        let _ = query.matches("vol1");
    }
});

fn reads_back<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert!(value.to_string().parse().is_ok_and(|back: T| back == value), "{text:?}");
    }
}
