//! Sends that are tried once and report only failure: most find room in the socket's buffer, and
//! then no completion is needed.
//!
//! An ordinary send leaves a completion, which ends the wait that it was submitted with: a worker
//! that sends an answer and waits for the next request wakes for nothing. So a send is first
//! submitted as an attempt (`MSG_DONTWAIT` and `MSG_WAITALL`) whose success is silent
//! (`IOSQE_CQE_SKIP_SUCCESS`). The kernel never defers an attempt. When the call that submitted it
//! returns, either all its bytes are in the socket's buffer, or there is a completion with a short
//! count or an error. So an attempt that was submitted and has no completion has succeeded.
//!
//! ```text
//!   expect ─► waiting ── the kernel has taken it ──► settle: silent → sent whole
//!                 └───── a completion ─► spoke ────────────► the completion tells
//! ```

use std::collections::VecDeque;

use crate::operation::{Key, Outcome};

/// Attempts that were prepared and are not settled.
#[derive(Default)]
pub(crate) struct Attempts {
    /// In the order of preparation.
    waiting: VecDeque<Attempt>,
    /// By key: it is an attempt without a completion so far.
    silent: Vec<bool>,
}

struct Attempt {
    key: Key,
    /// The length of the message in bytes.
    len: u32,
    /// The number of entries that were prepared before it.
    before: u64,
}

impl Attempts {
    /// A send of `len` bytes was prepared, after `before` other entries.
    pub(crate) fn expect(&mut self, key: Key, len: u32, before: u64) {
        let place = key as usize;
        if place >= self.silent.len() {
            self.silent.resize(place + 1, false);
        }
        self.silent[place] = true;
        self.waiting.push_back(Attempt { key, len, before });
    }

    /// Whether no attempt is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A completion came for `key`. If that is an attempt, the completion is its outcome.
    pub(crate) fn spoke(&mut self, key: Key) {
        if let Some(silent) = self.silent.get_mut(key as usize) {
            *silent = false;
        }
    }

    /// Settles the attempts among the first `taken` entries, which the kernel has taken. All
    /// completions must have been looked at.
    pub(crate) fn settle(&mut self, taken: u64, out: &mut Vec<Outcome>) {
        while let Some(attempt) = self.waiting.front().filter(|attempt| attempt.before < taken) {
            let Attempt { key, len, .. } = *attempt;
            self.waiting.pop_front();
            if std::mem::take(&mut self.silent[key as usize]) {
                // A message has less than 2 GiB, as the kernel counts what it sends in an int.
                out.push(Outcome { key, result: len as i32 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(attempts: &mut Attempts, taken: u64) -> Vec<(Key, i32)> {
        let mut out = Vec::new();
        attempts.settle(taken, &mut out);
        out.iter().map(|outcome| (outcome.key, outcome.result)).collect()
    }

    /// Entries 0 and 2 are attempts, entry 1 is something else. Attempts that the kernel has not
    /// taken stay open. Of those that it has taken, the silent ones were sent completely; the
    /// others have completions.
    #[test]
    fn what_was_taken_and_is_silent_was_sent() {
        let mut attempts = Attempts::default();
        attempts.expect(7, 100, 0);
        attempts.expect(3, 50, 2);
        assert_eq!(settled(&mut attempts, 0), []);
        assert_eq!(settled(&mut attempts, 2), [(7, 100)]);
        assert!(!attempts.is_empty());
        attempts.spoke(3);
        assert_eq!(settled(&mut attempts, 3), []);
        assert!(attempts.is_empty());
        // The key is reused, and this time the attempt is silent.
        attempts.expect(3, 60, 3);
        assert_eq!(settled(&mut attempts, 4), [(3, 60)]);
    }
}
