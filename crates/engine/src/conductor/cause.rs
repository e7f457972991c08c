//! What held a workload back in a second, by what its clients, the link and the server saw.

use super::{ObjectSecond, Second};
use crate::worker::WorkloadSecond;
use block::Span;
use stats::{FloorOutcome, HeldBy};
use workload::{Arrival, Spec};

/// At this load a processor is taken to be the bottleneck.
const BUSY_LIMIT: f64 = 0.93;

/// A workload that reaches this fraction of its configured rate is limited by that rate. Not 1,
/// because requests near the end of a second may count in the next.
const PACE_KEPT: f64 = 0.98;

/// What is known of a workload's second.
pub(super) struct Known<'s> {
    pub(super) spec: &'s Spec,
    pub(super) seen: &'s WorkloadSecond,
    /// The server's view of the objects that it uses.
    pub(super) server: Option<&'s ObjectSecond>,
    /// Whether other workloads used them, too, so that the server's times are not its own.
    pub(super) shared: bool,
    pub(super) second: &'s Second,
    pub(super) length: Span,
    /// Mean service time of the idle device. Twice that means that requests queue in the device.
    pub(super) idle_service: Span,
}

impl Known<'_> {
    /// What limited the workload: the gate, the rate of its own plan, the link, a processor, or a
    /// queue in the device. If none of them did, its own demand.
    pub(super) fn held_by(&self) -> HeldBy {
        let &Known { seen, shared, second, idle_service, .. } = self;
        let ops: u64 = seen.tape.tracks().map(|track| track.ops).sum();
        let (is_silent, keeps_pace) = (ops == 0 && seen.outstanding == 0, self.keeps_pace(ops));
        // On an object that others use, the gate may hold only their requests.
        match self.server.filter(|object| object.held_by != HeldBy::Nothing) {
            Some(_) if shared && is_silent => return HeldBy::Nothing,
            Some(_) if shared && keeps_pace => return HeldBy::Pace,
            Some(object) => return object.held_by,
            None if is_silent => return HeldBy::Nothing,
            None if keeps_pace => return HeldBy::Pace,
            None => {}
        }
        let service = seen.tape.merged(|track| &track.service);
        let server = self.server.filter(|_| !shared);
        let device = server.map_or(service.mean(), |object| object.device.mean());
        // The link admits a request only after those before it, and only then does the gate see it.
        let inside = server.map_or(device, |object| object.queued.mean() + device);
        if let Some(held_by) = second.link.most().filter(|_| inside * 2 < service.mean()) {
            return held_by;
        }
        if second.server_busy.max(second.client_busy) > BUSY_LIMIT {
            return HeldBy::Cpu;
        }
        // Most of the service time passed outside gate and device, so a processor was short.
        // Service time counts from the hand-over: an open loop that is behind may wait before that
        // for any reason.
        if inside * 2 < service.mean() && inside > Span::ZERO && device > idle_service * 2 {
            return HeldBy::Cpu;
        }
        if device > idle_service * 2 { HeldBy::Disk } else { self.demand() }
    }

    /// How its floor fared. The gate counts only the requests that have reached it, so of a client
    /// that has enough of them it may say that it needs more.
    pub(super) fn floor(&self, floor: FloorOutcome, held_by: HeldBy) -> FloorOutcome {
        let (FloorOutcome::NeedsOutstanding(number), spec) = (floor, self.spec) else { return floor };
        match (held_by, spec.arrival) {
            (HeldBy::Flow | HeldBy::Burst | HeldBy::Link, _) => FloorOutcome::LinkAbove,
            (_, Arrival::Closed { depth })
                if !self.shared && spec.pace.is_none() && number <= depth.saturating_mul(spec.connections).into() =>
            {
                FloorOutcome::AwayFromServer
            }
            _ => floor,
        }
    }

    /// Whether it made all the requests that its plan lets it make in so long a time. One that is
    /// behind its schedule asks for more than its rate.
    fn keeps_pace(&self, ops: u64) -> bool {
        let punctuality = &self.seen.tape.punctuality;
        if punctuality.held > 0 && punctuality.never_sent > 0 {
            return false;
        }
        let most = match self.spec.arrival {
            Arrival::Open { rate, .. } => Some(rate.0 as f64),
            Arrival::Closed { .. } => self.spec.pace.map(|pace| pace.0 as f64 * f64::from(self.spec.connections)),
        };
        most.is_some_and(|most| ops as f64 >= PACE_KEPT * most * self.length.as_secs_f64())
    }

    /// Why its client made no more requests, where nothing else was slow.
    fn demand(&self) -> HeldBy {
        match self.spec.arrival {
            // Fewer were due in this second, unless the most that may be outstanding was reached.
            Arrival::Open { .. } if self.seen.tape.punctuality.held == 0 => HeldBy::Pace,
            Arrival::Closed { depth } if self.seen.outstanding < depth.saturating_mul(self.spec.connections) => {
                match (self.spec.pace, self.spec.requests) {
                    (Some(_), _) => HeldBy::Pace,
                    // It made all of its requests and waits for the last of them.
                    (None, Some(_)) => HeldBy::Nothing,
                    (None, None) => HeldBy::Depth,
                }
            }
            _ => HeldBy::Depth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Iops;
    use stats::{Ended, Tape};

    const OPEN: Arrival = Arrival::Open { rate: Iops(200), spacing: workload::Spacing::Poisson, outstanding: 256 };

    /// A second of so many requests of 1 ms, on a device that takes 1 ms when it is idle.
    fn seen(requests: u64, outstanding: u32) -> WorkloadSecond {
        let mut tape = Tape::default();
        for n in 1..=requests {
            let (end, gate) = (block::Time::from_nanos(2_000_000 * n), Span::ZERO);
            let due = end - Span::from_millis(1);
            tape.ended(&Ended { class: Tape::READ, due, made: due, handed: due, end, gate, bytes: 4096 });
        }
        WorkloadSecond { tape, outstanding, ..WorkloadSecond::default() }
    }

    /// Times in a device that is twelve times as slow as it is idle.
    fn slow() -> stats::Histogram {
        let mut times = stats::Histogram::new();
        times.record(Span::from_millis(12));
        times
    }

    fn spec_of(arrival: Arrival) -> Spec {
        Spec {
            pattern: workload::Pattern::Random,
            read_percent: 100,
            blocks: workload::Blocks::of(block::Bytes::kib(4)),
            range: workload::Range::default(),
            arrival,
            flush_every: None,
            pace: None,
            connections: 1,
            requests: None,
            seed: 1,
        }
    }

    fn held(spec: &Spec, seen: &WorkloadSecond, server: Option<&ObjectSecond>, shared: bool) -> HeldBy {
        let (second, length, idle_service) = (&Second::default(), Span::SECOND, Span::from_millis(1));
        Known { spec, seen, server, shared, second, length, idle_service }.held_by()
    }

    /// Fewer arrivals than usual are no lack of depth.
    #[test]
    fn who_has_nothing_outstanding_does_not_lack_depth() {
        let spec = |arrival, pace: Option<u64>, requests| Spec { pace: pace.map(Iops), requests, ..spec_of(arrival) };
        let (open, deep) = (spec(OPEN, None, None), Arrival::Closed { depth: 4 });
        assert_eq!(held(&open, &seen(180, 0), None, false), HeldBy::Pace);
        assert_eq!(held(&spec(deep, Some(200), None), &seen(190, 1), None, false), HeldBy::Pace);
        assert_eq!(held(&spec(deep, Some(200), None), &seen(190, 4), None, false), HeldBy::Depth);
        assert_eq!(held(&spec(deep, None, Some(1000)), &seen(190, 0), None, false), HeldBy::Nothing);
        assert_eq!(held(&spec(deep, None, None), &seen(190, 4), None, false), HeldBy::Depth);
        let mut capped = seen(180, 0);
        capped.tape.punctuality.held = 1;
        assert_eq!(held(&open, &capped, None, false), HeldBy::Depth, "the most that may be outstanding");
    }

    /// Of a rate of 200, 230 ended in this second, as it was still behind by as many at its end.
    #[test]
    fn who_is_behind_its_schedule_is_not_held_by_it() {
        let spec = spec_of(OPEN);
        let object = ObjectSecond { device: slow(), ..ObjectSecond::default() };
        let mut behind = seen(230, 256);
        assert_eq!(held(&spec, &behind, Some(&object), false), HeldBy::Pace, "it caught up");
        (behind.tape.punctuality.held, behind.tape.punctuality.never_sent) = (230, 230);
        assert_eq!(held(&spec, &behind, Some(&object), false), HeldBy::Disk);
    }

    /// A client that keeps 8 requests outstanding is not advised to keep 8, but it is to keep 9.
    #[test]
    fn who_has_enough_outstanding_is_not_advised_to_have_more() {
        let deep = Spec { connections: 2, ..spec_of(Arrival::Closed { depth: 4 }) };
        let paced = Spec { pace: Some(Iops(9)), ..deep.clone() };
        let fared = |spec: &Spec, shared, held_by| {
            let (second, length, idle_service) = (&Second::default(), Span::SECOND, Span::from_millis(1));
            let known = Known { spec, seen: &seen(9, 8), server: None, shared, second, length, idle_service };
            [8, 9].map(|number| known.floor(FloorOutcome::NeedsOutstanding(number), held_by))
        };
        let needs = [8, 9].map(FloorOutcome::NeedsOutstanding);
        assert_eq!(fared(&deep, false, HeldBy::Cpu), [FloorOutcome::AwayFromServer, needs[1]]);
        assert_eq!(fared(&deep, true, HeldBy::Cpu), needs, "of a LUN that others use");
        assert_eq!(fared(&paced, false, HeldBy::Pace), needs);
        assert_eq!(fared(&deep, false, HeldBy::Link), [FloorOutcome::LinkAbove; 2]);
    }

    /// The gate holds requests of an object that others use: that says nothing of a workload that
    /// got its rate, nor of one that made no requests.
    #[test]
    fn a_ceiling_does_not_hold_who_got_its_rate_beside_others() {
        let object = ObjectSecond { held_by: HeldBy::CeilingIops, ..ObjectSecond::default() };
        let spec = spec_of(OPEN);
        let held = |requests, shared| held(&spec, &seen(requests, 0), Some(&object), shared);
        assert_eq!(
            [held(200, true), held(0, true), held(100, true)],
            [HeldBy::Pace, HeldBy::Nothing, HeldBy::CeilingIops]
        );
        assert_eq!(held(200, false), HeldBy::CeilingIops, "its own requests waited");
    }
}
