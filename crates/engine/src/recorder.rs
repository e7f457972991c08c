//! What a workload's completions add up to, second by second.

use block::{Completion, OpKind, Span, Time};
use stats::{Counts, Histogram};
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
}

/// Collects the completions of one workload.
#[derive(Debug, Default)]
pub struct Recorder {
    second: WorkloadSecond,
}

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
        match completion.kind {
            OpKind::Read => (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + completion.len),
            OpKind::Write => {
                (counts.writes, counts.write_bytes) = (counts.writes + 1, counts.write_bytes + completion.len);
            }
            _ => counts.other += 1,
        }
        second.response.record(completion.response());
        second.service.record(completion.service);
        second.queued.record(completion.queued);
    }

    /// Hands out what was collected and starts anew.
    pub fn collect(&mut self, outstanding: u32) -> WorkloadSecond {
        let mut second = std::mem::take(&mut self.second);
        second.outstanding = outstanding;
        second
    }
}
