//! `cargo xtask bench cache`: the policies of the server's cache on the requests of a real
//! database.
//!
//! A PostgreSQL server of the bench's own runs the loads of `cache/loads.rs`. The reads and writes
//! of its processes, below its buffers, are recorded. The example `recorded` of the crate `cache`
//! then plays them through caches of three sizes, and computes the fewest possible misses. If
//! libcachesim is installed, it plays the same trace.

mod loads;

use super::postgres::Cluster;
use super::recorder::Recorder;
use super::{Folder, example, libcachesim, load_average, text_of};
use crate::step::Watch;
use crate::{root, tools};
use anyhow::{Context as _, Result, bail};
use loads::{CLIENTS, LOADS, Load, SCALE, SETTINGS, TABLES, VARIABLES};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The options of `bench cache`.
#[derive(clap::Args)]
pub struct Cache {
    /// Only this load
    #[arg(long, value_name = "NAME", value_parser = LOADS.map(|load| load.name))]
    only: Option<String>,
    /// The seed of the loads' chance
    #[arg(long, default_value_t = 20)]
    seed: u32,
    /// Keep the traces in this folder, which is made; `seawall advise cache --trace` reads them
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Record nothing and play this trace, of any kind that `seawall advise cache` reads; may be
    /// given several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "seed", "keep"])]
    trace: Vec<PathBuf>,
}

/// The columns of the policies, by the names that the example gives them.
const COLUMNS: [(&str, &str); 5] =
    [("s3fifo", "S3-FIFO"), ("twoq", "2Q"), ("sieve", "SIEVE"), ("lru", "LRU"), ("best", "best")];

impl Cache {
    /// Records, plays and prints the table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&root().join("target/bench-cache"))?;
        let traces = if self.trace.is_empty() { self.record(&folder.0)? } else { self.trace.clone() };
        println!("\nshare of misses by policy; best: the fewest possible, knowing what comes (Belady)");
        print!("{:<10}{:>9}{:>9}{:>8}", "trace", "reads", "pages", "cache");
        println!("{}", COLUMNS.map(|(_, title)| format!("{title:>8}")).concat());
        let numbers = folder.0.join("numbers");
        let mut apart = BTreeMap::new();
        for trace in &traces {
            let played = Played::of(trace, &numbers)?;
            played.print(trace);
            if libcachesim::python().is_some() {
                played.compare(&numbers, &mut apart)?;
            }
        }
        if apart.is_empty() {
            println!("\nnot played by libcachesim as well: `cargo xtask test` puts it into target/python");
        } else {
            let each = COLUMNS.iter().filter_map(|(name, title)| Some((title, apart.get(*name)?)));
            let each: Vec<String> = each.map(|(title, points)| format!("{title} {points:.2}")).collect();
            println!("\nlibcachesim's are other by this many points at most: {}", each.join(", "));
        }
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }

    /// Records the loads; returns the traces.
    fn record(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        if !tools::has("strace") {
            bail!("strace is not installed, which records what the server asks for: apt-get install strace");
        }
        let to = self.keep.as_deref().unwrap_or(folder);
        std::fs::create_dir_all(to).with_context(|| format!("--keep {}", to.display()))?;
        let cluster = Cluster::at(folder.join("server"))?;
        let watch = Watch::start();
        load_tables(&cluster)?;
        println!("tables are loaded: {:.0} s", watch.elapsed().as_secs_f64());
        let wanted = LOADS.iter().filter(|load| self.only.as_deref().is_none_or(|only| only == load.name));
        let record = |load: &Load| {
            let watch = Watch::start();
            let trace = to.join(format!("{}.csv", load.name));
            let table = recorded(&cluster, load, self.seed)?;
            std::fs::write(&trace, table).with_context(|| trace.display().to_string())?;
            println!("{} is recorded: {:.0} s", load.name, watch.elapsed().as_secs_f64());
            Ok(trace)
        };
        wanted.map(record).collect()
    }
}

fn load_tables(cluster: &Cluster) -> Result<()> {
    cluster.make()?;
    let served = cluster.serve(&[], &SETTINGS)?;
    let mut tables = cluster.client("pgbench", "postgres");
    // The server makes the tables, with keys.
    text_of(tables.args(["-i", "-q", "-I", "dtGp", "-s", &SCALE.to_string()]))?;
    TABLES.iter().try_for_each(|sql| cluster.sql(sql))?;
    cluster.stop()?;
    served.ended()
}

/// Runs a load on a server that is started for it, and makes a table of its requests.
fn recorded(cluster: &Cluster, load: &Load, seed: u32) -> Result<String> {
    let script = cluster.folder.with_file_name(format!("{}.sql", load.name));
    std::fs::write(&script, load.script()).with_context(|| script.display().to_string())?;
    let mut pgbench = cluster.client("pgbench", "postgres");
    let clients = CLIENTS.to_string();
    pgbench.args(["-n", "-c", &clients, "-j", &clients, "-t", &load.transactions.to_string()]);
    VARIABLES.iter().for_each(|(name, value)| _ = pgbench.arg("-D").arg(format!("{name}={value}")));
    pgbench.arg(format!("--random-seed={seed}")).arg("-f").arg(&script);
    let folder = Folder(cluster.folder.with_file_name("calls"));
    let recorder = Recorder::into(folder.0.clone())?;
    let served = cluster.serve(&recorder.words(), &SETTINGS)?;
    let done = text_of(&mut pgbench);
    // Not killed: recordings are complete only when all processes have ended.
    cluster.stop()?;
    served.ended()?;
    done?;
    recorder.table(&cluster.data())
}

/// The results of a trace.
struct Played {
    reads: String,
    pages: String,
    /// Share of misses by size and policy.
    misses: BTreeMap<u64, BTreeMap<String, f64>>,
}

impl Played {
    /// Plays a trace, and writes the numbers of its pages to a file.
    fn of(trace: &Path, numbers: &Path) -> Result<Played> {
        let words = [trace, numbers].map(|path| std::path::absolute(path).map(|path| path.display().to_string()));
        let [trace, numbers] = words;
        let text = example("cache", "recorded", &[&trace?, &numbers?])?;
        let (first, rows) = text.split_once('\n').context("the example recorded: prints nothing")?;
        let (reads, pages) = first.split_once(' ').context("the example recorded: no counts")?;
        let mut misses: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
        for line in rows.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().with_context(|| format!("the example recorded: {line}"));
            let (name, size, share) = (word()?, word()?.parse()?, word()?.parse()?);
            misses.entry(size).or_default().insert(name.to_owned(), share);
        }
        Ok(Played { reads: reads.to_owned(), pages: pages.to_owned(), misses })
    }

    fn print(&self, trace: &Path) {
        let name = trace.file_stem().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().take(9).collect();
        for (size, shares) in &self.misses {
            print!("{name:<10}{:>9}{:>9}{size:>8}", self.reads, self.pages);
            println!("{}", COLUMNS.map(|(name, _)| format!("{:>8.4}", shares[name])).concat());
        }
    }

    /// Compares the misses with libcachesim's; keeps the largest difference of each policy, in
    /// percentage points.
    fn compare(&self, numbers: &Path, apart: &mut BTreeMap<String, f64>) -> Result<()> {
        let sizes: Vec<u64> = self.misses.keys().copied().collect();
        for row in libcachesim::play(numbers, 1, &sizes)? {
            let ours = self.misses[&row.size].get(&row.policy).context("a policy that we have not")?;
            let points = apart.entry(row.policy).or_default();
            *points = points.max((ours - row.misses).abs() * 100.0);
        }
        Ok(())
    }
}
