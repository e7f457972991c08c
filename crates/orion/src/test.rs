//! A test: everything that is known before its first point, and its files.

use crate::grammar::Settings;
use crate::jobs::OrionVolume;
use crate::ladder::Grid;
use crate::point::MeasuredPoint;
use crate::{Limits, Proof, histogram, matrix, percentiles, proofs, summary, trace, verdicts};
use block::date;
use stats::{Outcome, Verdict};

/// A test at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Its settings.
    pub settings: Settings,
    /// Its volumes.
    pub volumes: Vec<OrionVolume>,
    /// Its points.
    pub grid: Grid,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// The program's version.
    pub version: String,
    /// Number of earlier tests with the same name in the same minute; file names have it after the
    /// time.
    pub earlier: u32,
    /// Whether time is virtual.
    pub simulated: bool,
}

impl Test {
    /// The stem of its file names: the test's name, date and time.
    pub fn stem(&self) -> String {
        let again = if self.earlier > 0 { format!("_{}", self.earlier + 1) } else { String::new() };
        format!("{}_{}{again}", self.settings.test_name, date(self.started_unix_s, "%Y%m%d_%H%M"))
    }

    /// The limits of its second maxima.
    pub fn limits(&self) -> Limits {
        Limits { small: self.settings.small_limit, large: self.settings.large_limit }
    }

    /// The results for these points, as far as they are whole.
    pub fn proofs(&self, points: &[MeasuredPoint]) -> Vec<Proof> {
        points.iter().filter(|point| point.is_whole()).flat_map(|point| proofs(point, &self.settings.load)).collect()
    }

    /// The verdicts on the test: what its whole points prove, and that nothing can be said of the
    /// others.
    pub fn verdicts(&self, points: &[MeasuredPoint]) -> Vec<Verdict> {
        let rest = self.missing(points).map(|measured| {
            let why = points.iter().find_map(MeasuredPoint::trouble);
            let why = why.map_or(String::new(), |why| format!("; {why}"));
            Verdict {
                question: "every point of the test was measured".into(),
                outcome: Outcome::CannotSay,
                because: measured + &why,
                measured: None,
            }
        });
        verdicts(&self.proofs(points)).into_iter().chain(rest).collect()
    }

    /// How many points were measured, if not all of them.
    pub fn missing(&self, points: &[MeasuredPoint]) -> Option<String> {
        let (whole, all) = (points.iter().filter(|point| point.is_whole()).count(), self.grid.spots.len());
        (whole < all).then(|| format!("{whole} of {all} points were measured"))
    }

    /// Important notes on its figures, one line each.
    pub fn stamps(&self) -> Vec<String> {
        let mut stamps = Vec::new();
        if self.simulated {
            stamps.push("In virtual time on a simulated device: no storage was measured.".to_owned());
        }
        if self.settings.quick {
            let thinned = if self.grid.is_thinned { ", levels of the ladder are left out" } else { "" };
            let seconds = report::text::seconds(self.settings.load.duration);
            let about = format!("points of {seconds} s{thinned}, no cache warming");
            stamps.push(format!("Quick preset: {about}. Not comparable with a whole run."));
        }
        if self.settings.load.page_cache {
            stamps.push("Through the host's page cache: figures are not the storage's.".to_owned());
        }
        let size: u64 = self.volumes.iter().map(|volume| volume.size).sum();
        if let Some(cache) = self.settings.load.warm.filter(|cache| size < cache.saturating_mul(2)) {
            let (size, cache) = (block::Bytes(size), block::Bytes(cache));
            stamps.push(format!("The volumes have {size}, less than twice the cache of {cache}: this may measure it."));
        }
        stamps
    }
}

/// Suffixes of a test's file names, with their contents.
pub fn files(test: &Test, points: &[MeasuredPoint]) -> [(&'static str, String); 7] {
    [
        ("summary.txt", summary::text(test, points)),
        ("iops.csv", matrix::iops(&test.grid, points)),
        ("mbps.csv", matrix::mbps(&test.grid, points)),
        ("lat.csv", matrix::latency(&test.grid, points)),
        ("hist.txt", histogram::text(points)),
        ("trace.txt", trace::text(test, points)),
        ("percentiles.csv", percentiles::text(test, points)),
    ]
}
