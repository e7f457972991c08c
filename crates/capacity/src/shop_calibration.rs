//! Calibrates order entry in virtual time on a run of a real database, and checks it on another run
//! with buffers of another size.
//!
//! ```text
//!   one run ─┬► pages of each table and index ──► Buffered: what is missing, by law ──┐
//!            ├► pages read, pages fetched ──────► over the law's                      ├► Shop + storage ──► played with the other's buffers
//!            ├► time in reads, time at commits                                        │                                 │
//!            └► time at the host: so that this run's rate comes out ──────────────────┘                 the other run's rate, which no number saw
//! ```
//! Which pages are missing follows from sizes, visits and buffers ([`Buffered`]). Only a factor on
//! that is fitted to the run, and a factor on the page cache's misses if its memory was limited and
//! the reads of the server's processes are known. The storage has latencies and no queue: those
//! that the database saw at that load. The host's time is whatever was a wait neither for pages nor
//! for the log, including the transfer of statements and the time that other programs took.

use crate::buffers::Buffered;
use crate::comparison::{Basis, Column, Comparison, Fitted, Given, Line, Row, Target};
use crate::order_entry::play_shop;
use crate::shop_run::{ShopRun, StoredRun};
use array::{Array, ArrayStage, Controller, DeviceSpec, Model, ParallelServers};
use block::Span;
use oltp::{Figures, Shop, ShopPages};

/// Maximum number of requests at a time in the storage, which is never reached.
const AT_ONCE: u32 = 1 << 14;
/// Virtual time before the measurement, and of the measurement.
const PLAYED: [Span; 2] = [Span::from_secs(2), Span::from_secs(10)];
/// Number of steps in the search for the times of host and log, and the largest factor of a step.
const STEPS: usize = 12;
const STEP_MOST: f64 = 4.0;
/// The least of these times, in seconds.
const LEAST: f64 = 1e-7;
/// If a smaller fraction of pages came from below the page cache, it says nothing about a device.
const FETCHED_LEAST: f64 = 0.02;

/// Fewer pages read in a transaction say nothing about reads.
const READ_LEAST: f64 = 0.01;
/// If a run reads this many times more than the model says, the model does not apply.
const OVER_MOST: f64 = 20.0;

/// The numbers fitted to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ShopCalibration {
    /// Processor time of a transaction at the host, in seconds.
    pub host: f64,
    /// Pages read, relative to the misses that the model expects.
    pub over: f64,
    /// The fraction of pages read that came from below the page cache, relative to the model's;
    /// `None` if the cache was not limited, or the reads are not known.
    pub fetched: Option<f64>,
    /// Seconds of a read. With `fetched`, of a read from below the page cache; all others take
    /// none.
    pub read: f64,
    /// Seconds of a write of the log.
    pub commit: f64,
    /// The run that it was fitted to.
    by: ShopRun,
}

/// Results of the users of a run in virtual time, for each transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayedShop {
    /// Transactions a second.
    pub tps: f64,
    /// Mean seconds of one.
    pub response: f64,
    /// Pages read.
    pub reads: f64,
    /// Pages read from below the page cache.
    pub fetched: Option<f64>,
    /// Seconds of waiting for the log.
    pub committing: f64,
}

impl ShopCalibration {
    /// The number of fitted numbers.
    pub fn numbers(&self) -> u32 {
        4 + u32::from(self.fetched.is_some())
    }

    /// Fits the numbers to a run.
    ///
    /// # Errors
    /// The run reads next to nothing, its buffers hold everything that is visited, or it reads far
    /// more than that.
    pub fn fit(run: &ShopRun, seed: u64) -> Result<ShopCalibration, String> {
        let law = run.buffered(run);
        let by_law = law.demand().pages;
        if by_law < READ_LEAST || run.reads < READ_LEAST {
            return Err(format!(
                "{}: read no pages, as its buffers of {} hold its database of {}; record with smaller buffers",
                run.name, run.buffers, run.database
            ));
        }
        let over = run.reads / by_law;
        if over > OVER_MOST {
            return Err(format!(
                "{}: read {over:.0} times the pages that buffers of {} lack by law; warm up longer, or record with larger ones",
                run.name, run.buffers
            ));
        }
        let fetched = run.fetched.filter(|_| run.memory.is_some()).map(|fetched| fetched / run.reads);
        let fetched = fetched.filter(|part| *part > FETCHED_LEAST);
        let mut found = ShopCalibration {
            host: run.at_host(),
            over,
            fetched: fetched.map(|part| part / law.fetched()),
            read: run.reading / (run.reads * fetched.unwrap_or(1.0)),
            commit: run.committing,
            by: run.clone(),
        };
        // Each time is scaled by its own part of the played transaction, since both are nearly
        // proportional.
        let towards = |is: f64, wanted: f64| (wanted / is.max(LEAST)).clamp(1.0 / STEP_MOST, STEP_MOST);
        for _ in 0..STEPS {
            let played = found.play(run, seed);
            let rest = played.response - played.reads * found.read_of(&law) - played.committing;
            found.host = (found.host * towards(rest, run.at_host())).max(LEAST);
            found.commit = (found.commit * towards(played.committing, run.committing)).max(LEAST);
        }
        Ok(found)
    }

    fn buffered(&self, run: &ShopRun) -> Buffered {
        run.buffered(&self.by)
    }

    /// The fraction of pages read that come from below the page cache.
    fn fetched_part(&self, law: &Buffered) -> Option<f64> {
        // More than all pages: the rest is read-ahead.
        Some(self.fetched? * law.fetched())
    }

    /// The users of a run with these numbers.
    fn shop(&self, run: &ShopRun, law: &Buffered) -> Shop {
        Shop {
            users: run.users,
            mix: run.mix,
            think: run.think,
            host: Span::from_secs_f64(self.host),
            processors: run.processors,
            asks: law.asks().times(self.over),
            database: run.database,
            page: ShopPages::PAGE,
        }
    }

    /// Mean seconds of a page's read, including those from the page cache.
    fn read_of(&self, law: &Buffered) -> f64 {
        self.read * self.fetched_part(law).unwrap_or(1.0)
    }

    /// Storage with these latencies and no queue.
    fn storage(&self, law: &Buffered) -> Array {
        let times = Controller {
            cores: AT_ONCE,
            read: Span::from_secs_f64(self.read_of(law)),
            write: Span::from_secs_f64(self.commit),
            ..Controller::default()
        };
        let nothing = Span::from_nanos(1);
        let media =
            ParallelServers { servers: AT_ONCE, service: nothing, size_unit: None, flush: nothing, trim: nothing };
        Array { stages: vec![ArrayStage::Controller(times)], media: Box::new(Model::ParallelServers(media)) }
    }

    /// Plays the users of a run in virtual time.
    pub fn play(&self, run: &ShopRun, seed: u64) -> PlayedShop {
        let law = self.buffered(run);
        let shop = self.shop(run, &law);
        let spec = DeviceSpec { size: shop.size(), ..DeviceSpec::of(Model::Array(self.storage(&law))) };
        let target = spec.build(seed).expect("storage of times alone can be built");
        let figures = Figures::of(&play_shop(&shop, target, seed, PLAYED, &|| false), run.users);
        let reads = shop.demand().pages;
        let fetched = self.fetched_part(&law).map(|part| part * reads);
        let committing = figures.waits.committing.as_secs_f64() / figures.done.max(1) as f64;
        PlayedShop { tps: figures.avg_tps, response: figures.response.as_secs_f64(), reads, fetched, committing }
    }

    /// The storage as a run saw it, as a file for `--array`. `from` names the run.
    pub fn file(&self, run: &ShopRun, from: &str) -> String {
        let nanos = |seconds: f64| format!("\"{}ns\"", (seconds * 1e9).round().max(1.0));
        format!(
            "# Times that a database saw of its storage, from {from}; they know no queue.\n\n[device]\nkind = \"array\"\n\
             about = \"storage as a database saw it\"\n\n[[device.stage]]\nkind = \"controller\"\ncores = {AT_ONCE}\n\
             read = {}\nwrite = {}\nsource = {{ read = \"fitted: {from}\", write = \"fitted: {from}\" }}\n\n\
             [[device.stage]]\nkind = \"parallel-servers\"\nservers = {AT_ONCE}\nservice = \"1ns\"\n",
            nanos(self.read_of(&self.buffered(run))),
            nanos(self.commit)
        )
    }

    /// The fitted numbers, and what each was fitted to.
    fn fitted(&self) -> Vec<Fitted> {
        let number = |name: &str, value: String, to: &str| Fitted { name: name.into(), value, to: to.into() };
        let ms = |seconds: f64| format!("{:.3} ms", 1e3 * seconds);
        let mut all = vec![
            number("time of a transaction at a processor of the host", ms(self.host), "the rate of the run"),
            number(
                "pages read, over those that buffers lack by law",
                format!("{:.3}", self.over),
                "counted by the database",
            ),
        ];
        all.extend(self.fetched.map(|part| {
            let value = format!("{part:.3}");
            number("pages that the page cache lacks, over those by law", value, "counted by the host")
        }));
        let read = if self.fetched.is_some() { "a page's read below the page cache" } else { "a page's read" };
        all.push(number(read, ms(self.read), "how often connections were found reading"));
        all.push(number("a write of the log", ms(self.commit), "how often connections were found committing"));
        all
    }

    /// Compares a run with its simulation, as a whole and by table and index.
    fn lines(&self, name: &str, basis: Basis, run: &ShopRun, seed: u64) -> ([Line; 2], f64) {
        let played = self.play(run, seed);
        let column = |name: &str, digits| Column { name: name.into(), basis, digits, absolute: false };
        let mut cells = vec![
            (format!("{:.0}", run.tps), Some(played.tps)),
            (format!("{:.2}", 1e3 * run.response), Some(1e3 * played.response)),
            (format!("{:.2}", run.reads), Some(played.reads)),
        ];
        let mut columns = vec![column("TPS", 0), column("response ms", 2), column("pages read", 2)];
        if let Some((seen, by_law)) = run.fetched.zip(played.fetched) {
            cells.push((format!("{seen:.2}"), Some(by_law)));
            columns.push(column("below the page cache", 2));
        }
        let row = format!("buffers of {}", run.buffers);
        let rows = vec![Row { name: row, cells, left_out: None }];
        let whole = Line { name: format!("{name}: {}", run.name), columns, rows };
        let law = self.buffered(run);
        let of = |one: &StoredRun| {
            let read = self.over * law.read(one.stored);
            let cells = vec![(format!("{:.3}", one.read), Some(read))];
            (one.read.max(read) >= SHOWN * run.reads).then(|| Row { name: one.stored.name(), cells, left_out: None })
        };
        let rows = run.stored.iter().filter_map(of).collect();
        let columns = vec![column("pages read", 3)];
        let name = format!("{name}, tables and indexes with a hundredth of it and more");
        let by_table = Line { name, columns, rows };
        ([whole, by_table], played.tps / run.tps - 1.0)
    }
}

/// Tables and indexes with a smaller fraction of all pages read are not shown.
const SHOWN: f64 = 0.01;

/// Fits numbers to one run and compares another with its simulation, which must agree to `within`.
///
/// # Errors
/// Those of [`ShopCalibration::fit`], or the two runs have the same buffers.
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
    let numbers = found.numbers();
    let (first, _) = found.lines("Fitted to", Basis::Fitted(numbers), fitted, seed);
    let (second, error) = found.lines("Held out", Basis::Predicted(numbers), held_out, seed);
    let asked = format!("TPS of the run held out, at most {:.0} % off, with {numbers} fitted numbers", 100.0 * within);
    let mut notes = vec![
        format!("The database has {} and {}.", fitted.database, held_out.database),
        "Pages of each table and index are as counted; which of them are visited how often is counted from the statements."
            .to_string(),
        "The storage's times are those of the first run's load; it has no queue of its own.".into(),
    ];
    if fitted.others + held_out.others > 0.0 {
        notes.push(format!(
            "Other programs had {:.2} and {:.2} of {} processors; the first is in the host's time.",
            fitted.others, held_out.others, held_out.processors
        ));
    }
    let comparison = Comparison {
        name: "oltp-calibrate".into(),
        title: format!("Order entry calibrated from {}", fitted.name),
        about: "Users in virtual time with numbers from a run of a real database, played with the buffers of another \
                run that no number was fitted to."
            .into(),
        given: Given::Recorded,
        fitted: found.fitted(),
        lines: first.into_iter().chain(second).collect(),
        targets: vec![Target::percent(&asked, error.abs(), within)],
        notes,
        drawn: Vec::new(),
    };
    Ok((found, comparison))
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Bytes;
    use oltp::{Sizes, Stored, TransactionMix};

    const KNOWN: [f64; 5] = [0.5e-3, 1.2, 0.9, 0.4e-3, 0.8e-3];

    /// A run made from these numbers: host, over, fetched, read and commit.
    fn run(buffers: Bytes, [host, over, fetched, read, commit]: [f64; 5]) -> ShopRun {
        let sizes = Sizes { scale: "0.1".parse().unwrap(), products: 1000 };
        let pages = ShopPages::of(&sizes);
        let stored = |(stored, pages): &(Stored, f64)| StoredRun { stored: *stored, pages: *pages, read: 0.0 };
        let (memory, taken) = (Bytes::mib(160), Bytes::mib(20));
        let mut run = ShopRun {
            name: format!("buffers of {buffers}"),
            users: 8,
            mix: TransactionMix::V2,
            think: Span::ZERO,
            sizes,
            stored: pages.stored.iter().map(stored).collect(),
            database: pages.bytes(),
            buffers,
            memory: Some((memory, Bytes(memory.0 - taken.0 - buffers.0))),
            processors: 2,
            others: 0.25,
            tps: 0.0,
            response: 0.0,
            reads: 0.0,
            fetched: None,
            log: 1.0,
            reading: 0.0,
            committing: 0.0,
        };
        let by = ShopCalibration { host, over, fetched: Some(fetched), read, commit, by: run.clone() };
        let played = by.play(&run, 7);
        (run.tps, run.response, run.reads, run.fetched) = (played.tps, played.response, played.reads, played.fetched);
        run.reading = run.fetched.unwrap() * read;
        run.committing = played.committing;
        run
    }

    /// Runs made from known numbers give these numbers back with another seed, and predict each
    /// other. If the other run is slower than predicted, the comparison says so.
    #[test]
    fn known_numbers_are_found_and_predict_other_buffers() {
        let (small, large) = (run(Bytes::mib(8), KNOWN), run(Bytes::mib(64), KNOWN));
        // Fewer pages are read, and still there are fewer transactions: the page cache is smaller
        // by the size of the buffers, and the remaining reads come from below it.
        assert!(large.tps < 0.9 * small.tps && large.reads < 0.9 * small.reads, "{} and {}", small.tps, large.tps);
        assert!(large.fetched > small.fetched);
        let (found, comparison) = calibrate_shop([&small, &large], 0.05, 1).unwrap();
        assert!((found.commit / KNOWN[4] - 1.0).abs() < 0.1 && (found.host / KNOWN[0] - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.over - KNOWN[1]).abs() < 1e-9 && (found.read / KNOWN[3] - 1.0).abs() < 1e-9);
        assert!((found.fetched.unwrap() - KNOWN[2]).abs() < 1e-9);
        assert!(comparison.holds() && comparison.is_honest(), "{}", comparison.text());
        let other = ShopRun { tps: large.tps * 0.7, ..large };
        assert!(!calibrate_shop([&small, &other], 0.15, 1).unwrap().1.holds());
    }

    /// Without a limit of memory all reads have the same time, and there is one number less.
    #[test]
    fn without_a_page_cache_that_is_known_there_are_four_numbers() {
        let [mut small, mut large] = [8, 64].map(|mib| run(Bytes::mib(mib), KNOWN));
        (small.memory, large.memory) = (None, None);
        let (found, comparison) = calibrate_shop([&small, &large], 0.5, 1).unwrap();
        assert_eq!((found.numbers(), found.fetched), (4, None));
        assert!(comparison.is_honest() && (found.read - small.reading / small.reads).abs() < 1e-12);
    }

    #[test]
    fn what_proves_nothing_is_refused() {
        let small = run(Bytes::mib(8), KNOWN);
        let same = calibrate_shop([&small, &small], 0.1, 1).unwrap_err();
        assert!(same.contains("proves nothing"), "{same}");
        let all = ShopRun { buffers: Bytes::gib(2), ..small.clone() };
        let error = calibrate_shop([&all, &small], 0.1, 1).unwrap_err();
        assert!(error.contains("hold its database") && !error.contains('\n'), "{error}");
    }
}
