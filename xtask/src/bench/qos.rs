//! `cargo xtask bench qos`: what quality of service costs and what it keeps, on this machine, now.
//!
//! Three tables: the gate's time and memory; the ceiling of ours, of QEMU's throttle group and of nbdkit's rate filter
//! under one client and one limit, the first second included; and a floor on the real server, with its neighbours.

mod ceilings;
mod completions;
mod floors;
mod pool;
mod speed;

use super::{Folder, release_build};
use crate::{root, tools};
use anyhow::{Context as _, Result, bail};
use std::io::Read as _;
use std::path::Path;

/// The options of this bench.
#[derive(clap::Args)]
pub struct Qos {
    /// Runs of everything; those that are compared take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Seconds of each run on a server
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(3..=600))]
    seconds: u64,
    /// Only these tables
    #[arg(long, value_enum)]
    only: Vec<Table>,
}

/// A table of this bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// Nanoseconds a request, polls, bytes an object
    Speed,
    /// Ceilings side by side
    Ceilings,
    /// A floor beside neighbours, on this disk
    Floors,
}

/// MiB that are served.
const MIB: u64 = 256;

impl Qos {
    /// Measures and prints the tables.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        let wants = |table| self.only.is_empty() || self.only.contains(&table);
        let load = || std::fs::read_to_string("/proc/loadavg").context("/proc/loadavg");
        println!("load average at the start: {}", load()?.trim());
        if wants(Table::Speed) {
            speed::run(self.runs)?;
        }
        if wants(Table::Ceilings) || wants(Table::Floors) {
            let missing = ["fio", "nbdkit", "nbdcopy", "qemu-nbd"].into_iter().find(|program| !tools::has(program));
            if let Some(program) = missing {
                bail!("{program} is not installed; `cargo xtask test` says how to get it");
            }
            let seawall = release_build()?;
            let folder = Folder::make(&root().join("target/bench-qos"))?;
            let data = folder.0.join("data");
            make_data(&data)?;
            println!("\n{MIB} MiB of data that cannot be compressed, in {}", folder.0.display());
            if wants(Table::Ceilings) {
                ceilings::run(&seawall, &folder.0, &data, self.runs, self.seconds)?;
            }
            if wants(Table::Floors) {
                floors::run(&seawall, &folder.0, &data, self.runs, self.seconds)?;
            }
        }
        println!("\nload average at the end: {}", load()?.trim());
        Ok(())
    }
}

fn make_data(path: &Path) -> Result<()> {
    let mut random = std::fs::File::open("/dev/urandom").context("/dev/urandom")?.take(MIB << 20);
    let mut file = std::fs::File::create(path).with_context(|| path.display().to_string())?;
    std::io::copy(&mut random, &mut file).with_context(|| path.display().to_string())?;
    file.sync_all().with_context(|| path.display().to_string())
}
