//! Images: a copy of the whole state, written beside later records, so that the log stays short.
//!
//! An image may include changes that were made after it was started. That does no harm: they are
//! also in records after it, which are replayed on top, and each record states the result rather
//! than the difference. The head that names the image is written when those records are durable.

use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::item::Item;
use crate::limits::{HEADS, IMAGE_BYTES_MAX, IMAGES, PAGE_BYTES};
use crate::node::Content;
use crate::record::Head;
use block::Fault;

/// Bytes written at a time, which take some 0.1 ms to assemble.
const PIECE: usize = 128 << 10;

/// An image in progress.
#[derive(Debug)]
pub(crate) struct ImageWriter {
    /// Its head.
    head: Head,
    cursor: Cursor,
    /// Items that were not written yet.
    bytes: Vec<u8>,
    phase: Phase,
    /// A command of it is in progress.
    in_flight: bool,
}

/// What is added next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// The node with this number, or the next one.
    Node(u32),
    /// The contents of this node, from a cookie or page on.
    Within(u32, u64),
    /// Which pages are reserved.
    Reserved,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Pieces,
    /// Waits until everything that it may include is durable in records.
    Records(u64),
    Flush,
    Head,
}

impl FileTree {
    /// Starts an image if one is due, or continues it.
    pub(crate) fn step_image(&mut self) {
        if self.failed || self.starved {
            return;
        }
        if self.image.is_none() {
            if !self.journal.is_image_due() {
                return;
            }
            let journal = &self.journal;
            let head = Head {
                generation: journal.head.generation + 1,
                // The record in progress will be replayed.
                sequence: journal.durable,
                image_len: 0,
                image_crc: 0,
                log: journal.log as u32,
                log_at: journal.at,
            };
            let (cursor, bytes, phase) = (Cursor::Node(0), Vec::new(), Phase::Pieces);
            self.image = Some(ImageWriter { head, cursor, bytes, phase, in_flight: false });
        }
        if let Some(mut image) = self.image.take_if(|image| !image.in_flight) {
            self.step_phase(&mut image);
            self.image = Some(image);
        }
    }

    fn step_phase(&mut self, image: &mut ImageWriter) {
        if image.phase == Phase::Pieces {
            while image.bytes.len() < PIECE && image.cursor != Cursor::End {
                image.cursor = self.put_next(image.cursor, &mut image.bytes);
            }
            if image.cursor == Cursor::End && image.bytes.is_empty() {
                image.phase = Phase::Records(self.want());
                self.start_record();
            }
        }
        if let Phase::Records(mark) = image.phase
            && self.journal.durable >= mark
        {
            image.phase = Phase::Flush;
        }
        let which = (image.head.generation % 2) as usize;
        match image.phase {
            Phase::Pieces => {
                let rest = image.bytes.split_off(image.bytes.len().min(PIECE));
                let mut piece = std::mem::replace(&mut image.bytes, rest);
                let at = IMAGES[which] + image.head.image_len;
                image.head.image_crc = crc32c::crc32c_append(image.head.image_crc, &piece);
                image.head.image_len += piece.len() as u64;
                debug_assert!(image.head.image_len < IMAGE_BYTES_MAX, "nodes and pages have limits");
                piece.resize(piece.len().next_multiple_of(PAGE_BYTES as usize), 0);
                self.command(Job::Image, |token| TreeCommand::Write { token, at, bytes: piece, durable: false });
            }
            Phase::Records(_) => return,
            Phase::Flush => self.command(Job::Image, |token| TreeCommand::Flush { token }),
            Phase::Head => {
                let bytes = image.head.bytes();
                self.command(Job::Image, |token| TreeCommand::Write { token, at: HEADS[which], bytes, durable: true });
            }
        }
        image.in_flight = true;
    }

    pub(crate) fn image_done(&mut self, result: Result<(), Fault>) {
        let Some(mut image) = self.image.take() else { return };
        image.in_flight = false;
        match (image.phase, result) {
            // The head may have been written, so its image must not be overwritten.
            (Phase::Head, Err(fault)) if fault != Fault::NoSpace => self.failed = true,
            // Start again at the next tick.
            (_, Err(_)) => self.starved |= !self.failed,
            (Phase::Head, Ok(())) => {
                let (sequence, head) = (self.journal.durable, image.head);
                self.journal.used = (sequence - head.sequence) * PAGE_BYTES;
                self.journal.head = head;
            }
            (phase, Ok(())) => {
                image.phase = if phase == Phase::Flush { Phase::Head } else { phase };
                self.image = Some(image);
            }
        }
    }

    /// Appends what is next; returns what comes after that.
    fn put_next(&self, cursor: Cursor, out: &mut Vec<u8>) -> Cursor {
        match cursor {
            Cursor::Node(from) => match self.state.nodes.range(from..).next() {
                Some((number, _)) => {
                    self.state.node_item(*number).iter().for_each(|item| item.put(out));
                    Cursor::Within(*number, 0)
                }
                None => Cursor::Reserved,
            },
            Cursor::Within(number, from) => {
                let next = self.put_within(number, from, out);
                next.map_or(Cursor::Node(number + 1), |next| Cursor::Within(number, next))
            }
            Cursor::Reserved => {
                Item::Reserve { end: self.state.reserved }.put(out);
                Cursor::End
            }
            Cursor::End => Cursor::End,
        }
    }

    /// Appends one entry of a folder, or one run of a file.
    fn put_within(&self, number: u32, from: u64, out: &mut Vec<u8>) -> Option<u64> {
        match &self.state.nodes.get(&number)?.content {
            Content::File(extents) => {
                let (page, run) = extents.from(from).next()?;
                Item::Extent { number, page, run }.put(out);
                Some(page + run.pages)
            }
            Content::Folder(folder) => {
                let (cookie, named) = folder.by_cookie.range(from..).next()?;
                let (cookie, child) = (*cookie, named.number);
                Item::Entry { folder: number, cookie, number: child, name: &named.name }.put(out);
                Some(cookie + 1)
            }
            Content::Link(_) => None,
        }
    }
}
