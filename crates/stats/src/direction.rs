//! Which way data goes, and one value for each way.

use std::ops::{Index, IndexMut};

/// What a request of a job does to its data. Flushes are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
    /// Gives space back.
    Trim,
}

impl Direction {
    /// All of them, in the order that reports use.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Its name in reports: `read`, `write`, `trim`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The same for all.
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    /// Each made by `f`.
    pub fn from_fn(mut f: impl FnMut(Direction) -> T) -> PerDirection<T> {
        PerDirection { read: f(Direction::Read), write: f(Direction::Write), trim: f(Direction::Trim) }
    }

    /// Each value with its direction.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL.into_iter().map(|direction| (direction, &self[direction]))
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }
}
