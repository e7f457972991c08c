//! The figures of a recorded run of order entry on a real database that a calibration needs.

use crate::buffers::Buffered;
use crate::calibration::setting;
use block::{Bytes, Span};
use oltp::{
    ConnectionState, SchemaScale, ShopPages, Sizes, Stored, StoredCounts, Transaction, TransactionMix, stored_key,
};
use stats::run::{Run, Value};

/// Figures of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredRun {
    /// The table or index.
    pub stored: Stored,
    /// Its pages.
    pub pages: f64,
    /// Pages read, for each transaction.
    pub read: f64,
}

/// A point of a recorded run of order entry on a real database.
#[derive(Clone, Debug, PartialEq)]
pub struct ShopRun {
    /// Its name, such as `run 17, 4 users`.
    pub name: String,
    /// Number of users.
    pub users: u32,
    /// The weight of each transaction.
    pub mix: TransactionMix,
    /// Mean think time of a user between transactions.
    pub think: Span,
    /// The sizes that setup made.
    pub sizes: Sizes,
    /// The figures of each table and index.
    pub stored: Vec<StoredRun>,
    /// Bytes of the database.
    pub database: Bytes,
    /// Bytes of the database's own cache.
    pub buffers: Bytes,
    /// Memory limit of the database's processes, if there was one, and the page cache within it.
    pub memory: Option<(Bytes, Bytes)>,
    /// Processors of the host.
    pub processors: u32,
    /// Processors used by other programs.
    pub others: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Mean seconds of one.
    pub response: f64,
    /// Pages that the database requested from the system, for each transaction.
    pub reads: f64,
    /// Pages of these that came from below the page cache, if known.
    pub fetched: Option<f64>,
    /// Pages of the log, for each transaction.
    pub log: f64,
    /// Seconds of waiting for pages, for each transaction.
    pub reading: f64,
    /// Seconds of waiting for the log, for each transaction.
    pub committing: f64,
}

impl ShopRun {
    /// The points of a run.
    ///
    /// # Errors
    /// The run is of another kind, or lacks needed figures: one line, without the run's name.
    pub fn of(run: &Run, name: &str) -> Result<Vec<ShopRun>, String> {
        if run.identity.tool != "oltp" || run.identity.simulated {
            return Err("is no run of order entry on a real database; name one of `seawall oltp run`".into());
        }
        (0..run.points.len() as u32).map(|point| ShopRun::of_point(run, point, name)).collect()
    }

    fn of_point(run: &Run, point: u32, name: &str) -> Result<ShopRun, String> {
        let number = |key: &str| match setting(run, point, 0, key)? {
            Value::Number(number) => Some(*number),
            Value::Word(_) => None,
        };
        let needed = |key: &str, rule: &str| number(key).ok_or_else(|| format!("{rule} ({key} is not in the results)"));
        let counted = "the database did not say how many blocks it read; record with PostgreSQL on this host";
        let (users, tps) = (needed("users", counted)?, needed("avg_tps", counted)?);
        let size = run.places.first().and_then(|place| place.size).unwrap_or(0);
        if tps <= 0.0 || size == 0 {
            return Err("did no transactions, or the size of its database is not known".into());
        }
        if number("rate_tps").is_some() || number("skew").is_some() {
            return Err("had a rate or a skew; record with users in a closed loop and even keys".into());
        }
        let mean = |key: &str| {
            let end = |end: &str| number(&format!("{key}_ms_{end}")).unwrap_or(0.0);
            f64::midpoint(end("min"), end("max")) / 1e3
        };
        if mean("think") > 0.0 {
            return Err("had users who think within transactions; record without --think".into());
        }
        let in_each = |at: ConnectionState| Some(number(&format!("found_{}_pct", at.name()))? / 100.0 * users / tps);
        let done = tps * run.points[point as usize].length().as_secs_f64();
        let stored = stored(&number, done);
        if stored.is_empty() {
            return Err("has no counts of tables and indexes; record it anew with PostgreSQL".into());
        }
        let unknown = "setup's sizes are not known; record it anew";
        let sizes = Sizes {
            scale: SchemaScale::nearest(needed("scale", unknown)?),
            products: needed("products", unknown)? as u64,
        };
        let bytes = |key: &str| number(key).map(|bytes| Bytes(bytes as u64));
        let in_pages = |key: &str| number(key).map(|bytes| bytes / ShopPages::PAGE.0 as f64 / done);
        let processors = run.machine.cores.max(1);
        let cores = needed("own_cores", "the processors' time is not known")?;
        let database_cores = needed("database_cores", "the database's processes are not on this host")?;
        let busy = number("cpu_pct").unwrap_or(0.0) / 100.0 * f64::from(processors);
        Ok(ShopRun {
            name: format!("{name}, {}", run.points[point as usize].name),
            users: users as u32,
            mix: mix(&number)?,
            think: Span::from_secs_f64(mean("think_between")),
            sizes,
            database: Bytes(size),
            buffers: Bytes(needed("buffers_bytes", counted)? as u64),
            memory: bytes("memory_bytes").zip(bytes("page_cache_bytes")),
            processors,
            others: (busy - cores - database_cores).max(0.0),
            tps,
            response: needed("avg_resp", counted)? / 1e3,
            reads: stored.iter().map(|one| one.read).sum(),
            fetched: in_pages("database_fetched_bytes"),
            log: in_pages("wal_bytes").unwrap_or(0.0),
            reading: in_each(ConnectionState::Reading).ok_or(counted)?,
            committing: in_each(ConnectionState::Committing).ok_or(counted)?,
            stored,
        })
    }

    /// Seconds of a transaction that were waits neither for pages nor for the log.
    pub(crate) fn at_host(&self) -> f64 {
        (self.response - self.reading - self.committing).max(0.0)
    }

    /// Its tables and indexes with their pages at the time.
    pub fn pages(&self) -> ShopPages {
        let mut pages = ShopPages::of(&self.sizes);
        let of = |stored| self.stored.iter().find(|one| one.stored == stored).map_or(0.0, |one| one.pages);
        pages.sized(of);
        pages
    }

    /// The expected misses of its buffers. The page cache behind them follows from another run's:
    /// it is larger by the difference of the memory limits, and smaller by that of the buffers.
    pub(crate) fn buffered(&self, by: &ShopRun) -> Buffered {
        let buffered = Buffered::new(self.pages(), &self.mix, self.users, self.buffers);
        let (Some((limit, _)), Some((other_limit, cached))) = (self.memory, by.memory) else { return buffered };
        let more = limit.0 as i64 - other_limit.0 as i64 + by.buffers.0 as i64 - self.buffers.0 as i64;
        let size = cached.0.saturating_add_signed(more).max(ShopPages::PAGE.0);
        buffered.with_page_cache(Bytes(size), by.log)
    }
}

/// The figures of each table and index; `done` is the number of transactions.
fn stored(number: &impl Fn(&str) -> Option<f64>, done: f64) -> Vec<StoredRun> {
    let of = |stored: Stored| {
        let [pages, _, _, read] = StoredCounts::KINDS.map(|kind| number(&stored_key(kind, stored)));
        Some(StoredRun { stored, pages: pages?, read: read? / done })
    };
    Stored::all().into_iter().filter_map(of).collect()
}

fn mix(number: &impl Fn(&str) -> Option<f64>) -> Result<TransactionMix, String> {
    let weights = Transaction::ALL.map(|one| {
        let weight = number(&format!("weight_{}", one.short().to_lowercase())).unwrap_or(0.0);
        format!("{}={weight}", one.short())
    });
    TransactionMix::parse(&weights.join(",")).map_err(|error| error.to_string())
}
