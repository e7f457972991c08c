//! The stages of a job: its start, its intervals, its pauses, its end.

use super::{After, FloorWatch, Runner, Stage};
use crate::job::logs::{self, RequestLogs};
use crate::job::prepare::OpenError;
use crate::job::search::Step;
use crate::job::steady::{Steadiness, Totals};
use crate::job::written::Round;
use block::{Span, Time};
use stats::Tape;
use workload::job::{Direction, Ends, JobStream, Pace, PerDirection};

/// EIO, as fio reports a rate that was not reached.
const TOO_SLOW: i32 = 5;
/// A minimum rate is not checked before this; fio gives a job the same time to reach its rate.
const SETTLED_AFTER: Span = Span::from_secs(2);
/// ECANCELED: a program to be run before or after the job failed.
const BAD_COMMAND: i32 = 125;

impl Runner {
    /// Starts the job if it is time; returns whether it started.
    pub(super) fn may_start(&mut self, now: Time) -> bool {
        if self.spec.start.after.as_ref().is_some_and(|name| !self.board.has_ended(name)) {
            self.times.start = now;
            return false;
        }
        let due = now >= self.times.start;
        if due {
            self.start(now);
        }
        due
    }

    /// When a job that waits for its start is polled again: at its start time, and with each tick,
    /// because the job it waits for may end.
    pub(super) fn waits_until(&self, now: Time) -> Time {
        let again = now + super::Board::TICK;
        if self.times.start > now { self.times.start.min(again) } else { again }
    }

    fn start(&mut self, now: Time) {
        let (before, now) = self.carry_out(self.spec.commands.before.clone(), now);
        self.times.start = now;
        let ending = &self.spec.ending;
        self.times.ramp_end = Some(now + ending.ramp).filter(|&end| end > now);
        self.times.runtime_end = ending.runtime.map(|runtime| now + ending.ramp + runtime);
        self.stream = JobStream::new(&self.spec, &self.regions, now);
        self.working_since = now;
        let recorded = self.spec.replay.as_ref().is_some_and(|replay| !replay.at_once);
        self.tape.punctuality.scheduled = recorded || self.spec.pacing.rate.iter().any(|(_, rate)| rate.is_some());
        self.stage = Stage::Loading;
        self.measure_from(now);
        self.board.begin(self.index, now, self.times.runtime_end);
        if self.spec.layout.only {
            self.drain(After::Failure, now);
        } else if self.spec.verify.as_ref().is_some_and(|verify| verify.only)
            && let Some(checker) = &mut self.checker
        {
            checker.expect_earlier_run(&self.spec, &self.regions);
            self.drain(After::End, now);
        }
        if let Err(text) = before {
            self.fail(BAD_COMMAND, text, now);
        }
    }

    /// Runs one of the job's programs, if it has one; returns its result and the time after it.
    fn carry_out(&self, command: Option<workload::job::Command>, now: Time) -> (Result<(), String>, Time) {
        match command {
            None => (Ok(()), now),
            Some(command) => (crate::job::command::run(&command), self.context.now()),
        }
    }

    /// Discards all figures and measures from `now` on.
    fn measure_from(&mut self, now: Time) {
        self.times.measured_from = now;
        let scheduled = self.tape.punctuality.scheduled;
        self.tape = Tape::new(now, logs::noted(&self.spec));
        self.tape.punctuality.scheduled = scheduled;
        self.syncs_whole = 0;
        self.logs = RequestLogs::new(&self.spec, &self.regions, now);
        self.depths = Default::default();
        self.submitted = Default::default();
        self.completed = Default::default();
        self.steadiness = self.spec.ending.steady.map(|rule| Steadiness::new(rule, now));
        let watch = |direction: Direction| {
            let floor = self.spec.pacing.floor[direction].filter(|_| self.spec.reach.mix.has(direction))?;
            Some(FloorWatch { direction, floor, window_end: now + SETTLED_AFTER, before: None })
        };
        self.floors = Direction::ALL.into_iter().filter_map(watch).collect();
    }

    /// Requests and bytes of each direction so far.
    fn counts(&self) -> PerDirection<(u64, u64)> {
        PerDirection::from_fn(|direction| (self.tape[direction].ops, self.tape[direction].bytes))
    }

    /// Ends what is over: the ramp, an interval, the run time.
    pub(super) fn look(&mut self, now: Time) {
        if let Some(logs) = &mut self.logs {
            logs.roll(now);
        }
        if self.tape.roll(now) || self.board.is_progress_due(self.index, now) {
            self.board.tell(self.index, now, self.counts(), self.slots.in_flight());
            self.watch_end(now);
        }
        if self.stage != Stage::Loading {
            return;
        }
        if self.times.ramp_end.is_some_and(|end| now >= end) {
            self.times.ramp_end = None;
            let counts = self.counts();
            self.ramp_bytes = PerDirection::from_fn(|direction| counts[direction].1);
            self.measure_from(now);
            self.board.tell(self.index, now, self.counts(), self.slots.in_flight());
        }
        if let Some(steadiness) = &mut self.steadiness
            && self.times.ramp_end.is_none()
            && steadiness.look(now, Totals::of(&self.tape))
        {
            return self.drain(After::End, now);
        }
        if let Some(search) = &mut self.search {
            match search.look(now) {
                Step::Same => {}
                Step::Depth(depth) => self.depth = depth,
                Step::Found(finding) => {
                    self.finding = Some(finding);
                    self.depth = finding.depth.max(1);
                    if !search.goes_on() {
                        return self.drain(After::End, now);
                    }
                }
            }
        }
        self.watch_floors(now);
        if self.times.runtime_end.is_some_and(|end| now >= end) {
            self.drain(After::End, now);
        }
    }

    fn watch_floors(&mut self, now: Time) {
        let counts = if self.floors.is_empty() { return } else { self.counts() };
        let mut missed = None;
        for watch in &mut self.floors {
            if now < watch.window_end {
                continue;
            }
            let (ops, bytes) = counts[watch.direction];
            let Some(before) = watch.before.replace((ops, bytes)) else {
                watch.window_end = now + watch.floor.window;
                continue;
            };
            let seconds = (now.since(watch.window_end) + watch.floor.window).as_secs_f64();
            watch.window_end = now + watch.floor.window;
            // The edges of a window may cut one request off: at 100 a second each second has at
            // least 99.
            let block = u64::from(self.spec.reach.blocks[watch.direction].most());
            let (found, least, unit) = match watch.floor.pace {
                Pace::Iops(iops) => (ops - before.0 + 1, iops.0, "operations a second"),
                Pace::Throughput(rate) => (bytes - before.1 + block, rate.0, "bytes a second"),
            };
            let found = found as f64 / seconds;
            if found < least as f64 {
                let name = watch.direction.name();
                missed = Some(format!("{name}: {found:.0} {unit}, below the least that must be reached: {least}"));
            }
        }
        if let Some(text) = missed {
            self.fail(TOO_SLOW, text, now);
        }
    }

    /// Whether the job is in a pause.
    pub(super) fn thinks(&mut self, now: Time) -> bool {
        let (Some(until), Some(think)) = (self.thinking_until, self.spec.pacing.think) else { return false };
        // The part of the pause that burns processor time comes first.
        let spin_end = until - think.time + think.spin.min(think.time);
        if think.spin > Span::ZERO {
            self.context.spin_until(spin_end);
        }
        if now < until {
            return true;
        }
        self.thinking_until = None;
        self.working_since = now;
        if think.forgets_rate {
            self.stream.postpone(until - think.time, until);
        }
        false
    }

    /// Begins a pause if one is due before the next request; returns whether it did.
    #[inline]
    pub(super) fn is_time_to_think(&mut self, now: Time) -> bool {
        let Some(think) = self.spec.pacing.think else { return false };
        let worked = think.work_time > Span::ZERO && now.since(self.working_since) >= think.work_time;
        let counted = think.work_time == Span::ZERO && self.requests_since_think >= think.every.max(1);
        if worked || counted {
            self.requests_since_think = 0;
            self.thinking_until = Some(now + think.time);
        }
        worked || counted
    }

    /// Moves on to the next stage if nothing is in flight.
    pub(super) fn advance_stage(&mut self, now: Time) {
        match self.stage {
            Stage::Draining if self.slots.in_flight() == 0 => self.drained(now),
            Stage::Settling if self.slots.in_flight() == 0 => self.settled(now),
            Stage::Checking if self.slots.in_flight() == 0 => self.end_checking(now),
            Stage::Flushing if self.slots.in_flight() == 0 => self.end_job(now),
            _ => {}
        }
    }

    fn drained(&mut self, now: Time) {
        if self.after == After::End {
            self.board.loaded(self.index);
        }
        let reads_back = self.spec.verify.as_ref().is_some_and(|verify| verify.reads_back || verify.only);
        let checks = reads_back && self.after != After::Failure && self.spec.reach.mix.has(Direction::Write);
        match self.after {
            _ if !checks || self.checker.is_none() => self.checked(now),
            After::Backlog => self.begin_checking(Round::Due, now),
            _ if self.forget.is_some() => self.settle(now),
            _ => self.begin_checking(Round::Last, now),
        }
    }

    /// Flushes the files whose data may be only in the page cache.
    fn settle(&mut self, now: Time) {
        self.stage = Stage::Settling;
        for file in 0..self.regions.len() as u32 {
            self.flush(now, file, true);
        }
        if self.slots.in_flight() == 0 {
            self.settled(now);
        }
    }

    fn settled(&mut self, now: Time) {
        if self.after == After::Failure {
            return self.checked(now);
        }
        let now = self.forget_cache().unwrap_or(now);
        self.begin_checking(Round::Last, now);
    }

    fn begin_checking(&mut self, round: Round, now: Time) {
        if let Some(checker) = &mut self.checker {
            checker.begin(round);
        }
        self.stage = Stage::Checking;
        self.end_checking(now);
    }

    /// Drops the files from the page cache, if they use it; returns the time after that.
    pub(super) fn forget_cache(&mut self) -> Option<Time> {
        self.forget.as_mut()?();
        self.latest = self.context.now();
        Some(self.latest)
    }

    /// Ends a round of checking when nothing is left to read. A round may be empty.
    fn end_checking(&mut self, now: Time) {
        if self.checker.as_ref().is_none_or(super::Checker::is_through) {
            self.checked(now);
        }
    }

    fn checked(&mut self, now: Time) {
        match self.after {
            After::Backlog => self.stage = Stage::Loading,
            After::Pass if self.stream.next_pass() => {
                self.stage = Stage::Loading;
                if let Some(renew) = &mut self.renew {
                    // The old files are closed first, since a ring has one slot for each file.
                    self.target = Box::new(storage::local::NullTarget::new(block::Bytes(0)));
                    match renew() {
                        Ok(target) => self.target = target,
                        Err(OpenError(text)) => self.fail(BAD_COMMAND, text, now),
                    }
                }
            }
            _ => self.flush_at_end(now),
        }
    }

    fn flush_at_end(&mut self, now: Time) {
        self.stage = Stage::Flushing;
        let flushes = self.spec.flushes;
        let wrote = self.spec.reach.mix.changes_data() && (flushes.at_end || flushes.on_close);
        if wrote && self.error.is_none() {
            for file in 0..self.regions.len() as u32 {
                self.flush(now, file, true);
            }
        }
        if self.slots.in_flight() == 0 {
            self.end_job(now);
        }
    }

    fn end_job(&mut self, now: Time) {
        let (after, _) = self.carry_out(self.spec.commands.after.clone(), now);
        if let Err(text) = after {
            self.error.get_or_insert(stats::job::JobError { number: BAD_COMMAND, text });
        }
        self.conclude(now);
    }

    /// Ends the job, and tells the others that it has ended.
    pub(super) fn conclude(&mut self, now: Time) {
        self.times.end = now;
        self.stage = Stage::Ended;
        let never = if self.interrupted || self.times.runtime_end.is_some() || self.error.is_some() {
            // What is due exactly at the end does not belong to the run.
            self.stream.overdue(self.times.loaded.unwrap_or(now) - Span::from_nanos(1))
        } else {
            0
        };
        self.tape.punctuality.never_sent = never;
        self.board.tell(self.index, now, self.counts(), 0);
        let ending = &self.spec.ending;
        let failed = ending.ends_all_on_error && self.error.is_some();
        self.board.end(self.index, if failed { Ends::All } else { ending.ends });
    }
}
