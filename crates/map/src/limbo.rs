//! Where references that the durable map has lost wait for the end of all reads that started while
//! they existed.
//!
//! A read looks up the map once and then goes to the disk. Meanwhile its block may lose the tree's
//! reference. If that were released at once, another tree that shares the block could become its
//! only holder and write to it in place during the read, or the block could be reused.
//!
//! ```text
//!   epoch      e − 1        │ e                        reads and drops are kept by the parity of their epoch;
//!   reads      ├────────────┼──────┤                   e + 1 begins when no read of e − 1 is under way:
//!   drops         ×    ×    │   ×                      then nobody can see what was dropped in e − 1
//! ```

use crate::tree::Drop;

/// A read in progress: its blocks do not change meanwhile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an unended read keeps freed blocks from being used"]
pub struct Pin(u8);

/// Waiting references, and the reads that they wait for.
#[derive(Default)]
pub(crate) struct Limbo {
    drops: [Vec<Drop>; 2],
    reads: [u64; 2],
    epoch: u64,
}

impl Limbo {
    /// A read starts.
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

    /// The durable map has lost these references.
    pub(crate) fn push(&mut self, mut drops: Vec<Drop>) {
        self.drops[(self.epoch & 1) as usize].append(&mut drops);
    }

    /// Whether nothing is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.drops.iter().all(Vec::is_empty)
    }

    /// Takes out the references that no read can see any more.
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

    /// The waiting references.
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
