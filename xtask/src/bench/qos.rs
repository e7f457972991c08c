//! `cargo xtask bench qos`: the cost and the accuracy of quality of service, on this machine.
//!
//! Three tables: the gate's time and memory; ceilings of our server, of QEMU's throttle group and
//! of nbdkit's rate filter with the same client and limit, including the first second; and a floor
//! on the real server with neighbours.

mod beside;
mod ceilings;
mod completions;
mod floors;
mod latencies;
mod load;
mod out_of_reach;
mod pool;
mod speed;

pub(super) use pool::Pool;

use super::turns::Turns;
use super::{Folder, load_average, make_data, need, release_build};
use crate::root;
use anyhow::Result;
use std::path::Path;

/// The options of this bench.
#[derive(clap::Args)]
pub struct Qos {
    #[command(flatten)]
    turns: Turns<5, 10, 3>,
    /// Only these tables
    #[arg(long, value_enum)]
    only: Vec<Table>,
    /// Beside threads that want the processors, two for each: what floors cost where they cannot be
    /// met
    #[arg(long)]
    beside_load: bool,
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
    /// Floors that no neighbour's sacrifice reaches: what they cost
    OutOfReach,
    /// Floors by latency beside a neighbour
    Latencies,
}

impl Table {
    /// The tables that serve a pool.
    const ON_DISK: [Table; 4] = [Table::Ceilings, Table::Floors, Table::OutOfReach, Table::Latencies];
}

/// Prints a table, given the program, a folder and data, and the number of runs and their seconds.
type Run = fn([&Path; 3], (u32, u64)) -> Result<()>;

/// The tables of floors, which can be measured beside other load.
const PROMISES: [(Table, Run); 3] =
    [(Table::Floors, floors::run), (Table::OutOfReach, out_of_reach::run), (Table::Latencies, latencies::run)];

/// MiB of data.
const MIB: u64 = 256;

impl Qos {
    /// Measures and prints the tables.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        let wants = |table| self.only.is_empty() || self.only.contains(&table);
        println!("load average at the start: {}", load_average()?);
        if wants(Table::Speed) {
            speed::run(self.turns.runs)?;
        }
        if Table::ON_DISK.into_iter().any(wants) {
            need(&["fio", "nbdkit", "nbdcopy", "qemu-nbd"])?;
            let seawall = release_build()?;
            let folder = Folder::make(&root().join("target/bench-qos"))?;
            let data = folder.0.join("data");
            make_data(&data, MIB)?;
            println!("\n{MIB} MiB of data that cannot be compressed, in {}", folder.0.display());
            if wants(Table::Ceilings) {
                ceilings::run(&seawall, &folder.0, &data, self.turns.runs, self.turns.seconds)?;
            }
            let is_loaded = self.beside_load && PROMISES.into_iter().any(|(table, _)| wants(table));
            let beside = is_loaded.then(load::Beside::start);
            if let Some(beside) = &beside {
                println!("\nbeside {} threads that want the processors", beside.count());
            }
            for (table, run) in PROMISES {
                if wants(table) {
                    run([&seawall, &folder.0, &data], (self.turns.runs, self.turns.seconds))?;
                }
            }
        }
        println!("\nload average at the end: {}", load_average()?);
        Ok(())
    }
}
