//! The worker's buffers: page-aligned memory in sizes of a power of two from 4 KiB to 64 MiB.
//!
//! A [`Buf`] is only a claim; anybody can forge one. So every use is checked against the slab's own table, which alone
//! decides what is safe: who may look at a slot's bytes is written there, like a `RefCell` a slot.
//!
//! ```text
//!           take                 fly                       lend
//!   Free ─────────►  Out  ─────────────►  Flying   Out ◄────────► Lent (n readers, or one writer)
//!        ◄─────────       ◄─────────────
//!           give                 land
//! ```

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use block::{Buf, Bytes};

use crate::IoError;
use crate::buddy::{Buddy, ORDERS};
use crate::operation::Memory;
use crate::region::Region;

/// Bytes in a frame, the smallest slot.
const FRAME: usize = 4096;
/// The largest slot: 64 MiB.
const LONGEST: usize = FRAME << (ORDERS - 1);
/// Slots up to this size come from the registered part first: there the fixed costs of an I/O weigh most.
const SMALL: usize = 128 << 10;
/// The kernel takes registered buffers of at most 1 GiB, so a larger part is several. Slots never straddle two, being
/// aligned to their own size.
pub(crate) const REGISTERED_CHUNK: usize = 1 << 30;

pub(crate) struct Slab {
    free: RefCell<Free>,
    /// By frame: the slot that starts there.
    slots: Vec<Cell<Slot>>,
    /// Slots that are not free.
    out: Cell<usize>,
    /// Bytes from the start that are registered with the ring.
    registered: usize,
    region: Region,
}

/// Frames that are nobody's.
struct Free {
    /// In the registered part.
    fixed: Buddy,
    /// In the rest.
    plain: Buddy,
}

/// A slot, kept at its first frame.
#[derive(Clone, Copy)]
struct Slot {
    order: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody's, or no slot starts here.
    Free,
    /// A holder's, with this many readers at the moment.
    Out(u8),
    /// A holder's, being written by it at the moment.
    Written,
    /// The kernel's.
    Flying,
}

impl Slab {
    /// A slab over `region`, of which the first `registered` bytes are registered with the ring.
    pub(crate) fn new(region: Region, registered: usize) -> Slab {
        let frames = (region.len() / FRAME) as u32;
        let border = (registered / FRAME) as u32;
        Slab {
            free: RefCell::new(Free { fixed: Buddy::new(0, border), plain: Buddy::new(border, frames) }),
            slots: vec![Cell::new(Slot { order: 0, state: State::Free }); frames as usize],
            out: Cell::new(0),
            registered,
            region,
        }
    }

    /// Maps the memory for a slab of at least `size`.
    pub(crate) fn map(size: Bytes) -> Result<Region, IoError> {
        Region::map((size.0 as usize).next_multiple_of(FRAME))
    }

    pub(crate) fn take(&self, len: u32) -> Option<Buf> {
        if len as usize > LONGEST {
            return None;
        }
        let order = (len as usize).div_ceil(FRAME).next_power_of_two().trailing_zeros() as u8;
        let Free { fixed, plain } = &mut *self.free.borrow_mut();
        let (first, second) = if FRAME << order <= SMALL { (fixed, plain) } else { (plain, fixed) };
        let frame = first.take(order).or_else(|| second.take(order))?;
        self.slots[frame as usize].set(Slot { order, state: State::Out(0) });
        self.out.set(self.out.get() + 1);
        Some(Buf::new(frame, 0, len))
    }

    /// # Panics
    /// When the slot is not out of this slab, or is being used.
    pub(crate) fn give(&self, buf: &Buf) {
        if buf.is_nothing() {
            return;
        }
        let Slot { order, .. } = self.change(buf, State::Out(0), State::Free);
        self.out.set(self.out.get() - 1);
        let Free { fixed, plain } = &mut *self.free.borrow_mut();
        let part = if (buf.slot() as usize) < self.registered / FRAME { fixed } else { plain };
        part.give(buf.slot(), order);
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.out.get()
    }

    /// # Panics
    /// When the buffer is not out of this slab, reaches beyond its slot, or is being written.
    pub(crate) fn with<R>(&self, buf: &Buf, f: impl FnOnce(&[u8]) -> R) -> R {
        if buf.is_nothing() {
            return f(&[]);
        }
        let before = self.slot(buf).get().state;
        let State::Out(readers @ 0..=254) = before else { refuse(buf, "read", before) };
        let lent = self.lend(buf, before, State::Out(readers + 1));
        // SAFETY: `lend` checked that the bytes lie inside the slot, hence inside the region, which `self` owns and
        // which is mapped and initialised (zeroed). Nobody writes to them while the reader count is above zero: the
        // table refuses a writer, the kernel and the next owner of the slot until `lent` is dropped, after `f`.
        f(unsafe { std::slice::from_raw_parts(lent.start.as_ptr(), buf.len() as usize) })
    }

    /// # Panics
    /// When the buffer is not out of this slab, reaches beyond its slot, or is being used.
    pub(crate) fn with_mut<R>(&self, buf: &Buf, f: impl FnOnce(&mut [u8]) -> R) -> R {
        if buf.is_nothing() {
            return f(&mut []);
        }
        let lent = self.lend(buf, State::Out(0), State::Written);
        // SAFETY: as in `with`; and the table refuses every other reader too until `lent` is dropped, so the slice is
        // the only one, even if somebody forged a second claim on the slot.
        f(unsafe { std::slice::from_raw_parts_mut(lent.start.as_ptr(), buf.len() as usize) })
    }

    /// Gives the slot's bytes to the kernel: until [`Slab::land`] nobody else can reach them.
    ///
    /// # Panics
    /// When the buffer is not out of this slab, reaches beyond its slot, or is being used.
    pub(crate) fn fly(&self, buf: &Buf) {
        self.change(buf, State::Out(0), State::Flying);
    }

    /// Takes the bytes back from the kernel.
    pub(crate) fn land(&self, buf: &Buf) {
        self.change(buf, State::Flying, State::Out(0));
    }

    /// Where a flying buffer's bytes are, from byte `skip` of it on.
    pub(crate) fn memory(&self, buf: &Buf, skip: u32) -> Memory {
        debug_assert_eq!(self.slot(buf).get().state, State::Flying);
        assert!(skip <= buf.len());
        let offset = self.offset(buf) + skip as usize;
        let fixed = (offset < self.registered).then_some((offset / REGISTERED_CHUNK) as u16);
        // SAFETY: `fly` checked that the buffer lies inside its slot, and `skip` lies inside the buffer.
        let start = unsafe { self.region.start().add(offset) };
        Memory { start, len: buf.len() - skip, fixed }
    }

    fn offset(&self, buf: &Buf) -> usize {
        buf.slot() as usize * FRAME + buf.start() as usize
    }

    /// Changes the slot's state until the result is dropped.
    fn lend(&self, buf: &Buf, from: State, to: State) -> Lent<'_> {
        self.change(buf, from, to);
        // SAFETY: `change` checked that the buffer lies inside its slot, and slots lie inside the region.
        let start = unsafe { self.region.start().add(self.offset(buf)) };
        Lent { slab: self, frame: buf.slot(), start }
    }

    fn slot(&self, buf: &Buf) -> &Cell<Slot> {
        self.slots.get(buf.slot() as usize).unwrap_or_else(|| panic!("{buf:?} is not of this slab"))
    }

    /// Moves the slot of `buf` from one state to another; returns it as it was. The one place that lets a state change,
    /// so every use passes its checks: the slot is what the user thinks it is, and the buffer lies inside it.
    fn change(&self, buf: &Buf, from: State, to: State) -> Slot {
        let place = self.slot(buf);
        let slot = place.get();
        if slot.state != from {
            refuse(buf, "used so", slot.state);
        }
        let end = buf.start() as usize + buf.len() as usize;
        assert!(end <= FRAME << slot.order, "{buf:?} reaches beyond its slot of {} bytes", FRAME << slot.order);
        place.set(Slot { state: to, ..slot });
        slot
    }
}

#[cold]
fn refuse(buf: &Buf, used: &str, state: State) -> ! {
    panic!("{buf:?} cannot be {used}: its slot is {state:?}")
}

/// A slot in use by [`Slab::with`] or [`Slab::with_mut`]; ends the use also when the user panics.
struct Lent<'a> {
    slab: &'a Slab,
    frame: u32,
    start: NonNull<u8>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let place = &self.slab.slots[self.frame as usize];
        let slot = place.get();
        // Readers may end in any order, so count down from what it is now.
        let state = match slot.state {
            State::Out(readers @ 1..) => State::Out(readers - 1),
            _ => State::Out(0),
        };
        place.set(Slot { state, ..slot });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slab(frames: usize, registered: usize) -> Slab {
        Slab::new(Slab::map(Bytes((frames * FRAME) as u64)).unwrap(), registered * FRAME)
    }

    #[test]
    fn small_slots_come_from_the_registered_part_and_large_ones_do_not() {
        // 64 frames registered of 256. A slot of 256 KiB is 64 frames, more than SMALL.
        let slab = slab(256, 64);
        let small = slab.take(4096).unwrap();
        let large = slab.take(256 << 10).unwrap();
        assert!((small.slot() as usize) < 64);
        assert!((large.slot() as usize) >= 64);
        slab.fly(&small);
        slab.fly(&large);
        assert_eq!(slab.memory(&small, 0).fixed, Some(0));
        assert_eq!(slab.memory(&large, 0).fixed, None);
        slab.land(&small);
        slab.land(&large);
        slab.give(&small);
        slab.give(&large);
        assert_eq!(slab.outstanding(), 0);
    }

    #[test]
    fn a_full_slab_says_so_and_serves_again_after_a_return() {
        let slab = slab(4, 0);
        let all: Vec<Buf> = std::iter::from_fn(|| slab.take(1)).collect();
        assert_eq!(all.len(), 4);
        assert!(slab.take(1).is_none());
        all.iter().for_each(|buf| slab.give(buf));
        assert_eq!(slab.take(16 << 10).map(|buf| buf.len()), Some(16 << 10));
        assert!(slab.take(u32::MAX).is_none());
    }

    #[test]
    fn a_window_reaches_its_bytes_alone() {
        let slab = slab(4, 0);
        let buf = slab.take(8192).unwrap();
        slab.with_mut(&buf, |bytes| bytes.fill(1));
        let buf = buf.window(100, 50);
        slab.with_mut(&buf, |bytes| bytes.fill(2));
        let buf = buf.window(0, 8192);
        slab.with(&buf, |bytes| {
            assert_eq!(bytes.iter().filter(|&&byte| byte == 2).count(), 50);
            assert_eq!((bytes[99], bytes[100], bytes[149], bytes[150]), (1, 2, 2, 1));
        });
        slab.give(&buf);
    }

    #[test]
    fn readers_may_nest() {
        let slab = slab(1, 0);
        let buf = slab.take(4096).unwrap();
        let sum = slab.with(&buf, |one| slab.with(&buf, |two| one.len() + two.len()));
        assert_eq!(sum, 8192);
        slab.with_mut(&buf, |bytes| bytes[0] = 1);
        slab.give(&buf);
    }

    /// Forged claims must not reach memory that somebody else holds.
    #[test]
    fn forged_claims_are_refused() {
        let refused = |misuse: fn(&Slab, Buf)| {
            let slab = slab(4, 0);
            let buf = slab.take(4096).unwrap();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| misuse(&slab, buf)));
            assert!(outcome.is_err());
        };
        refused(|slab, buf| slab.with(&buf, |_| slab.with_mut(&Buf::new(buf.slot(), 0, 1), |_| ())));
        refused(|slab, buf| slab.with_mut(&buf, |_| slab.with(&Buf::new(buf.slot(), 0, 1), |_| ())));
        refused(|slab, buf| slab.with(&Buf::new(buf.slot(), 1, 4096), |_| ()));
        refused(|slab, _| slab.with(&Buf::new(1000, 0, 1), |_| ()));
        refused(|slab, buf| {
            slab.give(&buf);
            slab.with(&buf, |_| ());
        });
        refused(|slab, buf| {
            slab.fly(&buf);
            slab.with(&Buf::new(buf.slot(), 0, 1), |_| ());
        });
        refused(|slab, buf| {
            slab.fly(&buf);
            slab.give(&buf);
        });
        refused(|slab, buf| slab.with(&buf, |_| slab.give(&Buf::new(buf.slot(), 0, 1))));
    }

    proptest! {
        /// Every holder finds its own pattern again after all others have written theirs, and all comes back.
        #[test]
        fn slots_never_overlap_and_all_come_back(
            registered in 0usize..=64,
            sizes in proptest::collection::vec(1u32..100_000, 1..60),
        ) {
            let slab = slab(64, registered);
            let whole = slab.take(128 << 10).map(|buf| slab.give(&buf)).is_some();
            let mut held = Vec::new();
            for (number, len) in sizes.into_iter().enumerate() {
                if let Some(buf) = slab.take(len) {
                    prop_assert_eq!(buf.len(), len);
                    slab.with_mut(&buf, |bytes| bytes.fill(number as u8));
                    held.push((number as u8, buf));
                }
            }
            for (number, buf) in held {
                prop_assert!(slab.with(&buf, |bytes| bytes.iter().all(|&byte| byte == number)));
                slab.give(&buf);
            }
            prop_assert_eq!(slab.outstanding(), 0);
            prop_assert_eq!(slab.take(128 << 10).is_some(), whole);
        }
    }
}
