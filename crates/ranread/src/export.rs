//! The export file: the seven classic columns, each value followed by a tab, and all columns as
//! clean CSV.

use crate::batch::Batch;
use crate::row::ProcessState;
use block::date;
use std::fmt::Write as _;

/// The names of the classic columns.
pub(crate) const CLASSIC: [&str; 7] =
    ["RunDate", "RunTime", "Database", "Iterations", "Processes", "ResponseTime", "IOPS"];
const OURS: [&str; 12] = [
    "MeasuredIOPS",
    "ReadPct",
    "BlockBytes",
    "Requests",
    "Failed",
    "MBPS",
    "MinMs",
    "P50Ms",
    "P99Ms",
    "P99.9Ms",
    "MaxMs",
    "State",
];

/// The classic file's name, from the minute in which it is made.
pub fn export_name(unix_s: u64) -> String {
    date(unix_s, "PerfToolsRanRead_%Y%m%d-%H%M.txt")
}

/// The classic file: every value is followed by a tab, also the last one of a line.
pub fn export(batches: &[Batch]) -> String {
    let line = |fields: &[String]| fields.iter().map(|field| format!("{field}\t")).collect::<String>() + "\n";
    let head = line(&CLASSIC.map(str::to_owned));
    batches.iter().fold(head, |text, batch| text + &line(&classic(batch)))
}

/// All columns as CSV.
pub fn csv(batches: &[Batch]) -> String {
    let mut text = [&CLASSIC[..], &OURS[..]].concat().join(",") + "\n";
    for batch in batches {
        let fields: Vec<String> = classic(batch).into_iter().chain(ours(batch)).map(|field| quoted(&field)).collect();
        let _ = writeln!(text, "{}", fields.join(","));
    }
    text
}

fn classic(batch: &Batch) -> [String; 7] {
    let any = batch.any();
    let (day, time) = day_and_time(any.started_unix_s);
    [
        day,
        time,
        any.database.clone(),
        batch.iterations().to_string(),
        any.processes.to_string(),
        // If nothing was done there is no response time and no rate; the published query has NULL
        // there.
        batch.response_ms().map_or(String::new(), rounded),
        batch.export_iops().map_or(String::new(), |iops| format!("{:.0}", iops.round())),
    ]
}

/// What the classic columns cannot say: how many of these batches did not run to the end.
pub fn partial_batches(batches: &[Batch]) -> Option<String> {
    let partial = batches.iter().filter(|batch| batch.state() != ProcessState::Whole).count();
    (partial > 0).then(|| {
        format!(
            "{partial} of {} batches did not run to the end and have the figures of what was done; the column State says \
             which, with --csv and in PerfTools.RanRead",
            batches.len()
        )
    })
}

/// A time as in rows: `2016-05-23` and `14:08:00`.
pub(crate) fn day_and_time(unix_s: u64) -> (String, String) {
    (date(unix_s, "%Y-%m-%d"), date(unix_s, "%H:%M:%S"))
}

/// At most two decimals, rounded as in the original: `7.18`, `9.9`, `10`.
fn rounded(ms: f64) -> String {
    let text = format!("{ms:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn ours(batch: &Batch) -> [String; 12] {
    let (any, lat, seconds) = (batch.any(), batch.lat(), batch.elapsed().as_secs_f64());
    let ms = |span: block::Span| format!("{:.4}", span.as_millis_f64());
    let rate = if seconds > 0.0 { batch.bytes() as f64 / seconds / 1e6 } else { 0.0 };
    let state = match batch.state() {
        ProcessState::Whole => "whole",
        ProcessState::Stopped => "stopped",
        ProcessState::Running => "cut off",
    };
    [
        format!("{:.1}", batch.measured_iops()),
        any.read_percent.to_string(),
        any.block.to_string(),
        batch.done().to_string(),
        batch.failed().to_string(),
        format!("{rate:.3}"),
        ms(lat.min()),
        ms(lat.quantile(0.5)),
        ms(lat.quantile(0.99)),
        ms(lat.quantile(0.999)),
        ms(lat.max()),
        state.into(),
    ]
}

fn quoted(field: &str) -> String {
    match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::batch;

    /// 7.176 ms at 20 processes, and two of 4 and 8 ms whose export IOPS are 375.
    #[test]
    fn the_classic_file_has_seven_columns_and_a_tab_behind_each() {
        let text = export(&[batch(&[7176; 20]), batch(&[4000, 8000])]);
        let expected = "RunDate\tRunTime\tDatabase\tIterations\tProcesses\tResponseTime\tIOPS\t\n\
                        2016-05-23\t14:08:00\t/usr/iris/db/zranread/\t1000\t20\t7.18\t2787\t\n\
                        2016-05-23\t14:08:00\t/usr/iris/db/zranread/\t1000\t2\t6\t375\t\n";
        assert_eq!(text, expected);
        assert_eq!(export_name(1_464_012_480), "PerfToolsRanRead_20160523-1408.txt");
    }

    /// A batch that was stopped before its first request has no figures, and is counted.
    #[test]
    fn a_batch_that_did_nothing_has_no_figures() {
        let mut stopped = batch(&[4000, 8000]);
        for row in &mut stopped.rows {
            (row.reads, row.state) = (0, ProcessState::Stopped);
        }
        let text = export(&[batch(&[4000]), stopped.clone()]);
        assert!(text.ends_with("\t/usr/iris/db/zranread/\t0\t2\t\t\t\n"), "{text}");
        let note = partial_batches(&[batch(&[4000]), stopped]).unwrap();
        assert!(note.starts_with("1 of 2 batches did not run to the end"), "{note}");
        assert_eq!(partial_batches(&[batch(&[4000])]), None);
    }

    /// 2000 requests of 8 KiB in 8 s: 250 a second, 2.048 MB/s; the slowest took 8 ms.
    #[test]
    fn the_csv_has_what_averages_cannot_say() {
        let mut odd = batch(&[4000, 8000]);
        odd.rows.iter_mut().for_each(|row| row.database = "/a,\"b\"".into());
        let text = csv(&[odd]);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with("2016-05-23,14:08:00,\"/a,\"\"b\"\"\",1000,2,6,375,250.0,100,8192,2000,0,2.048,4.0000,")
        );
        assert!(line.ends_with(",8.0000,whole"), "{line}");
        assert_eq!(text.lines().next().unwrap().split(',').count(), 19);
    }
}
