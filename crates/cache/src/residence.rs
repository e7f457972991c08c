//! The hit ratio of a page cache, computed from how often each page is visited, without simulation.
//!
//! ```text
//!   comes in ──────────── life ────────────► evicted ──── 1 / rate ────► comes in again
//!   there: rate × life / (1 + rate × life)          Σ pages × there = room
//! Visits are random (Poisson), and all pages of a class are visited equally often. The life of a
//! page depends on one characteristic time, common to all pages, such that the expected number of
//! resident pages is the room.
//! many as have room.
//! - **Least recently used**: a page is evicted when it was not visited for that time, `life =
//!   (exp(rate × time) - 1) / rate`, so that `1 - exp(-rate × time)` of its visits are hits (Che,
//!   Tung, Wang 2002).
//! - **Clock**: a hand decrements each page's count as it passes, and evicts a page whose count is
//!   zero. The time is that of one round of the hand, and a page is inserted right behind it. A
//!   touch increments the count, up to a maximum (PostgreSQL: 5). With `p(n)` the probability of
//!   `n` visits in a round (Poisson), getting from count `c` to the one below takes `h(c)` rounds,
//!   `p(0) h(c) = 1 + Σ p(n) Σ h(j)`, the inner sum over `c < j < min(c + n × touches, most)`; a
//!   life is the sum of all `h` up to the count after the first visit.
//!
//! A second level with LRU (such as a host's page cache) sees only the misses of the first level:
//! it hits if a page returns within its own time, and no page returns before its life in the first
//! level is over.

/// Pages that are visited equally often.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageClass {
    /// The number of pages.
    pub pages: f64,
    /// Visits of all of them together per unit of time, which is the same for all classes.
    pub visits: f64,
    /// Accesses to the page in one visit, at least one; only the first can miss.
    pub touches: f64,
}

impl PageClass {
    /// Visits to one page per unit of time.
    fn rate(&self) -> f64 {
        if self.pages > 0.0 { self.visits / self.pages } else { 0.0 }
    }
}

/// The replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The least recently visited page.
    LeastRecent,
    /// A clock, whose pages count touches up to a maximum.
    Clock {
        /// The maximum count.
        most: u8,
    },
}

/// A cache in equilibrium with its accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residence {
    by: Replacement,
    /// The characteristic time in units; infinite if all pages fit.
    time: f64,
}

/// A second level behind it, in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondResidence {
    first: Residence,
    time: f64,
}

/// Bisection steps of the search for the time, and the powers of ten of the unit that bound it.
const HALVES: usize = 80;
const POWERS: [f64; 2] = [-6.0, 15.0];

/// The time at which `there` reaches `room`; infinite if it never does.
fn balance(room: f64, there: impl Fn(f64) -> f64) -> f64 {
    let [mut low, mut high] = POWERS;
    if there(10f64.powf(high)) <= room {
        return f64::INFINITY;
    }
    for _ in 0..HALVES {
        let middle = f64::midpoint(low, high);
        *(if there(10f64.powf(middle)) < room { &mut low } else { &mut high }) = middle;
    }
    10f64.powf(low)
}

impl Residence {
    /// A cache of `room` pages for these classes. `passing` pages per unit of time are inserted in
    /// addition and never accessed again.
    pub fn new(classes: &[PageClass], passing: f64, room: f64, by: Replacement) -> Residence {
        let there = |time: f64| {
            let at = Residence { by, time };
            let stays = match by {
                Replacement::LeastRecent => time,
                Replacement::Clock { most } => time * (f64::from(most) + 1.0),
            };
            classes.iter().map(|class| class.pages * at.there(class)).sum::<f64>() + passing * stays
        };
        Residence { by, time: balance(room, there) }
    }

    /// How long a page of that class stays after it was inserted, in units of time.
    pub fn life(&self, class: &PageClass) -> f64 {
        let (rate, time) = (class.rate(), self.time);
        match self.by {
            _ if time.is_infinite() => f64::INFINITY,
            Replacement::LeastRecent if rate * time < 1e-9 => time,
            Replacement::LeastRecent => (rate * time).exp_m1() / rate,
            Replacement::Clock { most } => {
                // Interpolates between the lives for whole numbers of touches.
                let touches = class.touches.max(1.0);
                let [less, more] = [touches.floor(), touches.ceil()].map(|touches| clock(rate, time, touches, most));
                if less.is_infinite() { less } else { less + (more - less) * touches.fract() }
            }
        }
    }

    /// The miss ratio of that class's visits.
    pub fn missing(&self, class: &PageClass) -> f64 {
        match class.rate() {
            // A class without pages never misses; pages that are never visited are not resident.
            rate if rate <= 0.0 => f64::from(u8::from(class.pages > 0.0)),
            rate => 1.0 / (1.0 + rate * self.life(class)),
        }
    }

    /// The fraction of the class's pages that are resident.
    fn there(&self, class: &PageClass) -> f64 {
        if class.pages > 0.0 { 1.0 - self.missing(class) } else { 0.0 }
    }

    /// A second level of `room` pages with LRU, accessed by the misses of this one. `passing` pages
    /// per unit of time pass through it in addition.
    pub fn second(&self, classes: &[PageClass], passing: f64, room: f64) -> SecondResidence {
        let there = |time: f64| {
            let second = SecondResidence { first: *self, time };
            classes.iter().map(|class| class.pages * second.there(class)).sum::<f64>() + passing * time
        };
        SecondResidence { first: *self, time: balance(room, there) }
    }
}

/// With more visits than this in a round, the probability of no visit is not representable.
const VISITS_MOST: f64 = 700.0;

/// The life of a page by the clock, from its first visit on.
fn clock(rate: f64, time: f64, touches: f64, most: u8) -> f64 {
    let (most, touches) = (usize::from(most), touches as usize);
    let visits = rate * time;
    if visits > VISITS_MOST {
        return f64::INFINITY;
    }
    // The probability of each relevant number of visits; the last one includes all greater numbers.
    let mut chance = vec![(-visits).exp()];
    (1..most).for_each(|number| chance.push(chance[number - 1] * visits / number as f64));
    chance.push((1.0 - chance.iter().sum::<f64>()).max(0.0));
    // Rounds from each count to the one below, from the maximum down.
    let mut down = vec![1.0; most + 1];
    for count in (0..most).rev() {
        let again = |(number, chance): (usize, &f64)| {
            let then = (count + number * touches).min(most);
            chance * down[count + 1..then].iter().sum::<f64>()
        };
        down[count] = (1.0 + chance.iter().enumerate().skip(1).map(again).sum::<f64>()) / chance[0];
    }
    time * down[..=touches.min(most)].iter().sum::<f64>()
}

impl SecondResidence {
    /// The fraction of the first level's misses that also miss this one.
    pub fn missing(&self, class: &PageClass) -> f64 {
        match (self.first.life(class), self.time) {
            // It never gets here.
            (life, _) if life.is_infinite() => 1.0,
            (_, time) if time.is_infinite() => 0.0,
            (life, time) => (-class.rate() * (time - life).max(0.0)).exp(),
        }
    }

    /// The fraction of the class's pages that are resident: the part of the interval between two
    /// misses of the first level that is within this level's time.
    fn there(&self, class: &PageClass) -> f64 {
        let (rate, life) = (class.rate(), self.first.life(class));
        if rate <= 0.0 || life.is_infinite() {
            return 0.0;
        }
        let round = life + 1.0 / rate;
        let within = match self.time - life {
            beyond if beyond > 0.0 => life + -(-rate * beyond).exp_m1() / rate,
            _ => self.time,
        };
        within / round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Eviction, Key, PartitionId};
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// As in order entry: a few pages that every transaction visits, some that many visit, and many
    /// that few visit.
    const CLASSES: [PageClass; 3] = [
        PageClass { pages: 50.0, visits: 5.0, touches: 1.0 },
        PageClass { pages: 1000.0, visits: 3.0, touches: 2.0 },
        PageClass { pages: 20_000.0, visits: 6.0, touches: 3.0 },
    ];
    const VISITS: usize = 400_000;

    /// The class and the page of random visits.
    fn visits(seed: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let all: f64 = CLASSES.iter().map(|class| class.visits).sum();
        std::iter::repeat_with(move || {
            let mut unit = || (chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let (mut drawn, mut class) = (unit() * all, 0);
            while class + 1 < CLASSES.len() && drawn >= CLASSES[class].visits {
                drawn -= CLASSES[class].visits;
                class += 1;
            }
            (class, (unit() * CLASSES[class].pages) as u64)
        })
    }

    /// By class, the fraction of visits in the second half that miss, according to `finds`.
    fn missed(mut finds: impl FnMut(usize, u64) -> bool) -> [f64; 3] {
        let (mut all, mut missing) = ([0u32; 3], [0u32; 3]);
        for (number, (class, page)) in visits(7).take(VISITS).enumerate() {
            let found = finds(class, page);
            if number > VISITS / 2 {
                all[class] += 1;
                missing[class] += u32::from(!found);
            }
        }
        [0, 1, 2].map(|class| f64::from(missing[class]) / f64::from(all[class]))
    }

    /// With some 60,000 visits of a class, a fraction of one half has a standard error of 0.002:
    /// three times that, and 2 % for the approximations of the formula.
    fn holds(what: &str, law: [f64; 3], simulated: [f64; 3]) {
        for class in 0..3 {
            let off = (law[class] - simulated[class]).abs();
            assert!(off < 0.006 + 0.02 * law[class], "{what}, class {class}: law {law:?}, simulated {simulated:?}");
        }
    }

    fn key(class: usize, page: u64) -> Key {
        Key { object: class as u64, page }
    }

    #[test]
    fn what_the_least_recently_used_finds_is_the_law() {
        for room in [500u32, 2000, 8000] {
            let law = Residence::new(&CLASSES, 0.0, f64::from(room), Replacement::LeastRecent);
            let mut cache = Cache::new(room, Eviction::Lru);
            let simulated = missed(|class, page| {
                let found = cache.get(PartitionId(0), key(class, page)).is_some();
                if !found {
                    cache.insert(PartitionId(0), key(class, page));
                }
                found
            });
            holds(&format!("room {room}"), CLASSES.map(|class| law.missing(&class)), simulated);
        }
    }

    /// PostgreSQL's clock: each slot has a count up to 5.
    struct Sweep {
        slots: Vec<(Option<Key>, usize)>,
        by: std::collections::HashMap<Key, usize>,
        hand: usize,
    }

    impl Sweep {
        fn visit(&mut self, key: Key, touches: usize) -> bool {
            let found = self.by.get(&key).copied();
            let slot = found.unwrap_or_else(|| {
                while self.slots[self.hand].1 > 0 {
                    self.slots[self.hand].1 -= 1;
                    self.hand = (self.hand + 1) % self.slots.len();
                }
                let slot = self.hand;
                self.hand = (slot + 1) % self.slots.len();
                if let Some(old) = self.slots[slot].0.replace(key) {
                    self.by.remove(&old);
                }
                self.by.insert(key, slot);
                slot
            });
            self.slots[slot].1 = (self.slots[slot].1 + touches).min(5);
            found.is_some()
        }
    }

    #[test]
    fn what_a_clock_finds_is_the_law() {
        for room in [500usize, 2000, 8000] {
            let law = Residence::new(&CLASSES, 0.0, room as f64, Replacement::Clock { most: 5 });
            let mut sweep = Sweep { slots: vec![(None, 0); room], by: Default::default(), hand: 0 };
            let simulated = missed(|class, page| sweep.visit(key(class, page), CLASSES[class].touches as usize));
            holds(&format!("room {room}"), CLASSES.map(|class| law.missing(&class)), simulated);
        }
    }

    /// What misses a first level of 1000 pages goes to a second one: pages are looked up in the
    /// first level, and only then in the second.
    #[test]
    fn what_a_second_level_finds_is_the_law() {
        let first = Residence::new(&CLASSES, 0.0, 1000.0, Replacement::LeastRecent);
        let second = first.second(&CLASSES, 0.0, 6000.0);
        let mut caches = [1000, 6000].map(|room| Cache::new(room, Eviction::Lru));
        let mut find = |level: usize, key: Key| {
            let found = caches[level].get(PartitionId(0), key).is_some();
            if !found {
                caches[level].insert(PartitionId(0), key);
            }
            found
        };
        let simulated = missed(|class, page| find(0, key(class, page)) || find(1, key(class, page)));
        holds("both", CLASSES.map(|class| first.missing(&class) * second.missing(&class)), simulated);
    }

    /// If all pages fit, nothing misses; if none fits, everything does. Passing pages take room
    /// from others.
    #[test]
    fn the_ends_and_what_passes() {
        let of = |passing, room, class: usize| {
            Residence::new(&CLASSES, passing, room, Replacement::Clock { most: 5 }).missing(&CLASSES[class])
        };
        assert_eq!(of(0.0, 30_000.0, 2), 0.0);
        assert!(of(0.0, 1.0, 0) > 0.95, "{}", of(0.0, 1.0, 0));
        assert!(of(1.0, 2000.0, 1) > 1.1 * of(0.0, 2000.0, 1));
        let all = Residence::new(&CLASSES, 0.0, 30_000.0, Replacement::LeastRecent);
        assert_eq!(all.second(&CLASSES, 0.0, 10.0).missing(&CLASSES[1]), 1.0, "it never has what is asked for");
    }
}
