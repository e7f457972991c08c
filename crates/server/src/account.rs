//! What the shard saw of each object since it was last asked.

use block::{Cause, Completion, LimitKind, ObjectId, OpKind, Span};
use stats::{Counts, DispatchTrace, HeldBy, Histogram, Waits};

/// One object (a LUN, or what it hangs on) or one shared group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectAccount {
    /// What completed.
    pub counts: Counts,
    /// Waited in the gate.
    pub queued: Histogram,
    /// In the device.
    pub device: Histogram,
    /// Where the time went, summed over all requests.
    waited: Waits,
    /// How many completions were held last by what.
    held: [u64; HELD],
    /// Dispatches to the device.
    pub trace: DispatchTrace,
}

const HELD: usize = 7;
const BY: [HeldBy; HELD] = [
    HeldBy::Nothing,
    HeldBy::CeilingIops,
    HeldBy::CeilingThroughput,
    HeldBy::SharedIops,
    HeldBy::SharedThroughput,
    HeldBy::Floors,
    HeldBy::Disk,
];

impl ObjectAccount {
    /// Counts a completion.
    pub(crate) fn completed(&mut self, completion: &Completion) {
        let counts = &mut self.counts;
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
        self.queued.record(completion.queued);
        self.device.record(completion.service);
        self.waited.device += completion.service;
        let (slot, by) = match completion.cause {
            Cause::Nothing => (&mut self.waited.turn, 0),
            Cause::Ceiling(_, LimitKind::Iops) => (&mut self.waited.ceiling, 1),
            Cause::Ceiling(_, LimitKind::Throughput) => (&mut self.waited.ceiling, 2),
            Cause::Shared(_, LimitKind::Iops) => (&mut self.waited.ceiling, 3),
            Cause::Shared(_, LimitKind::Throughput) => (&mut self.waited.ceiling, 4),
            Cause::Floor => (&mut self.waited.floors, 5),
            Cause::Turn | Cause::Backend => (&mut self.waited.turn, 6),
        };
        *slot += completion.queued;
        self.held[by] += 1;
    }

    /// Where a request's time went, in the mean.
    pub fn waits(&self) -> Waits {
        let mean = |sum: Span| sum / self.counts.ops().max(1);
        let Waits { ceiling, floors, turn, device } = self.waited;
        Waits { ceiling: mean(ceiling), floors: mean(floors), turn: mean(turn), device: mean(device) }
    }

    /// What held most of its requests at the gate; [`HeldBy::Nothing`] when the gate held less than half of them.
    pub fn held_by(&self) -> HeldBy {
        let total: u64 = self.held.iter().sum();
        let most = (1..HELD).max_by_key(|&by| self.held[by]).unwrap_or(0);
        if 2 * self.held[most] > total { BY[most] } else { HeldBy::Nothing }
    }
}

/// The accounts of all objects, by number.
#[derive(Debug, Default)]
pub struct Accounts {
    by_object: Vec<Option<Box<ObjectAccount>>>,
}

impl Accounts {
    /// Counts a completion for the object it names.
    pub fn completed(&mut self, completion: &Completion) {
        self.of(completion.object).completed(completion);
    }

    fn of(&mut self, object: ObjectId) -> &mut ObjectAccount {
        let index = object.0 as usize;
        if index >= self.by_object.len() {
            self.by_object.resize_with(index + 1, || None);
        }
        self.by_object[index].get_or_insert_default()
    }

    /// Hands out what there is and starts anew.
    pub fn take(&mut self) -> Vec<(ObjectId, ObjectAccount)> {
        let taken = self.by_object.iter_mut().enumerate();
        taken.filter_map(|(index, account)| Some((ObjectId(index as u32), *account.take()?))).collect()
    }
}
