//! `event log show`: what the server noticed, in a log of limited size. The same event is logged at
//! most once a minute.
//!
//! ```text
//!   Noticed ──► EventLog::note ─┬─ the first such, or a minute later ──► an Event with a number
//!                               └─ sooner: counted; EventLog::settle logs the count when the minute is over,
//!                                  or note before another event about the same subject
//! ```
//! An entry has the time of what it tells last. So one that is logged when a minute is over may be
//! older than the ones before it: whoever lists events sorts them by time.

use super::{AdminError, Answer, Errand};
use ontap::catalogue::{EventCommand, Filter, Selection};
use ontap::show::EventRow;
use ontap::value::Severity;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Events that are kept; the oldest are dropped first.
pub const EVENTS_MAX: usize = 2048;
/// The longest text of an event, in bytes: it may contain what clients send.
const TEXT_BYTES_MAX: usize = 400;
/// Least time until the same event is logged again, in seconds.
const AGAIN_S: u64 = 60;
/// Kinds and subjects whose repeats are counted. Beyond that, the subjects of a kind are counted
/// together.
const HELD_MAX: usize = 512;

/// Declares the kinds with their message name and severity.
macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident = $name:literal $severity:ident, )+) => {
        /// What can be noticed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EventKind {
            $( $(#[$doc])* $kind, )+
        }

        impl EventKind {
            /// All of them.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$kind),+];

            /// The name of its message.
            pub fn name(self) -> &'static str {
                match self { $( EventKind::$kind => $name, )+ }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $( EventKind::$kind => Severity::$severity, )+ }
            }
        }
    };
}

kinds! {
    /// A floor was not met although its client asked for it.
    FloorMissed = "qos.floor.missed" Error,
    /// It is met again.
    FloorMet = "qos.floor.met" Notice,
    /// The pool has little space left.
    NearlyFull = "aggr.nearly.full" Error,
    /// The pool has next to no space left: writes fail, or soon will.
    Full = "aggr.full" Alert,
    /// The pool has space again.
    HasSpace = "aggr.space.available" Notice,
    /// The maps of the pool's blocks have next to all of the memory that they may have: writes to
    /// blocks not written before fail, or soon will.
    MapsFull = "aggr.maps.full" Alert,
    /// A flush failed: what was written since the last one that did not may be lost.
    FlushFailed = "aggr.flush.failed" Emergency,
    /// The files that clients made on a volume are damaged, or cannot be read, and are not served.
    FilesDamaged = "volume.files.damaged" Alert,
    /// A client was not let in.
    ClientRefused = "nbd.client.refused" Error,
    /// An export was not given to a client.
    ExportRefused = "nbd.export.refused" Error,
    /// A client's connection was ended.
    ClientClosed = "nbd.client.closed" Error,
    /// Clients lost an export because an administrator took it away.
    ClientDisconnected = "nbd.client.disconnected" Notice,
    /// The cache keeps less because memory is short.
    CacheReduced = "cache.memory.reduced" Notice,
    /// The cache has all of its memory again.
    CacheRestored = "cache.memory.restored" Notice,
    /// The partitions of the cache have less than they were given: the server has less memory.
    PartitionsReduced = "cache.partition.reduced" Notice,
    /// The cache's second level was turned off because its device failed.
    SecondLevelFailed = "cache.second.failed" Error,
    /// A log-in was refused.
    LoginRefused = "security.login.refused" Notice,
    /// A change is not in the audit trail.
    AuditFailed = "audit.write.failed" Alert,
    /// Hourly totals are not kept.
    TotalsFailed = "totals.write.failed" Error,
    /// The server began.
    Started = "server.started" Notice,
    /// The server stopped as it was asked to.
    Stopped = "server.stopped" Notice,
}

/// Something that was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// The kind of event.
    pub kind: EventKind,
    /// What it concerns: a path, an address.
    pub subject: String,
    /// Of which sort it is, where a kind has several. The same kind, subject and sort is a repeat
    /// of the same event.
    pub sort: &'static str,
    /// What happened, as a sentence without the final full stop.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// An event in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number, which grows by one for each event of the pool.
    pub number: u64,
    /// When it occurred last, in seconds since 1970.
    pub time: u64,
    /// Its severity.
    pub severity: Severity,
    /// The name of its message.
    pub name: String,
    /// What happened.
    pub text: String,
    /// How often it occurred since it was last logged.
    pub count: u64,
}

/// The log.
#[derive(Debug, Default)]
pub struct EventLog {
    /// Oldest first.
    events: VecDeque<Arc<Event>>,
    /// The number of the latest.
    last: u64,
    held: BTreeMap<Key, Held>,
}

/// Subject, kind and sort of an event.
type Key = (String, EventKind, &'static str);

/// When an event was last logged, its repeats since, and when the last of these was.
#[derive(Debug)]
struct Held {
    told: u64,
    last: u64,
    text: String,
    count: u64,
}

impl Noticed {
    /// Something that occurred once.
    pub fn once(kind: EventKind, subject: impl Into<String>, text: impl Into<String>) -> Noticed {
        Noticed { kind, subject: subject.into(), sort: "", text: text.into(), count: 1 }
    }

    /// The same, as one of this sort.
    #[must_use]
    pub fn of_sort(self, sort: &'static str) -> Noticed {
        Noticed { sort, ..self }
    }
}

impl EventLog {
    /// A log with stored events, oldest first.
    pub fn of(kept: impl IntoIterator<Item = Event>) -> EventLog {
        let mut log = EventLog::default();
        for event in kept {
            log.last = log.last.max(event.number);
            log.keep(Arc::new(event));
        }
        log
    }

    /// The events, by number.
    pub fn events(&self) -> impl Iterator<Item = &Arc<Event>> {
        self.events.iter()
    }

    /// Adds what was noticed at `date`; returns the resulting events: none if a repeat is only
    /// counted, and before others the repeats of what was logged about the same subject.
    pub fn note(&mut self, noticed: Noticed, date: u64) -> Vec<Arc<Event>> {
        let Noticed { kind, subject, sort, text, count } = noticed;
        let mut key = (subject, kind, sort);
        if self.held.len() >= HELD_MAX && !self.held.contains_key(&key) {
            key.0 = String::new();
        }
        if let Some(held) = self.held.get_mut(&key)
            && date.saturating_sub(held.told) < AGAIN_S
        {
            (held.count, held.last, held.text) = (held.count.saturating_add(count), date, text);
            return Vec::new();
        }
        let mut events = self.tell(date, |about, _| about.0 == key.0);
        self.held.insert(key, Held { told: date, last: date, text: text.clone(), count: 0 });
        events.push(self.event(kind, text, count, date));
        events
    }

    /// Logs the repeats whose minute is over; returns these events.
    pub fn settle(&mut self, date: u64) -> Vec<Arc<Event>> {
        let is_over = |held: &Held| date.saturating_sub(held.told) >= AGAIN_S;
        self.held.retain(|_, held| held.count > 0 || !is_over(held));
        self.tell(date, |_, held| is_over(held))
    }

    /// Logs all repeats, because the log ends here; returns these events.
    pub fn close(&mut self, date: u64) -> Vec<Arc<Event>> {
        self.tell(date, |_, _| true)
    }

    /// Logs the repeats that `picks` selects, the oldest first.
    fn tell(&mut self, date: u64, picks: impl Fn(&Key, &Held) -> bool) -> Vec<Arc<Event>> {
        let due = self.held.iter_mut().filter(|(key, held)| held.count > 0 && picks(key, held));
        let told = due.map(|((_, kind, _), held)| {
            held.told = date;
            (held.last, *kind, held.text.clone(), std::mem::take(&mut held.count))
        });
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(|(last, ..)| *last);
        told.into_iter().map(|(last, kind, text, count)| self.event(kind, text, count, last)).collect()
    }

    fn event(&mut self, kind: EventKind, mut text: String, count: u64, time: u64) -> Arc<Event> {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        if count > 1 {
            text += &format!(" ({count} times)");
        }
        self.last += 1;
        let name = kind.name().to_owned();
        let event = Arc::new(Event { number: self.last, time, severity: kind.severity(), name, text, count });
        self.keep(Arc::clone(&event));
        event
    }

    fn keep(&mut self, event: Arc<Event>) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl Errand<'_> {
    pub(super) fn event(&mut self, command: EventCommand) -> Result<Answer, AdminError> {
        let EventCommand::Show(selection) = command;
        let row = |event: Arc<Event>| EventRow {
            seqnum: event.number,
            time: event.time,
            node: super::statistics::NODE.into(),
            severity: event.severity,
            message_name: event.name.clone(),
            text: event.text.clone(),
            count: event.count,
        };
        let mut events = self.at.world.events();
        events.sort_by_key(|event| std::cmp::Reverse((event.time, event.number)));
        let rows = events.into_iter().map(row);
        self.listed(rows, &grave_unless_asked(selection))
    }
}

/// As in ONTAP, only errors and worse are shown if no severity is asked for. An event that is
/// selected by its number is always shown.
fn grave_unless_asked(mut selection: Selection) -> Selection {
    if selection.query("severity").is_none() && selection.query("seqnum").is_none() {
        let query = "<=ERROR".parse().expect("a query");
        selection.filters.push(Filter { field: "severity", query });
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(from: &str) -> Noticed {
        Noticed::once(EventKind::ClientRefused, from, format!("{from}: the limit `connections` is met"))
    }

    /// The first is logged. Repeats within a minute are counted and logged once when it is over.
    /// Those of another client are another event.
    #[test]
    fn an_event_is_told_once_a_minute_with_a_count() {
        let mut log = EventLog::default();
        assert_eq!(log.note(refused("10.0.0.1"), 1000)[0].count, 1);
        for second in 1..50 {
            assert_eq!(log.note(refused("10.0.0.1"), 1000 + second), []);
            assert_eq!(log.settle(1000 + second), []);
        }
        assert_eq!(log.note(refused("10.0.0.2"), 1059).len(), 1);
        // At the time of the last one, not of the minute's end.
        let settled = log.settle(1060);
        assert_eq!((settled.len(), settled[0].count, settled[0].time), (1, 49, 1049));
        assert!(settled[0].text.ends_with("is met (49 times)"), "{}", settled[0].text);
        // Nothing has happened since, so nothing is logged; the next one is logged at once.
        assert_eq!(log.settle(1200), []);
        assert_eq!(log.note(refused("10.0.0.1"), 1201)[0].count, 1);
        assert_eq!(log.events().map(|event| event.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    /// The end of the log does not wait for the minute's end.
    #[test]
    fn the_last_repeats_are_told_at_the_end() {
        let mut log = EventLog::default();
        for second in 0..5 {
            log.note(refused("10.0.0.1"), 1000 + second);
        }
        log.note(refused("10.0.0.2"), 1005);
        let told: Vec<_> = log.close(1006).iter().map(|event| (event.count, event.time)).collect();
        assert_eq!(told, [(4, 1004)], "of the other client there are no repeats");
        assert_eq!(log.close(1007), []);
    }

    /// A floor is missed by its rate, then by its latency, then met: each is logged at once, and
    /// before the end the repeats, each at its own time.
    #[test]
    fn another_event_about_the_subject_comes_after_its_repeats() {
        let mut log = EventLog::default();
        let missed = |sort| Noticed::once(EventKind::FloorMissed, "v", sort).of_sort(sort);
        for second in 0..10 {
            log.note(missed("rate"), 1000 + second);
        }
        for second in 10..15 {
            log.note(missed("latency"), 1000 + second);
        }
        log.note(Noticed::once(EventKind::FloorMet, "v", "met"), 1020);
        assert_eq!(log.settle(1100), [], "nothing is left to tell");
        let told: Vec<_> = log.events().map(|event| (event.time, event.text.as_str())).collect();
        let expected =
            [(1000, "rate"), (1009, "rate (9 times)"), (1010, "latency"), (1014, "latency (4 times)"), (1020, "met")];
        assert_eq!(told, expected);
    }

    /// 100 000 clients: the log and the counts stay within their limits, and none is lost in the
    /// counts.
    #[test]
    fn the_log_is_bounded() {
        let mut log = EventLog::default();
        for client in 0..100_000 {
            log.note(refused(&format!("client {client}")), 1000);
        }
        assert!(log.held.len() <= HELD_MAX + 1 && log.events().count() <= EVENTS_MAX);
        let settled = log.settle(1060);
        let told: u64 = log.events().map(|event| event.count).sum();
        assert_eq!((told, settled.len()), (100_000, 1));
        let long = Noticed::once(EventKind::ExportRefused, "x", "ä".repeat(1000));
        assert_eq!(log.note(long, 2000)[0].text.len(), TEXT_BYTES_MAX);
    }

    /// Stored events come back with their numbers, and new numbers continue from there.
    #[test]
    fn numbers_go_on_after_a_restart() {
        let mut log = EventLog::default();
        (0..5).for_each(|at| drop(log.note(refused(&at.to_string()), 1000 + at * 100)));
        let mut again = EventLog::of(log.events().map(|event| (**event).clone()));
        assert_eq!(again.note(refused("9"), 5000)[0].number, 6);
        assert_eq!(again.events().count(), 6);
    }

    #[test]
    fn names_are_told_apart_and_in_ontaps_manner() {
        let mut names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(names.iter().all(|name| name.contains('.') && *name == name.to_lowercase()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EventKind::ALL.len());
    }
}
