//! The page of a sweep: the usual chart with columns of IOPS and a line of response times over
//! processes, the findings, all figures, and the specification sheet.

use crate::judge::{Finding, limiter};
use crate::point::Point;
use crate::sweep::SweepPlan;
use block::Span;
use report::Page;
use report::section::{
    Answer, Fact, Facts, Group, Knee, KneeRun, Notes, RunVerdict, Table, TableCell, TableRow, Tables,
};
use report::text;
use stats::Outcome;

/// The page of these points, by load. The caller sets its facts and version.
pub fn page(points: &[Point], plan: &SweepPlan, findings: &[Finding], sheet: &[(String, String)]) -> Page {
    let mut page = Page::new("Random read I/O performance", "");
    page.about =
        "Random reads at depth 1 by more and more processes: IOPS as columns, mean response time as a line.".into();
    page.add(verdict(findings));
    page.add(chart(points, plan));
    page.add(figures(points));
    if let Some(limiter) = limiter(points) {
        page.add(Notes { lines: vec![format!("What limited at the highest load: {limiter}.")] });
    }
    let fact = |(name, value): &(String, String)| Fact::of(name, value);
    page.add(Facts { heading: "Specification sheet".into(), facts: sheet.iter().map(fact).collect() });
    page
}

fn verdict(findings: &[Finding]) -> RunVerdict {
    let answer = |finding: &Finding| Answer {
        outcome: finding.outcome,
        question: finding.question.clone(),
        because: finding.because.clone(),
    };
    let outcome = findings.iter().map(|finding| finding.outcome).max();
    let sentence = match outcome {
        Some(Outcome::Pass) => "All that was asked held",
        Some(Outcome::CannotSay) => "Of some of what was asked nothing can be said",
        Some(Outcome::Fail) => "Some of what was asked did not hold",
        None => "Nothing was asked",
    };
    RunVerdict {
        outcome,
        sentence: sentence.into(),
        answers: findings.iter().map(answer).collect(),
        ..RunVerdict::default()
    }
}

fn chart(points: &[Point], plan: &SweepPlan) -> Knee {
    let knee = crate::knee(points, plan.limits).map(|knee| knee.processes);
    let figures = |of: fn(&Point) -> f64| points.iter().map(|point| Some(of(point))).collect();
    Knee {
        heading: "Random Read IO Performance Results".into(),
        lead: format!(
            "Limits: an average of {} ms{}; the sweep stops beyond {} ms.",
            text::short(plan.limits.average_ms),
            plan.limits.most_ms.map_or(String::new(), |most| format!(", none above {} ms", text::short(most))),
            text::short(plan.stop_ms)
        ),
        across: "processes".into(),
        loads: points.iter().map(|point| point.processes.to_string()).collect(),
        columns: "IOPS".into(),
        line: "ms, average".into(),
        runs: vec![KneeRun {
            name: String::new(),
            columns: figures(|point| point.iops().mean),
            line: figures(|point| point.response_ms().mean),
        }],
        knee: knee.and_then(|knee| points.iter().position(|point| point.processes == knee)),
    }
}

fn figures(points: &[Point]) -> Tables {
    let row = |point: &Point| {
        let (iops, response, lat) = (point.iops(), point.response_ms(), point.lat());
        let span = |of: fn(&stats::Histogram) -> Span| {
            lat.as_ref().map_or(TableCell::from("–"), |lat| TableCell::from(text::millis(of(lat))))
        };
        let precision = point.precision().map_or("–".into(), |part| format!("{:.1} %", part * 100.0));
        let cells = vec![
            text::iops(iops.mean).into(),
            text::significant(response.mean).into(),
            precision.into(),
            span(|lat| lat.quantile(0.99)),
            span(|lat| lat.quantile(0.999)),
            span(stats::Histogram::max),
            text::thousands(point.requests()).into(),
            point.samples.len().to_string().into(),
        ];
        TableRow { name: point.processes.to_string(), remarks: Vec::new(), cells }
    };
    let heads = ["processes", "IOPS", "average ms", "± 95 %", "p99 ms", "p99.9 ms", "max ms", "requests", "batches"];
    let group = Group { rows: points.iter().map(row).collect(), ..Group::default() };
    let table = Table { columns: heads.map(str::to_owned).to_vec(), groups: vec![group], ..Table::default() };
    Tables { heading: "All points".into(), tables: vec![table], ..Tables::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::tests::published_points;
    use crate::sweep::{Limits, SweepPlan};

    /// The page of the published points has the knee, the sheet, and no maximum.
    #[test]
    fn the_published_points_as_a_page() {
        let limits = Limits { average_ms: 10.0, most_ms: Some(5.0) };
        let plan = SweepPlan { loads: vec![], stop_ms: 10.0, limits, target: None, precision: 0.02, repeats: 1 };
        let points = published_points();
        let findings = crate::judge(&points, &plan, None);
        let html = page(&points, &plan, &findings, &[("Array".into(), "AFF <A300>".into())]).render();
        for part in
            ["Random Read IO Performance Results", "36 processes, 9.90 ms, 3,638 IOPS", "AFF &lt;A300&gt;", "3,826"]
        {
            assert!(html.contains(part), "{part}");
        }
    }
}
