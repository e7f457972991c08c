//! What the buffers of a database lack of what its transactions visit, and what of that the page
//! cache of its host lacks, too.
//!
//! ```text
//!   ShopPages: pages and visits by table and index ──► [buffers: clock] ─ read ─► [page cache: least recent] ─ fetched ─► device
//! ```
//! The one law for order entry in virtual time (`oltp run --array`, plans) and for runs of a real
//! database (`oltp calibrate`): sizes and visits go in, [`Residence`] says what is missing.

use block::Bytes;
use cache::{PageClass, Replacement, Residence, SecondResidence};
use oltp::{Asks, Demand, ShopPages, Stored, TransactionMix};

/// PostgreSQL's clock counts up to five (`BM_MAX_USAGE_COUNT`).
const CLOCK: Replacement = Replacement::Clock { most: 5 };
/// Pages of the system's tables that connections look at all the time; assumed.
const CATALOG: f64 = 60.0;
/// Ends of tables and keys where each user adds: five tables and their keys, and the newest dates.
const ENDS: f64 = 10.0;

/// Buffers in balance with a load.
#[derive(Clone, Debug)]
pub struct Buffered {
    pages: ShopPages,
    mix: TransactionMix,
    classes: Vec<PageClass>,
    buffers: Residence,
    page_cache: Option<SecondResidence>,
}

fn in_pages(bytes: Bytes) -> f64 {
    bytes.0 as f64 / ShopPages::PAGE.0 as f64
}

impl Buffered {
    /// Buffers of that size under so many users of this mix.
    pub fn new(pages: ShopPages, mix: &TransactionMix, users: u32, buffers: Bytes) -> Buffered {
        let class = |visited: &oltp::VisitedPages| {
            let (visits, touches) = visited.mean(mix);
            PageClass { pages: visited.pages, visits, touches: if visits > 0.0 { touches / visits } else { 1.0 } }
        };
        let classes: Vec<PageClass> = pages.visited.iter().map(class).collect();
        // What every transaction visits is always there.
        let room = (in_pages(buffers) - CATALOG - pages.above() - ENDS * f64::from(users)).max(1.0);
        let buffers = Residence::new(&classes, mix.mean(&pages.appended), room, CLOCK);
        Buffered { pages, mix: *mix, classes, buffers, page_cache: None }
    }

    /// With a page cache of that size behind them, through which `log` pages of the log go for each
    /// transaction.
    #[must_use]
    pub fn with_page_cache(mut self, size: Bytes, log: f64) -> Buffered {
        let passing = log + self.mix.mean(&self.pages.appended);
        self.page_cache = Some(self.buffers.second(&self.classes, passing, in_pages(size)));
        self
    }

    /// What transactions ask of what is behind the buffers.
    pub fn asks(&self) -> Asks {
        let missing: Vec<f64> = self.classes.iter().map(|class| self.buffers.missing(class)).collect();
        self.pages.asks(&missing)
    }

    /// The same on average.
    pub fn demand(&self) -> Demand {
        self.asks().mean(&self.mix)
    }

    /// The part of pages read that the page cache does not have; all where there is none.
    pub fn fetched(&self) -> f64 {
        let Some(second) = &self.page_cache else { return 1.0 };
        let (mut read, mut fetched) = (0.0, 0.0);
        for class in &self.classes {
            let missing = class.visits * self.buffers.missing(class);
            read += missing;
            fetched += missing * second.missing(class);
        }
        if read > 0.0 { fetched / read } else { 1.0 }
    }

    /// Pages of a table or an index that a transaction reads.
    pub fn read(&self, stored: Stored) -> f64 {
        let of = self.pages.visited.iter().zip(&self.classes).filter(|(visited, _)| visited.stored == stored);
        // A sum of none would be -0.
        of.fold(0.0, |sum, (_, class)| sum + class.visits * self.buffers.missing(class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oltp::Sizes;

    fn pages() -> ShopPages {
        ShopPages::of(&Sizes { scale: "0.1".parse().unwrap(), products: 1000 })
    }

    fn read(buffers: Bytes) -> f64 {
        Buffered::new(pages(), &TransactionMix::V2, 4, buffers).demand().pages
    }

    /// More buffers, fewer reads, all the way from nearly all visits to none; and not along a
    /// straight line, for the first buffers hold what is visited most.
    #[test]
    fn misses_fall_with_buffers_and_by_no_straight_line() {
        let all: f64 = pages().visited.iter().map(|visited| visited.mean(&TransactionMix::V2).0).sum();
        let size = pages().bytes();
        let steps = [1u64, 8, 32, 128, 512].map(|mib| read(Bytes::mib(mib)));
        assert!(steps.windows(2).all(|pair| pair[1] < pair[0]), "{steps:?}");
        // What is appended takes room in the end, however much there is.
        assert!(steps[0] > 0.9 * all && read(Bytes(2 * size.0)) < 0.01, "{steps:?} of {all}");
        let line = all * (1.0 - Bytes::mib(128).0 as f64 / size.0 as f64);
        assert!(steps[3] < 0.8 * line, "{} read, and a straight line has {line}", steps[3]);
        let by_table: f64 = Stored::all()
            .into_iter()
            .map(|stored| Buffered::new(pages(), &TransactionMix::V2, 4, Bytes::mib(32)).read(stored))
            .sum();
        assert!((by_table / steps[2] - 1.0).abs() < 1e-9);
    }

    /// A page cache that holds all has all; one of nothing has nothing; more buffers leave it what
    /// is less asked for.
    #[test]
    fn a_page_cache_has_what_buffers_lack() {
        let part = |buffers, cache| {
            Buffered::new(pages(), &TransactionMix::V2, 4, buffers).with_page_cache(cache, 0.5).fetched()
        };
        assert!(part(Bytes::mib(8), Bytes::kib(8)) > 0.99);
        assert!(part(Bytes::mib(8), Bytes::gib(64)) < 0.01);
        assert!(part(Bytes::mib(64), Bytes::mib(64)) > part(Bytes::mib(8), Bytes::mib(64)));
        assert_eq!(Buffered::new(pages(), &TransactionMix::V2, 4, Bytes::mib(8)).fetched(), 1.0);
    }
}
