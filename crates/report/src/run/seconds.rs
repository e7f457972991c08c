//! The figures of seconds for the page's script.

use super::figures;
use crate::page::{Second, Seconds};
use crate::{relation, text, words};
use stats::{FloorOutcome, Interval, Recording, WorkloadRecord};

/// Maximum number of seconds; of a longer run every n-th is included.
const SECONDS_MOST: usize = 3600;
/// Maximum number of rows over all workloads; they take 2 MB of a page.
const ROWS_MOST: usize = 25_000;

pub(super) fn of(recording: &Recording) -> Seconds {
    let mut starts: Vec<&Interval> = recording.workloads.iter().flat_map(|workload| &workload.intervals).collect();
    starts.sort_by_key(|interval| interval.start);
    starts.dedup_by_key(|interval| interval.start);
    let most = (ROWS_MOST / recording.workloads.len().max(1)).clamp(1, SECONDS_MOST);
    let step = starts.len().div_ceil(most).max(1);
    let second = |first: &&Interval| {
        let phase = relation::phase_of(&recording.phases, first);
        let phase = phase.map_or(String::new(), |phase| format!(" · {}", super::numbered(recording, phase)));
        let row = |(index, workload): (usize, &WorkloadRecord)| {
            let interval = relation::interval_at(workload, first.start + first.length / 2)?;
            Some((index, figures::label(workload), cells(recording, interval)))
        };
        Second {
            at: format!("second {}{phase}", text::seconds(first.start)),
            middle: (first.start + first.length / 2).as_secs_f64(),
            rows: recording.workloads.iter().enumerate().filter_map(row).collect(),
        }
    };
    Seconds {
        headings: vec![
            recording.origin.rate_unit(),
            words::MEGABYTES,
            words::P50,
            words::P99,
            words::IN_QOS,
            words::IN_DISK,
            words::HELD_BACK_BY,
            words::FLOOR,
        ],
        seconds: starts.iter().step_by(step).map(second).collect(),
    }
}

fn cells(recording: &Recording, interval: &Interval) -> Vec<String> {
    let floor = match interval.floor {
        FloorOutcome::NotSet => "–".into(),
        fared => fared.to_string(),
    };
    vec![
        text::iops(interval.iops()),
        text::megabytes_or_dash(&interval.counts, interval.bytes_per_second()),
        text::millis_or_dash(relation::p50(interval)),
        text::millis_or_dash(relation::p99(interval)),
        text::millis_or_dash(relation::in_gate(interval)),
        text::millis_or_dash(relation::in_disk(interval)),
        relation::held(recording, interval),
        floor,
    ]
}
