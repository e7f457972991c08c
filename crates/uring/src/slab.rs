//! The worker's buffers: page-aligned memory in sizes of a power of two from 4 KiB to 64 MiB.
//!
//! A [`Buf`] is only a claim, and anybody can forge one. So every use is checked against the slab's
//! own table, which alone decides what is safe. It records who may access a slot's bytes, like a
//! `RefCell` for each slot.
//!
//! ```text
//!           take                 fly                       lend
//!   Free ─────────►  Out  ─────────────► InFlight  Out ◄────────► Lent (n readers, or one writer)
//!        ◄─────────       ◄─────────────
//!           give                 land
//! ```
//! A slot may be a view of bytes elsewhere, in the page cache or in Seawall's own cache
//! ([`crate::view`]). Then its bytes cannot be accessed here; only a send can use them.
//! [`Slab::fetch`] copies them into the slot's memory.
//!
//! ```text
//!           view                    send
//!   Out ─────────►  Standing  ◄─────────────►  Leaving
//!       ◄─────────              land
//!         fetch
//! ```

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use block::{Buf, Bytes};

use crate::buddy::{Buddy, ORDERS};
use crate::idle::Idle;
use crate::operation::Memory;
use crate::region::Region;
use crate::view::View;
use crate::{Failure, IoError};

/// Bytes in a frame, the smallest slot.
const FRAME: usize = 4096;
/// The largest slot: 64 MiB.
const LONGEST: usize = FRAME << (ORDERS - 1);
/// Slots up to this size come from the registered part first, since the fixed costs of an I/O weigh
/// most there.
const SMALL: usize = 128 << 10;
/// A registered buffer of the kernel has at most 1 GiB, so a larger part takes several. Slots never
/// straddle two of them, being aligned to their own size.
pub(crate) const REGISTERED_CHUNK: usize = 1 << 30;

pub(crate) struct Slab {
    free: RefCell<Free>,
    /// By frame: the slot that starts there.
    slots: Vec<Cell<Slot>>,
    /// What slots are views of.
    views: RefCell<Standing>,
    /// Slots that are not free.
    out: Cell<usize>,
    /// Which parts of the memory are unused, and for how long.
    idle: RefCell<Idle>,
    /// Bytes, from the start, that are registered with the ring.
    registered: usize,
    region: Region,
}

/// Free frames.
struct Free {
    /// In the registered part.
    fixed: Buddy,
    /// In the rest.
    plain: Buddy,
}

/// A slot, recorded at its first frame.
#[derive(Clone, Copy)]
struct Slot {
    order: u8,
    state: State,
    /// Index of its views, while it is standing or leaving.
    views: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Free, or no slot starts here.
    Free,
    /// Held, with this many readers at present.
    Out(u8),
    /// Held, and being written by the holder.
    Written,
    /// In use by the kernel.
    InFlight,
    /// Held, and a view: such bytes as it may show are elsewhere.
    Standing,
    /// A view that the kernel is sending: its bytes are elsewhere.
    Leaving,
}

/// What one slot is a view of.
#[derive(Default)]
struct Views {
    /// At least one, in the order of the slot's bytes.
    pieces: Vec<View>,
    /// The bytes were copied into the slot's memory, which is used from now on.
    copied: bool,
}

/// The views of all slots. Free places are kept for their memory.
#[derive(Default)]
struct Standing {
    places: Vec<Views>,
    free: Vec<u32>,
}

impl Standing {
    fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(Views::default());
            self.places.len() as u32 - 1
        })
    }

    fn remove(&mut self, place: u32) {
        let views = &mut self.places[place as usize];
        views.pieces.clear();
        views.pieces.shrink_to(SPARE_PIECES);
        views.copied = false;
        self.free.push(place);
    }

    fn of(&self, slot: Slot) -> &Views {
        &self.places[slot.views as usize]
    }
}

/// The capacity for pieces that is kept in a free place.
const SPARE_PIECES: usize = 16;

/// Identifies the view of a buffer, even after the buffer was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewId {
    frame: u32,
    number: u64,
}

impl Slab {
    /// A slab over `region`, of which the first `registered` bytes are registered with the ring.
    pub(crate) fn new(region: Region, registered: usize) -> Slab {
        let frames = (region.len() / FRAME) as u32;
        let border = (registered / FRAME) as u32;
        Slab {
            free: RefCell::new(Free { fixed: Buddy::new(0, border), plain: Buddy::new(border, frames) }),
            slots: vec![Cell::new(Slot { order: 0, state: State::Free, views: 0 }); frames as usize],
            views: RefCell::default(),
            out: Cell::new(0),
            // The registered memory is pinned and never returned.
            idle: RefCell::new(Idle::new(registered..region.len())),
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
        self.slots[frame as usize].set(Slot { order, state: State::Out(0), views: 0 });
        self.out.set(self.out.get() + 1);
        // Registered memory is pinned and is never returned to the system.
        if !self.is_registered(frame) {
            self.idle.borrow_mut().take(frame as usize * FRAME, FRAME << order);
        }
        Some(Buf::new(frame, 0, len))
    }

    /// # Panics
    /// If the slot is not out of this slab, or is in use.
    pub(crate) fn give(&self, buf: &Buf) {
        if buf.is_nothing() {
            return;
        }
        let from = match self.slot(buf).get().state {
            State::Standing => State::Standing,
            _ => State::Out(0),
        };
        let Slot { order, views, .. } = self.change(buf, from, State::Free);
        if from == State::Standing {
            self.views.borrow_mut().remove(views);
        }
        self.out.set(self.out.get() - 1);
        let Free { fixed, plain } = &mut *self.free.borrow_mut();
        if self.is_registered(buf.slot()) {
            fixed.give(buf.slot(), order);
        } else {
            self.idle.borrow_mut().give(buf.slot() as usize * FRAME, FRAME << order);
            plain.give(buf.slot(), order);
        }
    }

    fn is_registered(&self, frame: u32) -> bool {
        (frame as usize) < self.registered / FRAME
    }

    /// Returns memory to the system that was unused for the last few calls; see
    /// [`crate::Io::give_back`].
    pub(crate) fn give_back(&self, most: Bytes, unused: u8) -> Bytes {
        let mut given = 0;
        let mut idle = self.idle.borrow_mut();
        idle.look();
        while given < most.0 as usize
            && let Some(part) = idle.next(unused)
        {
            given += part.len();
            // SAFETY: `idle` knows of every slot that is out, and returns only parts without any:
            // no slice into them exists, the kernel has none of them, and the next owner of a slot
            // is told that its bytes are unspecified. A part consists of whole frames.
            unsafe { self.region.give_back(part.start, part.len()) };
        }
        Bytes(given as u64)
    }

    pub(crate) fn size(&self) -> Bytes {
        Bytes(self.region.len() as u64)
    }

    /// Whether there may be something to return, now or later.
    pub(crate) fn holds_idle(&self) -> bool {
        self.idle.borrow().holds_some()
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.out.get()
    }

    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is being written.
    pub(crate) fn with<R>(&self, buf: &Buf, f: impl FnOnce(&[u8]) -> R) -> R {
        if buf.is_nothing() {
            return f(&[]);
        }
        let before = self.slot(buf).get().state;
        let State::Out(readers @ 0..=254) = before else { refuse(buf, "read", before) };
        let lent = self.lend(buf, before, State::Out(readers + 1));
        // SAFETY: `lend` checked that the bytes lie inside the slot, hence inside the region, which
        // `self` owns and which is mapped and initialised (zeroed). Nobody writes to them while the
        // reader count is above zero: the table refuses a writer, the kernel and the next owner of
        // the slot until `lent` is dropped, after `f`.
        f(unsafe { std::slice::from_raw_parts(lent.start.as_ptr(), buf.len() as usize) })
    }

    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use.
    pub(crate) fn with_mut<R>(&self, buf: &Buf, f: impl FnOnce(&mut [u8]) -> R) -> R {
        if buf.is_nothing() {
            return f(&mut []);
        }
        let lent = self.lend(buf, State::Out(0), State::Written);
        // SAFETY: as in `with`; and the table refuses every other reader too until `lent` is
        // dropped, so the slice is the only one, even if a second claim were forged on the slot.
        f(unsafe { std::slice::from_raw_parts_mut(lent.start.as_ptr(), buf.len() as usize) })
    }

    /// Hands the slot's bytes to the kernel; until [`Slab::land`] nobody else can access them.
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use.
    pub(crate) fn fly(&self, buf: &Buf) {
        self.change(buf, State::Out(0), State::InFlight);
    }

    /// Does the same for bytes that the kernel only reads. They may be those of the slot's view.
    ///
    /// # Panics
    /// As [`Slab::fly`].
    pub(crate) fn leave(&self, buf: &Buf) {
        match self.slot(buf).get().state {
            State::Standing => self.change(buf, State::Standing, State::Leaving),
            _ => self.change(buf, State::Out(0), State::InFlight),
        };
    }

    /// Takes the bytes back from the kernel.
    pub(crate) fn land(&self, buf: &Buf) {
        let slot = self.slot(buf).get();
        if slot.state != State::Leaving {
            self.change(buf, State::InFlight, State::Out(0));
            return;
        }
        let mut views = self.views.borrow_mut();
        let to = if views.of(slot).copied { State::Out(0) } else { State::Standing };
        if to == State::Out(0) {
            views.remove(slot.views);
        }
        self.change(buf, State::Leaving, to);
    }

    /// Makes the buffer a view of what `add` appends, which must be as long as the buffer, if `add`
    /// returns true. Other views of the same slot stay.
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use.
    pub(crate) fn stand(&self, buf: &Buf, add: impl FnOnce(&mut Vec<View>) -> bool) -> bool {
        let mut views = self.views.borrow_mut();
        let slot = self.slot(buf).get();
        if slot.state == State::Standing {
            self.change(buf, State::Standing, State::Standing);
            return add(&mut views.places[slot.views as usize].pieces);
        }
        self.change(buf, State::Out(0), State::Standing);
        let place = views.add();
        self.slot(buf).set(Slot { state: State::Standing, views: place, ..slot });
        let is_added = add(&mut views.places[place as usize].pieces);
        if !is_added {
            views.remove(place);
            self.change(buf, State::Standing, State::Out(0));
        }
        is_added
    }

    /// The buffer's view, if it is one.
    pub(crate) fn view(&self, buf: &Buf) -> Option<ViewId> {
        if buf.is_nothing() {
            return None;
        }
        let slot = self.slot(buf).get();
        self.standing(slot).map(|number| ViewId { frame: buf.slot(), number })
    }

    /// Whether there is still a buffer with this view.
    pub(crate) fn shows(&self, id: ViewId) -> bool {
        self.standing(self.slots[id.frame as usize].get()) == Some(id.number)
    }

    /// The number of a slot's view.
    fn standing(&self, slot: Slot) -> Option<u64> {
        if !matches!(slot.state, State::Standing | State::Leaving) {
            return None;
        }
        let views = self.views.borrow();
        Some(views.of(slot)).filter(|views| !views.copied).map(|views| views.pieces[0].number)
    }

    /// Copies the bytes of a view into its slot, even while it is being sent: further operations of
    /// the send take them from there. Does nothing if no buffer has this view any more.
    ///
    /// A send that was prepared before still takes the file's bytes. It does so with the next enter
    /// and not later (it does not wait), and before anything that is prepared from now on. So a
    /// write that reuses the place in the file comes after it.
    pub(crate) fn fetch(&self, id: ViewId) -> Result<(), Failure> {
        if !self.shows(id) {
            return Ok(());
        }
        let mut views = self.views.borrow_mut();
        let place = &self.slots[id.frame as usize];
        let slot = place.get();
        let shown = &mut views.places[slot.views as usize];
        for view in &shown.pieces {
            // SAFETY: `stand` got a buffer that `change` found inside its slot, and the view begins
            // where that begins.
            let to = unsafe { self.region.start().add(id.frame as usize * FRAME + view.start as usize) };
            // SAFETY: a view is as long as its buffer, which lies inside its slot. Nobody reads or
            // writes the slot's memory in these two states: the table refuses all callers, and the
            // kernel uses the file's bytes.
            unsafe { view.copy(to) }?;
        }
        match slot.state {
            // The kernel may be using the file's bytes: the mapping stays until the send has ended.
            State::Leaving => shown.copied = true,
            _ => {
                views.remove(slot.views);
                place.set(Slot { state: State::Out(0), ..slot });
            }
        }
        Ok(())
    }

    /// Where the bytes of a buffer in flight are in its slot, from byte `skip` of it on.
    pub(crate) fn memory(&self, buf: &Buf, skip: u32) -> Memory {
        debug_assert!(matches!(self.slot(buf).get().state, State::InFlight | State::Leaving));
        assert!(skip <= buf.len());
        let offset = self.offset(buf) + skip as usize;
        let fixed = (offset < self.registered).then_some((offset / REGISTERED_CHUNK) as u16);
        // SAFETY: `fly` checked that the buffer lies inside its slot, and `skip` lies inside the
        // buffer.
        let start = unsafe { self.region.start().add(offset) };
        Memory { start, len: buf.len() - skip, fixed }
    }

    /// Where the bytes of a buffer that is in flight or leaving are, from its byte `skip` on, piece
    /// by piece and in order, for reading only. `add` returns whether it wants another piece. The
    /// result says whether the bytes may change while they are there.
    ///
    /// # Panics
    /// If the buffer shows more than its slot's views cover.
    pub(crate) fn pieces(&self, buf: &Buf, skip: u32, mut add: impl FnMut(Memory) -> bool) -> bool {
        let (views, slot) = (self.views.borrow(), self.slot(buf).get());
        let shown = (slot.state == State::Leaving).then(|| views.of(slot)).filter(|views| !views.copied);
        let Some(shown) = shown else {
            add(self.memory(buf, skip));
            return false;
        };
        let (mut place, end) = (buf.start() + skip, buf.start() + buf.len());
        let first = shown.pieces.partition_point(|view| view.end() <= place);
        let mut pieces = shown.pieces[first..].iter();
        while place < end {
            let memory = pieces.next().and_then(|view| view.memory(place, end - place));
            let memory = memory.unwrap_or_else(|| panic!("{buf:?} shows more than its slot stands for"));
            place += memory.len;
            if !add(memory) {
                break;
            }
        }
        shown.pieces.iter().any(View::may_change)
    }

    fn offset(&self, buf: &Buf) -> usize {
        buf.slot() as usize * FRAME + buf.start() as usize
    }

    /// Changes the slot's state until the result is dropped.
    fn lend(&self, buf: &Buf, from: State, to: State) -> Lent<'_> {
        self.change(buf, from, to);
        // SAFETY: `change` checked that the buffer lies inside its slot, and slots lie inside the
        // region.
        let start = unsafe { self.region.start().add(self.offset(buf)) };
        Lent { slab: self, frame: buf.slot(), start }
    }

    fn slot(&self, buf: &Buf) -> &Cell<Slot> {
        self.slots.get(buf.slot() as usize).unwrap_or_else(|| panic!("{buf:?} is not of this slab"))
    }

    /// Moves the slot of `buf` from one state to another; returns the slot as it was. Every change
    /// of state goes through here, so every use is checked: the slot is in the state that the user
    /// expects, and the buffer lies inside it.
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

/// A slot in use by [`Slab::with`] or [`Slab::with_mut`]. Dropping it ends the use, even in a
/// panic.
struct Lent<'a> {
    slab: &'a Slab,
    frame: u32,
    start: NonNull<u8>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let place = &self.slab.slots[self.frame as usize];
        let slot = place.get();
        // Readers may end in any order, so count down from the current number.
        let state = match slot.state {
            State::Out(readers @ 1..) => State::Out(readers - 1),
            _ => State::Out(0),
        };
        place.set(Slot { state, ..slot });
    }
}

#[cfg(test)]
mod tests;
