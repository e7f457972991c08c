//! Miss-ratio curves by sampling: SHARDS with a fixed number of samples (Waldspurger and others,
//! FAST 2015).
//!
//! A page is sampled if the hash of its key is below a threshold. If there are too many samples,
//! the threshold is lowered and those above it are dropped. The reuse distance of a page is the
//! number of sampled pages accessed since, divided by the sampling rate. The difference between the
//! actual and the expected number of sampled accesses is added to the shortest distance
//! (SHARDS-adj), which removes most of the error that a few very hot pages cause.

use crate::index::Key;
use std::collections::{BTreeMap, HashMap};

/// Steps per doubling of distance: sizes are exact to 4.4 %.
const STEPS: f64 = 16.0;

/// The range of the hash.
const RANGE: u64 = 1 << 32;

/// Samples a stream of page accesses.
pub struct Shards {
    samples_max: usize,
    /// Keys whose hash is below this are sampled.
    threshold: u64,
    /// When each was last accessed, in sampled accesses.
    last: HashMap<Key, u32>,
    /// The same by hash: the highest are dropped first.
    by_hash: BTreeMap<(u64, Key), ()>,
    /// A one at each time in `last`, as a Fenwick tree.
    sums: Vec<u32>,
    now: u32,
    /// Weight by distance.
    distances: BTreeMap<u32, f64>,
    first: f64,
    followed: f64,
    asked: u64,
}

/// The miss ratio of an LRU cache by its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Sizes in pages, and the decreasing miss ratio of a cache of that size.
    pub points: Vec<(u64, f64)>,
    /// Number of accesses.
    pub asked: u64,
    /// Number of distinct pages, estimated.
    pub pages: u64,
}

impl Shards {
    /// Samples at most `samples_max` pages; with 8192 the mean error is below 0.01.
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

    /// Records an access to a page.
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

    /// The resulting curve.
    pub fn curve(&self) -> Curve {
        let adjusted = self.asked as f64 - self.followed;
        let total = (self.asked as f64).max(1.0);
        let mut hits = adjusted;
        let mut points = vec![(0, 1.0)];
        for (step, weight) in &self.distances {
            hits += weight;
            points.push((size_of(*step), (1.0 - hits / total).clamp(0.0, 1.0)));
        }
        // If fewer hot pages are sampled than there are, the correction is negative: the miss ratio
        // must not exceed one.
        let mut least = 1.0f64;
        points.iter_mut().for_each(|point| {
            least = least.min(point.1);
            point.1 = least;
        });
        Curve { points, asked: self.asked, pages: self.first as u64 }
    }

    /// The sum of ones at times up to `time`.
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

    /// Renumbers the times as 0, 1, 2 …
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

    /// Stops sampling the keys with the highest hash.
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
    /// The miss ratio of a cache of `pages` pages.
    pub fn misses(&self, pages: u64) -> f64 {
        let beyond = self.points.partition_point(|point| point.0 <= pages);
        self.points[beyond.max(1) - 1].1
    }
}

fn step_of(distance: f64) -> u32 {
    // A page accessed twice in a row has distance 0, and hits in a cache of one page.
    ((distance + 1.0).log2() * STEPS).ceil() as u32
}

fn size_of(step: u32) -> u64 {
    (f64::from(step) / STEPS).exp2().ceil() as u64
}
