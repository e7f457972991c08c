//! What one object's own requests did since the last account.

use block::{Cause, OpKind, Span, Time};

use crate::account::{ObjectAccount, Spans, Tally};

/// Counters of an object with requests. Allocated by its first request, freed by the account of an
/// interval without any.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Meter {
    // Cache lines: one that every step touches, one that every completion adds to, one for waiting,
    // and what is seldom needed.
    /// Requests waiting in the gate, and outstanding in all.
    pub queued: u32,
    outstanding: u32,
    outstanding_max: u32,
    ever_queued: bool,
    pub in_use: bool,
    /// The time up to which the integrals are complete.
    integrated: Time,
    /// The integrals of `queued` and `outstanding`, in request-nanoseconds.
    queued_area: u64,
    outstanding_area: u64,
    /// When this interval began.
    since: Time,
    completed: u64,
    others: u64,
    waited: Spans,
    service: Spans,
    reads: Tally,
    writes: Tally,
    /// Waiting time by cause: the first four, and further ones.
    causes: [(Cause, Span); 4],
    more_causes: Vec<(Cause, Span)>,
    pub node: u32,
    faults: u32,
}

impl Meter {
    pub fn new(now: Time, node: u32) -> Meter {
        Meter { node, in_use: true, integrated: now, since: now, ..Meter::default() }
    }

    /// Reads a word of each cache line that a request will touch, to bring them near before they
    /// are needed.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.completed ^ self.reads.ops ^ self.causes[3].1.as_nanos()
    }

    /// Brings the integrals up to now; called before either count changes.
    #[inline]
    fn integrate(&mut self, now: Time) {
        let span = now.since(self.integrated).as_nanos();
        if span > 0 {
            self.outstanding_area = self.outstanding_area.wrapping_add(span.wrapping_mul(u64::from(self.outstanding)));
            self.queued_area = self.queued_area.wrapping_add(span.wrapping_mul(u64::from(self.queued)));
            self.integrated = now;
        }
    }

    /// A request came.
    #[inline]
    pub fn arrived(&mut self, now: Time) {
        self.integrate(now);
        self.outstanding += 1;
        self.outstanding_max = self.outstanding_max.max(self.outstanding);
    }

    /// It has to wait.
    pub fn waits(&mut self, now: Time) {
        self.integrate(now);
        self.queued += 1;
        self.ever_queued = true;
    }

    /// It no longer waits.
    pub fn waited(&mut self, now: Time) {
        self.integrate(now);
        self.queued -= 1;
    }

    /// It went to the backend.
    #[inline]
    pub fn dispatched(&mut self, kind: OpKind, bytes: u64) {
        match kind {
            OpKind::Read => self.reads.add(bytes),
            OpKind::Write => self.writes.add(bytes),
            _ => self.others += 1,
        }
    }

    /// Records waiting time, as far as it lies in this interval.
    #[inline]
    pub fn book(&mut self, from: Time, to: Time, cause: Cause) {
        let span = to.since(from.max(self.since));
        if span == Span::ZERO {
            return;
        }
        for entry in &mut self.causes {
            if entry.0 == cause || entry.1 == Span::ZERO {
                *entry = (cause, entry.1 + span);
                return;
            }
        }
        add_to(&mut self.more_causes, cause, span);
    }

    /// It ended.
    #[inline]
    pub fn ended(&mut self, now: Time, queued: Span, service: Span, fault: bool) {
        self.integrate(now);
        self.outstanding -= 1;
        self.completed += 1;
        self.faults = self.faults.saturating_add(u32::from(fault));
        self.waited.add(queued);
        self.service.add(service);
    }

    /// When this interval began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Whether nothing happened in this interval and nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.outstanding_max == 0 && self.completed == 0
    }

    /// Closes the interval. The time of requests that still wait is put down to `held`.
    pub fn take(&mut self, now: Time, held: Cause) -> ObjectAccount {
        self.integrate(now);
        let next = Meter { outstanding_max: self.outstanding, since: now, ..Meter::new(now, self.node) };
        let next = Meter { queued: self.queued, outstanding: self.outstanding, ..next };
        let old = std::mem::replace(self, next);
        let mut waited: Vec<_> = old.causes.into_iter().filter(|entry| entry.1 > Span::ZERO).collect();
        waited.extend(old.more_causes);
        let booked: Span = waited.iter().map(|w| w.1).sum();
        let pending = Span::from_nanos(old.queued_area).saturating_sub(booked);
        if old.queued > 0 && pending > Span::ZERO {
            add_to(&mut waited, held, pending);
        }
        waited.sort_by_key(|w| std::cmp::Reverse(w.1));
        let span = u128::from(now.since(old.since).as_nanos().max(1));
        ObjectAccount {
            reads: old.reads,
            writes: old.writes,
            others: Tally { ops: old.others, bytes: 0 },
            completed: old.completed,
            faults: u64::from(old.faults),
            queued: old.waited,
            service: old.service,
            held_by: waited.first().map_or(Cause::Nothing, |w| w.0),
            waited,
            ever_queued: old.ever_queued || old.queued > 0,
            queued_now: old.queued,
            outstanding_max: old.outstanding_max,
            outstanding_mean_milli: (u128::from(old.outstanding_area) * 1000 / span) as u64,
            ..ObjectAccount::default()
        }
    }
}

#[cold]
fn add_to(waited: &mut Vec<(Cause, Span)>, cause: Cause, span: Span) {
    match waited.iter_mut().find(|w| w.0 == cause) {
        Some(entry) => entry.1 += span,
        None => waited.push((cause, span)),
    }
}
