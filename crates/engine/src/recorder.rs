//! What a workload's completions add up to, second by second.

use block::{Completion, OpKind, Span, Time};
use stats::run::Class;
use stats::{Counts, Histogram, Part};
use workload::LATE_AFTER;

/// One workload over the time since it was last collected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadSecond {
    /// What completed.
    pub counts: Counts,
    /// From due to end.
    pub response: Histogram,
    /// From hand-over to the device until the end, as the target tells it.
    pub service: Histogram,
    /// Waited in a QoS gate, as the target tells it (an NBD client cannot know; the server tells).
    pub queued: Histogram,
    /// Requests outstanding now.
    pub outstanding: u32,
    /// Requests that were made more than [`LATE_AFTER`] after they were due.
    pub late: u64,
    /// The longest delay between due and made.
    pub late_max: Span,
    /// The times of reads, writes and the rest apart; those above are their sum.
    pub parts: Vec<Part>,
    /// How its schedule stands; `None` of a closed loop.
    pub schedule: Option<Backlog>,
}

/// What an open loop could not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Requests that were due while as many as allowed were outstanding, in the time that was collected.
    pub held: u64,
    /// Requests that are due by now and were not handed over.
    pub overdue: u64,
}

/// Collects the completions of one workload.
#[derive(Debug, Default)]
pub struct Recorder {
    second: WorkloadSecond,
    /// Each request is recorded with its class alone: the whole is added up once a second.
    classes: [Times; CLASSES.len()],
}

/// The times of a class.
#[derive(Debug, Default)]
struct Times {
    response: Histogram,
    service: Histogram,
}

/// In the order of [`Recorder::classes`].
const CLASSES: [Class; 3] = [Class::READ, Class::WRITE, Class::OTHER];

impl Recorder {
    /// Counts a request that is handed over at `now`.
    pub fn issued(&mut self, now: Time, due: Time) {
        let delay = now.since(due);
        self.second.late += u64::from(delay > LATE_AFTER);
        self.second.late_max = self.second.late_max.max(delay);
    }

    /// Counts a completion.
    pub fn completed(&mut self, completion: &Completion) {
        let second = &mut self.second;
        let counts = &mut second.counts;
        if completion.result.is_err() {
            counts.faults += 1;
            return;
        }
        let class = match completion.kind {
            OpKind::Read => {
                (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + completion.len);
                0
            }
            OpKind::Write => {
                (counts.writes, counts.write_bytes) = (counts.writes + 1, counts.write_bytes + completion.len);
                1
            }
            _ => {
                counts.other += 1;
                2
            }
        };
        let times = &mut self.classes[class];
        times.response.record(completion.response());
        times.service.record(completion.service);
        second.queued.record(completion.queued);
    }

    /// Hands out what was collected and starts anew.
    pub fn collect(&mut self, outstanding: u32, schedule: Option<Backlog>) -> WorkloadSecond {
        let mut second = std::mem::take(&mut self.second);
        second.outstanding = outstanding;
        second.schedule = schedule;
        for (class, times) in CLASSES.into_iter().zip(&mut self.classes) {
            if times.response.count() == 0 {
                continue;
            }
            let Times { response, service } = std::mem::take(times);
            second.response.merge(&response);
            second.service.merge(&service);
            second.parts.push(Part { class, response, service });
        }
        second
    }
}
