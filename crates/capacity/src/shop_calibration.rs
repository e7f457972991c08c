//! Order entry in virtual time, calibrated on a run of a real database and checked on another one
//! with buffers of another size.
//!
//! ```text
//!   one run ──► processor time, pages read, time in reads ──► Shop + storage ──► played with the other's buffers
//!               (counted and sampled by the database)   ▲                                  │
//!               commit time: so that this run's rate comes out                  the other run's rate, which no number saw
//! ```
//! Pages read are taken to be a part of those that lie anywhere ([`oltp::Demand`]), the part of the
//! database that its buffers do not hold, times one factor: what the buffers know of favourites,
//! and what the counts by hand miss. The storage has times and no queue: it is what the database
//! saw at that load.

use crate::calibration::setting;
use crate::comparison::{Basis, Column, Comparison, Fitted, Given, Line, Row, Target};
use crate::order_entry::play_shop;
use array::{Array, ArrayStage, Controller, DeviceSpec, Model, ParallelServers};
use block::{Bytes, Span};
use oltp::{At, Figures, Shop, Transaction, TransactionMix};
use stats::run::{Run, Value};

/// A point of a kept run of order entry on a real database.
#[derive(Clone, Debug, PartialEq)]
pub struct ShopRun {
    /// `run 17, 4 users`.
    pub name: String,
    /// Its users, their transactions and how long they think; a thinking user's mean.
    pub users: u32,
    /// How often each transaction is done.
    pub mix: TransactionMix,
    /// Between transactions.
    pub think: Span,
    /// Bytes of the database, and of its buffers.
    pub database: Bytes,
    /// Bytes of the database's own cache.
    pub buffers: Bytes,
    /// Processors of the host.
    pub processors: u32,
    /// Transactions a second.
    pub tps: f64,
    /// Mean seconds of one.
    pub response: f64,
    /// Seconds of processors for each, the driver's too.
    pub host: f64,
    /// Pages that the database asked the system for, for each.
    pub reads: f64,
    /// Seconds of each that were waits for pages.
    pub reading: f64,
}

/// Bytes of a page.
const PAGE: Bytes = Bytes::kib(8);
/// Requests that the storage takes at once: more than there are.
const AT_ONCE: u32 = 1 << 14;
/// Virtual seconds: before it is measured, and measured.
const PLAYED: [Span; 2] = [Span::from_secs(2), Span::from_secs(10)];
/// Steps of the search for the commit's time, and the longest that it may be in seconds.
const HALVES: usize = 16;
const COMMIT_MOST: f64 = 1.0;

impl ShopRun {
    /// The points of a run.
    ///
    /// # Errors
    /// It is no such run, or does not have what is needed: a line, without the run's name.
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
        let weights = Transaction::ALL.map(|one| {
            let weight = number(&format!("weight_{}", one.short().to_lowercase())).unwrap_or(0.0);
            format!("{}={weight}", one.short())
        });
        let mean = |key: &str| {
            let end = |end: &str| number(&format!("{key}_ms_{end}")).unwrap_or(0.0);
            f64::midpoint(end("min"), end("max")) / 1e3
        };
        if mean("think") > 0.0 {
            return Err("had users who think within transactions; record without --think".into());
        }
        let in_each = |at: At| number(&format!("found_{}_pct", at.name())).map(|part| part / 100.0 * users / tps);
        let window = run.points[point as usize].length().as_secs_f64();
        let cores = needed("own_cores", "the processors' time is not known")?;
        let database_cores = needed("database_cores", "the database's processes are not on this host")?;
        Ok(ShopRun {
            name: format!("{name}, {}", run.points[point as usize].name),
            users: users as u32,
            mix: TransactionMix::parse(&weights.join(",")).map_err(|error| error.to_string())?,
            think: Span::from_secs_f64(mean("think_between")),
            database: Bytes(size),
            buffers: Bytes(needed("buffers_bytes", counted)? as u64),
            processors: run.machine.cores.max(1),
            tps,
            response: needed("avg_resp", counted)? / 1e3,
            host: (cores + database_cores) / tps,
            reads: needed("database_read_bytes", counted)? / PAGE.0 as f64 / window / tps,
            reading: in_each(At::Reading).ok_or(counted)?,
        })
    }

    /// The part of the database that its buffers do not hold.
    fn outside(&self) -> f64 {
        (1.0 - self.buffers.0 as f64 / self.database.0 as f64).max(0.0)
    }
}

/// Numbers fitted to one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShopCalibration {
    /// Seconds of processors for a transaction.
    pub host: f64,
    /// Pages read over pages that lie anywhere outside of the buffers.
    pub factor: f64,
    /// Seconds of a read, and of a write of the log.
    pub read: f64,
    /// Seconds of a write of the log.
    pub commit: f64,
}

impl ShopCalibration {
    /// How many numbers there are.
    pub const NUMBERS: u32 = 4;

    /// Fitted to a run.
    ///
    /// # Errors
    /// All of its database was in its buffers, or it read nothing.
    pub fn fit(run: &ShopRun, seed: u64) -> Result<ShopCalibration, String> {
        let anywhere = run.mix.demand().pages * run.outside();
        if anywhere <= 0.0 || run.reads <= 0.0 {
            return Err(format!(
                "{}: read no pages, as its buffers of {} hold its database of {}; record with smaller buffers",
                run.name, run.buffers, run.database
            ));
        }
        let fixed = ShopCalibration {
            host: run.host,
            factor: run.reads / anywhere,
            read: run.reading / run.reads,
            commit: 0.0,
        };
        let (mut low, mut high) = (0.0, COMMIT_MOST);
        for _ in 0..HALVES {
            // Commits take microseconds or milliseconds: halves of the scale, not of the span.
            let middle = if low == 0.0 { high / 8.0 } else { (low * high).sqrt() };
            let slow = ShopCalibration { commit: middle, ..fixed }.play(run, seed).0 < run.tps;
            *(if slow { &mut high } else { &mut low }) = middle;
        }
        Ok(ShopCalibration { commit: low, ..fixed })
    }

    /// The users of a run with these numbers.
    pub fn shop(&self, run: &ShopRun) -> Shop {
        Shop {
            users: run.users,
            mix: run.mix,
            think: run.think,
            host: Span::from_secs_f64(self.host),
            processors: run.processors,
            missing: self.factor * run.outside(),
            database: run.database,
            page: PAGE,
        }
    }

    /// Storage with these times and no queue.
    pub fn storage(&self) -> Array {
        let times = Controller {
            cores: AT_ONCE,
            read: Span::from_secs_f64(self.read),
            write: Span::from_secs_f64(self.commit),
            ..Controller::default()
        };
        let nothing = Span::from_nanos(1);
        let media =
            ParallelServers { servers: AT_ONCE, service: nothing, size_unit: None, flush: nothing, trim: nothing };
        Array { stages: vec![ArrayStage::Controller(times)], media: Box::new(Model::ParallelServers(media)) }
    }

    /// Transactions a second and mean seconds of one that the users of a run reach in virtual time.
    pub fn play(&self, run: &ShopRun, seed: u64) -> (f64, f64) {
        let shop = self.shop(run);
        let spec = DeviceSpec { size: shop.size(), ..DeviceSpec::of(Model::Array(self.storage())) };
        let target = spec.build(seed).expect("storage of times alone can be built");
        let figures = Figures::of(&play_shop(&shop, target, seed, PLAYED), run.users);
        (figures.avg_tps, figures.response.as_secs_f64())
    }

    /// The storage as a file that `--array` takes. `from` says which run the figures are from.
    pub fn file(&self, from: &str) -> String {
        let nanos = |seconds: f64| format!("\"{}ns\"", (seconds * 1e9).round().max(1.0));
        format!(
            "# Times that a database saw of its storage, from {from}; they know no queue.\n\n[device]\nkind = \"array\"\n\
             about = \"storage as a database saw it\"\n\n[[device.stage]]\nkind = \"controller\"\ncores = {AT_ONCE}\n\
             read = {}\nwrite = {}\nsource = {{ read = \"fitted: {from}\", write = \"fitted: {from}\" }}\n\n\
             [[device.stage]]\nkind = \"parallel-servers\"\nservers = {AT_ONCE}\nservice = \"1ns\"\n",
            nanos(self.read),
            nanos(self.commit)
        )
    }
}

/// A run that numbers are fitted to beside one that they are not, which must come out `within` that
/// part.
///
/// # Errors
/// As for [`ShopCalibration::fit`]; or the two have the same buffers.
pub fn calibrate_shop(
    [fitted, held_out]: [&ShopRun; 2],
    within: f64,
    seed: u64,
) -> Result<(ShopCalibration, Comparison), String> {
    if fitted.buffers == held_out.buffers {
        return Err(format!(
            "{} and {} have buffers of {} both, which proves nothing; record the second with others",
            fitted.name, held_out.name, fitted.buffers
        ));
    }
    let found = ShopCalibration::fit(fitted, seed)?;
    let number = |name: &str, value: String, to: &str| Fitted { name: name.into(), value, to: to.into() };
    let ms = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
    let line = |name: String, basis: Basis, run: &ShopRun| {
        let (tps, response) = found.play(run, seed);
        let reads = run.mix.demand().pages * found.shop(run).missing;
        let column = |name: &str, digits| Column { name: name.into(), basis, digits, absolute: false };
        let cells = vec![
            (format!("{:.0}", run.tps), Some(tps)),
            (format!("{:.2}", 1e3 * run.response), Some(1e3 * response)),
            (format!("{:.2}", run.reads), Some(reads)),
        ];
        let columns = vec![column("TPS", 0), column("response ms", 2), column("pages read", 2)];
        let row = format!("{} of {} in buffers", run.buffers, run.database);
        (Line { name, columns, rows: vec![Row { name: row, cells, left_out: None }] }, tps / run.tps - 1.0)
    };
    let (first, _) = line(format!("Fitted to: {}", fitted.name), Basis::Fitted(ShopCalibration::NUMBERS), fitted);
    let predicted = Basis::Predicted(ShopCalibration::NUMBERS);
    let (second, error) = line(format!("Held out: {}", held_out.name), predicted, held_out);
    let asked = format!("TPS of the run held out, at most {:.0} % off, with 4 fitted numbers", 100.0 * within);
    let comparison = Comparison {
        name: "oltp-calibrate".into(),
        title: format!("Order entry calibrated from {}", fitted.name),
        about: "Users in virtual time with numbers from a run of a real database, played with the buffers of another \
                run that no number was fitted to."
            .into(),
        given: Given::Recorded,
        fitted: vec![
            number("processor time of a transaction", ms(found.host), "counted by the host"),
            number(
                "pages read, of those anywhere outside of the buffers",
                format!("{:.3}", found.factor),
                "counted by the database",
            ),
            number("a page's read", ms(found.read), "how often connections were found reading"),
            number("a write of the log", ms(found.commit), "the rate of the run"),
        ],
        lines: vec![first, second],
        targets: vec![Target::percent(&asked, error.abs(), within)],
        notes: vec!["The storage's times are those of the first run's load; it has no queue of its own.".into()],
        drawn: Vec::new(),
    };
    Ok((found, comparison))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(buffers: Bytes, numbers: &ShopCalibration) -> ShopRun {
        let mut run = ShopRun {
            name: format!("buffers of {buffers}"),
            users: 8,
            mix: TransactionMix::V2,
            think: Span::ZERO,
            database: Bytes::gib(1),
            buffers,
            processors: 2,
            tps: 0.0,
            response: 0.0,
            host: numbers.host,
            reads: 0.0,
            reading: 0.0,
        };
        run.reads = run.mix.demand().pages * numbers.factor * run.outside();
        run.reading = run.reads * numbers.read;
        (run.tps, run.response) = numbers.play(&run, 7);
        run
    }

    /// Runs of known numbers give these numbers back, on another seed, and predict each other;
    /// where the other is slower, it says so.
    #[test]
    fn known_numbers_are_found_and_predict_other_buffers() {
        let known = ShopCalibration { host: 0.5e-3, factor: 0.7, read: 0.4e-3, commit: 0.8e-3 };
        let (small, large) = (run(Bytes::mib(64), &known), run(Bytes::mib(768), &known));
        assert!(large.tps > 1.5 * small.tps, "{} and {}", small.tps, large.tps);
        let (found, comparison) = calibrate_shop([&small, &large], 0.05, 1).unwrap();
        assert!((found.commit / known.commit - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.factor - known.factor).abs() < 1e-9 && (found.read / known.read - 1.0).abs() < 1e-9);
        assert!(comparison.holds() && comparison.is_honest(), "{}", comparison.text());
        let other = ShopRun { tps: large.tps * 0.7, ..large };
        assert!(!calibrate_shop([&small, &other], 0.15, 1).unwrap().1.holds());
    }

    #[test]
    fn what_proves_nothing_is_refused() {
        let known = ShopCalibration { host: 1e-3, factor: 1.0, read: 1e-4, commit: 1e-4 };
        let small = run(Bytes::mib(64), &known);
        let same = calibrate_shop([&small, &small], 0.1, 1).unwrap_err();
        assert!(same.contains("proves nothing"), "{same}");
        let all = ShopRun { buffers: Bytes::gib(2), ..small.clone() };
        let error = calibrate_shop([&all, &small], 0.1, 1).unwrap_err();
        assert!(error.contains("hold its database") && !error.contains('\n'), "{error}");
    }
}
