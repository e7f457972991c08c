//! One job's requests, one after the other.
//!
//! ```text
//!   engine:  match stream.next(now) {
//!                Issue(draft)    ──► a request; ask again while places are free
//!                NotBefore(time) ──► wait for that time or an end
//!                PassOver        ──► let all end, check or flush what is to be; then `next_pass`
//!                Done            ──► no more requests
//!            }
//! ```
//! The engine counts what is in flight; the stream knows neither depth nor storage. The requests
//! depend only on the specification, the regions and the seed, not on when they are asked for.

use super::chooser::Chooser;
use super::sizes::Sizes;
use super::walk::{Region, Walk};
use super::{BlockCoverage, Direction, JobSpec, Mix, Pace, PerDirection, Replay, ReplayAsk};
use crate::chance::Chance;
use crate::due::Due;
use block::{Bytes, Time};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobNext {
    /// Make this request.
    Issue(JobDraft),
    /// Flush a file: `fsync` if `whole`, else `fdatasync`. Only a recording does this.
    Flush {
        /// Index of the file among the job's files.
        file: u32,
        /// Whether all metadata is included.
        whole: bool,
    },
    /// Nothing is due before this time.
    NotBefore(Time),
    /// A pass has ended, and something must be done before the next.
    PassOver,
    /// There are no more requests.
    Done,
}

/// A request to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobDraft {
    /// What it does.
    pub direction: Direction,
    /// Index of the file among the job's files.
    pub file: u32,
    /// First byte in the file.
    pub at: u64,
    /// Bytes.
    pub len: u32,
    /// Its due time: by the schedule in an open loop, `now` in a closed one.
    pub due: Time,
}

/// One job's requests.
#[derive(Clone, Debug)]
pub struct JobStream {
    mix: Mix,
    chance: Chance,
    sizes: PerDirection<Sizes>,
    /// Sizes at random offsets, if they differ from the others.
    random_sizes: Option<Sizes>,
    walks: Vec<Walk>,
    chooser: Chooser,
    rate: PerDirection<Option<Pace>>,
    due: PerDirection<Option<Due>>,
    drawn: Option<Direction>,
    /// The write that follows a trim.
    rewrite: Option<JobDraft>,
    pass: Pass,
    recorded: Option<Recorded>,
    rounds: u64,
}

/// Position in a recording.
#[derive(Clone, Debug)]
struct Recorded {
    replay: Replay,
    next: usize,
    start: Time,
}

/// Progress of the current pass.
#[derive(Clone, Debug)]
struct Pass {
    bytes: u64,
    requests: u64,
    budget: u64,
    /// Whether the amount was given: walks then restart until it is used up.
    given: bool,
    requests_most: u64,
    /// Passes still to come after this one; `None` for no end.
    left: Option<u32>,
    /// Whether the engine has something to do between passes.
    stops: bool,
    /// If what is written is read back: how much is transferred before no further pass begins.
    quota: Option<Quota>,
    /// Each pass has new files, and begins at their start.
    renews: bool,
    /// It goes on within the way where the pass before stopped, and so beyond the end of that way.
    began_within: bool,
    over: bool,
}

/// How much a job transfers that reads back what it wrote. As in fio, reading back counts, and a
/// rest that is smaller than a block is left out.
#[derive(Clone, Debug)]
struct Quota {
    bytes: u64,
    moved: u64,
    largest_block: u64,
}

impl JobStream {
    /// The requests of `spec` to files with these regions (at least one, none smaller than the
    /// largest block); its schedules begin at `start`.
    pub fn new(spec: &JobSpec, regions: &[Region], start: Time) -> JobStream {
        let mut chance = Chance::of_lane(spec.seed, 0);
        let arrival = chance.apart();
        let due = PerDirection::from_fn(|direction| {
            let source = (0..direction as u32).fold(arrival.clone(), |source, _| source.apart());
            spec.pacing.rate[direction].map(|pace| Due::new(start, pace.units_a_second(), spec.pacing.spacing, source))
        });
        let walks: Vec<Walk> = regions.iter().map(|region| Walk::new(*region, &spec.reach, &mut chance)).collect();
        JobStream {
            mix: spec.reach.mix,
            sizes: PerDirection::from_fn(|direction| Sizes::new(&spec.reach.blocks[direction])),
            random_sizes: spec.reach.random_blocks.as_ref().map(Sizes::new),
            chooser: Chooser::new(spec, regions, &mut chance),
            walks,
            rate: spec.pacing.rate,
            due,
            drawn: None,
            rewrite: None,
            pass: Pass::new(spec, regions),
            recorded: spec.replay.clone().map(|replay| Recorded { replay, next: 0, start }),
            chance,
            rounds: 0,
        }
    }

    /// The next request, or when to ask again.
    #[inline]
    pub fn next(&mut self, now: Time) -> JobNext {
        if self.pass.over && !self.begin_pass() {
            return if self.pass.is_last() { JobNext::Done } else { JobNext::PassOver };
        }
        if self.recorded.is_some() {
            return self.next_recorded(now);
        }
        if let Some(draft) = self.rewrite.take() {
            return self.made(JobDraft { due: now, direction: Direction::Write, ..draft });
        }
        let direction = match self.direction(now) {
            Ok(direction) => direction,
            Err(due) => return JobNext::NotBefore(due),
        };
        let due = self.due[direction].as_ref().map_or(now, Due::due);
        let len = self.sizes[direction].draw(&mut self.chance);
        let Some((file, at, len)) = self.place(direction, len) else {
            self.pass.over = true;
            return self.next(now);
        };
        if let (Some(due), Some(pace)) = (&mut self.due[direction], self.rate[direction]) {
            due.advance(pace.units(len));
        }
        self.drawn = None;
        self.made(JobDraft { direction, file, at, len, due })
    }

    /// Counts bytes that were read back to check what was written.
    pub fn count_read_back(&mut self, bytes: u64) {
        if let Some(quota) = &mut self.pass.quota {
            quota.moved += bytes;
        }
    }

    /// Begins the pass after a [`JobNext::PassOver`]; false if that was the last pass.
    pub fn next_pass(&mut self) -> bool {
        if self.pass.is_last() {
            return false;
        }
        self.pass.stops = false;
        let began = self.begin_pass();
        self.pass.stops = true;
        began
    }

    /// The next request of the recording.
    fn next_recorded(&mut self, now: Time) -> JobNext {
        let Some(recorded) = self.recorded.as_mut().filter(|recorded| !recorded.replay.rows.is_empty()) else {
            return JobNext::Done;
        };
        let Some(row) = recorded.replay.rows.get(recorded.next).copied() else {
            self.pass.over = true;
            (recorded.next, recorded.start) = (0, now);
            return if self.pass.left == Some(0) { JobNext::Done } else { self.next(now) };
        };
        let due = recorded.due(recorded.next).unwrap_or(now);
        if due > now {
            return JobNext::NotBefore(due);
        }
        recorded.next += 1;
        let file = row.file;
        match row.ask {
            ReplayAsk::Move(direction) => {
                JobNext::Issue(JobDraft { direction, file, at: row.offset, len: row.len, due })
            }
            ReplayAsk::Flush { whole } => JobNext::Flush { file, whole },
        }
    }

    /// Puts the schedules off for a pause: what was not made in it is not made up for. What falls
    /// due within it is due at its end.
    pub fn postpone(&mut self, from: Time, until: Time) {
        for direction in Direction::ALL {
            if let Some(due) = &mut self.due[direction] {
                let missed = until.since(due.due().max(from).min(until));
                due.postpone(missed);
            }
        }
    }

    /// How often the walks ended and began again.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Whether requests of this direction have due times of a schedule.
    pub fn is_scheduled(&self, direction: Direction) -> bool {
        match &self.recorded {
            Some(recorded) => !recorded.replay.at_once,
            None => self.due[direction].is_some(),
        }
    }

    /// Requests that are due by `now` and not made yet.
    pub fn overdue(&self, now: Time) -> u64 {
        if self.pass.over && self.pass.is_last() {
            return 0;
        }
        if let Some(recorded) = &self.recorded {
            let rest = recorded.next..recorded.replay.rows.len();
            return rest.take_while(|&row| recorded.due(row).is_some_and(|due| due <= now)).count() as u64;
        }
        let overdue = |direction| {
            let scheduled = self.due[direction].as_ref().zip(self.rate[direction]);
            scheduled.map_or(0, |(due, pace)| due.due_by(now, pace.units(self.sizes[direction].least())))
        };
        Direction::ALL.into_iter().filter(|&direction| self.mix.has(direction)).map(overdue).sum()
    }

    /// Bytes of a pass, as the base of a progress in percent.
    pub fn pass_bytes(&self) -> Bytes {
        Bytes(self.pass.budget)
    }

    fn made(&mut self, draft: JobDraft) -> JobNext {
        let pass = &mut self.pass;
        if self.mix == Mix::TrimThenWrite && draft.direction == Direction::Trim {
            self.rewrite = Some(draft);
            return JobNext::Issue(draft);
        }
        pass.bytes += u64::from(draft.len);
        pass.requests += 1;
        if let Some(quota) = &mut pass.quota {
            quota.moved += u64::from(draft.len);
        }
        pass.over = pass.bytes >= pass.budget || pass.requests >= pass.requests_most;
        JobNext::Issue(draft)
    }

    /// Begins the next pass if there is one and nothing is to be done before it.
    fn begin_pass(&mut self) -> bool {
        let pass = &mut self.pass;
        if pass.is_last() || pass.stops {
            return false;
        }
        pass.left = pass.left.map(|left| left.saturating_sub(1));
        (pass.bytes, pass.requests, pass.over) = (0, 0, false);
        // A pass that ended within the way, by its bytes or requests, would else ask for the same
        // few places over and over.
        pass.began_within = !pass.renews && !self.chooser.all_ended(&self.walks);
        if !pass.began_within {
            self.restart_walks();
        }
        true
    }

    fn restart_walks(&mut self) {
        self.rounds += u64::from(self.walks.iter().any(Walk::is_over));
        for walk in &mut self.walks {
            walk.restart(&mut self.chance);
        }
        self.chooser.restart();
    }

    /// The direction of the next request; an error has the time when it is due.
    #[inline]
    fn direction(&mut self, now: Time) -> Result<Direction, Time> {
        let direction = match (self.mix, self.drawn) {
            (Mix::Only(direction), _) => direction,
            (Mix::TrimThenWrite, _) => Direction::Trim,
            (Mix::ReadWrite { .. }, Some(drawn)) => drawn,
            (Mix::ReadWrite { read_percent }, None) => self.draw_direction(read_percent),
        };
        let Some(due) = self.due[direction].as_ref().map(Due::due).filter(|&due| due > now) else {
            return Ok(direction);
        };
        // Meanwhile the other direction continues, if it has no rate of its own.
        let other = if direction == Direction::Read { Direction::Write } else { Direction::Read };
        if matches!(self.mix, Mix::ReadWrite { .. }) && self.mix.has(other) && self.due[other].is_none() {
            return Ok(other);
        }
        self.drawn = Some(direction);
        Err(due)
    }

    /// If both have a rate, the direction that is due first; otherwise drawn by the mix.
    fn draw_direction(&mut self, read_percent: u32) -> Direction {
        if let (Some(read), Some(write)) = (&self.due.read, &self.due.write) {
            return if read.due() <= write.due() { Direction::Read } else { Direction::Write };
        }
        if self.chance.below(100) < u64::from(read_percent) { Direction::Read } else { Direction::Write }
    }

    /// The next offset, on a file whose walk has not ended; `None` if all have.
    #[inline]
    fn place(&mut self, direction: Direction, len: u32) -> Option<(u32, u64, u32)> {
        let mut restarted = false;
        loop {
            let Some(file) = self.chooser.next(&mut self.chance) else {
                let pass = &self.pass;
                let goes_on =
                    pass.given || pass.quota.is_none() && pass.began_within || pass.left.is_none() && !pass.stops;
                if !goes_on || restarted {
                    return None;
                }
                restarted = true;
                self.restart_walks();
                continue;
            };
            let walk = &mut self.walks[file as usize];
            let len = match &self.random_sizes {
                Some(sizes) if walk.jumps_next(direction, &mut self.chance) => sizes.draw(&mut self.chance),
                _ => len,
            };
            if let Some((at, len)) = walk.next(direction, len, &mut self.chance) {
                return Some((file, at, len));
            }
            self.chooser.end(file);
        }
    }
}

impl Recorded {
    /// When a row is due; `None` means as soon as there is room.
    fn due(&self, row: usize) -> Option<Time> {
        if self.replay.at_once {
            return None;
        }
        Some(self.start + self.replay.rows[row].at)
    }
}

impl Pass {
    fn new(spec: &JobSpec, regions: &[Region]) -> Pass {
        let ending = &spec.ending;
        let whole: u64 = regions.iter().map(|region| region.len).sum();
        let amount = ending.amount.map(|amount| amount.of(Bytes(whole)).0.max(1));
        let passes = ending.loops.max(1);
        let endless = ending.time_based && ending.runtime.is_some();
        let reads_back = spec.verify.as_ref().is_some_and(|verify| verify.reads_back);
        let has_quota = reads_back && !endless && ending.requests.is_none() && spec.replay.is_none();
        let quota = has_quota.then(|| Quota {
            bytes: amount.unwrap_or(whole),
            moved: 0,
            largest_block: u64::from(spec.reach.most_block()),
        });
        // What was written is read back at the end of the region at the latest, if it has one.
        let has_end = !spec.reach.order.is_random() || spec.reach.coverage == BlockCoverage::Once;
        let longest = if has_quota && has_end { whole } else { u64::MAX };
        Pass {
            bytes: 0,
            requests: 0,
            budget: amount.unwrap_or(whole).min(longest).max(1),
            given: ending.amount.is_some() && !ending.ends_with_region && !has_quota,
            requests_most: ending.requests.unwrap_or(u64::MAX),
            left: if endless { None } else { Some(passes - 1) },
            stops: reads_back || spec.layout.renew,
            quota,
            renews: spec.layout.renew,
            began_within: false,
            over: ending.requests == Some(0),
        }
    }

    /// Whether no pass follows.
    fn is_last(&self) -> bool {
        let is_reached = |quota: &Quota| quota.moved.saturating_add(quota.largest_block) > quota.bytes;
        self.left == Some(0) && self.quota.as_ref().is_none_or(is_reached)
    }
}
