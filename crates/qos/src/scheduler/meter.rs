//! What one object's own requests did since the last account.

use block::{Cause, Span, Time};

use crate::account::ObjectAccount;

/// Counters of an object with requests. Made by its first request, freed by the account of an interval without any.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub node: u32,
    pub in_use: bool,
    pub account: ObjectAccount,
    /// Requests waiting in the gate, and outstanding in all.
    pub queued: u32,
    pub outstanding: u32,
    /// Integrals of the two over time, in request-nanoseconds.
    queued_area: u64,
    outstanding_area: u64,
    /// Up to when the integrals go.
    integrated: Time,
    /// When this interval began.
    pub since: Time,
}

impl Meter {
    pub fn new(now: Time, node: u32) -> Meter {
        Meter { node, in_use: true, integrated: now, since: now, ..Meter::default() }
    }

    /// Brings the integrals up to now; before every change of the two counts.
    pub fn integrate(&mut self, now: Time) {
        let span = now.since(self.integrated).as_nanos();
        if span > 0 {
            self.queued_area = self.queued_area.saturating_add(span.saturating_mul(u64::from(self.queued)));
            self.outstanding_area =
                self.outstanding_area.saturating_add(span.saturating_mul(u64::from(self.outstanding)));
            self.integrated = now;
        }
    }

    /// A request came.
    pub fn arrived(&mut self, now: Time) {
        self.integrate(now);
        self.outstanding += 1;
        self.account.outstanding_max = self.account.outstanding_max.max(self.outstanding);
    }

    /// It has to wait.
    pub fn waits(&mut self, now: Time) {
        self.integrate(now);
        self.queued += 1;
        self.account.ever_queued = true;
    }

    /// It no longer waits, after having waited since `arrived`, for `causes` one after the other.
    pub fn waited(&mut self, now: Time) {
        self.integrate(now);
        self.queued -= 1;
    }

    /// Books waiting time, the part of it that lies in this interval.
    pub fn book(&mut self, from: Time, to: Time, cause: Cause) {
        let span = to.since(from.max(self.since));
        if span > Span::ZERO {
            book(&mut self.account.waited, cause, span);
        }
    }

    /// It ended.
    pub fn ended(&mut self, now: Time) {
        self.integrate(now);
        self.outstanding -= 1;
    }

    /// Whether nothing happened in this interval and nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.account.completed == 0 && self.account.outstanding_max == 0
    }

    /// Closes the interval. What still waits is booked on `held`.
    pub fn take(&mut self, now: Time, held: Cause) -> ObjectAccount {
        self.integrate(now);
        let mut account = std::mem::take(&mut self.account);
        let booked: Span = account.waited.iter().map(|w| w.1).sum();
        let pending = Span::from_nanos(self.queued_area).saturating_sub(booked);
        if self.queued > 0 && pending > Span::ZERO {
            book(&mut account.waited, held, pending);
        }
        account.waited.sort_by_key(|w| std::cmp::Reverse(w.1));
        account.held_by = account.waited.first().map_or(Cause::Nothing, |w| w.0);
        account.queued_now = self.queued;
        let span = now.since(self.since).as_nanos();
        account.outstanding_mean_milli = (u128::from(self.outstanding_area) * 1000 / u128::from(span.max(1))) as u64;
        account.ever_queued |= self.queued > 0;
        self.account.outstanding_max = self.outstanding;
        (self.queued_area, self.outstanding_area, self.since) = (0, 0, now);
        account
    }
}

fn book(waited: &mut Vec<(Cause, Span)>, cause: Cause, span: Span) {
    match waited.iter_mut().find(|w| w.0 == cause) {
        Some(entry) => entry.1 += span,
        None => waited.push((cause, span)),
    }
}
