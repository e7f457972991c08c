//! `cargo xtask bench nfs`: the NFS server compared with nfs-ganesha, and the NFS client with a
//! loop over libnfs, under equal conditions.
//!
//! nfs-ganesha (VFS) serves a copy of the same data on the same disk, in a network namespace of its
//! own with a port mapper. Our client loads both over TCP on a loopback device. Ours has its QoS
//! gate on, with a ceiling that is never reached. Both kinds of files are measured on our server:
//! LUNs, and clients' files. Runs alternate (ours, theirs, ours, …); a ratio is the median of the
//! ratios of neighbouring runs.

mod peer;
mod place;
mod versions;

use super::fio::Load;
use super::row::{Bound, Figure, Row, Run, Sample, bounds, load};
use super::turns::{Data, Turns};
use super::{Folder, line_of, load_average, make_data, need, release_build};
use crate::root;
use anyhow::{Context as _, Result};
use peer::{Ganesha, Loop};
use place::{Place, Tools};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Nfs {
    #[command(flatten)]
    turns: Turns<5, 5, 1>,
    #[command(flatten)]
    data: Data,
    /// Only these tables
    #[arg(long, value_enum)]
    only: Vec<Table>,
    /// Only rows with this in their names
    #[arg(long, value_name = "TEXT")]
    row: Option<String>,
    /// Measure this program, and do not build one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// A table of this bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// The server through the page cache, against nfs-ganesha
    Page,
    /// Hits of the server's own cache, against nfs-ganesha through the page cache
    Cached,
    /// Our client against a loop over libnfs, on both servers
    Client,
    /// Our server with its gate and flow limits against itself without
    Limits,
    /// Version 3 against version 4: libnfs against nfs-ganesha
    Versions,
}

/// A load for our client and for libnfs' loop, with a COMMIT after a number of writes.
#[derive(Clone, Copy)]
struct Shape {
    load: Load,
    commit_every: u32,
}

impl Shape {
    /// Bytes of a request.
    fn block(self) -> u32 {
        if self.load.block == "1m" { 1 << 20 } else { 4 << 10 }
    }
}

const fn reads(load: Load) -> Shape {
    Shape { load, commit_every: 0 }
}

const SMALL_READS: Shape = reads(load("randread", "4k", 32));
const LARGE_READS: Shape = reads(load("read", "1m", 8));
const SMALL_WRITES: Shape = Shape { load: load("randwrite", "4k", 32), commit_every: 64 };

/// A row of a table, and its load.
struct Line {
    row: Row,
    shape: Shape,
}

const fn line(name: &'static str, shape: Shape, bounds: [Option<Bound>; 2]) -> Line {
    Line { row: Row { name, load: shape.load, bounds }, shape }
}

/// The bounds on the server, compared with nfs-ganesha.
const SERVER: [Line; 3] = [
    line(
        "4 KiB random read, depth 32",
        SMALL_READS,
        bounds([Bound::most(Figure::Cpu, 0.3), Bound::least(Figure::Iops, 2.5)]),
    ),
    line("1 MiB read, depth 8", LARGE_READS, bounds([Bound::most(Figure::Cpu, 0.6), Bound::least(Figure::Iops, 1.0)])),
    line("4 KiB random write, COMMIT each 64, depth 32", SMALL_WRITES, bounds([Bound::least(Figure::Iops, 1.0)])),
];

/// The bounds on the client, compared with a loop over libnfs.
const CLIENT: [Line; 3] = [
    line("4 KiB random read, depth 32", SMALL_READS, bounds([Bound::most(Figure::Cpu, 0.7)])),
    line("1 MiB read, depth 8", LARGE_READS, bounds([Bound::most(Figure::Cpu, 0.7)])),
    line("4 KiB random write, COMMIT each 64, depth 32", SMALL_WRITES, bounds([Bound::most(Figure::Cpu, 0.7)])),
];

/// The bounds on the cost of limits.
const LIMITS: [Line; 2] = [
    line(
        "4 KiB random read, depth 32",
        SMALL_READS,
        bounds([Bound::most(Figure::Cpu, 1.05), Bound::least(Figure::Iops, 0.95)]),
    ),
    line(
        "1 MiB read, depth 8",
        LARGE_READS,
        bounds([Bound::most(Figure::Cpu, 1.05), Bound::least(Figure::Iops, 0.95)]),
    ),
];

/// Bandwidth limits that no machine reaches.
const FLOW_LIMITS: &str = "flow_limit = \"8000Gb/s\"\nnetwork = \"1000000MB/s\"\n";

/// One side of a table.
enum Side<'a> {
    /// Our client, loading a server; the function returns the processor time to charge so far.
    Seawall(&'a Place, &'a dyn Fn() -> Result<f64>),
    /// Our client; charged with its own processor time, without that of start and end.
    Client(&'a Place),
    /// A loop over libnfs; charged with its own processor time, without that of start and end.
    Libnfs(&'a Place, &'a Loop),
}

impl Nfs {
    /// Runs all tables and prints them.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        need(&["ganesha.nfsd", "rpcbind", "unshare", "nsenter", "ip", "nfs-ls", "nfs-cp", "nbdcopy", "cc"])?;
        let seawall = match &self.program {
            Some(program) => program.canonicalize().with_context(|| format!("--program {}", program.display()))?,
            None => release_build()?,
        };
        let folder = Folder::make(&root().join("target/bench-nfs"))?;
        let data = folder.0.join("data");
        make_data(&data, self.data.mib)?;
        let tools = Tools { seawall, folder: folder.0.clone(), bytes: self.data.mib << 20 };
        let theirs = Ganesha::start(&folder.0, &data)?;
        println!("{} MiB of data that cannot be compressed", self.data.mib);
        println!("{} runs of {} s each, taking turns; medians", self.turns.runs, self.turns.seconds);
        println!("load average at the start: {}", load_average()?);
        let mut counts = (0, 0);
        for table in [Table::Page, Table::Cached, Table::Client, Table::Limits] {
            if self.only.is_empty() || self.only.contains(&table) {
                let (met, missed) = match table {
                    Table::Client => self.clients(&tools, &theirs, &data)?,
                    Table::Limits => self.limits(&tools, &data)?,
                    _ => self.servers(table, &tools, &theirs, &data)?,
                };
                counts = (counts.0 + met, counts.1 + missed);
            }
        }
        if self.only.is_empty() || self.only.contains(&Table::Versions) {
            versions::run(&tools, &theirs, &Loop::build(&folder.0)?, &self.turns)?;
        }
        println!("\nbounds met: {}, missed: {}; load average at the end: {}", counts.0, counts.1, load_average()?);
        Ok(())
    }

    /// Compares our server with theirs.
    fn servers(&self, table: Table, tools: &Tools, theirs: &Ganesha, data: &Path) -> Result<(u32, u32)> {
        let is_cached = table == Table::Cached;
        let cache =
            if is_cached { format!("[cache]\nmemory = \"{}MiB\"\n", self.data.mib + 64) } else { String::new() };
        let (ours, places) = place::serve(tools, &format!("{table:?}"), &cache, "", data)?;
        println!("\nserver: seawall against nfs-ganesha, both loaded by seawall; processor time is the server's");
        println!(
            "  {}",
            if is_cached { "all data in our cache, theirs in the page cache" } else { "through the page cache" }
        );
        println!(
            "  ours:   {}\n  client: {}",
            ours.line,
            line_of(&tools.fio(&places[0], SMALL_READS, self.turns.seconds))
        );
        let mut counts = (0, 0);
        for place in &places {
            println!("\n  {} against a file of nfs-ganesha", place.what);
            let lines = SERVER.iter().filter(|line| !is_cached || line.shape.commit_every == 0);
            let (used, theirs_used) = (|| ours.served.cpu_seconds(), || theirs.cpu_seconds());
            let sides = [Side::Seawall(place, &used), Side::Seawall(&theirs.place, &theirs_used)];
            self.play(tools, lines, &sides, ["seawall", "ganesha"], &mut counts)?;
        }
        Ok(counts)
    }

    /// Compares our client with a loop over libnfs.
    fn clients(&self, tools: &Tools, theirs: &Ganesha, data: &Path) -> Result<(u32, u32)> {
        let libnfs = Loop::build(&tools.folder)?;
        let (_ours, places) = place::serve(tools, "client", "", "", data)?;
        println!(
            "\nclient: seawall fio against a loop over libnfs; processor time is the client's, \
             without its start"
        );
        println!("  ours:   {}", line_of(&tools.fio(&places[1], SMALL_READS, self.turns.seconds)));
        println!("  theirs: {}", line_of(&libnfs.command(&places[1], 3, SMALL_READS, self.turns.seconds, tools.bytes)));
        let mut counts = (0, 0);
        for place in [&places[1], &theirs.place] {
            println!("\n  {}", place.what);
            let sides = [Side::Client(place), Side::Libnfs(place, &libnfs)];
            self.play(tools, CLIENT.iter(), &sides, ["seawall", "libnfs"], &mut counts)?;
        }
        Ok(counts)
    }

    /// Measures the cost of limits on our server. Two processes of one program differ by more than
    /// that, depending on where their memory is. So each run has two new ones, and which of them is
    /// first alternates.
    fn limits(&self, tools: &Tools, data: &Path) -> Result<(u32, u32)> {
        println!(
            "\nlimits: seawall with a ceiling, a flow limit and a network limit that are never reached, and without; \
             two new servers a run"
        );
        println!("  with: {}", FLOW_LIMITS.trim().replace('\n', ", "));
        let mut runs: BTreeMap<(&str, usize), Vec<Run>> = BTreeMap::new();
        for round in 0..self.turns.runs {
            let (names, later) = ([format!("limited{round}"), format!("free{round}")], round % 2 == 1);
            let start = |limited: bool| {
                let (name, server) = if limited { (&names[0], FLOW_LIMITS) } else { (&names[1], "") };
                place::serve(tools, name, "", server, data)
            };
            let (first, second) = (start(!later)?, start(later)?);
            let ((limited, with), (free, without)) = if later { (second, first) } else { (first, second) };
            free.order("volume modify -vserver svm01 -volume vol1 -qos-policy-group none")?;
            let (on, off) = (|| limited.served.cpu_seconds(), || free.served.cpu_seconds());
            for (with, without) in with.iter().zip(&without) {
                for (number, line) in LIMITS.iter().enumerate().filter(|(_, line)| self.is_wanted(line)) {
                    let ours = Side::Seawall(with, &on).sample(tools, line.shape, self.turns.seconds)?;
                    let theirs = Side::Seawall(without, &off).sample(tools, line.shape, self.turns.seconds)?;
                    runs.entry((with.what, number)).or_default().push(Run { ours, theirs, disk: None });
                }
            }
            drop((limited, free));
            for name in names {
                std::fs::remove_dir_all(tools.folder.join(format!("pool-{name}"))).context("the pool of a run")?;
            }
        }
        let mut counts = (0, 0);
        for ((what, number), runs) in runs {
            println!("\n  {what}");
            let (text, (met, missed)) = LIMITS[number].row.report(["limits", "none"], &runs);
            print!("{text}");
            counts = (counts.0 + met, counts.1 + missed);
        }
        Ok(counts)
    }

    fn is_wanted(&self, line: &Line) -> bool {
        self.row.as_ref().is_none_or(|text| line.row.name.contains(text))
    }

    /// Runs the rows of a table with two sides in turns; adds bounds met and missed.
    fn play<'a>(
        &self,
        tools: &Tools,
        lines: impl Iterator<Item = &'a Line>,
        sides: &[Side<'_>; 2],
        names: [&str; 2],
        counts: &mut (u32, u32),
    ) -> Result<()> {
        for line in lines.filter(|line| self.is_wanted(line)) {
            let mut runs = Vec::new();
            for _ in 0..self.turns.runs {
                let [ours, theirs] = sides;
                let ours = ours.sample(tools, line.shape, self.turns.seconds)?;
                let theirs = theirs.sample(tools, line.shape, self.turns.seconds)?;
                runs.push(Run { ours, theirs, disk: None });
            }
            let (text, (met, missed)) = line.row.report(names, &runs);
            print!("{text}");
            *counts = (counts.0 + met, counts.1 + missed);
        }
        Ok(())
    }
}

impl Side<'_> {
    fn sample(&self, tools: &Tools, shape: Shape, seconds: u64) -> Result<Sample> {
        match self {
            Side::Seawall(place, used) => {
                let before = used()?;
                let done = shape.load.run_command(tools.fio(place, shape, seconds))?;
                Ok(Sample::of(used()? - before, done))
            }
            Side::Client(place) => {
                let before = clients_seconds()?;
                shape.load.run_command(tools.fio(place, shape, 0))?;
                let begun = clients_seconds()?;
                let done = shape.load.run_command(tools.fio(place, shape, seconds))?;
                Ok(Sample::of(clients_seconds()? - begun - (begun - before), done))
            }
            Side::Libnfs(place, libnfs) => {
                let (done, used) = libnfs.run(place, 3, shape, seconds, tools.bytes)?;
                Ok(Sample::of(used, done))
            }
        }
    }
}

/// Processor time of all clients that have ended.
fn clients_seconds() -> Result<f64> {
    let used = super::served::children_seconds()?;
    Ok(used.user + used.system)
}
