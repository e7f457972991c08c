//! The three matrices: small loads in columns, large loads in rows. Rows end after their last
//! figure, as in the original.
//!
//! ```text
//!   Large/Small,      1,      2        Large/Small,      0,      1
//!             0,    900,   1700                  1,  88.10
//!             1                                  2, 120.55
//! ```

use crate::ladder::{Grid, LoadPoint};
use crate::point::MeasuredPoint;

/// Small requests per second; like the other two, of whole points.
pub fn iops(grid: &Grid, points: &[MeasuredPoint]) -> String {
    matrix(&loads(&grid.small), &grid.large, |spot| Some(format!("{:.0}", whole(points, spot)?.iops()?)))
}

/// MB per second of large requests.
pub fn mbps(grid: &Grid, points: &[MeasuredPoint]) -> String {
    matrix(&grid.small, &loads(&grid.large), |spot| Some(format!("{:.2}", whole(points, spot)?.mbps()?)))
}

/// Mean response time of small requests, in milliseconds.
pub fn latency(grid: &Grid, points: &[MeasuredPoint]) -> String {
    matrix(&loads(&grid.small), &grid.large, |spot| {
        Some(format!("{:.2}", whole(points, spot)?.small_lat()?.mean().as_millis_f64()))
    })
}

/// The point at that position, if it was measured.
pub fn at(points: &[MeasuredPoint], spot: LoadPoint) -> Option<&MeasuredPoint> {
    points.iter().find(|point| point.spot == spot)
}

/// The same, if it was measured to its end.
pub fn whole(points: &[MeasuredPoint], spot: LoadPoint) -> Option<&MeasuredPoint> {
    at(points, spot).filter(|point| point.is_whole())
}

/// The levels with load.
fn loads(levels: &[u32]) -> Vec<u32> {
    levels.iter().copied().filter(|level| *level > 0).collect()
}

fn matrix(across: &[u32], down: &[u32], figure: impl Fn(LoadPoint) -> Option<String>) -> String {
    let mut text = String::from("Large/Small");
    across.iter().for_each(|small| text += &format!(",{small:>7}"));
    text.push('\n');
    for &large in down {
        let cells: Vec<Option<String>> = across.iter().map(|&small| figure(LoadPoint { small, large })).collect();
        let last = cells.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        text += &format!("{large:>11}");
        cells[..last].iter().for_each(|cell| text += &format!(",{:>7}", cell.as_deref().unwrap_or("")));
        text.push('\n');
    }
    text
}
