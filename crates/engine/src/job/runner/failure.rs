//! Failed requests, and those that nobody answers: counted, and told in words where they end the
//! job.

use super::{After, Runner, Stage};
use crate::job::context::Context;
use crate::job::patience::GRACE;
use crate::job::slots::{Purpose, Slot};
use block::{Detail, Fault, Time};
use stats::Tape;
use stats::job::{ErrorKind, JobError};
use workload::job::Direction;

/// ETIMEDOUT, as fio reports a request that exceeded its maximum latency; also of one that nobody
/// answered.
pub(super) const TIMED_OUT: i32 = 110;

impl Runner {
    #[cold]
    pub(super) fn count_fault(&mut self, slot: &Slot, fault: Fault, detail: Option<Box<Detail>>, now: Time) {
        let Detail { why, at } = detail.map(|detail| *detail).unwrap_or_default();
        let beyond = self.paths.get(slot.file as usize).and_then(|path| std::fs::metadata(path).ok());
        let beyond = beyond.is_some_and(|about| about.is_file() && slot.at + u64::from(slot.len) > about.len());
        let (kind, number) = kind_of(fault, beyond && slot.direction == Direction::Read);
        if self.spec.layout.until_full && kind == ErrorKind::NoSpace {
            // The job was to fill the storage: this is its end, not an error.
            if let Some(checker) = &mut self.checker {
                checker.forget(slot.generation);
            }
            if self.stage == Stage::Loading {
                self.drain(After::End, now);
            }
            return;
        }
        self.errors.count(kind, Some(number));
        why.iter().for_each(|why| self.reasons.count(why));
        self.tape.failed(class_of(slot), kind == ErrorKind::Short);
        if let (Direction::Write | Direction::Trim, Some(checker)) = (slot.direction, &mut self.checker) {
            checker.forget(slot.generation);
        }
        if !self.spec.forgive.after(slot.direction, number) {
            let text = self.told(slot, kind, at, why.as_deref());
            self.fail(number, text, now);
        }
    }

    /// Ends the job at once. Requests in flight count as unanswered: what nobody answered must not
    /// be missing in the report.
    pub(crate) fn give_up(&mut self, now: Time) {
        self.stop(now);
        if self.stage == Stage::Ended {
            return;
        }
        let oldest = self.slots.oldest();
        let unanswered = self.slots.give_up();
        for slot in &unanswered {
            self.errors.count(ErrorKind::Unanswered, Some(TIMED_OUT));
            self.tape.failed(class_of(slot), false);
            if let (Direction::Write | Direction::Trim, Some(checker)) = (slot.direction, &mut self.checker) {
                checker.forget(slot.generation);
            }
        }
        if let Some(oldest) = oldest {
            let (count, longest) = (unanswered.len(), now.since(oldest));
            let noun = if count == 1 { "request was" } else { "requests were" };
            let text = format!("{count} {noun} not answered when the run was ended, the oldest after {longest}");
            self.notes.push(text.clone());
            self.error.get_or_insert(JobError { number: TIMED_OUT, text });
        }
        self.conclude(now);
    }

    /// Once requests have kept the job from ending for some time: tells the watching thread, and
    /// cancels what a server may want to be asked again for ever.
    pub(super) fn watch_end(&mut self, now: Time) {
        let ends = match self.stage {
            Stage::Draining => matches!(self.after, After::End | After::Failure),
            Stage::Settling | Stage::Checking | Stage::Flushing => self.interrupted,
            Stage::Waiting | Stage::Loading | Stage::Ended => false,
        };
        let since = self.times.ending_from.filter(|since| ends && now >= *since + GRACE);
        let oldest = since.and_then(|_| self.slots.oldest());
        self.board.await_since(self.index, oldest);
        if oldest.is_some() && self.paths.is_empty() && matches!(self.context, Context::Wall(_)) {
            self.slots.tickets().into_iter().for_each(|ticket| self.target.cancel(now, ticket));
        }
    }

    /// The line on a failed request.
    fn told(&self, slot: &Slot, kind: ErrorKind, failed_at: Option<u64>, why: Option<&str>) -> String {
        let file = self.name_of(slot.file);
        let what = match slot.purpose {
            Purpose::Flush => "flush".into(),
            _ => format!("{} of {} bytes at {}", slot.direction.name(), slot.len, slot.at),
        };
        let place = failed_at.map(|at| format!(", from {at} on")).unwrap_or_default();
        let is_local = self.paths.get(slot.file as usize).is_some();
        let advice = advice_on(kind, &file, is_local);
        format!("{file}: {what}: {}{place}{advice}", why.unwrap_or(words_of(kind, slot.purpose)))
    }
}

fn class_of(slot: &Slot) -> usize {
    if slot.purpose == Purpose::Flush { Tape::FLUSH } else { slot.direction as usize }
}

fn kind_of(fault: Fault, beyond_end: bool) -> (ErrorKind, i32) {
    match fault {
        Fault::Io if beyond_end => (ErrorKind::Short, 5),
        Fault::Io => (ErrorKind::Io, 5),
        Fault::NoSpace => (ErrorKind::NoSpace, 28),
        Fault::Invalid => (ErrorKind::Invalid, 22),
        Fault::ReadOnly => (ErrorKind::ReadOnly, 30),
        Fault::Denied => (ErrorKind::Denied, 13),
        Fault::Unsupported => (ErrorKind::Unsupported, 95),
        Fault::NoMemory => (ErrorKind::NoMemory, 12),
        Fault::Gone => (ErrorKind::Gone, 19),
    }
}

fn words_of(kind: ErrorKind, purpose: Purpose) -> &'static str {
    match kind {
        ErrorKind::Io => "the storage failed (EIO)",
        ErrorKind::NoSpace => "no space left (ENOSPC)",
        ErrorKind::Short => "the file ended early",
        // A flush has no range.
        ErrorKind::Invalid if purpose == Purpose::Flush => "it was refused (EINVAL)",
        ErrorKind::Invalid => "the range or its alignment was refused (EINVAL)",
        ErrorKind::ReadOnly => "it may not be written (EROFS)",
        ErrorKind::Denied => "permission denied (EACCES)",
        ErrorKind::Unsupported => "it cannot do this (EOPNOTSUPP)",
        ErrorKind::NoMemory => "no memory for it (ENOMEM)",
        ErrorKind::Gone => "the storage went away; whether the request took effect is unknown",
        ErrorKind::Unanswered => "no answer (ETIMEDOUT)",
        ErrorKind::Verify => "the data is not what was written",
    }
}

/// What to do, or what else it may be, where the error alone does not say it.
fn advice_on(kind: ErrorKind, place: &str, is_local: bool) -> &'static str {
    match kind {
        ErrorKind::NoSpace if is_local => ", or it goes beyond ulimit -f",
        ErrorKind::Denied if place.contains("nfs://") => {
            "; the server may squash root: give uid= and gid= of a user who may"
        }
        _ => "",
    }
}
