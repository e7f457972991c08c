//! A sweep as a table of 80 columns.

use crate::point::Point;
use block::Span;
use report::text;

/// The column heads, in two lines.
pub fn sweep_heads() -> &'static str {
    "procs     IOPS      ±  average      ±      p99    p99.9      max    requests\n\
     \x20              %       ms      %       ms       ms       ms"
}

/// The line of a point.
pub fn sweep_line(point: &Point) -> String {
    let (iops, response) = (point.iops(), point.response_ms());
    let part = |half: f64, mean: f64| match point.samples.len() {
        0 | 1 => "-".to_owned(),
        _ if mean > 0.0 => format!("{:.1}", half / mean * 100.0),
        _ => "0.0".into(),
    };
    let lat = point.lat();
    let quantile = |part| lat.as_ref().map_or("-".to_owned(), |lat| four(lat.quantile(part)));
    format!(
        "{:>5} {:>8} {:>6} {:>8} {:>6} {:>8} {:>8} {:>8} {:>11}",
        point.processes,
        text::iops(iops.mean),
        part(iops.half_width, iops.mean),
        four(Span::from_secs_f64(response.mean / 1e3)),
        part(response.half_width, response.mean),
        quantile(0.99),
        quantile(0.999),
        lat.as_ref().map_or("-".to_owned(), |lat| four(lat.max())),
        text::thousands(point.requests()),
    )
}

fn four(span: Span) -> String {
    text::millis(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::tests::published_points;

    #[test]
    fn a_line_stands_below_its_heads() {
        let points = published_points();
        let line = sweep_line(&points[10]);
        assert_eq!(line, "   36    3,638      -     9.90      -        -        -        -      36,000");
        let heads = sweep_heads().lines().next().unwrap();
        assert_eq!(heads.chars().count(), line.chars().count() - 1 + "s".len());
        assert!(line.len() <= 80);
    }
}
