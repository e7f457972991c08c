//! What each object experienced on the shard since the last query.

use admin::main_cause;
use block::{Cause, Completion, LimitKind, ObjectId, OpKind, Span};
use qos::{FloorState, GroupId, Shortage};
use stats::{Counts, DispatchTrace, FloorOutcome, HeldBy, Histogram, Waits};

/// The figures of one object (a LUN, or something that contains it) or one shared group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountRow {
    /// Completed requests.
    pub counts: Counts,
    /// Time in the gate, without flushes, as of all other times of requests.
    pub queued: Histogram,
    /// Time in the device, without flushes.
    pub device: Histogram,
    /// Waiting time by cause, summed over all requests but flushes.
    waited: Waits,
    /// Dispatches to the device.
    pub trace: DispatchTrace,
}

impl AccountRow {
    /// Counts a completion.
    pub(crate) fn completed(&mut self, completion: &Completion) {
        let counts = &mut self.counts;
        if completion.result.is_err() {
            counts.faults += 1;
            return;
        }
        match completion.kind {
            OpKind::Flush => return,
            OpKind::Read => (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + completion.len),
            OpKind::Write => {
                (counts.writes, counts.write_bytes) = (counts.writes + 1, counts.write_bytes + completion.len);
            }
            _ => counts.other += 1,
        }
        self.queued.record(completion.queued);
        self.device.record(completion.service);
        self.waited.device += completion.service;
        *match completion.cause {
            Cause::Ceiling(..) | Cause::Shared(..) => &mut self.waited.ceiling,
            Cause::Floor => &mut self.waited.floors,
            Cause::Nothing | Cause::Turn | Cause::Backend | Cause::Stalled => &mut self.waited.turn,
        } += completion.queued;
    }

    /// Mean waiting time of a request, by cause.
    pub fn waits(&self) -> Waits {
        let mean = |sum: Span| sum / self.counts.ops().max(1);
        let Waits { ceiling, floors, turn, device } = self.waited;
        Waits { ceiling: mean(ceiling), floors: mean(floors), turn: mean(turn), device: mean(device) }
    }
}

/// The cause by which the gate held an object back, for recordings: the one that its requests
/// waited for longest, including those that still wait, if they spent more time waiting than in the
/// device. Otherwise the gate held nothing back. Also returns whose ceiling or budget it was.
pub fn held_by(said: &qos::ObjectAccount) -> (HeldBy, Option<HeldAt>) {
    let waited: Span = said.waited.iter().map(|(_, span)| *span).sum();
    if waited == Span::ZERO || waited < said.service.total {
        return (HeldBy::Nothing, None);
    }
    match main_cause(said.waited.iter().copied()).unwrap_or_default() {
        Cause::Nothing => (HeldBy::Nothing, None),
        Cause::Ceiling(object, LimitKind::Iops) => (HeldBy::CeilingIops, Some(HeldAt::Object(object))),
        Cause::Ceiling(object, LimitKind::Throughput) => (HeldBy::CeilingThroughput, Some(HeldAt::Object(object))),
        Cause::Shared(group, LimitKind::Iops) => (HeldBy::SharedIops, Some(HeldAt::Group(GroupId(group)))),
        Cause::Shared(group, LimitKind::Throughput) => (HeldBy::SharedThroughput, Some(HeldAt::Group(GroupId(group)))),
        Cause::Floor => (HeldBy::Floors, None),
        Cause::Turn | Cause::Backend => (HeldBy::Disk, None),
        Cause::Stalled => (HeldBy::Stalled, None),
    }
}

/// Whose ceiling it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldAt {
    /// An object's.
    Object(ObjectId),
    /// A shared group's.
    Group(GroupId),
}

/// How a floor fared, in the terms of recordings.
pub fn floor_outcome(floor: FloorState) -> FloorOutcome {
    match floor {
        FloorState::NotSet => FloorOutcome::NotSet,
        FloorState::Met => FloorOutcome::Met,
        FloorState::Short { why, .. } | FloorState::Slow { why, .. } => match why {
            Shortage::NeedsOutstanding(number) => FloorOutcome::NeedsOutstanding(number),
            Shortage::Overcommitted { phi_per_mille } => FloorOutcome::Overcommitted(phi_per_mille),
            Shortage::CeilingAbove => FloorOutcome::CeilingAbove,
            Shortage::TakesAtBest(span) => FloorOutcome::TakesAtBest(span.as_nanos()),
            Shortage::NotHelped => FloorOutcome::NotHelped,
            Shortage::Adjusting => FloorOutcome::Adjusting,
        },
    }
}

/// The accounts of all objects, by number; empty unless they are recorded, which `serve` never
/// does.
#[derive(Debug, Default)]
pub struct Accounts {
    records: bool,
    by_object: Vec<Option<Box<AccountRow>>>,
}

impl Accounts {
    /// An empty set of accounts that records.
    pub fn recording() -> Accounts {
        Accounts { records: true, by_object: Vec::new() }
    }

    /// Starts to record.
    pub fn record(&mut self) {
        self.records = true;
    }

    /// Whether accounts are recorded.
    pub(crate) fn are_read(&self) -> bool {
        self.records
    }

    /// Counts a completion for its object, if accounts are recorded.
    pub fn completed(&mut self, completion: &Completion) {
        if self.records {
            self.of(completion.object).completed(completion);
        }
    }

    fn of(&mut self, object: ObjectId) -> &mut AccountRow {
        let index = object.0 as usize;
        if index >= self.by_object.len() {
            self.by_object.resize_with(index + 1, || None);
        }
        self.by_object[index].get_or_insert_default()
    }

    /// Returns the accounts and starts anew.
    pub fn take(&mut self) -> Vec<(ObjectId, AccountRow)> {
        let taken = self.by_object.iter_mut().enumerate();
        taken.filter_map(|(index, account)| Some((ObjectId(index as u32), *account.take()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two histograms for each active object every second are for those who read them.
    #[test]
    fn nothing_is_kept_for_nobody() {
        let request = block::Request {
            tag: 0,
            object: ObjectId(3),
            at: 0,
            len: 4096,
            op: block::Op::Read,
            fua: false,
            due: block::Time::ZERO,
        };
        let completion = Completion::of(&request, block::Time::ZERO, Ok(()));
        let mut accounts = Accounts::default();
        accounts.completed(&completion);
        assert!(accounts.take().is_empty() && accounts.by_object.is_empty());
        accounts.record();
        accounts.completed(&completion);
        let taken = accounts.take();
        assert_eq!((taken.len(), taken[0].0, taken[0].1.counts.reads), (1, ObjectId(3), 1));
    }

    /// Clients' response times are those of requests without flushes, so the times within are, too.
    #[test]
    fn flushes_are_in_no_times() {
        let end = |op, service| {
            let (tag, object, due) = (0, ObjectId(3), block::Time::ZERO);
            let request = block::Request { tag, object, at: 0, len: 4096, op, fua: false, due };
            Completion { service: Span::from_millis(service), ..Completion::of(&request, due, Ok(())) }
        };
        let mut row = AccountRow::default();
        row.completed(&end(block::Op::Read, 2));
        row.completed(&end(block::Op::Flush, 40));
        let times = [row.device.mean(), row.waits().device];
        assert_eq!((row.device.count(), row.queued.count(), times), (1, 1, [Span::from_millis(2); 2]));
    }

    /// A ceiling of which a twentieth of the time was lost was not reached, and that is the
    /// server's doing. Floors and turns are what they were: nobody was to get a certain rate by
    /// them.
    #[test]
    fn a_ceiling_that_a_stall_kept_from_being_reached_is_not_the_reason() {
        let ceiling = Cause::Ceiling(ObjectId(1), LimitKind::Iops);
        let said = |cause, stalled_ms: u64| {
            let waited =
                vec![(cause, Span::from_millis(1000 - stalled_ms)), (Cause::Stalled, Span::from_millis(stalled_ms))];
            held_by(&qos::ObjectAccount { waited, ..qos::ObjectAccount::default() })
        };
        assert_eq!(said(ceiling, 49), (HeldBy::CeilingIops, Some(HeldAt::Object(ObjectId(1)))));
        assert_eq!(said(ceiling, 50), (HeldBy::Stalled, None));
        assert_eq!(said(Cause::Shared(3, LimitKind::Throughput), 336), (HeldBy::Stalled, None));
        assert_eq!(said(Cause::Floor, 336), (HeldBy::Floors, None));
        assert_eq!(said(Cause::Turn, 700), (HeldBy::Stalled, None), "it waited for nothing longer");
    }
}
