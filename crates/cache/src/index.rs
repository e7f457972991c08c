//! Which slot holds a page: an open-addressing table with linear probing. It has twice as many
//! places as slots, so that probes stay short. A removal moves later entries forward, so there are
//! no tombstones.

use crate::lists::{NONE, Slot};

/// A page of an object. The user decides what an object is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The object.
    pub object: u64,
    /// Number of the page within the object.
    pub page: u64,
}

impl Key {
    /// A mix of both numbers: two rounds of multiplication by odd constants (splitmix64's
    /// finaliser).
    pub fn hash(self) -> u64 {
        let mut x = self.page ^ self.object.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// Slots by key. The keys are stored with the slots (`keys`), so a place takes four bytes.
pub(crate) struct Index {
    places: Vec<u32>,
    mask: usize,
}

impl Index {
    pub(crate) fn new(slots: u32) -> Index {
        let places = (slots as usize * 2).next_power_of_two().max(8);
        Index { places: vec![NONE; places], mask: places - 1 }
    }

    pub(crate) fn find(&self, keys: &[Key], key: Key) -> Option<Slot> {
        self.find_hashed(keys, key, key.hash())
    }

    /// Does the same for a caller that has the key's [`Key::hash`].
    pub(crate) fn find_hashed(&self, keys: &[Key], key: Key, hash: u64) -> Option<Slot> {
        let mut at = hash as usize & self.mask;
        loop {
            match self.places[at] {
                NONE => return None,
                slot if keys[slot as usize] == key => return Some(Slot(slot)),
                _ => at = (at + 1) & self.mask,
            }
        }
    }

    /// Adds a key with this hash, which must not be present.
    pub(crate) fn insert(&mut self, hash: u64, slot: Slot) {
        let mut at = hash as usize & self.mask;
        while self.places[at] != NONE {
            at = (at + 1) & self.mask;
        }
        self.places[at] = slot.0;
    }

    /// Removes a slot. It is searched by its number, so no other slot's key is read.
    pub(crate) fn remove(&mut self, keys: &[Key], hash: u64, slot: Slot) {
        let mut hole = hash as usize & self.mask;
        while self.places[hole] != slot.0 {
            assert!(self.places[hole] != NONE, "only what is there is removed");
            hole = (hole + 1) & self.mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let slot = self.places[at];
            if slot == NONE {
                break;
            }
            // An entry whose probing started at or before the hole may move into it.
            let home = keys[slot as usize].hash() as usize & self.mask;
            if (at.wrapping_sub(home) & self.mask) >= (at.wrapping_sub(hole) & self.mask) {
                self.places[hole] = slot;
                hole = at;
            }
        }
        self.places[hole] = NONE;
    }
}
