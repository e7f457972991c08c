//! The log: one record after the other, each durable before the next is begun.

use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::limits::{LOG_BYTES, LOGS};
use crate::record::{self, Head};
use block::Fault;

/// Bytes of records from which an image is written at least, and at most: half as many as the last
/// image has, so that images cost about as much as records.
const IMAGE_DUE: (u64, u64) = (256 << 10, 4 << 20);

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
    /// The record under way.
    flight: Option<Vec<u8>>,
    /// It has to be written once more.
    again: bool,
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
        self.write_record(bytes);
    }

    fn write_record(&mut self, bytes: Vec<u8>) {
        let at = LOGS[self.journal.log] + self.journal.at;
        self.command(Job::Record, |token| TreeCommand::Write { token, at, bytes, durable: true });
    }

    pub(crate) fn record_done(&mut self, result: Result<(), Fault>) {
        match result {
            Ok(()) => {
                let len = self.journal.flight.take().map_or(0, |bytes| bytes.len() as u64);
                self.journal.at += len;
                self.journal.used += len;
                self.journal.durable = self.journal.sequence;
                self.space.settle(self.journal.durable);
            }
            // Nothing of it was written: it is tried again with the next tick.
            Err(Fault::NoSpace | Fault::NoMemory) => (self.starved, self.journal.again) = (true, true),
            Err(_) => self.failed = true,
        }
    }
}
