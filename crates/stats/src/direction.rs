//! The direction of a transfer, and a value for each direction.

use std::ops::{Index, IndexMut};

/// The direction of a job's request. Flushes are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
    /// Releases space.
    Trim,
}

impl Direction {
    /// All directions, in the order of reports.
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
    /// The same value for all directions.
    pub fn all(value: T) -> PerDirection<T>
    where
        T: Clone,
    {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }

    /// The values that `f` returns.
    pub fn from_fn(mut f: impl FnMut(Direction) -> T) -> PerDirection<T> {
        PerDirection { read: f(Direction::Read), write: f(Direction::Write), trim: f(Direction::Trim) }
    }

    /// All values with their directions.
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
