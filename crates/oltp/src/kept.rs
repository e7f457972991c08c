//! A load as a kept run: a point for each number of users, a class for each transaction.

use crate::evidence::{ConnectionState, Evidence, StoredCounts};
use crate::figures::Figures;
use crate::ledger::Ledger;
use crate::limiter::Limiter;
use crate::mix::TransactionMix;
use crate::session::{Failure, Mode, Think};
use crate::stored::Stored;
use crate::transaction::Transaction;
use block::Span;
use stats::run::{Point, Run, RunPlace, Setting, Taped, Value};

/// The settings of a load.
#[derive(Clone, Debug)]
pub struct LoadSettings {
    /// The database, without a password.
    pub database: String,
    /// Its program and version, such as `sqlite 3.54.0`.
    pub engine: String,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The scale of setup; `None` if there was no setup.
    pub scale: Option<f64>,
    /// Its products, if known.
    pub products: Option<u64>,
    /// The weights of transactions.
    pub mix: TransactionMix,
    /// By single statements or by procedures.
    pub mode: Mode,
    /// Think times.
    pub think: Think,
    /// Zipf's exponent, if keys are skewed.
    pub skew: Option<f64>,
    /// Transactions due per second; `None` in a closed loop.
    pub rate: Option<f64>,
    /// Length of the warm-up of each point, in seconds.
    pub warm_up_s: u64,
    /// The database's own cache in bytes; for SQLite that of each connection.
    pub buffers: u64,
}

/// A run without points.
pub fn load_run(settings: &LoadSettings) -> Run {
    let mut run = Run::default();
    let place = run.place(RunPlace { kind: "database".into(), name: settings.database.clone(), size: settings.size });
    run.add_actor("users", Some(place));
    run.set(None, "engine", settings.engine.as_str());
    if let Some(scale) = settings.scale {
        run.set(None, "scale", scale);
    }
    if let Some(products) = settings.products {
        run.set(None, "products", products as f64);
    }
    for one in Transaction::ALL {
        run.set(None, &format!("weight_{}", one.short().to_lowercase()), f64::from(settings.mix.weight(one)));
    }
    run.set(None, "calls", settings.mode.name());
    let Think { within_ms, between_ms } = settings.think;
    for (key, (least, most)) in [("think", within_ms), ("think_between", between_ms)] {
        run.set(None, &format!("{key}_ms_min"), least as f64);
        run.set(None, &format!("{key}_ms_max"), most as f64);
    }
    if let Some(skew) = settings.skew {
        run.set(None, "skew", skew);
    }
    if let Some(rate) = settings.rate {
        run.set(None, "rate_tps", rate);
    }
    run.set(None, "warm_up_s", settings.warm_up_s as f64);
    run.set(None, "buffers_bytes", settings.buffers as f64);
    run
}

/// The key of a setting with a page count of a table or an index ([`StoredCounts::KINDS`]):
/// `pages_read_orders_pkey`.
pub fn stored_key(kind: &str, stored: Stored) -> String {
    format!("{kind}_{}", stored.name())
}

impl StoredCounts {
    /// The kinds of counts, as they appear in keys.
    pub const KINDS: [&str; 4] = ["pages", "pages_added", "pages_asked", "pages_read"];

    /// The keys and numbers of its settings.
    fn settings(&self) -> impl Iterator<Item = (String, f64)> + use<> {
        let (stored, numbers) = (self.stored, [self.pages, self.added, self.asked, self.read]);
        let setting = move |(kind, number): (&str, u64)| (stored_key(kind, stored), number as f64);
        StoredCounts::KINDS.into_iter().zip(numbers).map(setting)
    }
}

/// Adds a point whose window began at `start` of the run.
pub fn add_point(run: &mut Run, start: Span, ledger: &Ledger, figures: &Figures, seen: &Evidence, limiter: &Limiter) {
    let (point, users) = (run.points.len() as u32, figures.users);
    let name = report::text::count(users as usize, "user", "users");
    let end = start + figures.window;
    run.points.push(Point { name, about: "order entry".into(), start, end, ..Point::default() });
    run.add_tape(&ledger.tape, Taped { point, actor: 0, start, measured: figures.window });
    // Transactions have no size in bytes.
    run.cells.iter_mut().for_each(|cell| cell.bytes = None);
    run.series.iter_mut().flat_map(|series| &mut series.slices).for_each(|slice| slice.bytes = None);
    let mut set = |key: &str, value: Value| {
        run.settings.push(Setting { point: Some(point), actor: None, key: key.into(), value });
    };
    let mut numbers = known(figures);
    numbers.extend(Failure::KINDS.into_iter().zip(figures.failures.map(|count| count as f64)));
    numbers.extend(seen.cpu.map(|part| ("cpu_pct", part * 100.0)));
    numbers.extend(seen.device.as_ref().map(|(_, part)| ("disk_busy_pct", part * 100.0)));
    numbers.extend(seen.own_cores.map(|cores| ("own_cores", cores)));
    numbers.extend(seen.fetched.map(|bytes| ("fetched_bytes", bytes as f64)));
    numbers.extend(seen.database_cores.map(|cores| ("database_cores", cores)));
    numbers.extend(seen.device_read.map(|bytes| ("device_read_bytes", bytes as f64)));
    if let Some(server) = &seen.server {
        numbers.extend([
            ("database_read_bytes", server.read as f64),
            ("database_commits", server.commits as f64),
            ("wal_bytes", server.wal as f64),
            ("database_written_bytes", server.written as f64),
        ]);
        numbers.extend(server.wal_syncs.map(|syncs| ("wal_syncs", syncs as f64)));
        numbers.extend(server.checkpoints.map(|count| ("checkpoints", count as f64)));
        numbers.extend(server.hits().map(|part| ("buffer_hit_pct", part * 100.0)));
        numbers.extend(server.fetched.map(|bytes| ("database_fetched_bytes", bytes as f64)));
    }
    numbers.extend(seen.memory.map(|bytes| ("memory_bytes", bytes as f64)));
    numbers.extend(seen.page_cache.map(|bytes| ("page_cache_bytes", bytes as f64)));
    seen.stored.iter().flat_map(StoredCounts::settings).for_each(|(key, number)| set(&key, Value::Number(number)));
    numbers.into_iter().for_each(|(key, number)| set(key, Value::Number(number)));
    for at in ConnectionState::ALL {
        if let Some(part) = seen.server.as_ref().and_then(|server| server.part(at)) {
            set(&format!("found_{}_pct", at.name()), Value::Number(part * 100.0));
        }
    }
    set("limiter", Value::Word(limiter.name.into()));
    set("limiter_grounds", Value::Word(limiter.grounds.clone()));
}

/// The known figures, by the keys of their settings.
fn known(figures: &Figures) -> Vec<(&'static str, f64)> {
    let mut numbers = vec![
        ("users", f64::from(figures.users)),
        ("max_tpm", figures.max_tpm as f64),
        ("max_tps", figures.max_tps as f64),
        ("avg_tps", figures.avg_tps),
        ("avg_resp", figures.response.as_millis_f64()),
        ("selects", figures.counts.selects as f64),
        ("inserts", figures.counts.inserted() as f64),
        ("updates", figures.counts.updates as f64),
        ("commits", figures.counts.commits as f64),
        ("rollbacks", figures.counts.rollbacks as f64),
        ("lock_wait_s", figures.waits.locked.as_secs_f64()),
        ("commit_wait_s", figures.waits.committing.as_secs_f64()),
    ];
    // Without a full minute it is unknown.
    if !figures.minute_was_full {
        numbers.retain(|(key, _)| *key != "max_tpm");
    }
    if !figures.counts.has_sql() {
        numbers.retain(|(key, _)| !["selects", "inserts", "updates", "lock_wait_s"].contains(key));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;

    /// The best minute is known once a whole minute has passed, warm-up included: the count of a
    /// shorter time would be below the mean.
    #[test]
    fn the_best_minute_of_less_than_a_minute_is_not_known() {
        let keys = |figures: &Figures| {
            let (ledger, mut run) = (played(|_| 10, 5), Run::default());
            run.add_actor("users", None);
            let limiter = Limiter { name: "cannot say", grounds: String::new() };
            add_point(&mut run, Span::ZERO, &ledger, figures, &Evidence::default(), &limiter);
            run.settings
                .into_iter()
                .map(|setting| setting.key)
                .filter(|key| key.starts_with("max_"))
                .collect::<Vec<_>>()
        };
        let long = Figures::of(&played(|_| 10, 5), 4);
        assert_eq!(keys(&long), ["max_tpm", "max_tps"]);
        assert_eq!(keys(&Figures { minute_was_full: false, ..long }), ["max_tps"]);
    }

    /// Unknown is not zero: transactions have no bytes, neither in total nor by the second.
    #[test]
    fn bytes_of_transactions_are_not_known() {
        let ledger = played(|_| 10, 5);
        let mut run = Run::default();
        run.add_actor("users", None);
        let limiter = Limiter { name: "cannot say", grounds: String::new() };
        add_point(&mut run, Span::ZERO, &ledger, &Figures::of(&ledger, 4), &Evidence::default(), &limiter);
        assert!(run.cells.iter().any(|cell| cell.ops > 0) && run.cells.iter().all(|cell| cell.bytes.is_none()));
        let mut slices = run.series.iter().flat_map(|series| &series.slices).peekable();
        assert!(slices.peek().is_some() && slices.all(|slice| slice.bytes.is_none()));
    }
}
