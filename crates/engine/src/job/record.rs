//! What a job's requests add up to. Nothing is allocated for a request but rows of a log that was asked for.

use super::places::Places;
use super::steady::Totals;
use block::{Span, Time};
use stats::Histogram;
use stats::job::{DirectionOutcome, HistogramRow, JobOutcome, LogRow, Slice, SliceMost, SyncOutcome};
use workload::job::{Direction, EngineKind, JobSpec, Logs, PerDirection, Place, Region};

/// One request at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) direction: Direction,
    pub(crate) file: u32,
    pub(crate) at: u64,
    pub(crate) len: u32,
    pub(crate) due: Time,
    pub(crate) made: Time,
    /// When it went to the kernel.
    pub(crate) handed: Time,
    pub(crate) end: Time,
}

/// Collects one job's figures.
pub(crate) struct Record {
    logs: Logs,
    start: Time,
    tallies: PerDirection<Tally>,
    blocks: PerDirection<u32>,
    /// Handing a request over and working on it are two things.
    hands_over: bool,
    sync: SyncOutcome,
    /// End of the slice in progress.
    slice_began: Time,
    slice_end: Time,
    histogram_end: Option<Time>,
    log: Vec<LogRow>,
    histogram_log: Vec<HistogramRow>,
    places: Option<Places>,
}

#[derive(Clone, Default)]
struct Tally {
    outcome: DirectionOutcome,
    /// The figures at the start of the slice.
    before: Slice,
    first_made: Option<Time>,
    last_end: Time,
    recent: Histogram,
    most: SliceMost,
}

impl Record {
    /// From `start` on, of requests in these parts of files.
    pub(crate) fn new(spec: &JobSpec, regions: &[Region], start: Time) -> Record {
        Record {
            logs: spec.logs,
            start,
            tallies: PerDirection::default(),
            blocks: PerDirection::from_fn(|direction| spec.reach.blocks[direction].most()),
            hands_over: hands_over(spec),
            sync: SyncOutcome::default(),
            slice_began: start,
            slice_end: start + spec.logs.interval,
            histogram_end: spec.logs.histogram_interval.map(|interval| start + interval),
            log: Vec::new(),
            histogram_log: Vec::new(),
            places: spec.logs.coverage.map(|slices| Places::new(spec, regions, slices)),
        }
    }

    /// The figures so far, without logs.
    pub(crate) fn so_far(&self) -> Record {
        Record {
            logs: self.logs,
            start: self.start,
            tallies: self.tallies.clone(),
            blocks: self.blocks,
            hands_over: self.hands_over,
            sync: self.sync.clone(),
            slice_began: self.slice_began,
            slice_end: self.slice_end,
            histogram_end: None,
            log: Vec::new(),
            histogram_log: Vec::new(),
            places: None,
        }
    }

    /// Counts a request that ended well.
    #[inline]
    pub(crate) fn ended(&mut self, ended: &Ended) {
        let Ended { due, made, handed, end, .. } = *ended;
        let tally = &mut self.tallies[ended.direction];
        let outcome = &mut tally.outcome;
        outcome.ops += 1;
        outcome.bytes += u64::from(ended.len);
        let (slat, clat, lat) = (handed.since(made), end.since(handed), end.since(due));
        if self.hands_over {
            outcome.slat.record(slat);
        }
        outcome.clat.record(clat);
        outcome.lat.record(lat);
        tally.first_made.get_or_insert(made);
        tally.last_end = end;
        if self.histogram_end.is_some() {
            tally.recent.record(clat);
        }
        if self.logs.longest {
            tally.most = tally.most.max(SliceMost { slat, clat, lat });
        }
        if let Some(places) = &mut self.places {
            places.count(ended.file, ended.at);
        }
        if self.logs.each_request {
            let Ended { direction, at, len, .. } = *ended;
            self.log.push(LogRow { end: end.since(self.start), direction, slat, clat, lat, at, len });
        }
    }

    /// Counts a request that failed.
    pub(crate) fn failed(&mut self, direction: Direction, short: bool) {
        let outcome = &mut self.tallies[direction].outcome;
        outcome.failed += 1;
        outcome.short += u64::from(short);
    }

    /// Counts a flush that took `lat`; `whole` with all that describes the file.
    pub(crate) fn flushed(&mut self, lat: Span, whole: bool) {
        self.sync.ops += 1;
        self.sync.whole += u64::from(whole);
        self.sync.lat.record(lat);
    }

    /// Ends the intervals that are over; whether one was.
    pub(crate) fn roll(&mut self, now: Time) -> bool {
        let mut rolled = false;
        while now >= self.slice_end {
            self.end_slices(self.slice_end);
            self.slice_end += self.logs.interval;
            rolled = true;
        }
        while let Some(end) = self.histogram_end.filter(|&end| now >= end) {
            self.end_histograms(end);
            self.histogram_end = self.logs.histogram_interval.map(|interval| end + interval);
        }
        rolled
    }

    /// What was done so far, all directions together.
    pub(crate) fn totals(&self) -> Totals {
        self.tallies.iter().fold(Totals::default(), |sum, (_, tally)| Totals {
            ops: sum.ops + tally.outcome.ops,
            bytes: sum.bytes + tally.outcome.bytes,
            lat_sum: sum.lat_sum + tally.outcome.lat.sum(),
        })
    }

    /// Requests and bytes of each direction so far.
    pub(crate) fn counts(&self) -> PerDirection<(u64, u64)> {
        PerDirection::from_fn(|direction| {
            let outcome = &self.tallies[direction].outcome;
            (outcome.ops, outcome.bytes)
        })
    }

    /// Puts all into `outcome`. `loaded` is when the load was over: what stalls until then counts as time, not as a run
    /// that was shorter. `end` is the end of all, with what was read back.
    pub(crate) fn finish(mut self, loaded: Time, end: Time, outcome: &mut JobOutcome) {
        self.roll(end);
        if end > self.slice_began {
            self.end_slices(end);
        }
        if self.histogram_end.is_some() {
            self.end_histograms(end);
        }
        outcome.measured = end.since(self.start);
        for direction in Direction::ALL {
            let tally = std::mem::take(&mut self.tallies[direction]);
            outcome.directions[direction] = tally.outcome;
            // Reads that only check what was written began when the load was over.
            let checks = tally.first_made.is_some_and(|made| made >= loaded);
            let from = if checks { tally.first_made.unwrap_or(self.start) } else { self.start };
            let measured = tally.last_end.max(loaded).since(from);
            let used = outcome.directions[direction].ops + outcome.directions[direction].failed > 0;
            outcome.directions[direction].measured = if used { measured } else { Span::ZERO };
        }
        outcome.sync = self.sync;
        outcome.coverage = self.places.map(|places| places.coverage);
        outcome.log = self.log;
        outcome.histogram_log = self.histogram_log;
    }

    fn end_slices(&mut self, end: Time) {
        let length = end.since(self.slice_began);
        let since_start = end.since(self.start);
        for direction in Direction::ALL {
            let Tally { outcome, before, most, .. } = &mut self.tallies[direction];
            if outcome.ops == 0 && before.ops == 0 && outcome.slices.is_empty() {
                // A direction without requests has no slices, unless they come later: then it begins with empty ones.
                continue;
            }
            let now = Slice {
                end: since_start,
                length,
                ops: outcome.ops,
                bytes: outcome.bytes,
                slat_sum: outcome.slat.sum(),
                clat_sum: outcome.clat.sum(),
                lat_sum: outcome.lat.sum(),
                most: std::mem::take(most),
            };
            outcome.slices.push(Slice {
                ops: now.ops - before.ops,
                bytes: now.bytes - before.bytes,
                slat_sum: now.slat_sum.saturating_sub(before.slat_sum),
                clat_sum: now.clat_sum.saturating_sub(before.clat_sum),
                lat_sum: now.lat_sum.saturating_sub(before.lat_sum),
                ..now
            });
            *before = now;
        }
        self.slice_began = end;
    }

    fn end_histograms(&mut self, end: Time) {
        for direction in Direction::ALL {
            let recent = &mut self.tallies[direction].recent;
            if recent.count() > 0 {
                let clat = std::mem::take(recent);
                let block = self.blocks[direction];
                self.histogram_log.push(HistogramRow { end: end.since(self.start), direction, block, clat });
            }
        }
    }
}

/// Whether a job's requests are handed over to something that works on them while the job goes on. A call that blocks
/// hands nothing over, and as in fio no time is told for it.
fn hands_over(spec: &JobSpec) -> bool {
    match spec.place {
        Place::Files(_) => spec.engine == EngineKind::Uring,
        Place::Nbd { .. } => true,
        Place::Null { .. } => spec.pacing.depth > 1,
    }
}
