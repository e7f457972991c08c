//! `seawall spec`: the documented limits of a file system, and a recorded run compared with them.

use super::results;
use crate::memory::Memory;
use crate::play::size;
use crate::watch::REPORT_COLUMNS;
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, anyhow};
use block::Bytes;
use capacity::{Deployment, FLOWS, FileSystem, PhaseDone, Resource};
use report::text;

/// Print the documented limits of a file system
///
/// Every figure has its source. With --compare a run of the results database is compared with the
/// baseline and the burst of each resource, and the limiting resource is named.
#[derive(clap::Args)]
pub struct Spec {
    #[command(subcommand)]
    of: Of,
}

#[derive(clap::Subcommand)]
enum Of {
    Fsx(Fsx),
}

/// Amazon FSx for NetApp ONTAP
#[derive(clap::Args)]
struct Fsx {
    /// Throughput capacity of a pair of file servers, in MB/s
    #[arg(long, value_name = "MB/S")]
    throughput: u64,
    /// SSD storage
    #[arg(long, value_name = "SIZE", value_parser = ssd)]
    ssd: Bytes,
    /// Provisioned IOPS [default: 3 for each GiB]
    #[arg(long, value_name = "IOPS")]
    iops: Option<u64>,
    /// Its deployment type
    #[arg(long, value_name = "single-az|multi-az", default_value = "multi-az", value_parser = deployment)]
    deployment: Deployment,
    /// Generation of its file servers: 1 or 2
    #[arg(long, default_value_t = 1)]
    generation: u8,
    /// Pairs of file servers
    #[arg(long, default_value_t = 1)]
    pairs: u64,
    /// A run of the results database to compare, named as for results
    #[arg(long, value_name = "RUN")]
    compare: Option<String>,
    /// Print it as an array for simulate --array instead
    #[arg(long, conflicts_with = "compare")]
    toml: bool,
    /// Number of flows of all clients in that array, as with the mount option nconnect
    #[arg(long, value_name = "COUNT", requires = "toml", default_value_t = FLOWS,
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    flows: u32,
}

impl Spec {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let Of::Fsx(Fsx { throughput, ssd, iops, deployment, generation, pairs, compare, toml, flows }) = self.of;
        let of = FileSystem { generation, throughput, ssd, iops, deployment, pairs };
        let resources = of.resources().map_err(|wrong| anyhow!("{wrong}"))?;
        if toml {
            terminal::print(&of.array_file(flows).map_err(|wrong| anyhow!("{wrong}"))?);
            return Ok(Answer::Yes);
        }
        terminal::print(&table(&resources));
        text::wrap(FileSystem::CREDIT, REPORT_COLUMNS).iter().for_each(|line| terminal::line(line));
        if let Some(name) = compare {
            let database = results::open(memory)?;
            let number = database.number_of(&name).context("--compare")?;
            let run = results::looked_at(&database, number)?;
            terminal::print(&beside(number, &resources, &capacity::seconds(&run)));
            // A run of fio and similar tools has a single phase.
            let phases = capacity::phases(&run);
            if phases.len() > 1 {
                terminal::print(&by_phase(&resources, &phases));
            }
        }
        Ok(Answer::Yes)
    }
}

fn ssd(given: &str) -> Result<Bytes, String> {
    size(given).map_err(|_| "must be a size such as 1024GiB or 2TiB".into())
}

fn deployment(given: &str) -> Result<Deployment, String> {
    match given.to_ascii_lowercase().replace('_', "-").as_str() {
        "single-az" => Ok(Deployment::SingleAz),
        "multi-az" => Ok(Deployment::MultiAz),
        _ => Err("must be single-az or multi-az".into()),
    }
}

/// The table of resources: baseline, burst and source.
fn table(resources: &[Resource]) -> String {
    let number = |figure: f64| text::thousands(figure.round() as u64);
    let mut out = format!("{:<20} {:>8} {:>8} {:<5} source\n", "", "baseline", "burst", "");
    for resource in resources {
        let Resource { name, unit, base, burst, source } = resource;
        let (base, unit) = if *base == 0.0 { ("none".into(), "") } else { (number(*base), *unit) };
        let burst = burst.map_or("–".into(), number);
        let unit = if unit == "nconnect" { "" } else { unit };
        let head = format!("{name:<20} {base:>8} {burst:>8} {unit:<5} ");
        let columns = text::width(&head);
        for (index, line) in text::wrap(source, REPORT_COLUMNS - columns).iter().enumerate() {
            let blank = " ".repeat(columns);
            out += &format!("{}{line}\n", if index == 0 { &head } else { &blank });
        }
    }
    out + "\n"
}

/// A line for each phase of a plan: its rates, the documented limits near them, and what the run
/// itself recorded as limiting.
fn by_phase(resources: &[Resource], phases: &[PhaseDone]) -> String {
    let mut out = format!("\n{:<24} {:>10} {:>10}  held by\n", "", "MB/s", "IOPS");
    for PhaseDone { name, seconds, held_by } in phases {
        let (used, verdict) = capacity::compare(resources, seconds);
        let mean = |name: &str| used.iter().find(|one| one.name == name).map_or(0.0, |one| one.mean);
        let (bytes, ops) = (text::significant(mean("network")), text::significant(mean("disk IOPS")));
        out += &format!("{name:<24} {bytes:>10} {ops:>10}  {held_by}\n");
        text::wrap(&verdict, REPORT_COLUMNS - 2).iter().for_each(|line| out += &format!("  {line}\n"));
    }
    out
}

fn beside(number: i64, resources: &[Resource], seconds: &[(f64, f64)]) -> String {
    let (used, verdict) = capacity::compare(resources, seconds);
    let mut out = format!("\nrun {number}, {}\n", text::count(seconds.len(), "second", "seconds"));
    out += &format!("{:<20} {:>10} {:>10} {:>12}\n", "", "mean", "highest", "of baseline");
    for one in used {
        let (mean, most) = (text::significant(one.mean), text::significant(one.most));
        out += &format!("{:<20} {mean:>10} {most:>10} {:>10.0} %\n", one.name, 100.0 * one.of_base);
    }
    for line in text::wrap(&verdict, REPORT_COLUMNS) {
        out += &format!("{line}\n");
    }
    out
}
