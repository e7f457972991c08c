//! Requests in flight: the table that owns what the kernel works on, and the rules by which a
//! request continues after a partial result or ends.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::rc::Rc;

use crate::files::Files;
use crate::job::{Done, Job, Message, Part};
use crate::operation::{Key, Operation};
use crate::port::Queue;
use crate::slab::Slab;
use crate::{Errno, Failure};

/// `UIO_MAXIOV`: the limit on parts in one `sendmsg`.
const PARTS_LIMIT: usize = 1024;

/// One request in flight.
pub(crate) struct Flight {
    pub(crate) queue: Rc<Queue>,
    pub(crate) token: u64,
    pub(crate) job: Job,
    /// Bytes done by earlier operations of this request.
    moved: u32,
    /// It ends with its next result, even if that is partial.
    pub(crate) cancelled: bool,
    /// It is a send that found the socket's buffer full. From here on it waits for room.
    waits: bool,
    /// It polls for room.
    polls: bool,
    /// The poll has reported room.
    room: bool,
    /// The address list of a send in many parts.
    gather: Option<Box<Gather>>,
}

/// What follows a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is more to do.
    Again,
    /// It ended.
    End(Result<u32, Failure>),
}

impl Flight {
    #[inline]
    pub(crate) fn new(queue: Rc<Queue>, token: u64, job: Job) -> Flight {
        Flight { queue, token, job, moved: 0, cancelled: false, waits: false, polls: false, room: false, gather: None }
    }

    /// Marks all its buffers as in flight. If one of them has no memory, none is marked.
    pub(crate) fn fly(&self, slab: &Slab) -> Result<(), Failure> {
        if self.bufs().any(block::Buf::is_nothing) {
            return Err(Failure::Os(Errno(libc::EFAULT)));
        }
        match self.job {
            Job::Send { .. } => self.bufs().for_each(|buf| slab.leave(buf)),
            _ => self.bufs().for_each(|buf| slab.fly(buf)),
        }
        Ok(())
    }

    /// Takes all its buffers back from the kernel.
    #[inline]
    pub(crate) fn land(&self, slab: &Slab) {
        self.bufs().for_each(|buf| slab.land(buf));
    }

    fn bufs(&self) -> impl Iterator<Item = &block::Buf> {
        let (one, parts) = match &self.job {
            Job::Read { buf, .. } | Job::Write { buf, .. } | Job::Receive { buf, .. } => (Some(buf), &[][..]),
            Job::Send { message, .. } => (None, &message.parts[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(parts.iter().filter_map(|part| match part {
            Part::Data(buf) => Some(buf),
            Part::Header { .. } => None,
        }))
    }

    /// The next operation to start. An `Err` ends the request without one. The buffers must be
    /// in flight.
    pub(crate) fn operation(
        &mut self,
        files: &Files,
        slab: &Slab,
        gathers: &mut Gathers,
    ) -> Result<Operation, Result<u32, Failure>> {
        let file = files.handle(self.job.file()).ok_or(Err(Failure::Closed))?;
        let allocate = |mode, at, len| Operation::Allocate { file, mode, at, len };
        Ok(match &self.job {
            Job::Read { buf, .. } | Job::Write { buf, .. } if buf.is_empty() => return Err(Ok(0)),
            Job::Read { at, buf, .. } => {
                Operation::Read { file, at: at + u64::from(self.moved), memory: slab.memory(buf, self.moved) }
            }
            Job::Write { at, buf, durable, .. } => {
                let memory = slab.memory(buf, self.moved);
                Operation::Write { file, at: at + u64::from(self.moved), memory, durable: *durable }
            }
            Job::Sync { .. } => Operation::Sync { file, data_only: true },
            Job::SyncAll { .. } => Operation::Sync { file, data_only: false },
            Job::Punch { at, len, .. } => allocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, *at, *len),
            Job::Zero { at, len, keep: true, .. } => allocate(libc::FALLOC_FL_ZERO_RANGE, *at, *len),
            Job::Zero { at, len, keep: false, .. } => {
                allocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, *at, *len)
            }
            Job::Accept { .. } => Operation::Accept { file },
            Job::Receive { buf, .. } => Operation::Receive { file, memory: slab.memory(buf, 0) },
            Job::Discard { len, .. } => Operation::Discard { file, len: *len },
            Job::Send { message, .. } => {
                if message.len() == u64::from(self.moved) {
                    return Err(Ok(self.moved));
                }
                let gather = self.gather.get_or_insert_with(|| gathers.take());
                gather.fill(message, self.moved, slab).map_err(Err)?;
                // While the kernel waits for room it keeps the addresses, but the bytes of a view
                // may have to be copied elsewhere meanwhile. So the wait is a poll, after which the
                // addresses are listed again.
                let stays = gather.stands;
                if stays && self.waits && !std::mem::take(&mut self.room) {
                    self.polls = true;
                    return Ok(Operation::PollOut { file });
                }
                // `Io::rest` may miss the end of an attempt only on its first try; from then on the
                // end is reported.
                let attempt = !self.waits;
                match gather.one() {
                    Some(memory) => Operation::Send { file, memory, attempt, stays },
                    None => Operation::SendMany { file, header: gather.header(), len: gather.len(), attempt, stays },
                }
            }
            Job::Shutdown { side, .. } => Operation::Shutdown { file, how: how(*side) },
            Job::PollIn { .. } => Operation::PollIn { file },
            Job::View { .. } => unreachable!("a view that is none is a read"),
        })
    }

    /// What follows the kernel's `result` of the last operation.
    #[inline]
    pub(crate) fn advance(&mut self, result: i32) -> Next {
        let polled = std::mem::take(&mut self.polls);
        if result < 0 {
            self.waits = true;
            return self.refused(result);
        }
        if polled {
            self.room = true;
            return if self.cancelled { Next::End(Err(Failure::Canceled)) } else { Next::Again };
        }
        let moved = result as u32;
        let (goal, nothing_moved) = match &self.job {
            Job::Read { buf, .. } => (buf.len(), Failure::UnexpectedEnd),
            Job::Write { buf, .. } => (buf.len(), Failure::Os(Errno(libc::EIO))),
            // The length was checked when the addresses were first listed.
            Job::Send { message, .. } => (message.len() as u32, Failure::Os(Errno(libc::EIO))),
            Job::Receive { .. } | Job::Discard { .. } | Job::PollIn { .. } => return Next::End(Ok(moved)),
            _ => return Next::End(Ok(0)),
        };
        if moved == 0 {
            return Next::End(Err(nothing_moved));
        }
        self.moved += moved;
        self.waits = true;
        match self.moved < goal {
            true if self.cancelled => Next::End(Err(Failure::Canceled)),
            true => Next::Again,
            false => Next::End(Ok(self.moved)),
        }
    }

    fn refused(&self, result: i32) -> Next {
        match -result {
            libc::EINTR | libc::EAGAIN if self.cancelled => Next::End(Err(Failure::Canceled)),
            libc::EINTR | libc::EAGAIN => Next::Again,
            // A direct read that continues at the unaligned end of the file uses an offset that no
            // device accepts.
            libc::EINVAL if self.moved > 0 && matches!(self.job, Job::Read { .. }) => {
                Next::End(Err(Failure::UnexpectedEnd))
            }
            _ => Next::End(Err(Failure::of_result(result))),
        }
    }

    /// Ends the request: its queue, and the completion for it. The buffers must have landed.
    #[inline]
    pub(crate) fn finish(
        self,
        result: Result<u32, Failure>,
        accepted: Option<OwnedFd>,
        gathers: &mut Gathers,
    ) -> (Rc<Queue>, Done) {
        if let Some(gather) = self.gather {
            gathers.give(gather);
        }
        let (buf, message) = match self.job {
            Job::Read { buf, .. } | Job::Write { buf, .. } | Job::Receive { buf, .. } => (Some(buf), None),
            Job::Send { message, .. } => (None, Some(message)),
            _ => (None, None),
        };
        (self.queue, Done { token: self.token, result, moved: self.moved, buf, message, accepted })
    }
}

fn how(side: std::net::Shutdown) -> i32 {
    match side {
        std::net::Shutdown::Read => libc::SHUT_RD,
        std::net::Shutdown::Write => libc::SHUT_WR,
        std::net::Shutdown::Both => libc::SHUT_RDWR,
    }
}

/// Addresses for one `sendmsg`, boxed because the kernel relies on where they are.
pub(crate) struct Gather {
    parts: Vec<libc::iovec>,
    /// Some of the bytes are in a file and may change.
    stands: bool,
    header: libc::msghdr,
}

impl Gather {
    /// Lists the addresses of the message's bytes from `skip` on, as many parts as one call takes.
    fn fill(&mut self, message: &Message, mut skip: u32, slab: &Slab) -> Result<(), Failure> {
        u32::try_from(message.len()).map_err(|_| Failure::Os(Errno(libc::EMSGSIZE)))?;
        self.parts.clear();
        self.stands = false;
        for part in &message.parts {
            if part.len() <= skip {
                skip -= part.len();
                continue;
            }
            match part {
                Part::Header { start, len } => {
                    let range = *start as usize..*start as usize + *len as usize;
                    let bytes = message.headers.get(range).ok_or(Failure::Os(Errno(libc::EFAULT)))?;
                    self.parts.push(iovec(bytes[skip as usize..].as_ptr().cast_mut(), len - skip));
                }
                Part::Data(buf) => {
                    self.stands |= slab.pieces(buf, skip, |memory| {
                        self.parts.push(iovec(memory.start.as_ptr(), memory.len));
                        self.parts.len() < PARTS_LIMIT
                    });
                }
            }
            skip = 0;
            if self.parts.len() == PARTS_LIMIT {
                break;
            }
        }
        self.header.msg_iov = self.parts.as_mut_ptr();
        self.header.msg_iovlen = self.parts.len() as _;
        Ok(())
    }

    /// The bytes, if they are contiguous: a plain send costs less.
    fn one(&self) -> Option<crate::operation::Memory> {
        let [part] = &self.parts[..] else { return None };
        let start = NonNull::new(part.iov_base.cast())?;
        Some(crate::operation::Memory { start, len: part.iov_len as u32, fixed: None })
    }

    /// Bytes in all parts together: no more than a message's, which fit.
    fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.iov_len as u32).sum()
    }

    fn header(&mut self) -> NonNull<libc::msghdr> {
        NonNull::from(&mut self.header)
    }
}

fn iovec(start: *mut u8, len: u32) -> libc::iovec {
    libc::iovec { iov_base: start.cast(), iov_len: len as usize }
}

/// Spare [`Gather`]s, so that sending does not allocate in steady state.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "the box moves into the flight and back, and its address must not change")]
pub(crate) struct Gathers(Vec<Box<Gather>>);

impl Gathers {
    fn take(&mut self) -> Box<Gather> {
        self.0.pop().unwrap_or_else(|| {
            // SAFETY: all-zero is a valid msghdr: null pointers with lengths of zero.
            let header = unsafe { std::mem::zeroed() };
            Box::new(Gather { parts: Vec::new(), stands: false, header })
        })
    }

    fn give(&mut self, gather: Box<Gather>) {
        self.0.push(gather);
    }
}

/// The table. Its size is fixed, so that the path of a request allocates nothing.
pub(crate) struct Flights {
    places: Vec<Option<Flight>>,
    free: Vec<Key>,
}

impl Flights {
    pub(crate) fn new(limit: u32) -> Flights {
        Flights { places: (0..limit).map(|_| None).collect(), free: (0..limit).rev().collect() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// Adds a flight; the table must not be full.
    #[inline]
    pub(crate) fn add(&mut self, flight: Flight) -> Key {
        let key = self.free.pop().expect("the caller checked that the table is not full");
        self.places[key as usize] = Some(flight);
        key
    }

    #[inline]
    pub(crate) fn get(&mut self, key: Key) -> &mut Flight {
        self.places[key as usize].as_mut().expect("an engine answers only for what is in flight")
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: Key) -> Flight {
        let flight = self.places[key as usize].take().expect("an engine answers only for what is in flight");
        self.free.push(key);
        flight
    }

    /// All that are in flight.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut Flight)> {
        self.places.iter_mut().enumerate().filter_map(|(key, place)| Some((key as Key, place.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;
    use block::Buf;

    fn file() -> FileId {
        Files::default().add(std::fs::File::open("/dev/null").unwrap().into(), |_, _| false)
    }

    fn flight(job: Job) -> Flight {
        Flight::new(Queue::new(crate::port::PortId(1)), 7, job)
    }

    #[test]
    fn short_reads_go_on_and_the_end_of_the_file_is_told() {
        let read = || flight(Job::Read { file: file(), at: 0, buf: Buf::new(0, 0, 4096) });
        assert_eq!(read().advance(4096), Next::End(Ok(4096)));
        assert_eq!(read().advance(0), Next::End(Err(Failure::UnexpectedEnd)));
        assert_eq!(read().advance(-libc::EINTR), Next::Again);
        assert_eq!(read().advance(-libc::EINVAL), Next::End(Err(Failure::Os(Errno(libc::EINVAL)))));
        let mut partial = read();
        assert_eq!(partial.advance(1000), Next::Again);
        assert_eq!(partial.advance(-libc::EINVAL), Next::End(Err(Failure::UnexpectedEnd)));
        assert_eq!(partial.advance(3096), Next::End(Ok(4096)));
    }

    #[test]
    fn a_cancelled_request_does_not_go_on() {
        let mut write = flight(Job::Write { file: file(), at: 0, buf: Buf::new(0, 0, 4096), durable: false });
        write.cancelled = true;
        assert_eq!(write.advance(512), Next::End(Err(Failure::Canceled)));
        assert_eq!(write.advance(-libc::EINTR), Next::End(Err(Failure::Canceled)));
        assert_eq!(write.advance(4096 - 512), Next::End(Ok(4096)), "but what ended whole has ended well");
    }

    #[test]
    fn a_write_that_moves_nothing_fails_instead_of_spinning() {
        let mut write = flight(Job::Write { file: file(), at: 0, buf: Buf::new(0, 0, 4096), durable: false });
        assert_eq!(write.advance(0), Next::End(Err(Failure::Os(Errno(libc::EIO)))));
    }
}
