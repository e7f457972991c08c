//! The duplicate request cache: replies to calls that must not be executed twice. A client whose
//! connection was lost resends unanswered calls with the same number. A REMOVE that was executed is
//! then answered as it was the first time, and not with `NOENT`.
//!
//! A call is recognised by its client's address, its number, and a checksum of its contents: a
//! client that restarts may reuse numbers for other calls. Linux and FreeBSD have the same cache,
//! and as with theirs, it does not survive a restart of the server.

use crate::volume_files::AllFiles;
use block::{ObjectId, Span};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};
use std::net::IpAddr;

/// Replies that are kept for one client: more than any has of such calls in flight.
const ANSWERS_MAX: usize = 256;
/// Bytes of replies that are kept for all clients, some 350 each. Beyond it, the client that was
/// silent for longest is dropped.
const BYTES_MAX: usize = 8 << 20;
/// How long a reply is kept. Linux clients resend after 60 s.
const KEPT: Span = Span::from_secs(120);

/// What identifies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallMark {
    xid: u32,
    sum: u64,
}

impl CallMark {
    /// Of a received call, whose number comes first.
    pub(crate) fn of(xid: u32, bytes: &[u8]) -> CallMark {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        CallMark { xid, sum: hasher.finish() }
    }
}

/// An executed call and its reply, which is sent once a record of its volume is durable.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub volume: ObjectId,
    pub record: u64,
    /// The reading of the volume's files that it was applied to; its effect may be missing in
    /// another.
    pub reading: u64,
    pub reply: Box<[u8]>,
}

/// All kept replies, by client.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    clients: HashMap<Option<IpAddr>, VecDeque<(CallMark, Span, Answered)>>,
    bytes: usize,
}

impl Repeats {
    /// The reply of a call that was already executed; `now` is the time since 1970.
    fn find(&self, now: Span, from: Option<IpAddr>, mark: CallMark) -> Option<&Answered> {
        let done = self.clients.get(&from)?.iter().rev().find(|(known, ..)| *known == mark);
        done.filter(|(_, at, _)| *at + KEPT > now).map(|(.., answered)| answered)
    }

    /// Keeps a reply.
    pub(crate) fn keep(&mut self, now: Span, from: Option<IpAddr>, mark: CallMark, answered: Answered) {
        let Repeats { clients, bytes } = self;
        let kept = clients.entry(from).or_default();
        *bytes += answered.size();
        kept.push_back((mark, now, answered));
        while kept.len() > ANSWERS_MAX || kept.front().is_some_and(|(_, at, _)| *at + KEPT <= now) {
            *bytes -= kept.pop_front().map_or(0, |(.., gone)| gone.size());
        }
        while *bytes > BYTES_MAX {
            let last = |kept: &VecDeque<(CallMark, Span, Answered)>| kept.back().map(|(_, at, _)| *at);
            let Some(&idle) = clients.iter().min_by_key(|(_, kept)| last(kept)).map(|(from, _)| from) else { return };
            let gone = clients.remove(&idle).unwrap_or_default();
            *bytes -= gone.iter().map(|(.., gone)| gone.size()).sum::<usize>();
        }
    }
}

impl AllFiles {
    /// The reply of a call that was already executed on the present reading of the volume's files.
    pub(crate) fn done_before(&self, now: Span, from: Option<IpAddr>, mark: CallMark) -> Option<&Answered> {
        let done = self.repeats.find(now, from, mark)?;
        (self.reading(done.volume) == done.reading).then_some(done)
    }
}

impl Answered {
    fn size(&self) -> usize {
        size_of::<(CallMark, Span, Answered)>() + self.reply.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(len: usize) -> Answered {
        Answered { volume: ObjectId(1), record: 1, reading: 0, reply: vec![0; len].into() }
    }

    fn from(last: u32) -> Option<IpAddr> {
        Some(IpAddr::V4((0x0a00_0000 + last).into()))
    }

    /// The same call of the same client is found for two minutes. Another call with its number, or
    /// the same call of another client, is not.
    #[test]
    fn a_call_is_known_by_client_number_and_what_it_says() {
        let second = Span::from_secs;
        let mut repeats = Repeats::default();
        let mark = CallMark::of(7, b"remove a");
        repeats.keep(second(100), from(1), mark, answered(9));
        let find = |now, client, mark| repeats.find(second(now), client, mark).map(|found| found.reply.len());
        assert_eq!(find(101, from(1), mark), Some(9));
        assert_eq!(find(219, from(1), mark), Some(9));
        assert_eq!(find(220, from(1), mark), None);
        assert_eq!((find(101, from(2), mark), find(101, None, mark)), (None, None));
        assert_eq!(find(101, from(1), CallMark::of(7, b"remove b")), None);
        assert_eq!(find(101, from(1), CallMark::of(8, b"remove a")), None);
        // The files that it was applied to have been read anew.
        let mut files = AllFiles::default();
        files.repeats = repeats;
        assert!(files.done_before(second(101), from(1), mark).is_some());
        let other = Answered { reading: 1, ..answered(9) };
        files.repeats.keep(second(102), from(1), mark, other);
        assert!(files.done_before(second(102), from(1), mark).is_none());
    }

    /// At most 256 replies for each client, and 8 MiB for all: the client that was silent for
    /// longest is dropped.
    #[test]
    fn what_is_kept_is_bounded() {
        let mut repeats = Repeats::default();
        let now = Span::from_secs(1);
        for xid in 0..1000 {
            repeats.keep(now, from(0), CallMark::of(xid, b""), answered(300));
        }
        let found = |repeats: &Repeats, client, xid| repeats.find(now, client, CallMark::of(xid, b"")).is_some();
        let kept = (0..1000).filter(|xid| found(&repeats, from(0), *xid)).count();
        assert!(kept == 256 && found(&repeats, from(0), 744) && !found(&repeats, from(0), 743));
        for client in 1..200u32 {
            for xid in 0..256 {
                let at = now + Span::from_nanos(client.into());
                repeats.keep(at, from(client), CallMark::of(xid, b""), answered(300));
            }
            let real: usize = repeats.clients.values().flatten().map(|(.., kept)| kept.size()).sum();
            assert!(repeats.bytes == real && real <= BYTES_MAX, "{client}: {real}");
        }
        assert!(!found(&repeats, from(0), 999) && found(&repeats, from(199), 0));
    }
}
