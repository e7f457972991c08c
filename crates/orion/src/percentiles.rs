//! Every point as rows with percentiles, which the original does not have: a line for the small and
//! one for the large requests of a point, and for their reads and writes if there are both.

use crate::point::{MeasuredPoint, directions, lat, micros, ops};
use crate::test::Test;
use crate::{Proof, Question};
use block::Span;
use stats::Histogram;
use std::fmt::Write as _;

const HEAD: &str = "small,large,load,direction,requests,seconds,iops,mbps_2_20,mean_us,min_us,p50_us,p95_us,p99_us,\
                    p99_9_us,max_us,deviation_us,failed,outstanding,little,writes,even,device,incomplete\n";

/// All points in order.
pub fn text(test: &Test, points: &[MeasuredPoint]) -> String {
    let mut out = HEAD.to_owned();
    for point in points {
        let trouble = point.trouble().map_or("", |_| "yes");
        let proofs = test.proofs(std::slice::from_ref(point));
        for (name, work) in point.works() {
            let all = lat(work);
            let outstanding = all.sum().as_secs_f64() / work.measured.as_secs_f64().max(1e-9);
            let bytes = work.tape.directions().map(|(_, done)| done.bytes).sum();
            let both = directions(work).count() > 1;
            let row = Row { name, direction: "all", ops: ops(work), bytes, failed: work.errors.total(), lat: &all };
            let answers = answers(&proofs, name);
            out += &row.line(point, work.measured, &format!("{outstanding:.3},{answers},{trouble}"));
            for (direction, done) in directions(work).filter(|_| both) {
                let row =
                    Row { name, direction, ops: done.ops, bytes: done.bytes, failed: done.failed, lat: &done.response };
                out += &row.line(point, work.measured, &format!(",,,,,{trouble}"));
            }
        }
    }
    out
}

/// A line without its results.
struct Row<'r> {
    name: &'r str,
    direction: &'r str,
    ops: u64,
    bytes: u64,
    failed: u64,
    lat: &'r Histogram,
}

impl Row<'_> {
    fn line(&self, point: &MeasuredPoint, measured: Span, answers: &str) -> String {
        let Row { name, direction, ops, bytes, failed, lat } = *self;
        let seconds = measured.as_secs_f64();
        let rate = |count: f64| count / seconds.max(1e-9);
        let (iops, mbps) = (rate(ops as f64), rate(bytes as f64 / 1_048_576.0));
        let mut line = format!("{},{},{name},{direction},{ops},{seconds:.3}", point.spot.small, point.spot.large);
        let _ = write!(line, ",{iops:.1},{mbps:.2}");
        let quantiles = [0.5, 0.95, 0.99, 0.999].map(|part| lat.quantile(part));
        let [p50, p95, p99, p999] = quantiles;
        for span in [lat.mean(), lat.min(), p50, p95, p99, p999, lat.max()] {
            let _ = write!(line, ",{:.1}", micros(span));
        }
        let _ = writeln!(line, ",{:.1},{failed},{answers}", lat.deviation() / 1e3);
        line
    }
}

/// The results of a load; that of the devices is for the whole point.
fn answers(proofs: &[Proof], name: &str) -> String {
    let of = |question: Question| {
        let own = proofs.iter().filter(|proof| proof.question == question);
        let mut own = own.filter(|proof| question == Question::Device || proof.load == name);
        own.next().map_or(String::new(), |proof| proof.outcome.to_string())
    };
    Question::ALL.map(of).join(",")
}
