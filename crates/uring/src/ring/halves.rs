//! Reads of a disk in two halves (double buffering): the disk works on one while the other is
//! answered and asked for anew.
//!
//! ```text
//!   in step    disk  ████░░░░████░░░░████        in halves    disk  ████████████
//!              rest  ░░░░████░░░░████░░░░                     rest  ░░██████████
//! ```
//! Some disks, those of virtual machines above all, report the ends of all reads that they have
//! together. A client with many reads in flight falls into step with such a disk: while it works on
//! all of them, client and worker sleep; while they take their turn with all of them, it is idle.
//!
//! That is seen by rounds, from one time when no read is wanted to the next: in step a round ends
//! hardly more reads than were in flight at once, in a few batches. After [`ROUNDS`] of them at
//! most [`five eighths`](most) of the reads are at the disk, and others follow when half of these
//! have ended. Every now and then it is looked whether it is still needed; and where rounds stay
//! as they are (a client that asks for so many at once, and waits for all of them), it is left for
//! long.

use std::collections::VecDeque;

/// Reads in flight from which on it is done: with 24 it gains a tenth for half as much processor
/// time again, with 32 a third.
const LEAST: u32 = 28;

/// Rounds that show it: a few milliseconds.
const ROUNDS: u32 = 4;

/// Rounds in step that show that it does not help: the first ones still are.
const ROUNDS_IN_VAIN: u32 = 32;

/// Rounds' worth of ends after which it is left off, to see whether they are in step without it:
/// some tenths of a second.
const KEPT: u32 = 512;

/// As many more for which it is not tried again where it did not help.
const LEFT_OFF: u32 = 16 * KEPT;

/// What may be at the disk, of all that were in flight.
fn most(all: u32) -> u32 {
    all * 5 / 8
}

/// Which reads go to the disk, and which wait.
#[derive(Debug)]
pub(super) struct Halves<T> {
    is_allowed: bool,
    at_disk: u32,
    waiting: VecDeque<T>,
    round: Round,
    /// Rounds in step, one after the other.
    in_step: u32,
    limit: Option<Limit>,
    /// Ends until it may be done again.
    rests_for: u32,
}

/// From one time when no read is wanted to the next.
#[derive(Debug, Default)]
struct Round {
    /// The most that were wanted at once.
    peak: u32,
    ended: u32,
    /// Batches in which they ended.
    batches: u32,
}

#[derive(Debug)]
struct Limit {
    most: u32,
    /// The disk has as many, or had, and has more than half of it still.
    is_full: bool,
    /// Ends until it is left off.
    left: u32,
}

impl<T> Halves<T> {
    pub(super) fn new() -> Halves<T> {
        Halves {
            is_allowed: false,
            at_disk: 0,
            waiting: VecDeque::new(),
            round: Round::default(),
            in_step: 0,
            limit: None,
            rests_for: 0,
        }
    }

    /// Whether it may be done at all. After `false`, [`Halves::next`] has all that waits.
    pub(super) fn allow(&mut self, is_allowed: bool) {
        self.is_allowed = is_allowed;
        if !is_allowed {
            (self.limit, self.in_step) = (None, 0);
        }
    }

    /// A read is wanted: it is handed back if it goes to the disk now.
    pub(super) fn want(&mut self, read: T) -> Option<T> {
        self.waiting.push_back(read);
        self.round.peak = self.round.peak.max(self.at_disk + self.waiting.len() as u32);
        self.next()
    }

    /// The next of those that wait, if it goes to the disk now.
    pub(super) fn next(&mut self) -> Option<T> {
        if self.limit.as_ref().is_some_and(|limit| limit.is_full) {
            return None;
        }
        let read = self.waiting.pop_front()?;
        self.at_disk += 1;
        if let Some(limit) = &mut self.limit {
            limit.is_full = self.at_disk >= limit.most;
        }
        Some(read)
    }

    /// So many ended, as far as is seen together.
    pub(super) fn ended(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        self.at_disk -= count;
        self.round.ended += count;
        self.round.batches += 1;
        self.rests_for = self.rests_for.saturating_sub(count);
        if let Some(limit) = &mut self.limit {
            limit.is_full &= self.at_disk > limit.most / 2;
            limit.left = limit.left.saturating_sub(count);
            if limit.left == 0 {
                self.leave_off(0);
            }
        }
        if self.at_disk == 0 && self.waiting.is_empty() {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let Round { peak, ended, batches } = std::mem::take(&mut self.round);
        if peak < LEAST {
            return;
        }
        let is_in_step = ended <= peak + peak / 4 && (self.limit.is_some() || batches <= peak / 8);
        self.in_step = if is_in_step { self.in_step + 1 } else { 0 };
        match self.limit {
            Some(_) if self.in_step >= ROUNDS_IN_VAIN => self.leave_off(LEFT_OFF * peak),
            None if self.in_step >= ROUNDS && self.is_allowed && self.rests_for == 0 => {
                self.in_step = 0;
                self.limit = Some(Limit { most: most(peak), is_full: false, left: KEPT * peak });
            }
            _ => {}
        }
    }

    fn leave_off(&mut self, rests_for: u32) {
        (self.limit, self.in_step, self.rests_for) = (None, 0, rests_for);
        self.round = Round { peak: self.at_disk, ..Round::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that wants this many reads at once, all the time.
    struct Client {
        halves: Halves<u32>,
        at_disk: u32,
        /// The most that the disk had in the last round.
        most: u32,
    }

    impl Client {
        fn new() -> Client {
            let mut halves = Halves::new();
            halves.allow(true);
            Client { halves, at_disk: 0, most: 0 }
        }

        fn want(&mut self, reads: u32) {
            for read in 0..reads {
                self.at_disk += u32::from(self.halves.want(read).is_some());
            }
            self.most = self.most.max(self.at_disk);
        }

        /// The disk ends so many together.
        fn end(&mut self, reads: u32) {
            self.halves.ended(reads);
            self.at_disk -= reads;
            while self.halves.next().is_some() {
                self.at_disk += 1;
            }
            self.most = self.most.max(self.at_disk);
        }

        /// Rounds of a disk that ends all that it has, while nobody wants any; the most that it had
        /// in the last of them.
        fn in_step(&mut self, rounds: u32, reads: u32) -> u32 {
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

        /// Ends of a disk that ends all that it has while new ones are wanted for those before.
        fn in_halves(&mut self, ends: u32, reads: u32) -> u32 {
            let mut answered = reads - self.at_disk - self.halves.waiting.len() as u32;
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
    fn a_client_in_step_with_its_disk_reads_in_halves() {
        let mut client = Client::new();
        assert_eq!(client.in_step(ROUNDS, 32), 32, "it has to be seen first");
        assert_eq!(client.in_halves(100, 32), 20, "five eighths");
    }

    #[test]
    fn others_follow_when_half_has_ended() {
        let mut client = Client::new();
        client.in_step(ROUNDS, 32);
        client.want(32);
        for (ends, at_disk) in [(1, 19), (8, 11), (1, 20), (10, 12), (2, 10)] {
            client.end(ends);
            assert_eq!(client.at_disk, at_disk, "after {ends} ends");
        }
    }

    #[test]
    fn few_reads_and_those_that_end_one_by_one_are_not_halved() {
        assert_eq!(Client::new().in_step(100, LEAST - 1), LEAST - 1);
        // The client waits for all of them, and the disk ends them one at a time.
        let mut client = Client::new();
        for _ in 0..100 {
            client.want(32);
            assert_eq!(client.at_disk, 32);
            (0..32).for_each(|_| client.end(1));
        }
        // The disk always has some.
        let mut client = Client::new();
        client.want(32);
        for _ in 0..1000 {
            client.end(31);
            client.want(31);
            assert_eq!(client.at_disk, 32);
        }
    }

    #[test]
    fn where_it_does_not_help_it_is_left_for_long() {
        let mut client = Client::new();
        client.in_step(ROUNDS, 32);
        assert_eq!(client.in_step(ROUNDS_IN_VAIN, 32), 20);
        assert_eq!(client.in_step(1, 32), 32, "it was in vain");
        assert_eq!(client.in_step(LEFT_OFF - 1, 32), 32, "still");
        assert_eq!(client.in_step(1, 32), 20, "tried again");
    }

    #[test]
    fn whether_it_is_still_needed_is_looked_at() {
        let mut client = Client::new();
        client.in_step(ROUNDS, 32);
        // 12 to 20 end at a time.
        let most: Vec<u32> = (0..3 * KEPT).map(|_| client.in_halves(1, 32)).collect();
        let halved = most.iter().take_while(|most| **most <= 20).count() as u32;
        assert!((KEPT * 32 / 20..KEPT * 32 / 12).contains(&halved), "{halved} times");
        assert_eq!(client.in_step(ROUNDS, 32), 32, "all of them");
        assert_eq!(client.in_halves(4, 32), 20, "it is needed");
    }

    #[test]
    fn beside_others_nothing_waits() {
        let mut client = Client::new();
        client.in_step(ROUNDS, 32);
        client.want(32);
        assert_eq!(client.at_disk, 20);
        client.halves.allow(false);
        client.end(1);
        assert_eq!(client.at_disk, 31);
        client.end(31);
        assert_eq!(client.in_step(100, 32), 32);
        client.halves.allow(true);
        client.in_step(1, 32);
        assert_eq!(client.in_step(1, 32), 20, "it was seen before that they are in step");
    }
}
