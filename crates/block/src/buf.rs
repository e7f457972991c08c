//! A claim on memory that a worker's slab owns.

/// A piece of the worker's slab. It is move-only, so its holder is its only user; while the kernel
/// works on it, nobody holds it. The memory is reached through the slab that gave it out, and must
/// be given back there.
///
/// There is no `Drop`, because the slab cannot be reached from here. A slab counts the buffers that
/// are out, and tests check that the count returns to zero.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a buffer must be given back to the slab that it came from"]
pub struct Buf {
    slot: u32,
    start: u32,
    len: u32,
}

impl Buf {
    const NOWHERE: u32 = u32::MAX;

    /// A slab's claim on its slot: `len` bytes from byte `start` of the slot.
    pub const fn new(slot: u32, start: u32, len: u32) -> Buf {
        Buf { slot, start, len }
    }

    /// A buffer without memory behind it, for targets that carry no data (simulated devices).
    pub const fn nothing(len: u32) -> Buf {
        Buf { slot: Buf::NOWHERE, start: 0, len }
    }

    /// Whether there is no memory behind it: see [`Buf::nothing`].
    pub const fn is_nothing(&self) -> bool {
        self.slot == Buf::NOWHERE
    }

    /// The slot's number in the slab.
    pub const fn slot(&self) -> u32 {
        self.slot
    }

    /// First byte within the slot.
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// Its length in bytes.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same slot, narrowed or widened to `len` bytes from `start`. The slab checks the bounds
    /// when the buffer is used.
    pub fn window(self, start: u32, len: u32) -> Buf {
        Buf { start, len, ..self }
    }
}
