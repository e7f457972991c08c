//! Reads and the cache: what is there is answered at once, what a stream will ask for is fetched.

use super::cached::Filling;
use super::{MappedVolumes, Queued};
use block::{Buf, Op, OpKind, Request, Ticket, Time};

/// Reads ahead at a time: two streams with a window under way and one to come.
const AHEADS_MAX: usize = 4;

impl MappedVolumes {
    /// Reads of streams under way that nobody asked for yet.
    pub fn reads_ahead(&self) -> usize {
        self.aheads
    }

    /// Answers a read from memory, if all of it is there; else hands the request back.
    pub(super) fn read_cached(&mut self, now: Time, queued: Queued) -> Option<Queued> {
        if self.cached.is_none() || queued.request.op != Op::Read {
            return Some(queued);
        }
        let (object, at, len) = (queued.request.object, queued.request.at, queued.request.len);
        let found = self.cached.as_mut()?.read(&self.io, (object.0, at, len));
        let ahead = self.ahead.read(object.0.into(), at, len);
        let missed = match found {
            Some(buf) => {
                let mut completion = queued.end(now, Ok(()));
                completion.buf = Some(buf);
                self.ready.push(completion);
                None
            }
            None => Some(queued),
        };
        if let Some(ahead) = ahead {
            self.read_ahead(now, object, ahead.at, ahead.len);
        }
        missed
    }

    /// Fetches what a stream will ask for, as far as there is room; it is no matter if there is none.
    fn read_ahead(&mut self, now: Time, object: block::ObjectId, at: u64, len: u64) {
        let Some((size, _)) = self.core.tree(object.0) else { return };
        let len = len.min(size.saturating_sub(at));
        if len == 0 || self.aheads == AHEADS_MAX || !self.has_room() {
            return;
        }
        let request = Request { tag: 0, object, at, len, op: Op::Read, fua: false, due: now };
        let queued = Queued { ticket: Ticket(0), taken: now, lun: object.0, request };
        let began = self.ready.len();
        self.aheads += 1;
        if self.start_read(now, queued, true).is_err() {
            self.aheads -= 1;
        }
        debug_assert!(self.ready.len() == began, "nobody hears of it");
    }

    /// A read has ended with all its bytes: those of whole pages are kept, unless they are still in the file.
    pub(super) fn fill_cached(&mut self, tree: u32, filling: Option<(Filling, u64)>, buf: &Buf) {
        let (Some((filling, from)), Some(cached)) = (filling, &mut self.cached) else { return };
        let Some((size, _)) = self.core.tree(tree) else { return };
        if self.io.view(buf).is_none() {
            self.io.with(buf, |bytes| cached.fill(tree, filling, (from, size), bytes));
        }
    }

    /// A change has ended: what is cached of it is updated with its data, or forgotten.
    pub(super) fn update_cached(&mut self, request: &Request, data: Option<&Buf>) {
        let Some(cached) = &mut self.cached else { return };
        let (tree, part) = (request.object.0, (request.at, request.len));
        match (request.op.kind(), data) {
            (OpKind::Write, Some(data)) => self.io.with(data, |bytes| cached.end_change(tree, part, Some(bytes))),
            (OpKind::Write | OpKind::Trim | OpKind::Zero, _) => cached.end_change(tree, part, None),
            _ => {}
        }
    }
}
