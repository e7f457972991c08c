//! The log: a sequence of records, each of which is durable before the next one is started.
//!
//! ```text
//!   names, attributes:        record, durable by itself
//!   what a COMMIT asks for:   record ──► flush, which is that of the data, too
//! ```
//! When no record has followed for a while, the mark of the end is written where the next one will
//! be: so damage to the last record is noticed, too (`later.rs`). Nobody waits for it.
//!
//! If each record were preceded by a flush of the data, that would be two waits for the disk in
//! sequence. If each were followed by a flush, a new name would wait for the data of others.

use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::limits::{LOG_BYTES, LOGS, PAGE_BYTES};
use crate::record::{self, Head};
use block::Fault;

/// Least and most bytes of records before an image is written. In between, it is half the size of
/// the last image, so that images cost about as much as records.
const IMAGE_DUE: (u64, u64) = (256 << 10, 4 << 20);

/// How often a record that the storage failed is retried, once per tick: for ten seconds.
const FAULTS_MAX: u32 = 20;

/// So often in a row, once per tick, a record may find no space before those who wait for it are
/// refused: half a second, in which blocks that were freed can come back.
const REFUSALS_MAX: u32 = 2;

/// The state of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// The image that a start reads.
    pub head: Head,
    /// The last record that was started.
    pub sequence: u64,
    /// The last one that is durable.
    pub durable: u64,
    /// Which of the two logs gets the next record, and its offset.
    pub log: usize,
    pub at: u64,
    /// Bytes of records since the image.
    pub used: u64,
    /// Someone waits for the pending changes.
    pub wanted: bool,
    /// Someone also waits for data that was written before.
    pub covers: bool,
    /// The record in progress.
    flight: Option<Vec<u8>>,
    /// It is followed by a flush.
    flushes: bool,
    /// It must be written again.
    again: bool,
    /// The mark of the end is behind the last record.
    pub is_marked: bool,
    /// It is to be written.
    marks: bool,
    /// It is being written.
    is_marking: bool,
    /// The last record at the last tick.
    ticked: u64,
    /// How often the storage has failed it.
    pub faults: u32,
    /// How often in a row there was no space for it.
    pub refusals: u32,
}

impl Journal {
    /// Continues after these records.
    pub fn behind(head: Head, sequence: u64, (log, at): (usize, u64), used: u64) -> Journal {
        Journal { head, sequence, durable: sequence, log, at, used, ..Journal::default() }
    }

    /// Bytes left for records until an image is complete.
    pub fn room(&self) -> u64 {
        // While no image is being written, the other log is free.
        let other = if self.is_in_first() { LOG_BYTES } else { 0 };
        LOG_BYTES - self.at + other
    }

    /// Whether all records since the image are in one log.
    pub fn is_in_first(&self) -> bool {
        self.log == self.head.log as usize
    }

    /// Whether the mark of the end is missing.
    pub fn lacks_mark(&self) -> bool {
        self.durable > 0 && !self.is_marked
    }

    /// Asks for the mark of the end if there was no record since the last tick.
    pub fn tick(&mut self) {
        self.marks |= self.ticked == self.sequence && self.lacks_mark();
        self.ticked = self.sequence;
    }

    pub fn is_image_due(&self) -> bool {
        self.used >= (self.head.image_len / 2).clamp(IMAGE_DUE.0, IMAGE_DUE.1)
    }

    /// Whether the record in progress finds no space. It is tried again at each tick all the same.
    pub fn lacks_space(&self) -> bool {
        self.refusals >= REFUSALS_MAX
    }

    /// Continues in the other log, if this is the image's.
    pub fn turn_over(&mut self) {
        if self.is_in_first() && self.flight.is_none() {
            (self.log, self.at) = (1 - self.log, 0);
        }
    }
}

impl FileTree {
    /// Starts a record if one is wanted and none is in progress.
    pub(crate) fn start_record(&mut self) {
        const PENDING_LONG: usize = 64 << 10;
        if self.failed || self.starved {
            return;
        }
        if let Some(bytes) = self.journal.flight.clone().filter(|_| self.journal.again) {
            self.journal.again = false;
            return self.write_record(bytes);
        }
        // The next record goes where the mark is.
        if self.journal.flight.is_some() || self.journal.is_marking {
            return;
        }
        let wanted = std::mem::take(&mut self.journal.wanted) || self.pending.len() >= PENDING_LONG;
        if !wanted || self.pending.is_empty() {
            return self.start_mark();
        }
        self.journal.marks = false;
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

    /// Writes the mark of the end, if it is asked for and nothing is about to follow.
    fn start_mark(&mut self) {
        let at = self.journal.at;
        let asked = std::mem::take(&mut self.journal.marks) && self.journal.lacks_mark();
        if asked && at + PAGE_BYTES <= LOG_BYTES {
            self.journal.is_marking = true;
            let (at, bytes) = (LOGS[self.journal.log] + at, record::end(self.journal.durable));
            self.command(Job::End, |token| TreeCommand::Write { token, at, bytes, durable: false });
        }
    }

    /// Asks for the mark of the end now. Returns whether it is missing.
    pub fn mark_end(&mut self) -> bool {
        self.journal.marks = self.journal.lacks_mark() && !self.failed;
        self.journal.marks
    }

    /// A mark that could not be written is tried again at a later tick.
    pub(crate) fn mark_done(&mut self, result: Result<(), Fault>) {
        self.journal.is_marking = false;
        self.journal.is_marked = result.is_ok();
    }

    fn write_record(&mut self, bytes: Vec<u8>) {
        let at = LOGS[self.journal.log] + self.journal.at;
        let (job, durable) = match self.journal.flushes {
            true => (Job::RecordAlone, false),
            false => (Job::Record, true),
        };
        self.command(job, |token| TreeCommand::Write { token, at, bytes, durable });
    }

    /// A record that is followed by a flush was written.
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
                self.journal.is_marked = false;
                (self.journal.faults, self.journal.refusals) = (0, 0);
                self.space.settle(self.journal.durable);
            }
            // Nothing of it was written: retry at the next tick.
            Err(Fault::NoSpace | Fault::NoMemory) => {
                self.journal.refusals = self.journal.refusals.saturating_add(1);
                (self.starved, self.journal.again) = (true, true);
            }
            // The same bytes go to the same place, so it does not matter if some were written.
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

    /// A record that finds no space is written again at each tick and kept, and who waits for it is
    /// not left waiting: from the second time on the tree says so, until there is space.
    #[test]
    fn a_record_without_space_is_known_and_kept() {
        let mut tree = FileTree::empty();
        let new = NewNode { kind: NodeKind::File, mode: 0, uid: 0, gid: 0, verifier: 0, target: b"" };
        tree.make(Span::SECOND, NodeId::ROOT, b"one", &new).unwrap();
        let record = tree.want();
        let mut round = |result| {
            tree.tick();
            tree.advance();
            let Some(TreeCommand::Write { token, .. }) = tree.next_command() else { panic!("a record") };
            tree.done(token, result);
            (tree.lacks_space(), tree.durable() >= record, tree.has_failed())
        };
        assert_eq!(round(Err(Fault::NoSpace)), (false, false, false));
        for _ in 0..2 * FAULTS_MAX {
            assert_eq!(round(Err(Fault::NoSpace)), (true, false, false));
        }
        assert_eq!(round(Ok(())), (false, true, false));
    }

    /// A record that the storage fails is written again at each tick, unchanged and in the same
    /// place, and what waits for it is durable when it succeeds. After twenty consecutive failures
    /// no more changes are accepted.
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
