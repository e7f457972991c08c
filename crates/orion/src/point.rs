//! The measurement of a point.

use crate::jobs::JobRole;
use crate::ladder::LoadPoint;
use block::Span;
use report::text;
use stats::Histogram;
use stats::job::{DiskUse, JobOutcome};
use stats::{Direction, Track};

/// Bytes of the original's MB.
const MB: f64 = 1_048_576.0;

/// A measured point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredPoint {
    /// The point.
    pub spot: LoadPoint,
    /// When it began, from the start of the run.
    pub start: Span,
    /// Its duration, with warming and settling.
    pub elapsed: Span,
    /// The outcome of the small requests.
    pub small: Option<JobOutcome>,
    /// The outcome of the large ones, all streams together.
    pub large: Option<JobOutcome>,
    /// Number of streams that wrote.
    pub writers: u32,
    /// Bytes that were transferred to flush caches, and the time for it.
    pub warmed: Option<(u64, Span)>,
    /// The kernel's counters of the devices behind the volumes over the point, without its warming;
    /// `None` if there can be no devices: in virtual time, or for an export.
    pub disks: Option<Vec<DiskUse>>,
    /// Bytes that this program itself read from below the page cache meanwhile, by the kernel's
    /// count, warming included; `None` if the kernel does not report it.
    pub fetched: Option<u64>,
}

impl MeasuredPoint {
    /// The point that these jobs measured. `start` is when its first one began, from the start of
    /// the run; `counted` is whether the kernel counts requests to the volumes, as it does for
    /// files and devices.
    pub fn of(spot: LoadPoint, start: Span, outcomes: Vec<(JobRole, JobOutcome)>, counted: bool) -> MeasuredPoint {
        let mut point = MeasuredPoint { spot, start, ..MeasuredPoint::default() };
        for (role, outcome) in outcomes {
            point.elapsed = point.elapsed.max(outcome.start + outcome.elapsed);
            if role == JobRole::Warm {
                let bytes = outcome.tape.directions().map(|(_, done)| done.bytes).sum();
                point.warmed = Some((bytes, outcome.elapsed));
                continue;
            }
            // All jobs of a stage report the same time.
            point.disks = counted.then(|| outcome.disks.clone());
            point.writers += u32::from(role == JobRole::Large && outcome.tape[Direction::Write].ops > 0);
            let done = if role == JobRole::Small { &mut point.small } else { &mut point.large };
            match done {
                Some(done) => done.absorb(&outcome),
                None => *done = Some(outcome),
            }
        }
        point
    }

    /// The outcomes, small and large.
    pub fn works(&self) -> impl Iterator<Item = (&'static str, &JobOutcome)> {
        [("small", &self.small), ("large", &self.large)]
            .into_iter()
            .filter_map(|(name, work)| Some((name, work.as_ref()?)))
    }

    /// Small requests per second.
    pub fn iops(&self) -> Option<f64> {
        self.small.as_ref().map(iops)
    }

    /// MB per second of large requests, of 2^20 bytes.
    pub fn mbps(&self) -> Option<f64> {
        self.large.as_ref().map(mbps)
    }

    /// Response times of small requests.
    pub fn small_lat(&self) -> Option<Histogram> {
        self.small.as_ref().map(lat)
    }

    /// Whether its measurement began; a point that was stopped before that has no figures.
    pub fn has_begun(&self) -> bool {
        self.works().any(|(_, work)| work.measured > Span::ZERO || work.error.is_some())
    }

    /// Whether it was measured to its end; only then its figures count.
    pub fn is_whole(&self) -> bool {
        self.trouble().is_none()
    }

    /// Why it is not whole: an error, or that it was stopped.
    pub fn trouble(&self) -> Option<String> {
        let of = |outcome: &JobOutcome| {
            let error = outcome.error.as_ref().map(|error| error.text.clone());
            let failed = outcome.errors.total();
            let failed =
                (failed > 0).then(|| format!("{} failed", text::count(failed as usize, "request", "requests")));
            let stopped = outcome.interrupted.then(|| "stopped before its end".to_owned());
            error.or(failed).or(stopped)
        };
        let all: Vec<&JobOutcome> = self.works().map(|(_, outcome)| outcome).collect();
        // An error is more informative than the stop that it caused.
        all.iter().filter(|one| one.error.is_some()).chain(&all).find_map(|one| of(one))
    }
}

/// Requests per second.
pub(crate) fn iops(work: &JobOutcome) -> f64 {
    per_second(ops(work) as f64, work.measured)
}

/// MB per second.
pub(crate) fn mbps(work: &JobOutcome) -> f64 {
    let bytes: u64 = work.tape.directions().map(|(_, done)| done.bytes).sum();
    per_second(bytes as f64 / MB, work.measured)
}

/// Requests that succeeded.
pub(crate) fn ops(work: &JobOutcome) -> u64 {
    work.tape.directions().map(|(_, done)| done.ops).sum()
}

/// Response times of reads and writes.
pub(crate) fn lat(work: &JobOutcome) -> Histogram {
    let mut all = work.tape[Direction::Read].response.clone();
    all.merge(&work.tape[Direction::Write].response);
    all
}

/// Reads and writes, where there are any.
pub(crate) fn directions(work: &JobOutcome) -> impl Iterator<Item = (&'static str, &Track)> {
    let both = [("read", &work.tape[Direction::Read]), ("write", &work.tape[Direction::Write])];
    both.into_iter().filter(|(_, done)| done.ops > 0)
}

/// Microseconds.
pub(crate) fn micros(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e3
}

fn per_second(count: f64, measured: Span) -> f64 {
    if measured > Span::ZERO { count / measured.as_secs_f64() } else { 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `depth` requests in flight of `bytes` each, which take the given time, for 10 s; `writes` is
    /// the percentage of writes.
    pub(crate) fn work(depth: u64, bytes: u64, took: Span, writes: u64) -> JobOutcome {
        let each = Span::from_secs(10).as_nanos() / took.as_nanos() * depth;
        let mut outcome =
            JobOutcome { measured: Span::from_secs(10), elapsed: Span::from_secs(10), ..JobOutcome::default() };
        for (direction, share) in [(Direction::Read, 100 - writes), (Direction::Write, writes)] {
            let done = &mut outcome.tape[direction];
            done.ops = each * share / 100;
            done.bytes = done.ops * bytes;
            done.measured = Span::from_secs(10);
            if done.ops > 0 {
                done.response.record_many(took, done.ops);
            }
        }
        outcome
    }

    pub(crate) fn point(small: u32, large: u32, small_us: u64, large_us: u64) -> MeasuredPoint {
        let mut outcomes = Vec::new();
        if small > 0 {
            outcomes.push((JobRole::Small, work(small.into(), 8192, Span::from_micros(small_us), 0)));
        }
        if large > 0 {
            outcomes.push((JobRole::Large, work(large.into(), 1 << 20, Span::from_micros(large_us), 0)));
        }
        MeasuredPoint::of(LoadPoint { small, large }, Span::ZERO, outcomes, false)
    }

    /// 4 in flight of 100 µs each are 40 000 per second; 2 large ones of 10 ms are 200, so 200 MB
    /// per second.
    #[test]
    fn a_point_has_its_rates() {
        let point = point(4, 2, 100, 10_000);
        assert_eq!((point.iops(), point.mbps()), (Some(40_000.0), Some(200.0)));
        assert_eq!((point.small_lat().unwrap().mean(), point.trouble()), (Span::from_micros(100), None));
    }

    #[test]
    fn streams_are_one_work_and_warming_is_none() {
        let stream = |writes| (JobRole::Large, work(4, 1 << 20, Span::from_millis(10), writes));
        let warm = (JobRole::Warm, work(8, 1 << 20, Span::from_millis(10), 0));
        let point =
            MeasuredPoint::of(LoadPoint { small: 0, large: 2 }, Span::ZERO, vec![warm, stream(0), stream(100)], false);
        assert_eq!((point.mbps(), point.writers, point.small), (Some(800.0), 1, None));
        assert_eq!(point.warmed, Some((8000 << 20, Span::from_secs(10))));
    }

    #[test]
    fn what_failed_is_told_before_what_it_stopped() {
        let mut point = point(1, 1, 100, 100);
        point.small.as_mut().unwrap().interrupted = true;
        assert_eq!(point.trouble().as_deref(), Some("stopped before its end"));
        let error = stats::job::JobError { number: 5, text: "no such block".into() };
        point.large.as_mut().unwrap().error = Some(error);
        assert_eq!(point.trouble().as_deref(), Some("no such block"));
    }
}
