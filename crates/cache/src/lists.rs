//! Queues of slots, as links in two arrays; a slot is in at most one queue.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The number of a slot, which holds one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// The links of all slots.
pub(crate) struct Links {
    /// Towards the head: newer.
    newer: Vec<u32>,
    /// Towards the tail: older.
    older: Vec<u32>,
}

/// A queue: new entries at the head, the oldest at the tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub head: u32,
    pub tail: u32,
    pub len: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { head: NONE, tail: NONE, len: 0 }
    }
}

impl Links {
    pub(crate) fn new(slots: u32) -> Links {
        Links { newer: vec![NONE; slots as usize], older: vec![NONE; slots as usize] }
    }

    pub(crate) fn newer(&self, slot: u32) -> u32 {
        self.newer[slot as usize]
    }

    pub(crate) fn push(&mut self, queue: &mut Queue, slot: u32) {
        (self.newer[slot as usize], self.older[slot as usize]) = (NONE, queue.head);
        match queue.head {
            NONE => queue.tail = slot,
            head => self.newer[head as usize] = slot,
        }
        queue.head = slot;
        queue.len += 1;
    }

    pub(crate) fn unlink(&mut self, queue: &mut Queue, slot: u32) {
        let (newer, older) = (self.newer[slot as usize], self.older[slot as usize]);
        match newer {
            NONE => queue.head = older,
            newer => self.older[newer as usize] = older,
        }
        match older {
            NONE => queue.tail = newer,
            older => self.newer[older as usize] = newer,
        }
        queue.len -= 1;
    }
}
