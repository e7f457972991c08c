//! Logs of single requests that only some jobs ask for beside their tape: rows, histograms over
//! time, offsets.

use super::places::Places;
use super::slots::Slot;
use block::{Span, Time};
use stats::job::{HistogramRow, JobOutcome, LogRow};
use stats::{Ended, Histogram, Noted};
use workload::job::{EngineKind, JobPlace, JobSpec, PerDirection, Region};

/// What a job's tape is asked to record.
pub(crate) fn noted(spec: &JobSpec) -> Noted {
    Noted {
        slices: Some(spec.logs.interval),
        submission: hands_over(spec),
        longest: spec.logs.longest,
        short: true,
        ..Noted::default()
    }
}

/// The logs of one job's requests.
pub(crate) struct RequestLogs {
    start: Time,
    each_request: bool,
    rows: Vec<LogRow>,
    histograms: Option<Histograms>,
    places: Option<Places>,
}

/// Histograms of service time over intervals.
struct Histograms {
    interval: Span,
    end: Time,
    /// The largest block of each direction.
    blocks: PerDirection<u32>,
    recent: PerDirection<Histogram>,
    rows: Vec<HistogramRow>,
}

impl RequestLogs {
    /// Logs from `start` on, of requests to `regions`; `None` if the job asks for no log.
    pub(crate) fn new(spec: &JobSpec, regions: &[Region], start: Time) -> Option<Box<RequestLogs>> {
        let logs = &spec.logs;
        let asked = logs.each_request || logs.histogram_interval.is_some() || logs.coverage.is_some();
        let histograms = logs.histogram_interval.map(|interval| Histograms {
            interval,
            end: start + interval,
            blocks: PerDirection::from_fn(|direction| spec.reach.blocks[direction].most()),
            recent: PerDirection::default(),
            rows: Vec::new(),
        });
        asked.then(|| {
            Box::new(RequestLogs {
                start,
                each_request: logs.each_request,
                rows: Vec::new(),
                histograms,
                places: logs.coverage.map(|slices| Places::new(spec, regions, slices)),
            })
        })
    }

    /// Records a request that succeeded.
    pub(crate) fn ended(&mut self, slot: &Slot, ended: &Ended) {
        let Ended { due, made, handed, end, .. } = *ended;
        let (direction, clat) = (slot.direction, end.since(handed));
        if let Some(histograms) = &mut self.histograms {
            histograms.recent[direction].record(clat);
        }
        if let Some(places) = &mut self.places {
            places.count(slot.file, slot.at);
        }
        if self.each_request {
            let (slat, lat) = (handed.since(made), end.since(due));
            let (end, at, len) = (end.since(self.start), slot.at, slot.len);
            self.rows.push(LogRow { end, direction, slat, clat, lat, at, len });
        }
    }

    /// Closes the intervals that are over.
    pub(crate) fn roll(&mut self, now: Time) {
        if let Some(histograms) = &mut self.histograms {
            while now >= histograms.end {
                histograms.close(histograms.end, self.start);
                histograms.end += histograms.interval;
            }
        }
    }

    /// Moves the logs into `outcome`.
    pub(crate) fn finish(mut self, end: Time, outcome: &mut JobOutcome) {
        self.roll(end);
        outcome.coverage = self.places.map(|places| places.coverage);
        outcome.log = self.rows;
        if let Some(mut histograms) = self.histograms {
            histograms.close(end, self.start);
            outcome.histogram_log = histograms.rows;
        }
    }
}

impl Histograms {
    fn close(&mut self, end: Time, start: Time) {
        for direction in stats::Direction::ALL {
            let recent = &mut self.recent[direction];
            if recent.count() > 0 {
                let (clat, block) = (std::mem::take(recent), self.blocks[direction]);
                self.rows.push(HistogramRow { end: end.since(start), direction, block, clat });
            }
        }
    }
}

/// Whether a job's requests are asynchronous, so that submission and service can be told apart. A
/// blocking call has no submission, and as in fio no submission time is logged for it.
fn hands_over(spec: &JobSpec) -> bool {
    match spec.place {
        JobPlace::Files(_) => spec.engine == EngineKind::Uring,
        JobPlace::Named { .. } => true,
        JobPlace::Null { .. } => spec.pacing.depth > 1,
    }
}
