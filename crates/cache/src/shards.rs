//! Miss-ratio curves by sampling: SHARDS with a fixed number of samples (Waldspurger and others,
//! FAST 2015).
//!
//! A page is followed if the hash of its key is below a threshold, so that a part of the pages
//! stands for all; when there are too many, the threshold falls and those above it are forgotten.
//! The reuse distance of a page is the number of followed pages asked for since, divided by the
//! part that is followed. What a sample too few or too many counts goes to the shortest distance
//! (SHARDS-adj), which takes out most of what a few very hot pages would do to it.

use crate::index::Key;
use std::collections::{BTreeMap, HashMap};

/// Parts of a doubling of distance that are told apart: sizes are exact to 4.4 %.
const STEPS: f64 = 16.0;

/// The hash's range.
const RANGE: u64 = 1 << 32;

/// Follows a stream of pages.
pub struct Shards {
    samples_max: usize,
    /// Keys whose hash is below are followed.
    threshold: u64,
    /// When each was last asked for, in accesses that were followed.
    last: HashMap<Key, u32>,
    /// The same, by hash: the highest go first.
    by_hash: BTreeMap<(u64, Key), ()>,
    /// Ones at the times of `last`, summed as a Fenwick tree.
    sums: Vec<u32>,
    now: u32,
    /// Weight by distance.
    distances: BTreeMap<u32, f64>,
    first: f64,
    followed: f64,
    asked: u64,
}

/// The part of asks that miss, by the size of an LRU cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Pages, and the share of misses in a cache of that many, falling.
    pub points: Vec<(u64, f64)>,
    /// Pages asked for.
    pub asked: u64,
    /// Different ones, by estimate.
    pub pages: u64,
}

impl Shards {
    /// Follows `samples_max` pages at most; with 8192 the mean error is below a hundredth.
    pub fn new(samples_max: usize) -> Shards {
        Shards {
            samples_max,
            threshold: RANGE,
            last: HashMap::new(),
            by_hash: BTreeMap::new(),
            sums: vec![0; samples_max * 8 + 1],
            now: 0,
            distances: BTreeMap::new(),
            first: 0.0,
            followed: 0.0,
            asked: 0,
        }
    }

    /// A page is asked for.
    pub fn ask(&mut self, key: Key) {
        self.asked += 1;
        let hash = key.hash() >> 32;
        if hash >= self.threshold {
            return;
        }
        if self.now as usize + 1 >= self.sums.len() {
            self.renumber();
        }
        let weight = RANGE as f64 / self.threshold as f64;
        self.followed += weight;
        match self.last.insert(key, self.now) {
            Some(before) => {
                let since = self.last.len() as u32 - self.sum(before);
                *self.distances.entry(step_of(f64::from(since) * weight)).or_default() += weight;
                self.add(before, -1);
            }
            None => {
                self.first += weight;
                self.by_hash.insert((hash, key), ());
            }
        }
        self.add(self.now, 1);
        self.now += 1;
        if self.last.len() > self.samples_max {
            self.forget();
        }
    }

    /// What it came to.
    pub fn curve(&self) -> Curve {
        let adjusted = self.asked as f64 - self.followed;
        let total = (self.asked as f64).max(1.0);
        let mut hits = adjusted;
        let mut points = vec![(0, 1.0)];
        for (step, weight) in &self.distances {
            hits += weight;
            points.push((size_of(*step), (1.0 - hits / total).clamp(0.0, 1.0)));
        }
        // With fewer hot pages followed than there are, the correction is negative: never more than
        // all misses.
        let mut least = 1.0f64;
        points.iter_mut().for_each(|point| {
            least = least.min(point.1);
            point.1 = least;
        });
        Curve { points, asked: self.asked, pages: self.first as u64 }
    }

    /// Ones at times up to `time`.
    fn sum(&self, time: u32) -> u32 {
        let (mut at, mut sum) = (time as usize + 1, 0u32);
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    fn add(&mut self, time: u32, by: i32) {
        let mut at = time as usize + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The times become 0, 1, 2 … again.
    fn renumber(&mut self) {
        let mut times: Vec<(u32, Key)> = self.last.iter().map(|(key, time)| (*time, *key)).collect();
        times.sort_unstable();
        self.sums.fill(0);
        self.now = 0;
        for (_, key) in times {
            self.last.insert(key, self.now);
            self.add(self.now, 1);
            self.now += 1;
        }
    }

    /// Those with the highest hash are followed no more.
    fn forget(&mut self) {
        let Some(((highest, _), ())) = self.by_hash.last_key_value() else { return };
        self.threshold = *highest;
        while let Some(entry) = self.by_hash.last_entry().filter(|entry| entry.key().0 >= self.threshold) {
            let ((_, key), ()) = entry.remove_entry();
            let time = self.last.remove(&key).expect("it is followed");
            self.add(time, -1);
        }
    }
}

impl Curve {
    /// The share of misses of a cache of so many pages.
    pub fn misses(&self, pages: u64) -> f64 {
        let beyond = self.points.partition_point(|point| point.0 <= pages);
        self.points[beyond.max(1) - 1].1
    }
}

fn step_of(distance: f64) -> u32 {
    // A page asked for twice in a row is at distance 0, and in a cache of one page.
    ((distance + 1.0).log2() * STEPS).ceil() as u32
}

fn size_of(step: u32) -> u64 {
    (f64::from(step) / STEPS).exp2().ceil() as u64
}
