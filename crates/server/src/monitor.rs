//! What the gate said of the last second, kept for those who ask: the statistics commands, as often as they like, without
//! taking it away from whoever records a run.
//!
//! ```text
//!   gate ─ account ─► Control::account ─┬─► who asked (a run's recorder, housekeeping)
//!                                       └─► Monitor: sums up to a second ─► Sample, numbered, for everybody
//! ```

use admin::{CacheSeen, Sample, SampleKind};
use block::{Span, Time};
use qos::GateStatus;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A sample is made of accounts that cover this together. Less than a second, so that accounts taken every second and a
/// little early make one each.
const LEAST: Span = Span::from_millis(900);

/// Makes samples of accounts. Shared by those who feed it and those who wait for the next sample.
#[derive(Debug, Default)]
pub struct Monitor {
    state: Mutex<State>,
    fed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    since: Time,
    growing: Sample,
    latest: Arc<Sample>,
    /// What had come of each partition of the cache at the end of the latest.
    cache: BTreeMap<u32, CacheSeen>,
    /// The least mean time in the device of any object's requests in any sample so far, by their kind: what an idle
    /// device is taken to need.
    quickest: BTreeMap<SampleKind, Span>,
}

impl Monitor {
    /// Takes in what the gate said at `now` since it was last asked, and what came of each partition of the cache since it
    /// was made.
    pub fn take_in(
        &self,
        now: Time,
        accounts: &[qos::ObjectAccount],
        gate: GateStatus,
        cache: BTreeMap<u32, CacheSeen>,
    ) {
        let mut state = self.state();
        let length = now.since(state.since);
        state.since = now;
        // The first account covers an unknown time, and what came before a pause says nothing of the last second.
        if length > LEAST * 10 || state.latest.number == 0 && state.growing.length == Span::ZERO && length > LEAST * 2 {
            state.growing = Sample::default();
            state.cache = cache;
            return;
        }
        state.growing.length += length;
        for account in accounts {
            state.growing.objects.entry(account.object).or_default().add(account, length);
        }
        if state.growing.length >= LEAST {
            let before = std::mem::replace(&mut state.cache, cache);
            let since = |(id, seen): (&u32, &CacheSeen)| (*id, seen.since(before.get(id).copied().unwrap_or_default()));
            state.growing.cache = state.cache.iter().map(since).collect();
            state.publish(gate);
            self.fed.notify_all();
        }
    }

    /// The latest whole sample; an empty one while there is none.
    pub fn latest(&self) -> Arc<Sample> {
        Arc::clone(&self.state().latest)
    }

    /// Waits for a sample later than number `seen`, for as long as `patience` at most.
    pub fn wait_after(&self, seen: u64, patience: Duration) -> Option<Arc<Sample>> {
        let waiting = self.fed.wait_timeout_while(self.state(), patience, |state| state.latest.number <= seen);
        let (state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        (state.latest.number > seen).then(|| Arc::clone(&state.latest))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn publish(&mut self, gate: GateStatus) {
        let mut sample = std::mem::take(&mut self.growing);
        for seen in sample.objects.values().filter(|seen| seen.completed > 0) {
            let (_, mean) = seen.times();
            let quickest = self.quickest.entry(seen.kind()).or_insert(mean);
            *quickest = mean.min(*quickest);
        }
        for seen in sample.objects.values_mut() {
            let quickest = self.quickest.get(&seen.kind()).copied().unwrap_or_default();
            seen.at_best = quickest * seen.completed;
        }
        sample.number = self.latest.number + 1;
        sample.gate = gate;
        self.latest = Arc::new(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Cause, ObjectId};
    use qos::{Spans, Tally};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn account(ops: u64, service_ms: u64) -> qos::ObjectAccount {
        qos::ObjectAccount {
            object: ObjectId(3),
            reads: Tally { ops, bytes: ops * 4096 },
            completed: ops,
            service: Spans { total: Span::from_millis(service_ms), max: Span::ZERO },
            waited: vec![(Cause::Floor, Span::from_millis(10))],
            outstanding_mean_milli: 2000,
            ..qos::ObjectAccount::default()
        }
    }

    /// Accounts of 500 ms each make samples of a second: sums of operations, waits and time, means of what was
    /// outstanding; whoever asks twice gets the same twice.
    #[test]
    fn accounts_become_samples_of_a_second() {
        let monitor = Monitor::default();
        assert_eq!(monitor.latest().number, 0);
        for half in 1..=4 {
            monitor.take_in(at(500 * half), &[account(100, 100 * half)], GateStatus::default(), BTreeMap::new());
        }
        let sample = monitor.latest();
        assert_eq!((sample.number, sample.length), (2, Span::SECOND));
        let seen = &sample.objects[&ObjectId(3)];
        assert_eq!((seen.ops(), seen.bytes(), seen.outstanding(sample.length)), (200, 819_200, 2));
        // The second second: (300 + 400) ms over 200 operations; the first, with (100 + 200) / 200, was the quicker.
        assert_eq!(seen.times().1, Span::from_micros(3500));
        assert_eq!(seen.at_best, Span::from_millis(300));
        assert!(seen.is_device_busy(), "700 ms are more than twice 300");
        assert_eq!(seen.waited_for(|cause| cause == Cause::Floor), Span::from_millis(20));
        assert_eq!(monitor.latest(), sample);
        assert!(monitor.wait_after(2, Duration::ZERO).is_none());
        assert_eq!(monitor.wait_after(1, Duration::ZERO).unwrap(), sample);
    }

    /// Large requests and writes take a device longer than small reads, however idle it is: each kind is held against its
    /// own quickest time, whoever's requests those were.
    #[test]
    fn a_device_is_as_quick_as_it_was_with_the_like() {
        let monitor = Monitor::default();
        let of = |object: u32, bytes: u64, is_read: bool, service_ms: u64| {
            let (all, none) = (Tally { ops: 100, bytes: 100 * bytes }, Tally::default());
            let (reads, writes) = if is_read { (all, none) } else { (none, all) };
            qos::ObjectAccount { object: ObjectId(object), reads, writes, ..account(100, service_ms) }
        };
        monitor.take_in(
            at(1000),
            &[of(1, 4096, true, 10), of(2, 1 << 20, true, 500)],
            GateStatus::default(),
            BTreeMap::new(),
        );
        let busy = |number: u32| monitor.latest().objects[&ObjectId(number)].is_device_busy();
        assert!(!busy(1) && !busy(2), "5 ms for a megabyte is not slow because 4 KiB take 0.1 ms");
        monitor.take_in(
            at(2000),
            &[of(3, 4096, true, 30), of(4, 4096, false, 30)],
            GateStatus::default(),
            BTreeMap::new(),
        );
        assert!(busy(3), "three times as long as another's reads of that size");
        assert!(!busy(4), "the only writes so far");
        monitor.take_in(
            at(3000),
            &[of(1, 4096, true, 19), of(2, 1 << 20, true, 1100)],
            GateStatus::default(),
            BTreeMap::new(),
        );
        assert!(!busy(1) && busy(2));
    }

    /// What was done over ten minutes without anybody asking is no second.
    #[test]
    fn a_long_pause_makes_no_sample() {
        let monitor = Monitor::default();
        monitor.take_in(at(600_000), &[account(1_000_000, 1)], GateStatus::default(), BTreeMap::new());
        assert_eq!(monitor.latest().number, 0);
        monitor.take_in(at(601_000), &[account(100, 1)], GateStatus::default(), BTreeMap::new());
        assert_eq!(monitor.latest().objects[&ObjectId(3)].ops(), 100);
    }
}
