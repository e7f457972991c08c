//! Keeps the gate's account of the last second for all who ask. Statistics commands may read it as
//! often as they like, without taking it from whoever records a run.
//!
//! ```text
//!   gate ─ account ─► Control::account ─┬─► who asked (a run's recorder, housekeeping)
//!                                       └─► Monitor: sums up to a second ─► Sample, numbered, for everybody
//!                                             ├─► History: the last day, of what was active and of all above it
//!                                             ├─► counted: since the server began
//!                                             └─► Hours: for the pool's hourly totals, where they are kept
//! ```

use crate::budget::MemoryBudget;
use crate::shard::Account;
use admin::{CacheSeen, MemoryPart, Sample, SampleKind, ServerSeen};
use block::{Bytes, ObjectId, Span, Time};
use history::{Figures, History, HistorySettings, Hours, Slot, Totals};
use qos::{GateStatus, GroupId, Registry};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Least time that a sample covers. It is less than a second, so that accounts that are taken every
/// second, sometimes a little early, make a sample each.
const LEAST: Span = Span::from_millis(900);

/// Makes samples of accounts. Shared by those who add accounts and those who wait for a sample.
#[derive(Debug, Default)]
pub struct Monitor {
    /// The memory that the server may use, if it is known.
    memory: Option<Bytes>,
    state: Mutex<State>,
    fed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    since: Time,
    growing: Sample,
    /// What of the growing sample counts for hours and groups already, see [`Monitor::part`].
    parted: BTreeMap<ObjectId, Figures>,
    latest: Arc<Sample>,
    /// The counters of each cache partition at the end of the latest sample.
    cache: BTreeMap<u32, CacheSeen>,
    /// For each kind of request, the least mean time in the device of any object in any sample so
    /// far: taken as what an idle device needs.
    quickest: BTreeMap<SampleKind, Span>,
    history: History,
    counted: BTreeMap<ObjectId, Figures>,
    by_group: BTreeMap<Option<GroupId>, Figures>,
    /// The remaining figures as last reported, without those that the pool knows.
    server: ServerSeen,
    /// `None` until hourly totals are collected.
    hours: Option<Hours>,
}

impl Monitor {
    /// Keeps statistics of the last day in the budget's memory.
    pub fn new(budget: MemoryBudget) -> Monitor {
        let history = History::new(HistorySettings { memory: budget.statistics });
        Monitor { state: Mutex::new(State { history, ..State::default() }), memory: budget.whole, ..Monitor::default() }
    }

    /// The memory that the server may use, if it is known.
    pub(crate) fn memory_most(&self) -> Option<Bytes> {
        self.memory
    }

    /// Memory of the statistics of the last day.
    pub(crate) fn memory(&self) -> MemoryPart {
        let state = self.state();
        let limit = Some(state.history.memory_most());
        MemoryPart { name: "statistics", limit, allowed: limit, used: state.history.memory() }
    }

    /// Adds an account. `date` is the present date, in seconds since 1970; the registry tells what
    /// an object is in.
    pub fn take_in(&self, account: &Account, date: u64, registry: &Registry) {
        let Account { now, gate, .. } = *account;
        let mut state = self.state();
        let length = now.since(state.since);
        state.since = now;
        // The first account covers an unknown time, and one after a pause says nothing about the
        // last second.
        if length > LEAST * 10 || state.latest.number == 0 && state.growing.length == Span::ZERO && length > LEAST * 2 {
            state.growing = Sample::default();
            state.parted.clear();
            state.cache = account.cache.clone();
            return;
        }
        state.growing.length += length;
        state.count_server(account);
        for said in &account.said {
            state.growing.objects.entry(said.object).or_default().add(said, length);
        }
        for (object, took) in &account.replies {
            state.growing.objects.entry(*object).or_default().network += *took;
        }
        if state.growing.length >= LEAST {
            let before = std::mem::replace(&mut state.cache, account.cache.clone());
            let since = |(id, seen): (&u32, &CacheSeen)| (*id, seen.since(before.get(id).copied().unwrap_or_default()));
            state.growing.cache = state.cache.iter().map(since).collect();
            state.publish(gate);
            state.keep(date, registry);
            self.fed.notify_all();
        }
    }

    /// Makes a sample of what there is, however short; the last one before the server stops.
    pub(crate) fn close(&self, date: u64, registry: &Registry) {
        let mut state = self.state();
        if state.growing.length > Span::ZERO {
            let gate = state.latest.gate;
            state.publish(gate);
            state.keep(date, registry);
        }
    }

    /// The latest complete sample; an empty one if there is none yet.
    pub fn latest(&self) -> Arc<Sample> {
        Arc::clone(&self.state().latest)
    }

    /// Waits up to `patience` for a sample with a number greater than `seen`.
    pub fn wait_after(&self, seen: u64, patience: Duration) -> Option<Arc<Sample>> {
        let waiting = self.fed.wait_timeout_while(self.state(), patience, |state| state.latest.number <= seen);
        let (state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        (state.latest.number > seen).then(|| Arc::clone(&state.latest))
    }

    /// The slots of the last day that began at that time or later.
    pub fn since(&self, begin: Time) -> Vec<Arc<Slot>> {
        self.state().history.since(begin)
    }

    /// What an object and everything in it did since the server started.
    pub fn counted(&self, object: ObjectId) -> Figures {
        self.state().counted.get(&object).copied().unwrap_or_default()
    }

    /// Figures of the server as a whole; whether a flush has failed is not known here.
    pub fn server(&self) -> ServerSeen {
        let state = self.state();
        let (counted, by_group) = (state.counted.clone(), state.by_group.clone());
        ServerSeen { counted, by_group, ..state.server.clone() }
    }

    /// Counts a failed addition to the hourly totals.
    pub(crate) fn totals_failed(&self) {
        self.state().server.totals_failed += 1;
    }

    /// Counts the unfinished sample up to now for hours and groups, before a change of what objects
    /// are called or which policies they are under.
    pub(crate) fn part(&self, date: u64, registry: &Registry) {
        let mut state = self.state();
        let growing = std::mem::take(&mut state.growing);
        state.count(&growing, date, registry);
        state.growing = growing;
    }

    /// Takes the hourly figures since the previous call; the first call starts their collection.
    pub(crate) fn take_hours(&self) -> Vec<(u64, ObjectId, Totals)> {
        self.state().hours.get_or_insert_default().take()
    }

    /// Forgets the figures of objects and groups that no longer exist.
    pub(crate) fn forget_others(&self, registry: &Registry) {
        let mut state = self.state();
        state.counted.retain(|object, _| registry.object(*object).is_some());
        state.by_group.retain(|group, _| group.is_none_or(|group| registry.group_of(group).is_some()));
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

    fn count_server(&mut self, account: &Account) {
        let server = &mut self.server;
        server.cpu += account.cpu;
        server.stalled += account.stalled;
        server.awake += account.awake;
        server.turns += account.turns;
        server.holds += account.holds;
        (server.connections, server.claimed) = (account.connections, account.claimed);
    }

    /// Adds what a sample has more than was counted of it before to the hours and the groups.
    fn count(&mut self, sample: &Sample, date: u64, registry: &Registry) {
        for (&object, seen) in &sample.objects {
            let figures = seen.figures();
            let own = figures.since(&self.parted.insert(object, figures).unwrap_or_default());
            if own == Figures::default() {
                continue;
            }
            if let Some(hours) = &mut self.hours {
                hours.add(date, object, &own);
            }
            let group = registry.path(object).find_map(|above| Some(above.membership()?.group));
            self.by_group.entry(group).or_default().add(&own);
        }
    }

    /// Adds the latest sample, which ended at `date`, to the history.
    fn keep(&mut self, date: u64, registry: &Registry) {
        let latest = Arc::clone(&self.latest);
        self.count(&latest, date, registry);
        self.parted.clear();
        let mut whole: BTreeMap<ObjectId, Figures> = BTreeMap::new();
        for (&object, seen) in &latest.objects {
            let own = seen.figures();
            if own == Figures::default() {
                continue;
            }
            whole.entry(object).or_default().add(&own);
            for above in registry.path(object).filter(|above| above.id() != object) {
                whole.entry(above.id()).or_default().add(&own);
            }
            self.server.all.add(&own);
        }
        for (object, figures) in &whole {
            self.counted.entry(*object).or_default().add(figures);
        }
        self.history.add(self.since, latest.length, whole.into_iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Cause, LimitKind, ObjectId};
    use qos::{Spans, Tally};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn take_in(monitor: &Monitor, now: Time, said: &[qos::ObjectAccount]) {
        let account = Account { now, said: said.to_vec(), ..Account::default() };
        monitor.take_in(&account, 0, &Registry::new(qos::RegistrySettings::default()));
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

    /// Accounts of 500 ms each make samples of a second: operations, waits and times are summed,
    /// outstanding requests are averaged. Two queries get the same sample.
    #[test]
    fn accounts_become_samples_of_a_second() {
        let monitor = Monitor::default();
        assert_eq!(monitor.latest().number, 0);
        for half in 1..=4 {
            take_in(&monitor, at(500 * half), &[account(100, 100 * half)]);
        }
        let sample = monitor.latest();
        assert_eq!((sample.number, sample.length), (2, Span::SECOND));
        let seen = &sample.objects[&ObjectId(3)];
        assert_eq!((seen.ops(), seen.bytes(), seen.outstanding(sample.length)), (200, 819_200, 2));
        // The second sample has (300 + 400) ms for 200 operations. The first one, with (100 + 200)
        // ms, was the quickest.
        assert_eq!(seen.times().1, Span::from_micros(3500));
        assert_eq!(seen.at_best, Span::from_millis(300));
        assert!(seen.is_device_busy(), "700 ms are more than twice 300");
        assert_eq!(seen.waited_for(|cause| cause == Cause::Floor), Span::from_millis(20));
        assert_eq!(monitor.latest(), sample);
        assert!(monitor.wait_after(2, Duration::ZERO).is_none());
        assert_eq!(monitor.wait_after(1, Duration::ZERO).unwrap(), sample);
    }

    /// Large requests and writes take a device longer than small reads, however idle it is. Each
    /// kind is compared with its own quickest time, of any object.
    #[test]
    fn a_device_is_as_quick_as_it_was_with_the_like() {
        let monitor = Monitor::default();
        let of = |object: u32, bytes: u64, is_read: bool, service_ms: u64| {
            let (all, none) = (Tally { ops: 100, bytes: 100 * bytes }, Tally::default());
            let (reads, writes) = if is_read { (all, none) } else { (none, all) };
            qos::ObjectAccount { object: ObjectId(object), reads, writes, ..account(100, service_ms) }
        };
        take_in(&monitor, at(1000), &[of(1, 4096, true, 10), of(2, 1 << 20, true, 500)]);
        let busy = |number: u32| monitor.latest().objects[&ObjectId(number)].is_device_busy();
        assert!(!busy(1) && !busy(2), "5 ms for a megabyte is not slow because 4 KiB take 0.1 ms");
        take_in(&monitor, at(2000), &[of(3, 4096, true, 30), of(4, 4096, false, 30)]);
        assert!(busy(3), "three times as long as another's reads of that size");
        assert!(!busy(4), "the only writes so far");
        take_in(&monitor, at(3000), &[of(1, 4096, true, 19), of(2, 1 << 20, true, 1100)]);
        assert!(!busy(1) && busy(2));
    }

    /// A LUN's requests count for the LUN, its volume and its SVM in the history of the day and
    /// since the start, and once in the hourly totals and for the nearest policy group; with the
    /// times of their replies. A miss of the volume's floor counts for the volume.
    #[test]
    fn what_is_in_a_volume_is_kept_of_the_volume_too() {
        let mut registry = Registry::new(qos::RegistrySettings::default());
        let (svm, _) = registry.add_svm("s").unwrap();
        let (volume, _) = registry.add_volume(svm, "v", qos::Size::default()).unwrap();
        let (lun, _) = registry.add_lun(svm, "/vol/v/l", qos::Size::default()).unwrap();
        let _ = registry.attach(volume, Some("extreme")).ok();
        let (monitor, missed) = (Monitor::default(), qos::Shortage::Overcommitted { phi_per_mille: 500 });
        let floor = qos::FloorState::Short { served: 60, wanted: 100, kind: LimitKind::Iops, why: missed };
        let said = vec![
            qos::ObjectAccount { object: lun, ..account(100, 30) },
            qos::ObjectAccount { object: volume, floor, asked: Span::SECOND, ..qos::ObjectAccount::default() },
        ];
        let replies = vec![(lun, Span::from_millis(2))];
        let account = Account { now: at(1000), said, replies, ..Account::default() };
        assert!(monitor.take_hours().is_empty());
        monitor.take_in(&account, 7205, &registry);
        for object in [lun, volume, svm] {
            let (counted, slots) = (monitor.counted(object), monitor.since(Time::ZERO));
            assert_eq!(slots.last().unwrap().figures(object), Some(counted));
            assert_eq!((counted.read_ops, counted.disk_us, counted.network_us), (100, 30_000, 2000));
            assert_eq!(counted.missed_ops, if object == lun { 0 } else { 40 });
        }
        let hours = monitor.take_hours();
        let told: Vec<_> = hours.iter().map(|(h, o, t)| (*h, *o, t.figures.read_ops, t.figures.missed_ms)).collect();
        assert_eq!(told, [(2, volume, 0, 1000), (2, lun, 100, 0)]);
        let group = registry.object(volume).unwrap().membership().map(|membership| membership.group);
        assert_eq!(monitor.server().by_group[&group].read_ops, 100);
        let _ = registry.remove_object(lun).unwrap();
        monitor.forget_others(&registry);
        assert_eq!((monitor.counted(lun).read_ops, monitor.counted(volume).read_ops), (0, 100));
    }

    /// A sample is parted by a change of policy: what was done before counts for the policy before,
    /// and each operation once.
    #[test]
    fn an_unfinished_sample_counts_for_the_policy_it_was_under() {
        let mut registry = Registry::new(qos::RegistrySettings::default());
        let (svm, _) = registry.add_svm("s").unwrap();
        let (volume, _) = registry.add_volume(svm, "v", qos::Size::default()).unwrap();
        let (lun, _) = registry.add_lun(svm, "/vol/v/l", qos::Size::default()).unwrap();
        let _ = registry.attach(volume, Some("extreme")).unwrap();
        let (monitor, said) = (Monitor::default(), qos::ObjectAccount { object: lun, ..account(100, 30) });
        let take_in = |ms: u64, registry: &Registry| {
            monitor.take_in(&Account { now: at(ms), said: vec![said.clone()], ..Account::default() }, 7205, registry);
        };
        assert!(monitor.take_hours().is_empty());
        let reads = || monitor.take_hours().iter().map(|(_, _, totals)| totals.figures.read_ops).sum::<u64>();
        take_in(400, &registry);
        monitor.part(7205, &registry);
        assert_eq!((reads(), monitor.latest().number), (100, 0));
        let group = registry.object(volume).unwrap().membership().map(|membership| membership.group);
        let _ = registry.attach(volume, None).unwrap();
        take_in(1000, &registry);
        assert_eq!((reads(), monitor.latest().number), (100, 1));
        let by_group = monitor.server().by_group;
        assert_eq!((by_group[&group].read_ops, by_group[&None].read_ops), (100, 100));
        assert_eq!(monitor.counted(lun).read_ops, 200);
        take_in(2000, &registry);
        assert_eq!(reads(), 100, "the next sample is whole again");
    }

    /// A period of ten minutes between accounts is not a second.
    #[test]
    fn a_long_pause_makes_no_sample() {
        let monitor = Monitor::default();
        take_in(&monitor, at(600_000), &[account(1_000_000, 1)]);
        assert_eq!(monitor.latest().number, 0);
        take_in(&monitor, at(601_000), &[account(100, 1)]);
        assert_eq!(monitor.latest().objects[&ObjectId(3)].ops(), 100);
    }
}
