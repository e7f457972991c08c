//! Shares the shard's buffer memory among connections, so that clients that do not read their
//! replies cannot take it from the others.
//!
//! A request claims its memory before it allocates any, and holds the claim until its reply has
//! been sent. Three rules:
//!
//! 1. A connection may claim more only if it then holds at most an eighth of what is free. So one
//!    connection can hold at most a ninth of all, the next a ninth of the rest, and after ten that
//!    never read a third is still free. Of `n` that do read, each gets one part in `n + 8`.
//! 2. A connection that holds nothing gets its first request admitted as soon as it fits. Until
//!    then, no connection that holds something may claim more. So a large request is not starved by
//!    many small ones.
//! 3. While a connection is kept waiting by rule 2, a connection whose transfer takes longer than
//!    the limit `patience` is closed. So nobody waits for ever.
//!
//! Two parts are never claimed: the receive buffers of all connections that may exist, and an
//! eighth of the memory, for the read-modify-write of partial blocks and for fragmentation of the
//! slab.

use block::Bytes;

/// What a request costs beyond its data, in bytes: its entries in the tables of the session, the
/// gate and the store.
const REQUEST: u64 = 512;

/// A connection may hold at most one part in this many of what is free.
const SHARE: u64 = 8;

/// Longest answer to a block status, in bytes: for each of two contexts, 256 extents of 16 bytes
/// and a header.
pub(crate) const STATUS: u64 = 12 << 10;

/// Checks after which unused buffers are returned to the system: 5 s.
const UNUSED: u8 = 10;
/// The same while memory is short: half a second.
const UNUSED_SHORT: u8 = 1;

/// Accounts for the memory of a shard.
#[derive(Debug)]
pub(crate) struct Claims {
    most: u64,
    claimed: u64,
    /// A connection that holds nothing waits for memory.
    pub starving: bool,
    /// The machine is short of memory.
    pub is_short: bool,
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It may be taken now.
    Granted,
    /// It has to wait until others release memory.
    Later,
    /// It is larger than all there is.
    Never,
}

impl Claims {
    /// For a shard with `memory` for its buffers, of which `reserved` is for receive buffers.
    pub(crate) fn new(memory: Bytes, reserved: Bytes) -> Claims {
        let most = (memory.0 - memory.0 / 8).saturating_sub(reserved.0);
        Claims { most, claimed: 0, starving: false, is_short: false }
    }

    /// Number of checks after which unused buffers are returned to the system.
    pub(crate) fn unused(&self) -> u8 {
        if self.is_short { UNUSED_SHORT } else { UNUSED }
    }

    /// Whether a connection that holds `held` bytes may claim `more`.
    pub(crate) fn ask(&self, held: u64, more: u64) -> Claim {
        let stands_back = self.starving && held > 0;
        match self.free() >= Claims::needed(held, more) && !stands_back {
            true => Claim::Granted,
            false if more > self.most => Claim::Never,
            false => Claim::Later,
        }
    }

    /// Bytes that must be free for a connection that holds `held` bytes to claim `more`.
    pub(crate) fn needed(held: u64, more: u64) -> u64 {
        if held == 0 { more } else { (held + more) * SHARE }
    }

    /// Bytes that are not claimed.
    pub(crate) fn free(&self) -> u64 {
        self.most - self.claimed
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

    /// Bytes that are claimed now; zero once all requests have ended.
    pub(crate) fn claimed(&self) -> u64 {
        self.claimed
    }
}

/// What a request with a buffer of `len` bytes claims; zero for one without.
pub(crate) fn claim_of(len: u64) -> u64 {
    REQUEST + slot_of(len)
}

/// Size of the slab's slot for a buffer of `len` bytes: a power of two from 4 KiB.
pub(crate) fn slot_of(len: u64) -> u64 {
    if len == 0 { 0 } else { len.next_power_of_two().max(4096) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has a connection that holds `held` claim byte by byte for as long as it may; returns what it
    /// holds then.
    fn take_all(claims: &mut Claims, mut held: u64) -> u64 {
        while claims.ask(held, 1) == Claim::Granted {
            claims.take(1);
            held += 1;
        }
        held
    }

    #[test]
    fn the_greedy_leave_enough_for_who_comes_next() {
        // Of 10 000 an eighth and 750 are never claimed: 8000.
        let mut claims = Claims::new(Bytes(10_000), Bytes(750));
        let mut free = 8000;
        for _ in 0..10 {
            // A connection with h of f may go on while h + 1 ≤ (f − h) / 8: up to a ninth of f.
            let held = take_all(&mut claims, 0);
            assert!((free / 9 - 1..=free / 9 + 1).contains(&held), "{held} of {free}");
            free -= held;
        }
        // 8000 × (8/9)^10 = 2463.
        assert!((2450..2480).contains(&free), "{free}");
        assert_eq!(claims.ask(0, free), Claim::Granted);
        assert_eq!(claims.ask(0, free + 1), Claim::Later);
    }

    #[test]
    fn those_who_give_back_come_to_equal_shares() {
        let mut claims = Claims::new(Bytes(8000), Bytes(0));
        let mut held = [0u64; 6];
        for round in 0..100 {
            for held in &mut held {
                *held = take_all(&mut claims, *held);
                if round < 99 {
                    claims.give(*held / 4);
                    *held -= *held / 4;
                }
            }
        }
        // 7000 in 6 + 8 parts are 500 each, except for what the last round moved.
        assert!(held.iter().all(|held| (450..=550).contains(held)), "{held:?}");
    }

    #[test]
    fn who_holds_something_stands_back_while_somebody_starves() {
        let mut claims = Claims::new(Bytes(800), Bytes(0));
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
