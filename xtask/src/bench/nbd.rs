//! `cargo xtask bench nbd`: the server compared with those that people use today, under equal
//! conditions.
//!
//! There are two competitors, each under its own conditions: nbdkit's file plugin through the page
//! cache with all data in memory, and qemu-nbd past it (`O_DIRECT`). Hits of the server's own cache
//! are compared with nbdkit's memory plugin. Both depth-1 rows are repeated with `latency = "low"`,
//! and with servers and client on one processor, where no idle processor has to be woken; the
//! disk's row also with the data thread bound. File size, disk, client and Unix socket are the
//! same. Ours has its QoS gate on, with a ceiling that is never reached. Runs alternate (ours,
//! theirs, ours, …); a ratio is the median of the ratios of neighbouring runs. The same load is
//! also run on the disk itself, without any server.

mod bare;
mod bound;
mod crowd;
mod hostile;

use super::contender::{Contender, MEMORY, Ours};
use super::fio::Load;
use super::row::{self, Bound, Figure, Row, Sample, bounds, load};
use super::turns::{Data, Turns};
use super::{Folder, line_of, load_average, make_data, need, release_build, succeed};
use crate::root;
use anyhow::{Context as _, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options of this bench.
#[derive(clap::Args)]
pub struct Nbd {
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
    /// Through the page cache, against nbdkit
    Page,
    /// Past the page cache, against qemu-nbd
    Direct,
    /// The same with the data thread on the processor that takes the disk's interrupts
    DirectBound,
    /// The same with `latency = "low"`
    DirectLow,
    /// The same with servers and client on one processor
    DirectOne,
    /// Hits of the server's own cache, against nbdkit's memory
    Cached,
    /// The same with `latency = "low"`
    CachedLow,
    /// The same with servers and client on one processor
    CachedOne,
    /// 64 connections to 16 exports: memory and fairness
    Crowd,
    /// A client beside others that do not read, or ask without end
    Hostile,
}

/// A competitor and the conditions of the comparison.
struct Match {
    table: Table,
    rival: &'static str,
    conditions: &'static str,
    /// The pool's setting `cache`.
    cache: &'static str,
    /// The size of the server's own cache, whether it busy-polls, and what runs on which processor.
    config: Config,
    warm: bool,
    rows: &'static [Row],
}

/// Our server's configuration.
#[derive(Clone, Copy, Default)]
struct Config {
    /// Whether all data fits into `[cache] memory`.
    is_cached: bool,
    /// `latency = "low"`.
    is_low: bool,
    /// What is bound to the processor that handles the disk's interrupts.
    bound: Bind,
}

/// What is bound to one processor.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Bind {
    #[default]
    Nothing,
    /// Our data thread.
    Data,
    /// Both servers and the client.
    All,
}

const PLAIN: Config = Config { is_cached: false, is_low: false, bound: Bind::Nothing };

impl Config {
    /// The configuration file, for that much data on the disk of that file.
    fn text(self, mib: u64, raw: &Path, folder: &Path) -> Result<String> {
        let cpu = match self.bound {
            Bind::Data => format!("cpu = {}\n", bound::processor_of(raw, folder)?),
            Bind::Nothing | Bind::All => String::new(),
        };
        // In addition to the data, room for the pool's first blocks.
        let cache = if self.is_cached { format!("[cache]\nmemory = \"{}MiB\"\n", mib + 64) } else { String::new() };
        Ok(cpu + &cache + if self.is_low { "[server]\nlatency = \"low\"\n" } else { "" })
    }
}

/// One request at a time past the page cache.
const DISK_ALONE: Row = Row {
    name: "4 KiB random read, depth 1",
    load: load("randread", "4k", 1),
    bounds: bounds([Bound::most(Figure::Cpu, 0.6), Bound::most(Figure::P50, 0.8)]),
};

const MATCHES: [Match; 8] = [
    Match {
        table: Table::Page,
        rival: "nbdkit",
        conditions: "through the page cache, all data read into it before each run",
        cache: "page",
        config: PLAIN,
        warm: true,
        rows: &[
            Row {
                name: "4 KiB random read, depth 32",
                load: load("randread", "4k", 32),
                bounds: bounds([Bound::most(Figure::Cpu, 0.75), Bound::least(Figure::Iops, 1.3)]),
            },
            Row {
                name: "4 KiB random read, depth 1",
                load: load("randread", "4k", 1),
                bounds: bounds([Bound::most(Figure::Cpu, 0.6), Bound::most(Figure::P50, 0.75)]),
            },
            Row {
                name: "1 MiB read, depth 8",
                load: load("read", "1m", 8),
                bounds: bounds([Bound::most(Figure::Cpu, 0.8), Bound::least(Figure::Iops, 1.0)]),
            },
        ],
    },
    Match {
        table: Table::Direct,
        rival: "qemu-nbd",
        conditions: "past the page cache (O_DIRECT), all else written back (sync) before each run",
        cache: "direct",
        config: PLAIN,
        warm: false,
        rows: &[
            Row {
                name: "4 KiB random read, depth 32",
                load: load("randread", "4k", 32),
                bounds: bounds([Bound::most(Figure::Cpu, 0.5), Bound::least(Figure::Iops, 1.3).or_disk()]),
            },
            DISK_ALONE,
            Row {
                name: "4 KiB random overwrite, depth 32",
                load: load("randwrite", "4k", 32),
                bounds: bounds([Bound::most(Figure::Cpu, 0.6)]),
            },
            Row {
                name: "4 KiB first write of a thin volume, depth 32",
                load: Load { once: true, ..load("randwrite", "4k", 32) },
                bounds: bounds([]),
            },
            Row {
                name: "1 MiB read, depth 8",
                load: load("read", "1m", 8),
                bounds: bounds([Bound::most(Figure::Cpu, 0.5), Bound::least(Figure::Iops, 1.0).or_disk()]),
            },
            Row {
                name: "1 MiB write, depth 8",
                load: load("write", "1m", 8),
                bounds: bounds([Bound::most(Figure::Cpu, 0.5), Bound::least(Figure::Iops, 1.0).or_disk()]),
            },
        ],
    },
    Match {
        table: Table::DirectBound,
        rival: "qemu-nbd",
        conditions: "past the page cache (O_DIRECT), our data thread where the disk's interrupts are taken (cpu)",
        cache: "direct",
        config: Config { bound: Bind::Data, ..PLAIN },
        warm: false,
        rows: &[DISK_ALONE],
    },
    Match {
        table: Table::DirectLow,
        rival: "qemu-nbd",
        conditions: "past the page cache (O_DIRECT), ours waits awake (latency = \"low\")",
        cache: "direct",
        config: Config { is_low: true, ..PLAIN },
        warm: false,
        rows: &[Row {
            name: "4 KiB random read, depth 1",
            load: load("randread", "4k", 1),
            bounds: bounds([Bound::most(Figure::P50, 0.8)]),
        }],
    },
    Match {
        table: Table::DirectOne,
        rival: "qemu-nbd",
        conditions: "past the page cache (O_DIRECT), servers and client where the disk's interrupts are taken",
        cache: "direct",
        config: Config { bound: Bind::All, ..PLAIN },
        warm: false,
        rows: &[DISK_ALONE],
    },
    Match {
        table: Table::Cached,
        rival: MEMORY,
        conditions: "all data in our cache and in nbdkit's memory, read once before each run",
        cache: "direct",
        config: Config { is_cached: true, ..PLAIN },
        warm: true,
        rows: &[
            Row {
                name: "4 KiB random read, depth 32",
                load: load("randread", "4k", 32),
                bounds: bounds([Bound::most(Figure::Cpu, 0.6), Bound::least(Figure::Iops, 1.5)]),
            },
            Row {
                name: "4 KiB random read, depth 1",
                load: load("randread", "4k", 1),
                bounds: bounds([Bound::most(Figure::Cpu, 0.6), Bound::most(Figure::P50, 0.9)]),
            },
            Row {
                name: "1 MiB read, depth 8",
                load: load("read", "1m", 8),
                bounds: bounds([Bound::most(Figure::Cpu, 0.65), Bound::least(Figure::Iops, 1.0)]),
            },
        ],
    },
    Match {
        table: Table::CachedLow,
        rival: MEMORY,
        conditions: "all data in our cache and in nbdkit's memory, ours waits awake (latency = \"low\")",
        cache: "direct",
        config: Config { is_cached: true, is_low: true, ..PLAIN },
        warm: true,
        rows: &[Row {
            name: "4 KiB random read, depth 1",
            load: load("randread", "4k", 1),
            bounds: bounds([Bound::most(Figure::P50, 0.75)]),
        }],
    },
    Match {
        table: Table::CachedOne,
        rival: MEMORY,
        conditions: "all data in our cache and in nbdkit's memory, servers and client on one processor",
        cache: "direct",
        config: Config { is_cached: true, bound: Bind::All, ..PLAIN },
        warm: true,
        rows: &[Row {
            name: "4 KiB random read, depth 1",
            load: load("randread", "4k", 1),
            bounds: bounds([Bound::most(Figure::Cpu, 0.6), Bound::most(Figure::P50, 0.75)]),
        }],
    },
];

impl Nbd {
    /// Runs all comparisons and prints a table for each.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        need(&["fio", "nbdkit", "nbdcopy", "qemu-nbd", "taskset"])?;
        let seawall = match &self.program {
            Some(program) => program.canonicalize().with_context(|| format!("--program {}", program.display()))?,
            None => release_build()?,
        };
        let folder = Folder::make(&root().join("target/bench"))?;
        let data = folder.0.join("data");
        make_data(&data, self.data.mib)?;
        let raw = folder.0.join("raw");
        std::fs::copy(&data, &raw).with_context(|| raw.display().to_string())?;
        println!("{} MiB of data that cannot be compressed", self.data.mib);
        println!("{} runs of {} s each, taking turns; medians", self.turns.runs, self.turns.seconds);
        println!("load average at the start: {}; idle processors: {}", load_average()?, bare::idle_processors());
        let (mut met, mut missed) = (0, 0);
        for game in MATCHES.iter().filter(|game| self.wants(game.table)) {
            let counts = self.play(game, &seawall, &folder.0, &data, &raw)?;
            met += counts.0;
            missed += counts.1;
        }
        if self.wants(Table::Crowd) {
            let counts =
                crowd::run(&seawall, &folder.0, &self.settings("direct"), self.turns.runs, self.turns.seconds)?;
            met += counts.0;
            missed += counts.1;
        }
        if self.wants(Table::Hostile) {
            let counts =
                hostile::run(&seawall, &folder.0, &self.settings("page"), self.turns.runs, self.turns.seconds)?;
            met += counts.0;
            missed += counts.1;
        }
        println!("\nbounds met: {met}, missed: {missed}; load average at the end: {}", load_average()?);
        Ok(())
    }

    fn wants(&self, table: Table) -> bool {
        self.only.is_empty() || self.only.contains(&table)
    }

    /// `seawall.toml` of our pool.
    fn settings(&self, cache: &str) -> String {
        format!("cache = \"{cache}\"\n")
    }

    /// Runs one table; returns bounds met and missed.
    fn play(&self, game: &Match, seawall: &Path, folder: &Path, data: &Path, raw: &Path) -> Result<(u32, u32)> {
        println!("\nseawall against {}: {}", game.rival, game.conditions);
        let bound = match game.config.bound {
            Bind::All => Some(bound::OnOne::of(bound::processor_of(raw, folder)?)?),
            Bind::Nothing | Bind::Data => None,
        };
        let pool = folder.join(format!("pool-{:?}", game.table));
        let config = game.config.text(self.data.mib, raw, folder)?;
        let ours = Ours::start(seawall, &pool, &self.settings(game.cache), &config)?;
        ours.make_lun("lun1", data.metadata()?.len())?;
        succeed(Command::new("nbdcopy").arg("--flush").arg(data).arg(ours.uri("lun1")))?;
        let theirs = Contender::rival(folder, game.rival, data)?;
        println!("  ours:   {}\n  theirs: {}", ours.line, theirs.line);
        println!("  fio:    {}", line_of(&game.rows[0].load.command(&theirs.uri, self.turns.seconds, folder)));
        println!("  disk:   {}", line_of(&game.rows[0].load.on_disk(raw, !game.warm, self.turns.seconds, folder)));
        let mut counts = (0, 0);
        for row in game.rows.iter().filter(|row| self.row.as_ref().is_none_or(|text| row.name.contains(text))) {
            let mut runs = Vec::new();
            for run in 0..self.turns.runs {
                let ours = self.ours(&ours, row, game, folder, run)?;
                let theirs = self.theirs(&theirs, row, game, folder)?;
                settle(game, None)?;
                let disk = match row.load.once {
                    true => None,
                    false => {
                        Some(row.load.run_command(row.load.on_disk(raw, !game.warm, self.turns.seconds, folder))?)
                    }
                };
                runs.push(row::Run { ours, theirs, disk });
            }
            let (text, (met, missed)) = row.report(["seawall", game.rival], &runs);
            print!("{text}");
            if row.load.depth == 1 {
                bare::lines(bound.is_none())?.iter().for_each(|line| println!("{line}"));
            }
            counts.0 += met;
            counts.1 += missed;
        }
        Ok(counts)
    }

    fn ours(&self, ours: &Ours, row: &Row, game: &Match, folder: &Path, run: u32) -> Result<Sample> {
        if !row.load.once {
            let uri = ours.uri("lun1");
            settle(game, Some(&uri))?;
            return Sample::take(&ours.served, &row.load, &uri, self.turns.seconds, folder);
        }
        let lun = format!("first{run}");
        ours.make_lun(&lun, self.data.mib << 20)?;
        settle(game, None)?;
        let sample = Sample::take(&ours.served, &row.load, &ours.uri(&lun), self.turns.seconds, folder);
        ours.delete_lun(&lun)?;
        sample
    }

    fn theirs(&self, theirs: &Contender, row: &Row, game: &Match, folder: &Path) -> Result<Sample> {
        if !row.load.once {
            settle(game, Some(&theirs.uri))?;
            return Sample::take(&theirs.served, &row.load, &theirs.uri, self.turns.seconds, folder);
        }
        // The competitor's counterpart of a thin volume is a sparse file.
        let sparse = folder.join("sparse");
        File::create(&sparse)?.set_len(self.data.mib << 20)?;
        let fresh = Contender::rival(folder, game.rival, &sparse)?;
        settle(game, None)?;
        let sample = Sample::take(&fresh.served, &row.load, &fresh.uri, self.turns.seconds, folder);
        drop(fresh);
        std::fs::remove_file(&sparse)?;
        sample
    }
}

/// Brings the caches into the state that the table requires.
fn settle(game: &Match, uri: Option<&str>) -> Result<()> {
    match uri {
        Some(uri) if game.warm => succeed(Command::new("nbdcopy").arg(uri).arg("null:")),
        _ => succeed(&mut Command::new("sync")),
    }
}
