//! Records with stable small numbers: a vector, and the numbers that are free again.

use std::ops::{Index, IndexMut};

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

/// A vector whose places are reused. The owner of a number frees it exactly once. A freed record
/// stays as it is until its number is reused, so whoever may hold an old number needs another way
/// to tell that it is stale.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    records: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { records: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores a record and returns its number.
    pub fn add(&mut self, record: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.records[number as usize] = record;
            return number;
        }
        let number = u32::try_from(self.records.len()).unwrap_or(NONE);
        assert!(number != NONE, "more records than 32 bits can number");
        self.records.push(record);
        number
    }

    /// A number to use; its record is as its last user left it, or new.
    pub fn claim(&mut self) -> u32
    where
        T: Default,
    {
        match self.free.pop() {
            Some(number) => number,
            None => self.add(T::default()),
        }
    }

    /// Frees a number, which may be used again.
    pub fn free(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The record, if the number was ever given out.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.records.get(number as usize)
    }

    /// Numbers ever given out, freed ones too.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.records.len() as u32
    }

    /// Records in use.
    pub fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.records[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.records[number as usize]
    }
}
