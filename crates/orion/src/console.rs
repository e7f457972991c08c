//! The console output: before the first point, and for each point as it ends.

use crate::point::{MeasuredPoint, iops, lat, mbps};
use crate::test::Test;
use block::Span;
use report::text;
use stats::job::JobOutcome;

/// The program and the version of the original, as its output begins.
pub const VERSION: &str = "ORION: ORacle IO Numbers -- Version 11.2";

/// The text before the first point.
pub fn banner(test: &Test) -> String {
    let load = &test.settings.load;
    // As in published runs, the corner without load counts as a point, and a minute is added: 8
    // points of a minute are 9. A part of a minute is covered by that minute.
    let minutes = (load.duration * test.grid.total() as u64).as_nanos() / Span::from_secs(60).as_nanos() + 1;
    let minutes = text::count(minutes as usize, "minute", "minutes");
    format!(
        "{VERSION} (Seawall {})\n{}\n\
         Calibration will take approximately {minutes}.\n\
         Using a large value for -cache_size may take longer.\n",
        test.version,
        test.stem()
    )
}

/// The lines of a completed point, which is `number` of all: one for its small requests and one for
/// its large ones.
pub fn point_lines(number: usize, of: usize, point: &MeasuredPoint) -> Vec<String> {
    let head = format!("{number}/{of} Small={} Large={}", point.spot.small, point.spot.large);
    let line = |(place, (name, work)): (usize, (&str, &JobOutcome))| {
        let lat = lat(work);
        let rate = match name {
            "small" => format!("{} IOPS", text::iops(iops(work))),
            _ => format!("{:.2} MBPS", mbps(work)),
        };
        let head = if place == 0 { head.clone() } else { " ".repeat(head.len()) };
        format!("{head} {name}: {rate}, mean {}, p99 {}", lat.mean(), lat.quantile(0.99))
    };
    point.works().enumerate().map(line).collect()
}
