//! fio's recording of a job's requests, `write_iolog`: one line per request, version 3, with
//! microseconds from the start of the job. `read_iolog` of seawall and of fio can replay it.

use super::log::LogFile;
use crate::job::Job;
use stats::job::{Asked, JobOutcome};
use std::fmt::Write as _;

/// The recording that a job requested.
pub fn recording(job: &Job, outcome: &JobOutcome) -> Option<LogFile> {
    let path = job.recorded_to()?;
    // A target without files has a name all the same.
    let unnamed = [format!("{}.{}.0", job.section, job.number)];
    let files = if outcome.files.is_empty() { &unnamed[..] } else { &outcome.files };
    let mut text = String::from("fio version 3 iolog\n");
    for (action, at) in [("add", 0), ("open", 0)] {
        files.iter().for_each(|file| line(&mut text, at, file, action));
    }
    for row in &outcome.asked {
        let action = match row.what {
            Asked::Move(direction) => direction.name(),
            Asked::Flush { whole: true } => "sync",
            Asked::Flush { whole: false } => "datasync",
        };
        let Some(file) = files.get(row.file as usize) else { continue };
        line(&mut text, micros(row.made), file, &format!("{action} {} {}", row.at, row.len));
    }
    let end = outcome.asked.last().map_or(0, |row| micros(row.made));
    files.iter().for_each(|file| line(&mut text, end, file, "close"));
    Some(LogFile { path, text })
}

fn micros(span: block::Span) -> u64 {
    span.as_nanos() / 1000
}

/// Writing into a string cannot fail.
fn line(text: &mut String, at: u64, file: &str, what: &str) {
    let _ = writeln!(text, "{at} {file} {what}");
}
