//! The worker's open files. A file with requests in flight is closed only after the last of them.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::disk;
use crate::operation::Handle;

/// Names a file of one [`crate::Io`]. A copy that outlives the file is harmless: requests on it
/// fail with [`crate::Failure::Closed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    index: u32,
    /// Distinguishes the files that had this index.
    generation: u32,
}

#[derive(Default)]
pub(crate) struct Files {
    table: Vec<File>,
    free: Vec<u32>,
}

struct File {
    generation: u32,
    /// `None` if the place is free.
    fd: Option<OwnedFd>,
    fixed: bool,
    about: disk::About,
    /// Number of requests in flight.
    flights: u32,
    /// It takes no new requests, and is closed when `flights` is zero.
    closing: bool,
}

impl Files {
    /// Adds a file. `fix` may register it with the ring under the given index, and returns whether
    /// it did.
    pub(crate) fn add(&mut self, fd: OwnedFd, fix: impl FnOnce(u32, &OwnedFd) -> bool) -> FileId {
        let index = self.free.pop().unwrap_or_else(|| {
            let about = disk::About::default();
            self.table.push(File { generation: 0, fd: None, fixed: false, about, flights: 0, closing: false });
            (self.table.len() - 1) as u32
        });
        let fixed = fix(index, &fd);
        let about = disk::about(&fd);
        let file = &mut self.table[index as usize];
        *file = File { generation: file.generation, fd: Some(fd), fixed, about, flights: 0, closing: false };
        FileId { index, generation: file.generation }
    }

    /// The file for an engine; `None` if it is closed or closing.
    pub(crate) fn open_handle(&self, id: FileId) -> Option<Handle> {
        self.find(id).filter(|file| !file.closing).and_then(|file| file.handle(id))
    }

    /// Does the same, but includes a closing file, for requests that are still in flight.
    pub(crate) fn handle(&self, id: FileId) -> Option<Handle> {
        self.find(id).and_then(|file| file.handle(id))
    }

    /// A request started.
    pub(crate) fn hold(&mut self, id: FileId) {
        self.table[id.index as usize].flights += 1;
    }

    /// A request ended. Returns the file if it can be closed now.
    pub(crate) fn release(&mut self, id: FileId) -> Option<Closed> {
        let file = &mut self.table[id.index as usize];
        debug_assert_eq!(file.generation, id.generation);
        file.flights -= 1;
        if file.closing && file.flights == 0 { self.remove(id) } else { None }
    }

    /// Takes no new requests from here on. Returns the file if it can be closed at once. An unknown
    /// id changes nothing.
    pub(crate) fn close(&mut self, id: FileId) -> Option<Closed> {
        self.find(id)?;
        let file = &mut self.table[id.index as usize];
        file.closing = true;
        if file.flights == 0 { self.remove(id) } else { None }
    }

    fn remove(&mut self, id: FileId) -> Option<Closed> {
        let file = &mut self.table[id.index as usize];
        let fd = file.fd.take()?;
        file.generation = file.generation.wrapping_add(1);
        self.free.push(id.index);
        Some(Closed { fixed: file.fixed.then_some(id.index), _fd: fd })
    }

    fn find(&self, id: FileId) -> Option<&File> {
        self.table.get(id.index as usize).filter(|file| file.generation == id.generation && file.fd.is_some())
    }
}

impl File {
    fn handle(&self, id: FileId) -> Option<Handle> {
        let fd = self.fd.as_ref()?.as_raw_fd();
        let disk::About { cached, device } = self.about;
        Some(Handle { fd, fixed: self.fixed.then_some(id.index), cached, device })
    }
}

/// A file without requests. Dropping it closes it; it must leave the ring's table first.
pub(crate) struct Closed {
    pub(crate) fixed: Option<u32>,
    _fd: OwnedFd,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null() -> OwnedFd {
        std::fs::File::open("/dev/null").unwrap().into()
    }

    #[test]
    fn a_file_goes_after_its_last_request_and_its_name_dies() {
        let mut files = Files::default();
        let id = files.add(null(), |_, _| true);
        assert_eq!(files.open_handle(id).unwrap().fixed, Some(0));
        files.hold(id);
        files.hold(id);
        assert!(files.close(id).is_none());
        assert!(files.open_handle(id).is_none(), "closing: nothing new");
        assert!(files.handle(id).is_some(), "but what is in flight goes on");
        assert!(files.release(id).is_none());
        assert_eq!(files.release(id).unwrap().fixed, Some(0));
        assert!(files.handle(id).is_none());

        let next = files.add(null(), |_, _| false);
        assert_eq!(next.index, id.index, "the place is used again");
        assert!(files.open_handle(id).is_none(), "but not by the old name");
        assert!(files.close(id).is_none() && files.open_handle(next).is_some());
    }
}
