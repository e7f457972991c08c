//! The log: one record after the other, each durable before the next is begun.
//!
//! ```text
//!   names, attributes:        record, durable by itself
//!   what a COMMIT asks for:   record ──► flush, which is that of the data, too
//! ```
//! A record with a flush of its own for the data before it would be two waits for the disk, one
//! after the other; and all records with a flush would have a new name wait for others' data.

use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::limits::{LOG_BYTES, LOGS};
use crate::record::{self, Head};
use block::Fault;

/// Bytes of records from which an image is written at least, and at most: half as many as the last
/// image has, so that images cost about as much as records.
const IMAGE_DUE: (u64, u64) = (256 << 10, 4 << 20);

/// How often a record that the storage failed for is tried again, with a tick each: for ten
/// seconds.
const FAULTS_MAX: u32 = 20;

/// Where the log is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// The image that is read at a start.
    pub head: Head,
    /// The last record that was begun.
    pub sequence: u64,
    /// The last one that is durable.
    pub durable: u64,
    /// Which of the two logs the next record goes to, and where in it.
    pub log: usize,
    pub at: u64,
    /// Bytes of records since the image.
    pub used: u64,
    /// Somebody waits for what is pending.
    pub wanted: bool,
    /// Somebody waits for data that was written before it, too.
    pub covers: bool,
    /// The record under way.
    flight: Option<Vec<u8>>,
    /// It is followed by a flush.
    flushes: bool,
    /// It has to be written once more.
    again: bool,
    /// How often the storage failed for it.
    pub faults: u32,
}

impl Journal {
    /// Behind these records.
    pub fn behind(head: Head, sequence: u64, (log, at): (usize, u64), used: u64) -> Journal {
        Journal { head, sequence, durable: sequence, log, at, used, ..Journal::default() }
    }

    /// Bytes that are left for records until an image is whole.
    pub fn room(&self) -> u64 {
        // While none is being written the other log is free.
        let other = if self.is_in_first() { LOG_BYTES } else { 0 };
        LOG_BYTES - self.at + other
    }

    /// The records since the image are in one log.
    pub fn is_in_first(&self) -> bool {
        self.log == self.head.log as usize
    }

    pub fn is_image_due(&self) -> bool {
        self.used >= (self.head.image_len / 2).clamp(IMAGE_DUE.0, IMAGE_DUE.1)
    }

    /// The other log goes on, if this is the image's.
    pub fn turn_over(&mut self) {
        if self.is_in_first() && self.flight.is_none() {
            (self.log, self.at) = (1 - self.log, 0);
        }
    }
}

impl FileTree {
    /// Begins a record, if one is wanted and none is under way.
    pub(crate) fn start_record(&mut self) {
        const PENDING_LONG: usize = 64 << 10;
        if self.failed || self.starved {
            return;
        }
        if let Some(bytes) = self.journal.flight.clone().filter(|_| self.journal.again) {
            self.journal.again = false;
            return self.write_record(bytes);
        }
        let wanted = self.journal.wanted || self.pending.len() >= PENDING_LONG;
        if self.journal.flight.is_some() || !wanted {
            return;
        }
        self.journal.wanted = false;
        if self.pending.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.pending);
        self.journal.sequence += 1;
        let bytes = record::record(self.journal.sequence, self.journal.head.generation, &items);
        if self.journal.at + bytes.len() as u64 > LOG_BYTES {
            self.journal.turn_over();
        }
        debug_assert!(self.journal.at + bytes.len() as u64 <= LOG_BYTES, "changes are put off before");
        self.journal.flight = Some(bytes.clone());
        self.journal.flushes = std::mem::take(&mut self.journal.covers);
        self.write_record(bytes);
    }

    fn write_record(&mut self, bytes: Vec<u8>) {
        let at = LOGS[self.journal.log] + self.journal.at;
        let (job, durable) = match self.journal.flushes {
            true => (Job::RecordAlone, false),
            false => (Job::Record, true),
        };
        self.command(job, |token| TreeCommand::Write { token, at, bytes, durable });
    }

    /// A record that a flush follows was written.
    pub(crate) fn record_written(&mut self, result: Result<(), Fault>) {
        match result {
            Ok(()) => self.command(Job::Record, |token| TreeCommand::Flush { token }),
            Err(_) => self.record_done(result),
        }
    }

    pub(crate) fn record_done(&mut self, result: Result<(), Fault>) {
        match result {
            Ok(()) => {
                let len = self.journal.flight.take().map_or(0, |bytes| bytes.len() as u64);
                self.journal.at += len;
                self.journal.used += len;
                self.journal.durable = self.journal.sequence;
                self.journal.faults = 0;
                self.space.settle(self.journal.durable);
            }
            // Nothing of it was written: it is tried again with the next tick.
            Err(Fault::NoSpace | Fault::NoMemory) => (self.starved, self.journal.again) = (true, true),
            // The same bytes at the same place: whether some of it was written does not matter.
            Err(_) if self.journal.faults < FAULTS_MAX => {
                self.journal.faults += 1;
                (self.starved, self.journal.again) = (true, true);
            }
            Err(_) => self.failed = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::TreeRefusal;
    use crate::{NewNode, NodeId, NodeKind};
    use block::Span;

    /// A record that the storage fails for is written again with each tick, the same at the same
    /// place, and what waits for it is durable when it succeeds; after twenty times in a row
    /// nothing is changed any more.
    #[test]
    fn a_record_is_tried_again() {
        let mut tree = FileTree::empty();
        let new = NewNode { kind: NodeKind::File, mode: 0, uid: 0, gid: 0, verifier: 0, target: b"" };
        let make = |tree: &mut FileTree, name: &[u8]| tree.make(Span::SECOND, NodeId::ROOT, name, &new);
        let round = |tree: &mut FileTree, result| {
            tree.tick();
            tree.advance();
            let Some(TreeCommand::Write { token, at, bytes, .. }) = tree.next_command() else { panic!("a record") };
            tree.done(token, result);
            (at, bytes)
        };
        make(&mut tree, b"one").unwrap();
        let record = tree.want();
        let first = round(&mut tree, Err(Fault::Io));
        assert_eq!(make(&mut tree, b"two"), Err(TreeRefusal::Busy));
        for _ in 1..FAULTS_MAX {
            assert!(round(&mut tree, Err(Fault::Io)) == first);
        }
        assert!(!tree.has_failed() && tree.durable() < record);
        assert!(round(&mut tree, Ok(())) == first && tree.durable() == record);
        make(&mut tree, b"two").unwrap();
        for _ in 0..=FAULTS_MAX {
            assert!(!tree.has_failed());
            round(&mut tree, Err(Fault::Io));
        }
        assert!(tree.has_failed());
        assert_eq!(make(&mut tree, b"three"), Err(TreeRefusal::Failed));
    }
}
