//! Where references wait that the durable map has lost, until all reads are over that began when it
//! had them.
//!
//! A read looks the map up once and goes to the disk. Meanwhile its block may lose the tree's
//! reference; if that were taken away at once, another tree that shares the block would be its only
//! holder and write in place under the read, or the block would be given out anew.
//!
//! ```text
//!   epoch      e − 1        │ e                        reads and drops are kept by the parity of their epoch;
//!   reads      ├────────────┼──────┤                   e + 1 begins when no read of e − 1 is under way:
//!   drops         ×    ×    │   ×                      then nobody can see what was dropped in e − 1
//! ```

use crate::tree::Drop;

/// A read that is under way: what it looks at stays as it is meanwhile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an unended read keeps freed blocks from being used"]
pub struct Pin(u8);

/// The references that wait, and the reads that they wait for.
#[derive(Default)]
pub(crate) struct Limbo {
    drops: [Vec<Drop>; 2],
    reads: [u64; 2],
    epoch: u64,
}

impl Limbo {
    /// A read begins.
    pub(crate) fn pin(&mut self) -> Pin {
        let parity = (self.epoch & 1) as u8;
        self.reads[usize::from(parity)] += 1;
        Pin(parity)
    }

    /// A read has ended.
    #[allow(clippy::needless_pass_by_value, reason = "the reader gives up its claim")]
    pub(crate) fn unpin(&mut self, pin: Pin) {
        self.reads[usize::from(pin.0)] -= 1;
    }

    /// The durable map has lost these.
    pub(crate) fn push(&mut self, mut drops: Vec<Drop>) {
        self.drops[(self.epoch & 1) as usize].append(&mut drops);
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.drops.iter().all(Vec::is_empty)
    }

    /// Takes out what no read can see any more.
    pub(crate) fn settle(&mut self) -> Vec<Drop> {
        let mut out = Vec::new();
        for _ in 0..2 {
            let next = ((self.epoch + 1) & 1) as usize;
            if self.reads[next] > 0 {
                break;
            }
            out.append(&mut self.drops[next]);
            self.epoch += 1;
        }
        out
    }

    /// What waits.
    pub(crate) fn drops(&self) -> impl Iterator<Item = &Drop> {
        self.drops.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_waits_for_the_reads_before_and_for_no_later_ones() {
        let mut limbo = Limbo::default();
        let early = limbo.pin();
        limbo.push(vec![Drop::Block(1)]);
        assert_eq!(limbo.settle(), []);
        let late = limbo.pin();
        limbo.push(vec![Drop::Block(2)]);
        limbo.unpin(early);
        assert_eq!(limbo.settle(), [Drop::Block(1)]);
        assert!(!limbo.is_empty() && limbo.settle().is_empty());
        limbo.unpin(late);
        assert_eq!(limbo.settle(), [Drop::Block(2)]);
        limbo.push(vec![Drop::Block(3)]);
        assert_eq!(limbo.settle(), [Drop::Block(3)], "at once without reads");
        assert!(limbo.is_empty());
    }
}
