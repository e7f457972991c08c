//! Chooses the file of the next request.

use super::ranks::Ranks;
use super::walk::{Region, Walk};
use super::{JobSpec, Turns};
use crate::chance::Chance;

/// Ranked files have this many places each, as in fio: the ranks are spread over the places of all
/// files, so that a file has the sum of its places' weights.
const PLACES: u64 = 1024;

/// Chooses the file of the next request.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    turns: Turns,
    ranks: Option<Ranks>,
    /// The place of rank 0 among the places of all files.
    first: u64,
    /// With [`Turns::BySize`]: the end of each file's blocks among those of all files.
    ends: Vec<u64>,
    each: u32,
    left: u32,
    current: u32,
    /// Files whose walk has ended.
    ended: Vec<bool>,
    ended_count: usize,
}

impl Chooser {
    /// Chooses among files with these regions.
    pub(super) fn new(spec: &JobSpec, regions: &[Region], chance: &mut Chance) -> Chooser {
        let (order, files) = (spec.file_order, regions.len());
        let n = files as u64 * PLACES;
        let ranks = match order.turns {
            Turns::Zipf { theta } => Some(Ranks::zipf(n, theta)),
            Turns::Pareto { h } => Some(Ranks::pareto(n, h)),
            Turns::Normal { width_percent } => Some(Ranks::normal(n, width_percent)),
            _ => None,
        };
        // The most requested file is drawn, unless it is the middle one.
        let first = match order.turns {
            Turns::Zipf { .. } | Turns::Pareto { .. } => chance.below(n.max(1)),
            _ => 0,
        };
        let least = u64::from(spec.reach.least_block()).max(1);
        let end = |end: &mut u64, region: &Region| {
            *end += region.len / least;
            Some(*end)
        };
        let ends = match order.turns {
            Turns::BySize => regions.iter().scan(0, end).collect(),
            _ => Vec::new(),
        };
        // By size, even the first file is drawn.
        let (each, left) = (order.requests_each.max(1), if ends.is_empty() { order.requests_each.max(1) } else { 0 });
        let (turns, ended) = (order.turns, vec![false; files]);
        Chooser { turns, ranks, first, ends, each, left, current: 0, ended, ended_count: 0 }
    }

    /// Makes every file one to choose from again.
    pub(super) fn restart(&mut self) {
        self.ended.fill(false);
        self.ended_count = 0;
        if self.turns == Turns::Sequential {
            self.current = 0;
        }
    }

    /// Whether no file's way goes on.
    pub(super) fn all_ended(&self, walks: &[Walk]) -> bool {
        self.ended.iter().zip(walks).all(|(&ended, walk)| ended || walk.is_over())
    }

    /// Chooses this file no more.
    pub(super) fn end(&mut self, file: u32) {
        let ended = &mut self.ended[file as usize];
        self.ended_count += usize::from(!*ended);
        *ended = true;
        self.left = 0;
    }

    /// The next file whose walk has not ended; `None` if all have.
    #[inline]
    pub(super) fn next(&mut self, chance: &mut Chance) -> Option<u32> {
        let files = self.ended.len() as u32;
        if self.ended_count == self.ended.len() {
            return None;
        }
        if files == 1 {
            return Some(0);
        }
        if self.left == 0 {
            self.left = self.each;
            self.current = match (self.turns, &self.ranks) {
                (Turns::Sequential, _) => self.current,
                (Turns::RoundRobin, _) => (self.current + 1) % files,
                (Turns::BySize, _) => {
                    let block = chance.below(self.ends.last().copied().unwrap_or(1).max(1));
                    self.ends.partition_point(|end| *end <= block) as u32
                }
                (_, Some(ranks)) => {
                    let place = (ranks.draw(chance) + self.first) % (u64::from(files) * PLACES);
                    (place / PLACES) as u32
                }
                (_, None) => chance.below(u64::from(files)) as u32,
            };
            while self.ended[self.current as usize] {
                self.current = (self.current + 1) % files;
            }
        }
        if self.turns != Turns::Sequential {
            self.left -= 1;
        }
        Some(self.current)
    }
}
