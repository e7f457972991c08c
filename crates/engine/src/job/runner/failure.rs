//! Failed requests: counted, and told in words where they end the job.

use super::{After, Runner, Stage};
use crate::job::slots::{Purpose, Slot};
use block::{Fault, Time};
use stats::Tape;
use stats::job::ErrorKind;
use std::sync::Arc;
use workload::job::Direction;

/// Limit on the reasons that a job's notes have.
const REASONS_MAX: usize = 16;

/// How a request failed.
pub(super) struct Failure {
    pub(super) fault: Fault,
    pub(super) failed_at: Option<u64>,
    pub(super) why: Option<Arc<str>>,
}

impl Runner {
    #[cold]
    pub(super) fn count_fault(&mut self, slot: &Slot, failure: Failure, now: Time) {
        let Failure { fault, failed_at, why } = failure;
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
        why.iter().for_each(|why| self.note_reason(why));
        let class = if slot.purpose == Purpose::Flush { Tape::FLUSH } else { slot.direction as usize };
        self.tape.failed(class, kind == ErrorKind::Short);
        if let (Direction::Write | Direction::Trim, Some(checker)) = (slot.direction, &mut self.checker) {
            checker.forget(slot.generation);
        }
        if !self.spec.forgive.after(slot.direction, number) {
            let text = self.told(slot, kind, failed_at, why.as_deref());
            self.fail(number, text, now);
        }
    }

    /// Notes why a request failed, where that is known. A server that fails in ever new ways gets no
    /// longer report.
    fn note_reason(&mut self, why: &Arc<str>) {
        if self.reasons.len() < REASONS_MAX || self.reasons.contains_key(why) {
            *self.reasons.entry(Arc::clone(why)).or_default() += 1;
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
