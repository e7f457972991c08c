//! The misses of a database's buffers, and of the host's page cache behind them.
//!
//! ```text
//!   ShopPages: pages and visits by table and index ──► [buffers: clock] ─ read ─► [page cache: least recent] ─ fetched ─► device
//! ```
//! The same model serves order entry in virtual time (`oltp run --array`, plans) and runs of a real
//! database (`oltp calibrate`): it takes sizes and visits, and [`Residence`] computes what is
//! missing.

use block::Bytes;
use cache::{PageClass, Replacement, Residence, SecondResidence};
use oltp::{Demand, ShopDemand, ShopPages, Stored, TransactionMix};

/// PostgreSQL's clock counts up to five (`BM_MAX_USAGE_COUNT`).
const CLOCK: Replacement = Replacement::Clock { most: 5 };
/// Pages of system tables that connections always use; assumed.
const CATALOG: f64 = 60.0;
/// Pages at the ends of tables and indexes to which each user adds: five tables and their keys, and
/// the newest dates.
const ENDS: f64 = 10.0;

/// A database's buffers in equilibrium with a load.
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
    /// Buffers of this size under `users` users with this mix.
    pub fn new(pages: ShopPages, mix: &TransactionMix, users: u32, buffers: Bytes) -> Buffered {
        let class = |visited: &oltp::VisitedPages| {
            let (visits, touches) = visited.mean(mix);
            PageClass { pages: visited.pages, visits, touches: if visits > 0.0 { touches / visits } else { 1.0 } }
        };
        let classes: Vec<PageClass> = pages.visited.iter().map(class).collect();
        // Pages that every transaction visits are always resident.
        let room = (in_pages(buffers) - CATALOG - pages.above() - ENDS * f64::from(users)).max(1.0);
        let buffers = Residence::new(&classes, mix.mean(&pages.appended), room, CLOCK);
        Buffered { pages, mix: *mix, classes, buffers, page_cache: None }
    }

    /// Adds a page cache of this size behind the buffers, through which `log` pages of the log pass
    /// for each transaction.
    #[must_use]
    pub fn with_page_cache(mut self, size: Bytes, log: f64) -> Buffered {
        let passing = log + self.mix.mean(&self.pages.appended);
        self.page_cache = Some(self.buffers.second(&self.classes, passing, in_pages(size)));
        self
    }

    /// What transactions request of the storage behind the buffers.
    pub fn asks(&self) -> ShopDemand {
        let missing: Vec<f64> = self.classes.iter().map(|class| self.buffers.missing(class)).collect();
        self.pages.asks(&missing)
    }

    /// The mean of [`Buffered::asks`].
    pub fn demand(&self) -> Demand {
        self.asks().mean(&self.mix)
    }

    /// The fraction of pages read that misses the page cache; 1 if there is none.
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
        // The sum of an empty iterator would be -0.
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

    /// More buffers mean fewer reads, from nearly all visits down to none. The curve is not a
    /// straight line, because the first buffers hold the pages that are visited most.
    #[test]
    fn misses_fall_with_buffers_and_by_no_straight_line() {
        let all: f64 = pages().visited.iter().map(|visited| visited.mean(&TransactionMix::V2).0).sum();
        let size = pages().bytes();
        let steps = [1u64, 8, 32, 128, 512].map(|mib| read(Bytes::mib(mib)));
        assert!(steps.windows(2).all(|pair| pair[1] < pair[0]), "{steps:?}");
        // Appended pages take room in the end, however much there is.
        assert!(steps[0] > 0.9 * all && read(Bytes(2 * size.0)) < 0.01, "{steps:?} of {all}");
        let line = all * (1.0 - Bytes::mib(128).0 as f64 / size.0 as f64);
        assert!(steps[3] < 0.8 * line, "{} read, and a straight line has {line}", steps[3]);
        let by_table: f64 = Stored::all()
            .into_iter()
            .map(|stored| Buffered::new(pages(), &TransactionMix::V2, 4, Bytes::mib(32)).read(stored))
            .sum();
        assert!((by_table / steps[2] - 1.0).abs() < 1e-9);
    }

    /// A page cache that holds everything has every page, an empty one none. More buffers leave it
    /// the pages that are used less.
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
