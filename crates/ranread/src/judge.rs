//! The findings of a sweep: its knee, whether the target was met, and what cannot be said.

use crate::evidence::Limiter;
use crate::point::{Measured, Point};
use crate::sweep::{Ended, Limits, SweepPlan, grew};
use block::Span;
use report::text;
use stats::Outcome;

/// A question and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The question.
    pub question: String,
    /// The result.
    pub outcome: Outcome,
    /// The figures behind it.
    pub because: String,
}

/// The highest load within the limits below the first load outside them. Unknown maxima count as
/// within here, see [`judge`]. `None` if no load is within the limits.
pub fn knee(points: &[Point], limits: Limits) -> Option<&Point> {
    let breaks = |point: &&Point| {
        let slow = point.response_ms().mean > limits.average_ms;
        slow || point.most_ms().zip(limits.most_ms).is_some_and(|(most, limit)| most > limit)
    };
    let first = points.iter().find(breaks).map_or(u32::MAX, |point| point.processes);
    points.iter().take_while(|point| point.processes < first).last()
}

/// The findings of a sweep from these points, by load.
pub fn judge(points: &[Point], plan: &SweepPlan, ended: Option<Ended>) -> Vec<Finding> {
    let mut found = vec![the_knee(points, plan, ended)];
    if let Some(limit) = plan.limits.most_ms {
        found.push(none_above(points, plan.limits, limit));
    }
    if let Some(target) = plan.target {
        let question =
            format!("{} IOPS at an average of at most {} ms", text::iops(target.iops), text::short(target.ms));
        let inside = points.iter().filter(|point| point.response_ms().mean <= target.ms);
        let best = inside.max_by(|one, other| one.iops().mean.total_cmp(&other.iops().mean));
        let (outcome, because) = match best {
            Some(best) if best.iops().mean >= target.iops => (Outcome::Pass, said(best)),
            Some(best) => (Outcome::Fail, format!("the most within that average: {}", said(best))),
            None => (Outcome::Fail, "no load has an average that low".into()),
        };
        found.push(Finding { question, outcome, because });
    }
    found
}

/// The findings, of which nothing can be said if it is not sure that the storage was measured.
pub fn as_far_as_sure(findings: Vec<Finding>, is_sure: bool) -> Vec<Finding> {
    let doubted = |finding| Finding { outcome: Outcome::CannotSay, ..finding };
    findings.into_iter().map(|finding| if is_sure { finding } else { doubted(finding) }).collect()
}

/// The findings of one batch.
pub fn judge_batch(measured: &Measured, processes: u32, limits: Limits) -> Vec<Finding> {
    let lat = measured.lat.as_ref().filter(|lat| lat.count() > 0);
    let Some(lat) = lat else {
        let question = "response times within their limits".into();
        return vec![Finding { question, outcome: Outcome::CannotSay, because: "nothing was done".into() }];
    };
    let held = |holds| if holds { Outcome::Pass } else { Outcome::Fail };
    let processes = text::count(processes as usize, "process", "processes");
    let mut found = vec![Finding {
        question: format!("an average of at most {} ms", text::short(limits.average_ms)),
        outcome: held(measured.mean_ms <= limits.average_ms),
        because: format!("{} ms at {processes}", text::significant(measured.mean_ms)),
    }];
    found.extend(limits.most_ms.map(|limit| {
        let (most, above) =
            (lat.max().as_millis_f64(), lat.count() - lat.count_below(Span::from_secs_f64(limit / 1e3)));
        let outcome = held(most <= limit);
        let above = if outcome == Outcome::Fail {
            format!(", {} above it", text::thousands(above.max(1)))
        } else {
            String::new()
        };
        let requests = text::thousands(lat.count());
        let because = format!("the slowest of {requests} requests took {} ms{above}", text::significant(most));
        Finding { question: format!("none above {} ms", text::short(limit)), outcome, because }
    }));
    found
}

/// What limited the highest load that was tried.
pub fn limiter(points: &[Point]) -> Option<Limiter> {
    let last = points.last()?;
    let before = points.len().checked_sub(2).map(|at| &points[at]);
    let still_grew = before.is_none_or(|before| grew(before, last));
    last.samples.last().map(|sample| sample.evidence.limiter(still_grew))
}

fn the_knee(points: &[Point], plan: &SweepPlan, ended: Option<Ended>) -> Finding {
    let limits = plan.limits;
    let most = limits.most_ms.map_or(String::new(), |most| format!(", none above {} ms", text::short(most)));
    let question = format!("the highest load with an average of at most {} ms{most}", text::short(limits.average_ms));
    let (outcome, because) = match knee(points, limits) {
        None if points.is_empty() => (Outcome::CannotSay, "nothing was measured".into()),
        None => (Outcome::Fail, format!("none: already {}", points.first().map(said).unwrap_or_default())),
        Some(knee) => {
            let highest = points.last().is_some_and(|last| last.processes == knee.processes);
            let beyond = match (highest, ended) {
                (false, _) => "",
                (true, Some(Ended::NoGrowth(_))) => ", where IOPS no longer grew",
                (true, _) => ", the highest load that was tried; more may keep them too",
            };
            (Outcome::Pass, said(knee) + beyond)
        }
    };
    Finding { question, outcome, because }
}

/// Whether no request of the loads up to the knee took longer than a limit.
fn none_above(points: &[Point], limits: Limits, limit: f64) -> Finding {
    let question = format!("none above {} ms", text::short(limit));
    let Some(knee) = knee(points, limits) else {
        return Finding { question, outcome: Outcome::Fail, because: "no load is inside the limits".into() };
    };
    let (outcome, because) = match knee.most_ms() {
        None => (Outcome::CannotSay, "averages are all that is known, and they tell nothing of single requests".into()),
        Some(most) => {
            let requests = text::thousands(knee.requests());
            (
                Outcome::Pass,
                format!("the slowest of {requests} requests at the knee took {} ms", text::significant(most)),
            )
        }
    };
    Finding { question, outcome, because }
}

/// `36 processes, 9.90 ms, 3,638 IOPS`.
fn said(point: &Point) -> String {
    let processes = text::count(point.processes as usize, "process", "processes");
    format!("{processes}, {:.2} ms, {} IOPS", point.response_ms().mean, text::iops(point.iops().mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::tests::published_points;
    use crate::sweep::Target;

    /// The published rows: below 10 ms up to 36 processes, 9.90 ms and 3638 IOPS. At 5 ms or less 4
    /// processes do 861 IOPS, which is less than 2000. The maxima of single requests are unknown.
    #[test]
    fn the_published_points_are_judged_as_people_judge_them() {
        let points = published_points();
        let plan = SweepPlan {
            loads: Vec::new(),
            stop_ms: 10.0,
            limits: Limits { average_ms: 10.0, most_ms: Some(5.0) },
            target: Some(Target { iops: 2000.0, ms: 5.0 }),
            precision: 0.02,
            repeats: 1,
        };
        assert_eq!(knee(&points, plan.limits).unwrap().processes, 36);
        let [knee, none_above, target] = &judge(&points, &plan, Some(Ended::TooSlow(40)))[..] else { panic!("three") };
        assert_eq!((knee.outcome, knee.because.as_str()), (Outcome::Pass, "36 processes, 9.90 ms, 3,638 IOPS"));
        assert_eq!(none_above.outcome, Outcome::CannotSay);
        assert!(none_above.because.starts_with("averages are all"), "{}", none_above.because);
        assert_eq!(target.outcome, Outcome::Fail);
        assert_eq!(target.because, "the most within that average: 4 processes, 4.65 ms, 861 IOPS");
        // At 2 ms not even one process is within the limit.
        let strict = SweepPlan { limits: Limits::default(), target: None, ..plan };
        let found = judge(&points, &strict, None);
        assert_eq!(
            (found[0].outcome, found[0].because.as_str()),
            (Outcome::Fail, "none: already 1 process, 4.22 ms, 237 IOPS")
        );
    }
}
