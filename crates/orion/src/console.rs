//! What the console says: before the first point, and of each as it ends.

use crate::point::{Measured, lat};
use crate::test::Test;
use block::Span;
use report::text;

/// Before the first point.
pub fn banner(test: &Test) -> String {
    let load = &test.ask.load;
    // As the published runs said: the corner without load counts, and a minute more.
    let minutes = (load.duration * test.grid.total() as u64).as_nanos().div_ceil(Span::from_secs(60).as_nanos()) + 1;
    format!(
        "ORION: ORacle IO Numbers -- Version 11.2 (Seawall {})\n{}\n\
         Calibration will take approximately {minutes} minutes.\n\
         Using a large value for -cache_size may take longer.\n",
        test.version,
        test.stem()
    )
}

/// A point that ended, `number` of all.
pub fn point_line(number: usize, of: usize, point: &Measured) -> String {
    let mut line = format!("{number}/{of} Small={} Large={}:", point.spot.small, point.spot.large);
    if let Some(iops) = point.iops() {
        line += &format!(" {} IOPS", text::iops(iops));
    }
    if let Some(mbps) = point.mbps() {
        line += &format!(" {mbps:.2} MBPS");
    }
    for (name, work) in point.works() {
        let lat = lat(work);
        line += &format!(", {name} {} ms, p99 {}", text::millis(lat.mean()), text::millis(lat.quantile(0.99)));
    }
    line
}
