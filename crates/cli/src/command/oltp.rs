//! `seawall oltp`: order entry on a real database.

mod calibrate;
mod database;
pub use database::{FILE, is_set_up};
mod load;
mod simulated;

use crate::Answer;
use crate::memory::Memory;
use ::database::Isolation;
use ::oltp::{Columns, Mode, SchemaScale, Think, TransactionMix};
use anyhow::Result;
use block::{Bytes, Span};
use clap::Parser as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Put an order-entry load on a real database, and say what users feel and what limited it
///
/// setup makes and loads eleven tables, run lets users place orders, sweep looks for the number of
/// users from which on more bring little, check proves the database's contents, drop removes what
/// setup made, calibrate holds users in virtual time against kept runs. Called as charbench it
/// takes that tool's options. docs/oltp.md says what is measured.
#[derive(clap::Args)]
pub struct Oltp {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Setup(Setup),
    Run(Box<Run>),
    Sweep(Sweep),
    Check(Check),
    Drop(Drop),
    Calibrate(calibrate::Calibrate),
}

/// Which database.
#[derive(clap::Args, Clone)]
struct Which {
    /// The database: sqlite:PATH, postgres://USER@HOST/DATABASE (passwords are PGPASSWORD's or
    /// ~/.pgpass's), mysql://USER@HOST/DATABASE for MariaDB (MYSQL_PWD), or private:FOLDER, a
    /// PostgreSQL server of its own that is started there and ends with the command
    #[arg(long, value_name = "NAME", conflicts_with = "directory")]
    database: Option<String>,
    /// A folder for orders.sqlite, where no database is named
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Make the tables and load them
#[derive(clap::Args)]
struct Setup {
    #[command(flatten)]
    which: Which,
    /// How large: 1 has a million customers
    #[arg(long, value_name = "N", default_value = "0.1", value_parser = scale)]
    scale: SchemaScale,
    /// Products; each is stored in about 900 warehouses
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    products: u64,
    /// Which indexes
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = ["all", "primary", "none"])]
    indexes: String,
    /// Connections that load at once, where there can be several; as many as processors
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZeroUsize>,
    /// The seed of all data: the same one makes the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What users do, however many there are.
#[derive(clap::Args, Clone)]
struct Work {
    #[command(flatten)]
    which: Which,
    /// How long it is measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    time: u64,
    /// How long users work before that, in seconds: less than 60 makes transactions a minute too
    /// few
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    warm_up: u64,
    /// How often each transaction is done: v2, v1 or as in NCR=15,BP=50
    #[arg(long, value_name = "WEIGHTS", default_value = "v2", value_parser = mix)]
    weights: TransactionMix,
    /// Do the three queries of managers too (SQ, WQ, WA), which the published sets leave out
    #[arg(long)]
    queries: bool,
    /// Leave transactions out, as in SQ,WQ,WA
    #[arg(long, value_name = "NAMES", default_value = "")]
    disable: String,
    /// How a transaction is asked for: by single statements, or by one call of a procedure
    #[arg(long, value_name = "HOW", default_value = "statements", value_parser = ["statements", "procedures"])]
    calls: String,
    /// How a server keeps transactions apart
    #[arg(long, value_name = "LEVEL", default_value = "read-committed", value_parser = ["read-committed", "repeatable-read", "serializable"])]
    isolation: String,
    /// Draw some customers and products more often than others: Zipf's exponent, as in 1.1; all
    /// alike unless set
    #[arg(long, value_name = "THETA", value_parser = skew)]
    skew: Option<f64>,
    /// How long users think inside a transaction, in milliseconds, as in 100-200
    #[arg(long, value_name = "MS", default_value = "0", value_parser = range)]
    think: (i64, i64),
    /// How long they think between transactions
    #[arg(long, value_name = "MS", default_value = "0", value_parser = range)]
    think_between: (i64, i64),
    /// The database's own cache: of SQLite that of each connection, 2MiB unless set, of
    /// private:FOLDER shared_buffers, 128MiB unless set; another server has its own
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffers: Option<Bytes>,
    /// Limit the memory of private:FOLDER, page cache included, so that it has to read from storage
    /// (root, cgroups)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<Bytes>,
    /// The seed of all chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The date of all new rows, in seconds since 1970 (UTC), so that the same work makes the same
    /// rows; now unless set
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(i64).range(0..=4_102_444_800))]
    date: Option<i64>,
    /// Write a page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Let users work, and tell what they felt
#[derive(clap::Args)]
struct Run {
    #[command(flatten)]
    work: Work,
    /// How many users, a connection each
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    users: u32,
    /// Transactions due in a second, all users together; response times count from when each was
    /// due
    #[arg(long, value_name = "TPS", value_parser = rate)]
    rate: Option<f64>,
    /// End after so many transactions of all users together, if they are done before the time;
    /// nothing is left unmeasured
    #[arg(long, value_name = "N", conflicts_with = "warm_up", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// Print a line each second with these columns: users, tpm, tps, errs, resp, vresp, trans
    #[arg(long, value_name = "COLUMNS", value_parser = columns)]
    columns: Option<Columns>,
    /// Write the window second by second: users, host, devices and database beside each other
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write results.xml
    #[arg(long, value_name = "FILE")]
    xml: Option<PathBuf>,
    /// A comment for it
    #[arg(long, value_name = "TEXT", default_value = "")]
    comment: String,
    /// In virtual time on an array that one does not have, without a database: a name of
    /// `seawall arrays list`, or a file
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["database", "directory"])]
    array: Option<String>,
    /// With --array: how large the database is; --buffers of it are in memory, 1GiB unless set
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "array")]
    database_size: Option<Bytes>,
    /// With --array: for how long a transaction keeps a processor of the host
    #[arg(long, value_name = "TIME", value_parser = workload::plan::parse_duration, default_value = "1ms", requires = "array")]
    host_time: Span,
    /// With --array: the tables and indexes, and the size, of the database of a kept run on
    /// PostgreSQL
    #[arg(long, value_name = "RUN", requires = "array", conflicts_with = "database_size")]
    like: Option<String>,
    /// With --array: so many times the pages are read that the buffers lack by what is counted from
    /// the statements (`oltp calibrate` fits it)
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = cold, requires = "array")]
    cold: f64,
    /// With --array: processors of the host
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096), requires = "array")]
    processors: u32,
}

/// Let more and more users work: 1, 2, 4 and so on, until more bring little
#[derive(clap::Args)]
struct Sweep {
    #[command(flatten)]
    work: Work,
    /// The most users
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    to: u32,
}

/// Prove references, totals, stock, sequences, and that counted inserts are the rows that came
#[derive(clap::Args)]
struct Check {
    #[command(flatten)]
    which: Which,
    /// Print a digest of each table's rows: the same rows have the same one
    #[arg(long)]
    digests: bool,
}

/// Remove what setup made, and nothing else
#[derive(clap::Args)]
struct Drop {
    #[command(flatten)]
    which: Which,
    /// Remove it although a run is under way
    #[arg(long)]
    force: bool,
}

/// The command's words, as another command has them.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    oltp: Oltp,
}

/// A command by its words.
///
/// # Errors
/// As for `seawall oltp`.
pub fn load(words: &[String], memory: &Memory) -> Result<Answer> {
    // One line of what clap has to say.
    let parsed = Words::try_parse_from(words).map_err(|error| {
        let said = error.to_string();
        anyhow::anyhow!("oltp: {}", said.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    parsed.oltp.run(memory)
}

impl Oltp {
    /// Whether it leaves a run that a label could be said of.
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

/// Milliseconds, one number or the least and the most.
fn range(given: &str) -> Result<(i64, i64), String> {
    let number = |part: &str| part.parse::<i64>().ok().filter(|ms| (0..=3_600_000).contains(ms));
    let parts = match given.split_once('-') {
        Some((least, most)) => number(least).zip(number(most)),
        None => number(given).map(|ms| (ms, ms)),
    };
    let fits = parts.filter(|(least, most)| least <= most);
    fits.ok_or_else(|| "must be milliseconds up to 3600000, or the least and the most as in 100-200".into())
}
