//! The offsets of a job's requests in one file.

use super::permutation::Permutation;
use super::spread::Spread;
use super::{BlockCoverage, Direction, Distribution, Order, PerDirection, Reach, Strides};
use crate::chance::Chance;

/// The part of a file that a job uses, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its first byte in the file.
    pub start: u64,
    /// Its length.
    pub len: u64,
    /// Bytes of the file after it.
    pub beyond: u64,
}

impl Region {
    /// The length of the file.
    fn end_of_file(self) -> u64 {
        self.start.saturating_add(self.len).saturating_add(self.beyond)
    }
}

/// How far a sequential walk may go from where it began, in bytes.
#[derive(Clone, Copy, Debug)]
struct Reachable {
    /// To the end of the region, or as far with strides.
    len: u64,
    /// To the end of the file.
    rest: u64,
}

/// Walks through the region of one file. Offsets are relative to the region's start.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// What is walked through: the whole region, or its current piece.
    region: Region,
    strides: Option<Pieces>,
    order: Order,
    random_percent: PerDirection<u32>,
    spread: PerDirection<Spread>,
    align: PerDirection<u64>,
    least: u64,
    visited: Visited,
    /// Where the last request of each direction ended.
    cursor: PerDirection<u64>,
    /// Requests left in the run that began at the last random offset.
    run_left: u32,
    run_start: u64,
    /// Whether the next request is at a random offset, if that was decided already.
    jumps: Option<bool>,
}

/// State of piecewise use of a region.
#[derive(Clone, Debug)]
struct Pieces {
    whole: Region,
    strides: Strides,
    /// Bytes transferred in this piece.
    moved: u64,
}

/// Blocks visited by random offsets so far, for directions that visit each block once. The requests
/// that follow one in its run are not counted, as in fio. Directions with the same smallest block
/// share a map; others have their own, so that none splits the other's blocks. Empty if offsets may
/// repeat.
#[derive(Clone, Debug)]
struct Visited {
    maps: Vec<Once>,
    of: PerDirection<usize>,
}

/// Blocks visited so far.
#[derive(Clone, Debug)]
enum Once {
    /// All requests have `unit` bytes.
    Order { order: Permutation, unit: u64 },
    /// Sizes differ: a bit for each `unit` bytes.
    Map { bits: Vec<u64>, unit: u64, units: u64, left: u64 },
}

impl Walk {
    /// A walk through `whole` as `reach` describes it.
    pub(crate) fn new(whole: Region, reach: &Reach, chance: &mut Chance) -> Walk {
        let strides = reach.strides.map(|strides| Pieces { whole, strides, moved: 0 });
        let region = match reach.strides {
            Some(strides) => Region { len: strides.range.min(whole.len), beyond: 0, ..whole },
            None => whole,
        };
        let least = u64::from(reach.least_block()).max(1);
        let align = PerDirection::from_fn(|direction| {
            let own = u64::from(reach.blocks[direction].least());
            reach.align[direction].filter(|&align| align > 0).unwrap_or(own).max(1)
        });
        let first = Spread::first(reach, chance);
        let mut walk = Walk {
            region,
            strides,
            order: reach.order,
            random_percent: reach.random_percent,
            spread: PerDirection::from_fn(|direction| {
                Spread::of(&reach.distribution[direction], region.len, align[direction], first)
            }),
            align,
            least,
            visited: Visited::of(reach, region.len, chance),
            cursor: PerDirection::default(),
            run_left: 0,
            run_start: 0,
            jumps: None,
        };
        walk.rewind();
        walk
    }

    /// Whether it is known to have ended: after the last block of a sequential order, or once each
    /// block was visited. It never ends if offsets may repeat; piece by piece it ends only when a
    /// request does not fit.
    pub(crate) fn is_over(&self) -> bool {
        let is_through = |map: &Once| match map {
            Once::Order { order, .. } => order.is_over(),
            Once::Map { left, .. } => *left == 0,
        };
        match self.order {
            _ if self.strides.is_some() => false,
            // What is less than a block at the end is no place.
            Order::Sequential { hole: 0 } => self.cursor.iter().any(|(_, &at)| at + self.least > self.region.len),
            Order::Sequential { .. } => self.cursor.iter().any(|(_, &at)| at >= self.region.len),
            Order::Random { .. } => self.visited.maps.iter().any(is_through),
        }
    }

    /// Restarts the walk.
    pub(crate) fn restart(&mut self, chance: &mut Chance) {
        if let Some(pieces) = &mut self.strides {
            pieces.moved = 0;
            self.region.start = pieces.whole.start;
            self.region.len = pieces.strides.range.min(pieces.whole.len);
        }
        self.begin(chance);
    }

    /// Restarts the region, or its current piece.
    fn begin(&mut self, chance: &mut Chance) {
        self.rewind();
        for map in &mut self.visited.maps {
            match map {
                Once::Order { order, .. } => order.restart(chance),
                Once::Map { bits, units, left, .. } => {
                    bits.fill(0);
                    *left = *units;
                }
            }
        }
    }

    fn rewind(&mut self) {
        self.run_left = 0;
        self.cursor = PerDirection::default();
    }

    /// Decides whether the next request, which must have this direction, is at a random offset.
    pub(crate) fn jumps_next(&mut self, direction: Direction, chance: &mut Chance) -> bool {
        let jumps = self.run_left == 0 && self.order.is_random() && self.draws_a_jump(direction, chance);
        self.jumps = Some(jumps);
        jumps
    }

    fn draws_a_jump(&self, direction: Direction, chance: &mut Chance) -> bool {
        let percent = u64::from(self.random_percent[direction]);
        percent >= 100 || chance.below(100) < percent
    }

    /// The next request of `len` bytes: its offset in the file and its length, which may be shorter
    /// near the end. `None` if the walk has ended.
    #[inline]
    pub(crate) fn next(&mut self, direction: Direction, len: u32, chance: &mut Chance) -> Option<(u64, u32)> {
        if self.strides.is_some() {
            return self.next_in_piece(direction, len, chance);
        }
        self.next_in_region(direction, len, chance)
    }

    /// Moves on to the next piece if enough was transferred in this one, as fio does. Pieces follow
    /// each other to the end of the file, which may lie beyond the region: the region's length is
    /// how much a pass transfers. A sequential walk ends with a last piece that the end of the file
    /// cuts short; random offsets skip such a piece.
    fn next_in_piece(&mut self, direction: Direction, len: u32, chance: &mut Chance) -> Option<(u64, u32)> {
        let pieces = self.strides.as_mut()?;
        let (whole, strides) = (pieces.whole, pieces.strides);
        let range = strides.range.min(whole.len);
        if pieces.moved >= strides.bytes {
            pieces.moved = 0;
            let next = self.region.start.saturating_add(strides.range).saturating_add(strides.skip);
            let least = if self.order.is_random() { range } else { 1 };
            let has_room = next.saturating_add(least) <= whole.end_of_file();
            self.region.start = if has_room { next } else { whole.start };
            self.begin(chance);
        }
        let found = match self.order {
            Order::Sequential { hole } => {
                if self.cursor[direction] >= range {
                    self.cursor[direction] = 0;
                }
                let reachable = Reachable { len: whole.len, rest: whole.end_of_file() - self.region.start };
                self.follow(direction, u64::from(len), hole, reachable)
            }
            Order::Random { .. } => self.next_random(direction, len, chance).or_else(|| {
                self.begin(chance);
                self.next_random(direction, len, chance)
            }),
        };
        let (at, len) = found?;
        if let Some(pieces) = &mut self.strides {
            pieces.moved += len;
        }
        Some((self.region.start + at, len as u32))
    }

    #[inline]
    fn next_in_region(&mut self, direction: Direction, len: u32, chance: &mut Chance) -> Option<(u64, u32)> {
        let (at, len) = match self.order {
            Order::Sequential { hole } => {
                let Region { len: whole, beyond, .. } = self.region;
                let reachable = Reachable { len: whole, rest: whole.saturating_add(beyond) };
                self.follow(direction, u64::from(len), hole, reachable)?
            }
            Order::Random { .. } => self.next_random(direction, len, chance)?,
        };
        Some((self.region.start + at, len as u32))
    }

    #[inline]
    fn next_random(&mut self, direction: Direction, len: u32, chance: &mut Chance) -> Option<(u64, u64)> {
        let wanted = u64::from(len);
        match self.order {
            Order::Random { run: 1, .. } if self.random_percent[direction] >= 100 => {
                self.jump(direction, wanted, chance)
            }
            Order::Random { run, same } => self.jump_or_follow(direction, wanted, run, same, chance),
            Order::Sequential { .. } => None,
        }
    }

    /// The next offset of a sequential order, as in fio. The walk ends at the end of the file. A
    /// step beyond the file wraps to the region's start, and a step back before the region's start
    /// wraps to its end. The first request is at the region's start. In a region that begins within
    /// the file, fio counts two offsets from the file's start and uses them in the region: the
    /// first one when going backwards, and the one that a step beyond the file wraps to.
    ///
    /// ```text
    ///   blocks of 4, holes of 8, a file of 64:  0 12 24 36 48 60 end     holes of 12:  0 16 32 48 0 16 …
    /// ```
    fn follow(
        &mut self,
        direction: Direction,
        wanted: u64,
        hole: i64,
        Reachable { len, rest }: Reachable,
    ) -> Option<(u64, u64)> {
        let start = self.region.start;
        let mut last = self.cursor[direction];
        if last >= rest {
            return None;
        }
        if hole < 0 && last == 0 && start > 0 {
            last = len.checked_sub(start).unwrap_or(len);
        }
        let mut at = Some(last);
        if hole != 0 && last > 0 {
            // fio compares an offset within the region with the size of the file.
            at = last.checked_add_signed(hole).filter(|&at| at < rest.saturating_add(start));
            if at.is_none() {
                at = if hole > 0 { Some(start) } else { len.checked_add_signed(hole) };
            }
        }
        let at = at?;
        let left = len.min(rest).saturating_sub(at);
        // A rest that is too short is cut to whole smallest blocks.
        let len = if left >= wanted { wanted } else { left / self.least * self.least };
        if len == 0 {
            return None;
        }
        self.cursor[direction] = at + len;
        Some((at, len))
    }

    fn jump(&mut self, direction: Direction, wanted: u64, chance: &mut Chance) -> Option<(u64, u64)> {
        match self.visited.maps.get_mut(self.visited.of[direction]) {
            Some(Once::Order { order, unit }) => order.next().map(|number| (number * *unit, wanted)),
            Some(Once::Map { bits, unit, units, left }) => {
                let at = free_place(bits, *units, *left, chance)?;
                let len = take_places(bits, *units, at, wanted.div_ceil(*unit));
                *left -= len;
                Some((at * *unit, (len * *unit).min(wanted)))
            }
            None => {
                let align = self.align[direction];
                let last = self.region.len.checked_sub(wanted)? / align;
                Some((self.spread[direction].draw(last, align, chance), wanted))
            }
        }
    }

    fn jump_or_follow(
        &mut self,
        direction: Direction,
        wanted: u64,
        run: u32,
        same: bool,
        chance: &mut Chance,
    ) -> Option<(u64, u64)> {
        let follows = self.run_left > 0;
        if follows {
            self.run_left -= 1;
            let at = if same { self.run_start } else { self.cursor[direction] };
            if at + wanted <= self.region.len {
                self.cursor[direction] = at + wanted;
                return Some((at, wanted));
            }
        }
        let jumps = self.jumps.take().unwrap_or_else(|| self.draws_a_jump(direction, chance));
        if !jumps {
            let at = self.cursor[direction];
            let at = if at + wanted <= self.region.len { at } else { 0 };
            self.cursor[direction] = at + wanted;
            return (wanted <= self.region.len).then_some((at, wanted));
        }
        let (at, len) = self.jump(direction, wanted, chance)?;
        // A run that meets the end goes on from here with what is left of it, as in fio.
        if !follows {
            self.run_left = run - 1;
        }
        self.run_start = at;
        self.cursor = PerDirection::all(at + len);
        Some((at, len))
    }
}

impl Visited {
    fn of(reach: &Reach, len: u64, chance: &mut Chance) -> Visited {
        let mut found = Visited { maps: Vec::new(), of: PerDirection::default() };
        if !reach.order.is_random() {
            return found;
        }
        let plain = |direction: Direction| {
            reach.distribution[direction] == Distribution::Uniform && reach.random_percent[direction] >= 100
        };
        if reach.coverage == BlockCoverage::Free || !reach.directions().all(plain) {
            return found;
        }
        let mut units: Vec<u32> = Vec::new();
        for direction in reach.directions() {
            let unit = reach.blocks[direction].least();
            let known = units.iter().position(|&other| other == unit);
            found.of[direction] = known.unwrap_or_else(|| {
                units.push(unit);
                units.len() - 1
            });
        }
        found.maps.extend((0..units.len()).map(|map| {
            let together: Vec<Direction> = reach.directions().filter(|&way| found.of[way] == map).collect();
            Once::of(reach, &together, len, chance)
        }));
        found
    }
}

impl Once {
    /// The map for directions with the same smallest block.
    fn of(reach: &Reach, together: &[Direction], len: u64, chance: &mut Chance) -> Once {
        let blocks = || together.iter().map(|&direction| &reach.blocks[direction]);
        let least = blocks().map(|sizes| u64::from(sizes.least())).min().unwrap_or(1).max(1);
        let most = blocks().map(|sizes| u64::from(sizes.most())).max().unwrap_or(1);
        if least == most {
            return Once::Order { order: Permutation::new(len / least, chance), unit: least };
        }
        let units = len / least;
        Once::Map { bits: vec![0; units.div_ceil(64) as usize], unit: least, units, left: units }
    }
}

/// A random place, or the first free one after it, wrapping at the end.
fn free_place(bits: &[u64], units: u64, left: u64, chance: &mut Chance) -> Option<u64> {
    if left == 0 {
        return None;
    }
    let start = chance.below(units);
    let (first, shift) = ((start / 64) as usize, start % 64);
    for step in 0..=bits.len() {
        let index = (first + step) % bits.len();
        let mut free = !bits[index];
        if step == 0 {
            free &= u64::MAX << shift;
        }
        let at = index as u64 * 64 + u64::from(free.trailing_zeros());
        if free != 0 && at < units {
            return Some(at);
        }
    }
    None
}

/// Marks up to `wanted` consecutive free places from `at` on; returns how many there were.
fn take_places(bits: &mut [u64], units: u64, at: u64, wanted: u64) -> u64 {
    let mut taken = 0;
    while taken < wanted && at + taken < units {
        let (index, bit) = (((at + taken) / 64) as usize, 1 << ((at + taken) % 64));
        if bits[index] & bit != 0 {
            break;
        }
        bits[index] |= bit;
        taken += 1;
    }
    taken
}
