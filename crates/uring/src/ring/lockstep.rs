//! Limits the number of reads at a disk (its queue depth) while a client is in lockstep with it.
//!
//! ```text
//!   in lockstep   disk  ████░░░░████░░░░████        limited   disk  ████████████
//!                 rest  ░░░░████░░░░████░░░░                  rest  ░░██████████
//! ```
//! Some disks, above all those of virtual machines, report the ends of all outstanding reads
//! together. A client with many reads in flight falls into lockstep with such a disk. While the
//! disk works on all of them, client and worker sleep; while those handle all results and send new
//! reads, the disk is idle. With some of the reads at the disk and the others at the client, both
//! work all the time (double buffering).
//!
//! Lockstep is detected by rounds. A round lasts from one time without outstanding reads to the
//! next. In lockstep, hardly more reads complete in a round than were in flight at once, and they
//! complete in a few batches. After [`ROUNDS`] such rounds the depth is limited to [`most`].
//! Further reads wait, and follow when half of the reads at the disk have completed (the low-water
//! mark). The limit is lifted from time to time, to see whether it is still needed. Where rounds
//! continue in spite of it (the client sends so many reads at once and waits for all of them), it
//! is lifted for a long time.
//!
//! Only one device is watched at a time: reads of others neither wait nor count.

use std::collections::VecDeque;

/// The least number of reads in flight for which the depth is limited. At 24, the gain was a tenth
/// for half as much processor time again; at 48 it was a third and more.
const LEAST: u32 = 28;

/// Rounds in lockstep before the limit applies: 2 ms for rounds of half a millisecond.
const ROUNDS: u32 = 4;

/// Rounds in lockstep under the limit after which it is lifted. The first few of them always are.
const ROUNDS_IN_VAIN: u32 = 32;

/// Completions, per read in flight, after which the limit is lifted: a fifth of a second at 80 000
/// a second with 32 in flight. Four rounds in lockstep in 500 cost nothing that could be measured.
const KEPT: u32 = 512;

/// Completions, per read in flight, for which there is no limit after one was in vain.
const LIFTED: u32 = 16 * KEPT;

/// How many reads may be at the disk if `in_flight` are outstanding. With a half and with three
/// quarters, the throughput was about the same.
fn most(in_flight: u32) -> u32 {
    in_flight * 5 / 8
}

/// Decides which reads go to the disk, and which wait.
#[derive(Debug)]
pub(super) struct Lockstep<T> {
    is_allowed: bool,
    /// The device whose reads count. It changes only while none of them is outstanding.
    device: u64,
    at_disk: u32,
    waiting: VecDeque<T>,
    round: Round,
    /// Consecutive rounds in lockstep, and the most in flight in them.
    rounds: u32,
    most_in_flight: u32,
    limit: Option<Limit>,
    /// Completions before there may be a limit again.
    lifted: u32,
}

/// From one time without outstanding reads to the next.
#[derive(Debug, Default)]
struct Round {
    /// The most in flight at once.
    peak: u32,
    ended: u32,
    /// Batches in which they were reported.
    batches: u32,
}

#[derive(Debug)]
struct Limit {
    most: u32,
    /// The disk was given `most` reads, and more than half of them are still there.
    is_full: bool,
    /// Completions until the limit is lifted.
    left: u32,
}

/// Where a read goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way<T> {
    /// To the disk; its end must be reported to [`Lockstep::ended`].
    Counted(T),
    /// To the disk; it does not count.
    Beside(T),
    /// Nowhere yet: it waits.
    Waits,
}

impl<T> Lockstep<T> {
    pub(super) fn new() -> Lockstep<T> {
        Lockstep {
            is_allowed: false,
            device: 0,
            at_disk: 0,
            waiting: VecDeque::new(),
            round: Round::default(),
            rounds: 0,
            most_in_flight: 0,
            limit: None,
            lifted: 0,
        }
    }

    /// Sets whether there may be a limit at all. After `false`, [`Lockstep::next`] returns all that
    /// waits.
    pub(super) fn allow(&mut self, is_allowed: bool) {
        self.is_allowed = is_allowed;
        if !is_allowed {
            self.lift(self.lifted);
        }
    }

    /// A read of `device` is wanted.
    pub(super) fn want(&mut self, device: u64, read: T) -> Way<T> {
        if device != self.device {
            if self.in_flight() > 0 {
                return Way::Beside(read);
            }
            self.device = device;
            self.lift(0);
        }
        self.round.peak = self.round.peak.max(self.in_flight() + 1);
        if let Some(limit) = &mut self.limit {
            limit.most = limit.most.max(most(self.round.peak));
        }
        if self.waiting.is_empty() && self.begin() {
            return Way::Counted(read);
        }
        self.waiting.push_back(read);
        Way::Waits
    }

    /// The next waiting read, if it may go to the disk now. Its end must be reported.
    pub(super) fn next(&mut self) -> Option<T> {
        if self.waiting.is_empty() || !self.begin() {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Counts one more read at the disk, if it has room for it.
    fn begin(&mut self) -> bool {
        if self.limit.as_ref().is_some_and(|limit| limit.is_full) {
            return false;
        }
        self.at_disk += 1;
        if let Some(limit) = &mut self.limit {
            limit.is_full = self.at_disk >= limit.most;
        }
        true
    }

    /// `count` counted reads completed, reported together.
    pub(super) fn ended(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        self.at_disk -= count;
        self.round.ended = self.round.ended.saturating_add(count);
        self.round.batches = self.round.batches.saturating_add(1);
        self.lifted = self.lifted.saturating_sub(count);
        if let Some(limit) = &mut self.limit {
            limit.is_full &= self.at_disk > limit.most / 2;
            limit.left = limit.left.saturating_sub(count);
            if limit.left == 0 {
                self.lift(0);
            }
        }
        if self.in_flight() == 0 {
            self.end_round();
        }
    }

    fn in_flight(&self) -> u32 {
        self.at_disk + self.waiting.len() as u32
    }

    fn end_round(&mut self) {
        let Round { peak, ended, batches } = std::mem::take(&mut self.round);
        if peak < LEAST {
            return;
        }
        let is_in_lockstep = ended <= peak + peak / 4 && (self.limit.is_some() || batches <= peak / 8);
        if !is_in_lockstep {
            (self.rounds, self.most_in_flight) = (0, 0);
            return;
        }
        self.rounds = self.rounds.saturating_add(1);
        self.most_in_flight = self.most_in_flight.max(peak);
        match &self.limit {
            // Nothing waits: the limit is from a time with more reads in flight.
            Some(limit) if peak <= limit.most => self.lift(0),
            Some(_) if self.rounds >= ROUNDS_IN_VAIN => self.lift(LIFTED.saturating_mul(peak)),
            None if self.rounds >= ROUNDS && self.is_allowed && self.lifted == 0 => {
                self.limit(most(self.most_in_flight));
            }
            _ => {}
        }
    }

    fn limit(&mut self, most: u32) {
        self.rounds = 0;
        self.limit = Some(Limit { most, is_full: false, left: KEPT.saturating_mul(self.most_in_flight) });
    }

    fn lift(&mut self, lifted: u32) {
        (self.limit, self.rounds, self.most_in_flight, self.lifted) = (None, 0, 0, lifted);
        self.round = Round { peak: self.in_flight(), ..Round::default() };
    }
}

#[cfg(test)]
impl super::Ring {
    /// The state after rounds in lockstep with `in_flight` reads.
    pub(crate) fn limit_reads(&mut self, in_flight: u32) {
        self.reads.most_in_flight = in_flight;
        self.reads.limit(most(in_flight));
    }

    /// How many reads wait.
    pub(crate) fn waiting_reads(&self) -> usize {
        self.reads.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: u64 = 7;

    /// A client that always wants this many reads.
    struct Client {
        reads: Lockstep<u32>,
        at_disk: u32,
        /// The most reads that the disk had in the last round.
        most: u32,
    }

    impl Client {
        fn new() -> Client {
            let mut reads = Lockstep::new();
            reads.allow(true);
            Client { reads, at_disk: 0, most: 0 }
        }

        /// A client that was in lockstep with 32 reads for long enough to be limited.
        fn limited() -> Client {
            let mut client = Client::new();
            client.in_lockstep(ROUNDS, 32);
            client
        }

        fn want(&mut self, reads: u32) {
            for read in 0..reads {
                self.at_disk += u32::from(self.reads.want(DISK, read) == Way::Counted(read));
            }
            self.most = self.most.max(self.at_disk);
        }

        /// The disk completes this many reads together.
        fn end(&mut self, reads: u32) {
            self.reads.ended(reads);
            self.at_disk -= reads;
            while self.reads.next().is_some() {
                self.at_disk += 1;
            }
            self.most = self.most.max(self.at_disk);
        }

        /// Rounds of a disk that completes all its reads before the client sends new ones. Returns
        /// the most reads that it had in the last round.
        fn in_lockstep(&mut self, rounds: u32, reads: u32) -> u32 {
            self.end_all();
            for _ in 0..rounds {
                self.most = 0;
                self.want(reads);
                self.end_all();
            }
            self.most
        }

        fn end_all(&mut self) {
            while self.at_disk > 0 {
                self.end(self.at_disk);
            }
        }

        /// Completions of a disk that completes all its reads while the client replaces those
        /// before.
        fn by_turns(&mut self, ends: u32, reads: u32) -> u32 {
            let mut answered = reads - self.at_disk - self.reads.waiting.len() as u32;
            self.most = 0;
            for _ in 0..ends {
                let ended = self.at_disk;
                self.want(answered);
                self.end(ended);
                answered = ended;
            }
            self.most
        }
    }

    #[test]
    fn a_client_in_lockstep_with_its_disk_is_limited() {
        let mut client = Client::new();
        assert_eq!(client.in_lockstep(ROUNDS, 32), 32, "it has to be seen first");
        assert_eq!(client.by_turns(100, 32), 20, "five eighths");
    }

    #[test]
    fn others_follow_when_half_has_ended() {
        let mut client = Client::limited();
        client.want(32);
        for (ends, at_disk) in [(1, 19), (8, 11), (1, 20), (10, 12), (2, 10)] {
            client.end(ends);
            assert_eq!(client.at_disk, at_disk, "after {ends} ends");
        }
    }

    #[test]
    fn few_reads_and_those_that_end_one_by_one_are_not_limited() {
        assert_eq!(Client::new().in_lockstep(100, LEAST - 1), LEAST - 1);
        // The client waits for all of them, and the disk completes them one at a time.
        let mut client = Client::new();
        for _ in 0..100 {
            client.want(32);
            assert_eq!(client.at_disk, 32);
            (0..32).for_each(|_| client.end(1));
        }
        // The disk is never without reads.
        let mut client = Client::new();
        client.want(32);
        for _ in 0..1000 {
            client.end(31);
            client.want(31);
            assert_eq!(client.at_disk, 32);
        }
    }

    #[test]
    fn a_limit_in_vain_is_lifted_for_long() {
        let mut client = Client::limited();
        assert_eq!(client.in_lockstep(ROUNDS_IN_VAIN, 32), 20);
        assert_eq!(client.in_lockstep(1, 32), 32, "it was in vain");
        assert_eq!(client.in_lockstep(LIFTED - 1, 32), 32, "still");
        assert_eq!(client.in_lockstep(1, 32), 20, "tried again");
    }

    #[test]
    fn now_and_then_it_is_lifted() {
        let mut client = Client::limited();
        // 12 to 20 complete at a time.
        let most: Vec<u32> = (0..3 * KEPT).map(|_| client.by_turns(1, 32)).collect();
        let limited = most.iter().take_while(|most| **most <= 20).count() as u32;
        assert!((KEPT * 32 / 20..KEPT * 32 / 12).contains(&limited), "{limited} times");
        assert_eq!(client.in_lockstep(ROUNDS, 32), 32, "all of them");
        assert_eq!(client.by_turns(4, 32), 20, "it is needed");
    }

    #[test]
    fn beside_others_nothing_waits() {
        let mut client = Client::limited();
        client.want(32);
        assert_eq!(client.at_disk, 20);
        client.reads.allow(false);
        client.end(1);
        assert_eq!(client.at_disk, 31);
        client.end(31);
        assert_eq!(client.in_lockstep(100, 32), 32);
        client.reads.allow(true);
        client.in_lockstep(1, 32);
        assert_eq!(client.in_lockstep(1, 32), 20, "it was seen before that they are in lockstep");
    }

    #[test]
    fn the_limit_follows_what_is_in_flight() {
        let mut client = Client::limited();
        client.want(32);
        client.want(96);
        client.end(20);
        assert_eq!(client.at_disk, 80, "five eighths of 128");
        client.end_all();
        client.in_lockstep(1, 64);
        assert_eq!(client.in_lockstep(ROUNDS, 64), 64, "nothing waited behind it");
        assert_eq!(client.in_lockstep(1, 64), 40);
    }

    #[test]
    fn another_device_neither_waits_nor_counts() {
        let mut client = Client::limited();
        client.want(32);
        assert_eq!(client.at_disk, 20);
        assert_eq!(client.reads.want(DISK + 1, 0), Way::Beside(0));
        client.end_all();
        assert_eq!(client.reads.want(DISK + 1, 0), Way::Counted(0), "it is the only one now");
        assert!(client.reads.limit.is_none());
    }
}
