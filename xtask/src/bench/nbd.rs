//! `cargo xtask bench nbd`: the server beside those that people use today, like for like.
//!
//! Two rivals, each under its own conditions, which ours takes over: nbdkit's file plugin through the page cache with
//! all data in memory, and qemu-nbd past it (`O_DIRECT`). Same file size, same disk, same client, a Unix socket; ours with
//! its QoS gate on and a ceiling that is never reached. Runs alternate (ours, theirs, ours, …); a ratio is the median of
//! the ratios of neighbouring runs.

use super::fio::{Done, Load};
use super::served::Served;
use super::{Folder, line_of, median, release_build, succeed};
use crate::{root, tools};
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

/// The options of this bench.
#[derive(clap::Args)]
pub struct Nbd {
    /// Runs of each server with each load; they take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// MiB that are served
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(16..=65_536))]
    mib: u64,
}

/// A load, and what ours is to reach: processor time and rate as parts of the rival's.
struct Row {
    name: &'static str,
    load: Load,
    cpu_most: Option<f64>,
    iops_least: Option<f64>,
}

/// A rival and the conditions of its comparison.
struct Match {
    rival: &'static str,
    conditions: &'static str,
    /// `seawall.toml` of our pool.
    settings: &'static str,
    warm: bool,
    rows: &'static [Row],
}

const fn row(name: &'static str, pattern: &'static str, block: &'static str, depth: u32) -> Row {
    Row { name, load: Load { pattern, block, depth }, cpu_most: None, iops_least: None }
}

const MATCHES: [Match; 2] = [
    Match {
        rival: "nbdkit",
        conditions: "through the page cache, all data in it before each run",
        settings: "cache = \"page\"\n",
        warm: true,
        rows: &[
            Row {
                cpu_most: Some(0.9),
                iops_least: Some(1.0),
                ..row("4 KiB random read, depth 32", "randread", "4k", 32)
            },
            row("4 KiB random read, depth 1", "randread", "4k", 1),
            row("1 MiB read, depth 8", "read", "1m", 8),
        ],
    },
    Match {
        rival: "qemu-nbd",
        conditions: "past the page cache (O_DIRECT), every block written before",
        settings: "cache = \"direct\"\n",
        warm: false,
        rows: &[
            row("4 KiB random read, depth 32", "randread", "4k", 32),
            row("4 KiB random read, depth 1", "randread", "4k", 1),
            row("4 KiB random write, depth 32", "randwrite", "4k", 32),
            row("1 MiB read, depth 8", "read", "1m", 8),
        ],
    },
];

/// A ceiling that no machine reaches, so that the gate counts and never holds back.
const NEVER_REACHED: &str = "qos policy-group create never -vserver svm01 -max-throughput 100000000IOPS,1000000MB/s";

impl Nbd {
    /// Runs all matches and prints a table for each.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        let missing = ["fio", "nbdkit", "nbdcopy", "qemu-nbd"].into_iter().find(|program| !tools::has(program));
        if let Some(program) = missing {
            bail!("{program} is not installed; `cargo xtask test` says how to get it");
        }
        let seawall = release_build()?;
        let folder = Folder::make(&root().join("target/bench"))?;
        let data = folder.0.join("data");
        make_data(&data, self.mib)?;
        println!("{} MiB of data that cannot be compressed, in {}", self.mib, folder.0.display());
        println!("{} runs of {} s each, taking turns; medians", self.runs, self.seconds);
        for game in &MATCHES {
            self.play(game, &seawall, &folder.0, &data)?;
        }
        println!("\nload average at the end: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
        Ok(())
    }

    fn play(&self, game: &Match, seawall: &Path, folder: &Path, data: &Path) -> Result<()> {
        println!("\nseawall against {}: {}", game.rival, game.conditions);
        let ours = Contender::ours(seawall, folder, game, data)?;
        let theirs = Contender::rival(folder, game.rival, data)?;
        println!("  ours:   {}\n  theirs: {}", ours.line, theirs.line);
        println!("  fio:    {}", line_of(&game.rows[0].load.command(&ours.uri, self.seconds, folder)));
        println!(
            "\n  {:<30} {:>22} {:>7} {:>22} {:>7} {:>18}",
            "", "CPU µs per I/O", "ratio", "IOPS", "ratio", "p50 µs"
        );
        for row in game.rows {
            let mut pairs = Vec::new();
            for _ in 0..self.runs {
                pairs.push((self.sample(&ours, row, game, folder)?, self.sample(&theirs, row, game, folder)?));
            }
            println!("{}", line(row, game.rival, &pairs));
        }
        Ok(())
    }

    fn sample(&self, contender: &Contender, row: &Row, game: &Match, folder: &Path) -> Result<Sample> {
        if game.warm {
            succeed(Command::new("nbdcopy").arg(&contender.uri).arg("null:"))?;
        }
        let before = contender.served.cpu_seconds()?;
        let done = row.load.run(&contender.uri, self.seconds, folder)?;
        let used = contender.served.cpu_seconds()? - before;
        Ok(Sample { cpu_us: used * 1e6 / done.operations as f64, done })
    }
}

/// What one run showed.
#[derive(Clone, Copy)]
struct Sample {
    /// The server's processor time for each request, in microseconds.
    cpu_us: f64,
    done: Done,
}

/// A row of the table, from pairs of runs of ours and theirs.
fn line(row: &Row, rival: &str, pairs: &[(Sample, Sample)]) -> String {
    let both = |figure: fn(&Sample) -> f64| {
        let ours = median(pairs.iter().map(|(ours, _)| figure(ours)));
        let theirs = median(pairs.iter().map(|(_, theirs)| figure(theirs)));
        let ratio = median(pairs.iter().map(|(ours, theirs)| figure(ours) / figure(theirs)));
        (ours, theirs, ratio)
    };
    let (cpu, their_cpu, cpu_ratio) = both(|sample| sample.cpu_us);
    let (iops, their_iops, iops_ratio) = both(|sample| sample.done.iops());
    let (p50, their_p50, _) = both(|sample| sample.done.p50_us);
    let mut line = format!(
        "  {:<30} {:>22} {cpu_ratio:>7.2} {:>22} {iops_ratio:>7.2} {:>18}",
        row.name,
        format!("{cpu:.1} / {their_cpu:.1}"),
        format!("{iops:.0} / {their_iops:.0}"),
        format!("{p50:.0} / {their_p50:.0}"),
    );
    let verdict = |held| if held { "held" } else { "missed" };
    if let Some(most) = row.cpu_most {
        line += &format!("\n    CPU at most {most} × {rival}: {}", verdict(cpu_ratio <= most));
    }
    if let Some(least) = row.iops_least {
        line += &format!("\n    IOPS at least {least} × {rival}: {}", verdict(iops_ratio >= least));
    }
    line
}

/// A server with the data in it.
struct Contender {
    served: Served,
    uri: String,
    /// How it was started, for the reader.
    line: String,
}

impl Contender {
    fn ours(seawall: &Path, folder: &Path, game: &Match, data: &Path) -> Result<Contender> {
        let pool = folder.join(format!("pool-{}", game.rival));
        std::fs::create_dir(&pool)?;
        std::fs::write(pool.join("seawall.toml"), game.settings)?;
        let socket = pool.join("nbd.sock");
        let mut command = Command::new(seawall);
        command.arg("serve").arg("--pool").arg(&pool).arg("--create");
        command.arg("--listen").arg(format!("unix:{}", socket.display()));
        let line = format!("{} ({}, {NEVER_REACHED})", line_of(&command), game.settings.trim());
        // It takes commands last, so whoever is heard there has everything else.
        let served = Served::start(command, &pool.join("control.sock"))?;
        let size = data.metadata()?.len();
        let mut shell = Command::new(seawall);
        shell.arg("shell").arg("--pool").arg(&pool);
        for order in [
            "vserver create -vserver svm01",
            &format!("volume create -vserver svm01 -volume vol1 -size {size}"),
            &format!("lun create -vserver svm01 -path /vol/vol1/lun1 -size {size}"),
            NEVER_REACHED,
            "volume modify -vserver svm01 -volume vol1 -qos-policy-group never",
        ] {
            shell.arg("-c").arg(order);
        }
        succeed(&mut shell)?;
        let uri = format!("nbd+unix:///svm01:%2Fvol%2Fvol1%2Flun1?socket={}", socket.display());
        succeed(Command::new("nbdcopy").arg("--flush").arg(data).arg(&uri))?;
        Ok(Contender { served, uri, line })
    }

    fn rival(folder: &Path, name: &str, data: &Path) -> Result<Contender> {
        let socket = folder.join(format!("{name}.sock"));
        let mut command = Command::new(name);
        match name {
            "nbdkit" => command.arg("-f").arg("-U").arg(&socket).arg("file").arg(data),
            _ => {
                command.args(["-t", "-e", "8", "--cache=none", "--aio=native", "-f", "raw", "-k"]);
                command.arg(&socket).arg(data)
            }
        };
        let line = line_of(&command);
        let served = Served::start(command, &socket)?;
        Ok(Contender { served, uri: format!("nbd+unix:///?socket={}", socket.display()), line })
    }
}

/// Writes so many MiB from the system's source of random bytes, and has them on the disk.
pub(super) fn make_data(path: &Path, mib: u64) -> Result<()> {
    let mut random = File::open("/dev/urandom").context("/dev/urandom")?.take(mib << 20);
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    std::io::copy(&mut random, &mut file).with_context(|| path.display().to_string())?;
    file.flush()?;
    file.sync_all().with_context(|| path.display().to_string())
}
