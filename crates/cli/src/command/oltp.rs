//! `seawall oltp`: order entry on a real database.

mod calibrate;
mod database;
pub use database::{FILE, is_set_up};
mod load;
mod simulated;

use crate::Answer;
use crate::memory::Memory;
use crate::outputs::{Kind, Output};
use ::database::{Isolation, RECONNECT_S};
use ::oltp::{Columns, Mode, SchemaScale, THINK_MOST_MS, Think, TransactionMix};
use anyhow::Result;
use block::{Bytes, Span};
use clap::Parser as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Run an order-entry load on a real database, and report response times and the limiter
///
/// setup creates and loads eleven tables, run lets users place orders, sweep finds the number of
/// users from which on more bring little, check verifies the contents of the database, drop removes
/// what setup made, and calibrate compares users in virtual time with kept runs. Called as
/// charbench it takes that tool's options. docs/oltp.md says what is measured.
#[derive(clap::Args)]
pub struct Oltp {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Setup(Setup),
    Run(Box<Run>),
    Sweep(Box<Sweep>),
    Check(Check),
    Drop(Drop),
    Calibrate(calibrate::Calibrate),
}

/// Which database.
#[derive(clap::Args, Clone)]
struct Which {
    /// The database: sqlite:PATH, postgres://USER@HOST/DATABASE (password from PGPASSWORD or
    /// ~/.pgpass), mysql://USER@HOST/DATABASE for MariaDB (MYSQL_PWD), or private:FOLDER, a
    /// PostgreSQL server that is started in that folder and stopped at the end
    #[arg(long, value_name = "NAME", conflicts_with = "directory")]
    database: Option<String>,
    /// A folder for orders.sqlite, if no database is named
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Create and load the tables
#[derive(clap::Args)]
struct Setup {
    #[command(flatten)]
    which: Which,
    /// Scale: 1 has a million customers
    #[arg(long, value_name = "N", default_value = "0.1", value_parser = scale)]
    scale: SchemaScale,
    /// Products; each is stored in about 900 warehouses
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    products: u64,
    /// Which indexes to create
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = ["all", "primary", "none"])]
    indexes: String,
    /// Connections that load in parallel, where the database allows it; default: one per processor
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZeroUsize>,
    /// The seed of all data: the same seed makes the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What each user does.
#[derive(clap::Args, Clone)]
struct Work {
    #[command(flatten)]
    which: Which,
    /// Length of the measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    time: u64,
    /// Length of the warm-up before it, in seconds; with less than 60, transactions per minute are
    /// too low
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    warm_up: u64,
    /// Weights of the transactions: v2, v1 or a list such as NCR=15,BP=50
    #[arg(long, value_name = "WEIGHTS", default_value = "v2", value_parser = mix)]
    weights: TransactionMix,
    /// Run the three manager queries too (SQ, WQ, WA), which the published sets leave out
    #[arg(long)]
    queries: bool,
    /// Leave transactions out, such as SQ,WQ,WA
    #[arg(long, value_name = "NAMES", default_value = "")]
    disable: String,
    /// Run a transaction by single statements, or by one call of a procedure
    #[arg(long, value_name = "HOW", default_value = "statements", value_parser = ["statements", "procedures"])]
    calls: String,
    /// Isolation level of transactions
    #[arg(long, value_name = "LEVEL", default_value = "read-committed", value_parser = ["read-committed", "repeatable-read", "serializable"])]
    isolation: String,
    /// Draw some customers and products more often than others: Zipf's exponent, such as 1.1;
    /// default: all alike
    #[arg(long, value_name = "THETA", value_parser = skew)]
    skew: Option<f64>,
    /// Think time within a transaction, in milliseconds, such as 100-200
    #[arg(long, value_name = "MS", default_value = "0", value_parser = range)]
    think: (i64, i64),
    /// Think time between transactions
    #[arg(long, value_name = "MS", default_value = "0", value_parser = range)]
    think_between: (i64, i64),
    /// The database's own cache: for SQLite that of each connection (default 2MiB), for
    /// private:FOLDER shared_buffers (default 128MiB); other servers have their own setting
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffers: Option<Bytes>,
    /// End the run early if no user could reconnect to the database for this long, in seconds
    #[arg(long, value_name = "S", default_value_t = RECONNECT_S, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    reconnect: u64,
    /// Limit the memory of private:FOLDER, page cache included, so that it has to read from storage
    /// (root, cgroups)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<Bytes>,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The date of all new rows, in seconds since 1970 (UTC), so that the same work makes the same
    /// rows; default: now
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(i64).range(0..=4_102_444_800))]
    date: Option<i64>,
    /// Write a page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Run users and report what they experienced
#[derive(clap::Args)]
struct Run {
    #[command(flatten)]
    work: Work,
    /// Number of users, with one connection each
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    users: u32,
    /// Transactions due per second, for all users together; response times count from when each was
    /// due
    #[arg(long, value_name = "TPS", value_parser = rate)]
    rate: Option<f64>,
    /// End after this many transactions of all users together, if that is before the time is over;
    /// there is no warm-up
    #[arg(long, value_name = "N", conflicts_with = "warm_up", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// Print a line each second with these columns: users, tpm, tps, errs, resp, vresp, trans
    #[arg(long, value_name = "COLUMNS", value_parser = columns)]
    columns: Option<Columns>,
    /// Write the window second by second as CSV: users, host, devices and database side by side
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write results.xml
    #[arg(long, value_name = "FILE")]
    xml: Option<PathBuf>,
    /// A comment for results.xml
    #[arg(long, value_name = "TEXT", default_value = "")]
    comment: String,
    /// In virtual time on a simulated array, without a database: a name of `seawall arrays list`,
    /// or a file
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["database", "directory"])]
    array: Option<String>,
    /// With --array: size of the database; --buffers of it are in memory, 1GiB unless set
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "array")]
    database_size: Option<Bytes>,
    /// With --array: processor time of a transaction on the host
    #[arg(long, value_name = "TIME", value_parser = workload::plan::parse_duration, default_value = "1ms", requires = "array")]
    host_time: Span,
    /// With --array: the tables, indexes and size of the database of a kept run on PostgreSQL
    #[arg(long, value_name = "RUN", requires = "array", conflicts_with = "database_size")]
    like: Option<String>,
    /// With --array: multiply the reads of pages that miss in the buffers, as counted from the
    /// statements, by this (`oltp calibrate` fits it)
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = cold, requires = "array")]
    cold: f64,
    /// With --array: number of the host's processors
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096), requires = "array")]
    processors: u32,
}

/// Run more and more users: 1, 2, 4 and so on, until more bring little
#[derive(clap::Args)]
struct Sweep {
    #[command(flatten)]
    work: Work,
    /// Maximum number of users
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    to: u32,
}

/// Verify references, totals, stock, sequences, and that the rows have grown by the counted inserts
#[derive(clap::Args)]
struct Check {
    #[command(flatten)]
    which: Which,
    /// Print a digest of each table's rows: equal rows have equal digests
    #[arg(long)]
    digests: bool,
}

/// Remove what setup made, and nothing else
#[derive(clap::Args)]
struct Drop {
    #[command(flatten)]
    which: Which,
    /// Remove it although a run is in progress
    #[arg(long)]
    force: bool,
}

/// The command's words, for other commands that run it.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    oltp: Oltp,
}

/// Runs the command with these words.
///
/// # Errors
/// Those of `seawall oltp`.
pub fn load(words: &[String], memory: &Memory) -> Result<Answer> {
    parsed(words)?.run(memory)
}

/// Checks the words of a run without touching its database.
///
/// # Errors
/// An option is wrong, or its outputs cannot be written.
pub fn check(words: &[String], memory: &Memory) -> Result<()> {
    let What::Run(run) = parsed(words)?.what else { return Ok(()) };
    run.check_outputs()?;
    match &run.array {
        Some(array) => simulated::check(&run, array, memory),
        None => run.work.mix().map(drop),
    }
}

/// The command that these words are, or the first line of clap's message.
fn parsed(words: &[String]) -> Result<Oltp> {
    let parsed = Words::try_parse_from(words).map_err(|error| {
        let message = error.to_string();
        anyhow::anyhow!("oltp: {}", message.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    Ok(parsed.oltp)
}

impl Oltp {
    /// Whether it keeps a run, which could have labels.
    pub fn keeps_runs(&self) -> bool {
        matches!(self.what, What::Run(_) | What::Sweep(_))
    }

    pub fn run(self, memory: &Memory) -> Result<Answer> {
        match self.what {
            What::Setup(setup) => setup.run(),
            What::Run(run) => match run.array.clone() {
                Some(array) => simulated::run(&run, &array, memory),
                None => run.run(memory),
            },
            What::Sweep(sweep) => sweep.run(memory),
            What::Check(check) => check.run(),
            What::Drop(drop) => drop.run(),
            What::Calibrate(calibrate) => calibrate.run(memory),
        }
    }
}

impl Work {
    /// The requested page.
    fn page(&self) -> Option<Output<'_>> {
        Output::of("--output", self.output.as_ref(), Kind::Page)
    }

    fn mix(&self) -> Result<TransactionMix> {
        let all = if self.queries { self.weights.with_queries() } else { self.weights };
        all.without(&self.disable).map_err(|error| anyhow::anyhow!("--disable: {error}"))
    }

    fn mode(&self) -> Mode {
        if self.calls == "procedures" { Mode::Procedures } else { Mode::Statements }
    }

    fn isolation(&self) -> Isolation {
        match self.isolation.as_str() {
            "repeatable-read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        }
    }

    fn think(&self) -> Think {
        Think { within_ms: self.think, between_ms: self.think_between }
    }
}

fn scale(given: &str) -> Result<SchemaScale, String> {
    given.parse().map_err(str::to_owned)
}

fn jobs(given: &str) -> Result<NonZeroUsize, String> {
    let jobs = given.parse::<NonZeroUsize>().ok().filter(|jobs| jobs.get() <= 256);
    jobs.ok_or_else(|| "must be a number of connections from 1 to 256".into())
}

fn mix(given: &str) -> Result<TransactionMix, String> {
    TransactionMix::parse(given).map_err(|error| error.to_string())
}

fn columns(given: &str) -> Result<Columns, String> {
    Columns::parse(given).map_err(|error| error.to_string())
}

fn size(given: &str) -> Result<Bytes, String> {
    let size = given.parse::<Bytes>().ok().filter(|size| (1 << 14..=1 << 44).contains(&size.0));
    size.ok_or_else(|| "must be a size from 16KiB to 16TiB, as in 2MiB".into())
}

fn cold(given: &str) -> Result<f64, String> {
    let cold = given.parse().ok().filter(|cold| (0.0..=100.0).contains(cold));
    cold.ok_or_else(|| "must be a number from 0 to 100, as in 0.7".into())
}

fn skew(given: &str) -> Result<f64, String> {
    let skew = given.parse().ok().filter(|skew| (0.01..=10.0).contains(skew));
    skew.ok_or_else(|| "must be a number from 0.01 to 10, as in 1.1".into())
}

fn rate(given: &str) -> Result<f64, String> {
    let rate = given.parse().ok().filter(|rate| (0.01..=1e6).contains(rate));
    rate.ok_or_else(|| "must be a number of transactions a second from 0.01 to 1000000".into())
}

/// Milliseconds: one number, or the least and the most.
fn range(given: &str) -> Result<(i64, i64), String> {
    let number = |part: &str| part.parse::<i64>().ok().filter(|ms| (0..=THINK_MOST_MS).contains(ms));
    let parts = match given.split_once('-') {
        Some((least, most)) => number(least).zip(number(most)),
        None => number(given).map(|ms| (ms, ms)),
    };
    let fits = parts.filter(|(least, most)| least <= most);
    fits.ok_or_else(|| format!("must be milliseconds up to {THINK_MOST_MS}, or the least and the most as in 100-200"))
}
