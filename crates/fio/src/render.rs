//! Writes fio's outputs from the outcomes of jobs: JSON, terse, normal, and log files.
//!
//! Keys, order and layout are those of fio 3.33, so programs that read fio's outputs can read
//! these. Additional figures are in keys named `seawall`.

mod aggregate;
mod entry;
mod figure;
mod histogram_log;
mod iolog;
mod json;
mod json_text;
mod log;
mod normal;
mod terse;

mod shares;

pub use iolog::recording;
pub use json_text::Json;
pub use log::LogFile;

use crate::flags::Format;
use crate::invocation::Invocation;
use block::date;
use stats::job::JobOutcome;

/// The name used in place of fio's version. Programs look for `fio-` and a number.
pub const VERSION: &str = concat!("fio-3.33-seawall-", env!("CARGO_PKG_VERSION"));

/// All inputs of a report.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// The jobs.
    pub invocation: &'r Invocation,
    /// The outcome of each job, in the order of [`Invocation::jobs`].
    pub outcomes: &'r [JobOutcome],
    /// When the report is written.
    pub moment: Moment,
    /// The machine's name.
    pub host: &'r str,
    /// The process ID.
    pub pid: u32,
    /// Notes for the user that came up during the run; one line each.
    pub notes: &'r [String],
    /// The state at earlier times, oldest first.
    pub interim: &'r [Interim],
    /// Whether the run was stopped by the user.
    pub interrupted: bool,
}

/// The state of all jobs at some time of the run, as text for the JSON. This takes a few kilobytes
/// for each entry, much less than its histograms.
#[derive(Clone, Debug)]
pub struct Interim(pub(crate) Json);

/// A date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970, UTC.
    pub unix_ms: u64,
    /// Offset of local time from UTC, in seconds.
    pub ahead_s: i32,
}

impl Report<'_> {
    /// The requested outputs, in fio's order.
    pub fn outputs(&self) -> String {
        self.invocation.flags.formats.iter().map(|format| self.output(*format)).collect()
    }

    /// Those of these outputs that may be repeated one after the other: all but JSON, which is one
    /// document.
    pub fn repeatable(&self) -> String {
        let formats = self.invocation.flags.formats.iter();
        formats.filter(|format| !format.is_json()).map(|format| self.output(*format)).collect()
    }

    fn output(&self, format: Format) -> String {
        match format {
            Format::Terse => self.terse(),
            Format::Json => self.json(),
            Format::JsonPlus => self.json_plus(),
            Format::Normal => self.normal(),
        }
    }
}

impl Moment {
    /// In local time, such as `Sat Nov 21 23:17:49 2026`.
    pub fn date(self) -> String {
        date((self.unix_ms / 1000).saturating_add_signed(i64::from(self.ahead_s)), "%a %b %e %H:%M:%S %Y")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_ctime() {
        let date = |unix_s: u64, ahead_s| Moment { unix_ms: unix_s * 1000, ahead_s }.date();
        // What fio printed next to its timestamp 1795303069.
        assert_eq!(date(1_795_303_069, 0), "Sat Nov 21 23:17:49 2026");
        assert_eq!(date(0, 0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_400, 0), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date(951_782_400, -3600), "Mon Feb 28 23:00:00 2000");
        assert!(date(u64::MAX / 1000, 0).len() > 20);
    }
}
