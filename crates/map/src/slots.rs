//! A table with reused numbers, and a hash for numbers.

use slab::Slab;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values by number. Numbers are reused.
pub struct Slots<T>(Slab<T>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(Slab::new())
    }
}

impl<T> Slots<T> {
    /// Adds a value and returns its number.
    pub fn add(&mut self, thing: T) -> u32 {
        self.0.insert(thing) as u32
    }

    /// Removes a value.
    ///
    /// # Panics
    /// If there is none.
    pub fn take(&mut self, number: u32) -> T {
        self.0.remove(number as usize)
    }

    /// The value of a number.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, number: u32) -> &T {
        &self.0[number as usize]
    }

    /// The value of a number, for changing it.
    ///
    /// # Panics
    /// If there is none.
    pub fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A map by numbers that no attacker can choose.
pub(crate) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Multiplies and folds. A look-up costs a few nanoseconds, where the standard hash costs twenty.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
