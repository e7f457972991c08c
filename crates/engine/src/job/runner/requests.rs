//! Makes requests and takes completions: the path of every I/O.

use super::failure::TIMED_OUT;
use super::{After, HeldBack, Runner, Stage, opens_durable};
use crate::job::slots::{Purpose, Slot};
use block::{Actor as _, Buf, Completion, ObjectId, Op, Request, Span, Submitted, Time};
use stats::Tape;
use stats::job::{Asked, AskedRow};
use workload::job::{Direction, JobDraft, JobNext, JobPlace, WriteSync};

impl Runner {
    /// Takes all completions. With bursts, the first new requests are submitted while other
    /// completions are still being counted, since the storage would be idle until then.
    pub(super) fn take(&mut self, now: Time) {
        let mut completions = std::mem::take(&mut self.completions);
        self.target.poll(now, &mut completions);
        if !completions.is_empty() {
            let count = completions.len() as u32;
            self.completed.count(count, u64::from(count));
            let over = |end: Option<Time>| end.is_some_and(|end| now >= end);
            let goes_on = self.burst.is_some() && !over(self.times.runtime_end) && !over(self.times.ramp_end);
            for completion in completions.drain(..) {
                self.latest = self.latest.max(completion.end);
                self.end(completion, self.latest);
                self.ended_since_refill += 1;
                if goes_on && self.stage == Stage::Loading {
                    self.load();
                }
            }
        }
        self.completions = completions;
    }

    #[inline]
    fn end(&mut self, mut completion: Completion, now: Time) {
        let slot = self.slots.end(completion.tag);
        let buf = completion.buf.take();
        match completion.result {
            Ok(()) => {
                let end = completion.end;
                // A target that knows when the storage began (a system call) is more exact than the
                // time of the batch.
                let handed = slot.handed.max(end - completion.service);
                let is_flush = slot.purpose == Purpose::Flush;
                // As in fio, flushes at the end and before a check do not count.
                if !is_flush || !matches!(self.stage, Stage::Flushing | Stage::Settling) {
                    let class = if is_flush { Tape::FLUSH } else { slot.direction as usize };
                    let ended = slot.ended(class, handed, end);
                    self.tape.ended(&ended);
                    if is_flush {
                        self.syncs_whole += u64::from(slot.generation == 0);
                    } else {
                        if let Some(logs) = &mut self.logs {
                            logs.ended(&slot, &ended);
                        }
                        self.look_at(&slot, end, handed, buf.as_ref(), now);
                    }
                }
            }
            Err(fault) => {
                self.count_fault(&slot, fault, completion.detail, now);
            }
        }
        if let Some(buf) = buf {
            match slot.direction {
                Direction::Write => self.filler.give(buf),
                _ => self.context.give(buf),
            }
        }
    }

    /// Work on a completion that only some jobs ask for.
    #[inline]
    fn look_at(&mut self, slot: &Slot, end: Time, handed: Time, buf: Option<&Buf>, now: Time) {
        if let Some(search) = &mut self.search {
            search.count(end.since(handed));
        }
        if let Some(most) = self.spec.pacing.latency_most
            && end.since(handed) > most
        {
            let took = end.since(handed);
            let text = format!("a {} took {took}, longer than the {most} that are allowed", slot.direction.name());
            self.fail(TIMED_OUT, text, now);
        }
        if self.spec.pacing.think.is_some_and(|think| !think.by_issue) && slot.purpose == Purpose::Load {
            self.requests_since_think += 1;
        }
        if slot.direction == Direction::Read
            && self.checker.is_some()
            && let Some(buf) = buf
        {
            self.check(slot, buf, now);
        }
    }

    /// Name of a file in messages.
    pub(super) fn name_of(&self, file: u32) -> String {
        match (&self.spec.place, self.paths.get(file as usize)) {
            (_, Some(path)) => path.display().to_string(),
            (JobPlace::Named { name, .. }, None) => name.clone(),
            (_, None) => self.spec.name.clone(),
        }
    }

    /// Makes requests that are due, as far as there is room.
    pub(super) fn issue(&mut self, now: Time) {
        match self.stage {
            Stage::Loading => self.load(),
            Stage::Checking => self.read_back(now),
            _ => {}
        }
    }

    fn load(&mut self) {
        let mut now = self.latest;
        if self.thinks(now) || !self.may_refill() {
            return;
        }
        if self.not_before.is_some_and(|at| at > now) {
            return;
        }
        self.not_before = None;
        while self.slots.in_flight() < self.depth {
            if self.is_time_to_think(now) {
                return;
            }
            let draft = match self.held.take() {
                Some(draft) => self.redated(draft, now),
                None if self.is_held_back(now) => return,
                None => match self.stream.next(now) {
                    JobNext::Issue(draft) => {
                        self.count_in_flow();
                        self.in_its_round(draft, &mut now)
                    }
                    JobNext::Flush { file, whole } => {
                        self.flush(now, file, whole);
                        continue;
                    }
                    JobNext::NotBefore(at) => {
                        self.not_before = Some(at);
                        self.cap_met = false;
                        return;
                    }
                    JobNext::PassOver => return self.drain(After::Pass, now),
                    JobNext::Done => return self.drain(After::End, now),
                },
            };
            if let Some((file, whole)) = self.flush_due {
                self.held = Some(draft);
                if !self.flush(now, file, whole) {
                    return;
                }
                self.flush_due = None;
                continue;
            }
            if !self.make(now, draft) {
                return;
            }
            if self.burst.is_some_and(|burst| self.slots.fresh() >= burst) {
                now = self.context.now();
                self.latest = now;
                self.hand_over(now);
            }
            if self.checker.as_ref().is_some_and(super::Checker::is_due) {
                return self.drain(After::Backlog, now);
            }
        }
        self.refilling = false;
        self.ended_since_refill = 0;
        self.cap_met = self.tape.punctuality.scheduled;
    }

    /// A request dated by its round: if a round has just begun, from after its preparation.
    #[inline]
    fn in_its_round(&mut self, draft: JobDraft, now: &mut Time) -> JobDraft {
        if self.stream.rounds() == self.rounds {
            return draft;
        }
        *now = self.begin_round(*now);
        self.redated(draft, *now)
    }

    /// Begins a round: the page cache is dropped, as in fio, so that files are read from storage
    /// again. Returns the time after that.
    #[cold]
    fn begin_round(&mut self, now: Time) -> Time {
        self.rounds = self.stream.rounds();
        let layout = &self.spec.layout;
        let drops = layout.invalidate && !layout.read_ahead;
        if drops { self.forget_cache().unwrap_or(now) } else { now }
    }

    /// Dates a request at `now` if it has no schedule, so that a flush before it, which is timed
    /// separately, is not part of its own time.
    fn redated(&self, draft: JobDraft, now: Time) -> JobDraft {
        if self.stream.is_scheduled(draft.direction) { draft } else { JobDraft { due: now, ..draft } }
    }

    /// Whether the job is ahead of its share of a flow.
    #[inline]
    fn is_held_back(&mut self, now: Time) -> bool {
        let Some(share) = self.spec.pacing.flow else { return false };
        if matches!(self.held_back, HeldBack::Until(time) if now < time) {
            return true;
        }
        self.held_back = match self.board.flows().ask(self.index) {
            true => HeldBack::No,
            false if share.sleep > Span::ZERO => HeldBack::Until(now + share.sleep),
            false => HeldBack::Others,
        };
        self.held_back != HeldBack::No
    }

    #[inline]
    fn count_in_flow(&self) {
        if self.spec.pacing.flow.is_some() && self.board.flows().made(self.index) {
            self.board.wake_all();
        }
    }

    /// Whether requests may be made again after the depth was reached.
    #[inline]
    fn may_refill(&mut self) -> bool {
        if self.refilling {
            return true;
        }
        let pacing = &self.spec.pacing;
        let in_flight = self.slots.in_flight();
        if in_flight >= self.depth {
            return false;
        }
        let free = self.depth - in_flight;
        let enough = free >= pacing.submit_batch.min(self.depth)
            && (self.ended_since_refill >= pacing.complete_least || in_flight == 0)
            && pacing.refill_below.is_none_or(|low| in_flight <= low);
        self.refilling = enough || in_flight == 0;
        self.refilling
    }

    /// Makes one request of the load. If it cannot, the request is held and the result is false.
    #[inline]
    fn make(&mut self, now: Time, draft: JobDraft) -> bool {
        let JobDraft { direction, file, at, len, due } = draft;
        let mut generation = 0;
        let op = match direction {
            Direction::Read => Op::Read,
            Direction::Trim => Op::Trim,
            Direction::Write => match self.write_buffer(&draft) {
                Some((buf, number)) => {
                    generation = number;
                    Op::Write(buf)
                }
                None => {
                    self.held = Some(draft);
                    return false;
                }
            },
        };
        let purpose = Purpose::Load;
        let slot = Slot { purpose, direction, file, at, len, due, made: now, handed: now, generation };
        self.depths.count(self.slots.in_flight() + 1, 1);
        if !self.submit(now, slot, op) {
            self.held = Some(draft);
            return false;
        }
        if self.tape.punctuality.scheduled {
            self.tape.made(due, now, self.cap_met);
        }
        if self.spec.logs.asked {
            self.note_asked(now, Asked::Move(direction), &draft);
        }
        if self.spec.pacing.think.is_some_and(|think| think.by_issue) {
            self.requests_since_think += 1;
        }
        if direction == Direction::Write {
            self.writes_since_sync += 1;
            self.note_flush(file);
        }
        true
    }

    /// A buffer with data to write. `None` without memory, or while a write to the same place is in
    /// flight: the order of the two would be unknown.
    fn write_buffer(&mut self, draft: &JobDraft) -> Option<(Buf, u64)> {
        let &JobDraft { file, at, len, .. } = draft;
        if self.checker.is_some() && self.slots.writes_touch(file, at, len) {
            return None;
        }
        let mut buf = self.filler.take(len, at)?;
        let Some(checker) = &mut self.checker else { return Some((buf, 0)) };
        let generation = checker.note(draft);
        self.context.with_mut(&mut buf, |bytes| {
            self.filler.fill_again(generation, bytes, at);
            checker.stamp(bytes, at, generation);
        });
        Some((buf, generation))
    }

    #[inline]
    fn submit(&mut self, now: Time, slot: Slot, op: Op) -> bool {
        let fua = match slot.purpose {
            Purpose::Flush => slot.generation == 0,
            // Files that are opened so that a write is durable need no more.
            _ => {
                let spec = &self.spec;
                slot.direction == Direction::Write && spec.write_sync != WriteSync::None && !opens_durable(spec)
            }
        };
        let len = u64::from(slot.len);
        let tag = self.slots.add(slot);
        let object = ObjectId(slot.file);
        let request = Request { tag, object, at: slot.at, len, op, fua, due: slot.due };
        match self.target.submit(now, request) {
            Submitted::Taken(ticket) => {
                self.slots.took(tag, ticket);
                true
            }
            Submitted::Full(request) => {
                self.slots.undo(tag);
                if let Op::Write(buf) = request.op {
                    self.filler.give(buf);
                    if let Some(checker) = &mut self.checker {
                        checker.forget(slot.generation);
                    }
                }
                false
            }
        }
    }

    /// Notes a flush that is due. It is made before the next request, as in fio, so none follows
    /// the last write.
    fn note_flush(&mut self, file: u32) {
        let flushes = self.spec.flushes;
        let due = |every: u32| every > 0 && self.writes_since_sync.is_multiple_of(every);
        let (whole, data) = (due(flushes.fsync_every), due(flushes.fdatasync_every));
        if whole || data {
            self.flush_due = Some((file, whole));
        }
    }

    /// Makes a flush of a file. Its `generation` is 1 for `fdatasync` and 0 for `fsync`.
    pub(super) fn flush(&mut self, now: Time, file: u32, whole: bool) -> bool {
        let slot = Slot {
            purpose: Purpose::Flush,
            direction: Direction::Write,
            file,
            at: 0,
            len: 0,
            due: now,
            made: now,
            handed: now,
            generation: u64::from(!whole),
        };
        let taken = self.submit(now, slot, Op::Flush);
        if taken && self.spec.logs.asked && self.stage != Stage::Settling {
            let draft = JobDraft { direction: Direction::Write, file, at: 0, len: 0, due: now };
            self.note_asked(now, Asked::Flush { whole }, &draft);
        }
        taken
    }

    #[cold]
    fn note_asked(&mut self, now: Time, what: Asked, draft: &JobDraft) {
        let &JobDraft { file, at, len, .. } = draft;
        self.asked.push(AskedRow { made: now.since(self.times.start), what, file, at, len });
    }

    /// Reads back what was written, after the trims that come first.
    fn read_back(&mut self, now: Time) {
        while self.slots.in_flight() < self.spec.pacing.depth.max(1) {
            if self.is_held_back(now) {
                return;
            }
            let in_flight = self.slots.in_flight();
            let Some((direction, written)) = self.checker.as_mut().and_then(|checker| checker.next(in_flight)) else {
                return;
            };
            let slot = Slot {
                purpose: Purpose::Check,
                direction,
                file: written.file,
                at: written.at,
                len: written.len,
                due: now,
                made: now,
                handed: now,
                generation: written.generation,
            };
            self.depths.count(in_flight + 1, 1);
            let op = if direction == Direction::Trim { Op::Trim } else { Op::Read };
            if !self.submit(now, slot, op) {
                if let Some(checker) = &mut self.checker {
                    checker.put_back(direction, written);
                }
                return;
            }
            if direction == Direction::Read {
                self.stream.count_read_back(u64::from(written.len));
            }
            self.count_in_flow();
        }
    }
}
