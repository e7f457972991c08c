//! Who may use how much of the shard's memory, so that clients who do not read cannot take it from the others.
//!
//! A request's claim is made before any of its memory is taken, and ends when its reply has been sent. Three rules:
//!
//! 1. A connection may claim more only as long as it then holds no more than what is still free. So each of `n` greedy
//!    connections gets at most one part in `n + 1`, and one part is always left for who comes next.
//! 2. A connection that holds nothing gets its first request in whenever it fits; until it does, nobody who holds
//!    something claims more. So a large request is not starved by many small ones.
//! 3. Who takes part in a transfer for longer than the limit `patience` while rule 2 keeps somebody waiting is cut off.
//!    So whoever waits does not wait for ever.
//!
//! An eighth of the memory is never claimed: blocks that are read to change a part of them, and the gaps between slots.

use block::Bytes;

/// What a request costs beside its data: its places in the tables of the session, the gate and the store.
const REQUEST: u64 = 512;

/// What one answer to a block status may be long: 256 extents of 16 bytes and its header.
pub(crate) const STATUS: u64 = 8 << 10;

/// The memory of a shard, claimed and free.
#[derive(Debug)]
pub(crate) struct Claims {
    most: u64,
    claimed: u64,
    /// Somebody who holds nothing waits.
    pub starving: bool,
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It may be taken.
    Granted,
    /// When others have given back.
    Later,
    /// It is larger than all there is.
    Never,
}

impl Claims {
    /// For a shard with `memory` for its buffers.
    pub(crate) fn new(memory: Bytes) -> Claims {
        Claims { most: memory.0 - memory.0 / 8, claimed: 0, starving: false }
    }

    /// Whether a connection that holds `held` bytes may claim `more`.
    pub(crate) fn ask(&self, held: u64, more: u64) -> Claim {
        let free = self.most - self.claimed;
        let share = held == 0 || !self.starving && held + more <= free;
        match more <= free && share {
            true => Claim::Granted,
            false if more > self.most => Claim::Never,
            false => Claim::Later,
        }
    }

    /// Takes what was granted.
    pub(crate) fn take(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.most - self.claimed, "only what was granted is taken");
        self.claimed += bytes;
    }

    /// Gives back what was taken.
    pub(crate) fn give(&mut self, bytes: u64) {
        self.claimed -= bytes;
    }

    /// Bytes that are claimed now: zero when nothing leaks.
    pub(crate) fn claimed(&self) -> u64 {
        self.claimed
    }
}

/// What a request with a buffer of `len` bytes claims; zero for one without.
pub(crate) fn claim_of(len: u64) -> u64 {
    REQUEST + slot_of(len)
}

/// What a buffer of `len` bytes takes of the slab: a power of two from 4 KiB.
pub(crate) fn slot_of(len: u64) -> u64 {
    if len == 0 { 0 } else { len.next_power_of_two().max(4096) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greedy_leave_a_share_for_who_comes_next() {
        // 800 less an eighth is 700. Each of `n` connections takes bytes one by one for as long as it may.
        for n in 1..=10u64 {
            let mut claims = Claims::new(Bytes(800));
            let mut held = vec![0u64; n as usize];
            loop {
                let mut moved = false;
                for held in &mut held {
                    if claims.ask(*held, 1) == Claim::Granted {
                        claims.take(1);
                        *held += 1;
                        moved = true;
                    }
                }
                if !moved {
                    break;
                }
            }
            let (share, free) = (700 / (n + 1), 700 - claims.claimed());
            assert!(held.iter().all(|held| (share..=share + 1).contains(held)), "{n}: {held:?}");
            assert!((share - 1..=share + n).contains(&free), "{n}: {free} free of a share of {share}");
            assert_eq!(claims.ask(0, free), Claim::Granted);
        }
    }

    #[test]
    fn who_holds_something_stands_back_while_somebody_starves() {
        let mut claims = Claims::new(Bytes(800));
        claims.take(300);
        assert_eq!(claims.ask(10, 20), Claim::Granted);
        assert_eq!(claims.ask(0, 401), Claim::Later);
        claims.starving = true;
        assert_eq!(claims.ask(10, 20), Claim::Later);
        assert_eq!(claims.ask(0, 400), Claim::Granted);
        assert_eq!(claims.ask(0, 700), Claim::Later);
        assert_eq!(claims.ask(0, 701), Claim::Never);
    }

    #[test]
    fn a_claim_is_what_the_slab_gives_and_the_tables_take() {
        assert_eq!(claim_of(0), 512);
        assert_eq!(claim_of(1), 512 + 4096);
        assert_eq!(claim_of(4097), 512 + 8192);
        assert_eq!(claim_of(32 << 20), 512 + (32 << 20));
    }
}
