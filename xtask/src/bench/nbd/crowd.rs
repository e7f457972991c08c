//! Sixty-four connections to sixteen exports at once: the server's memory, and the fairness among
//! exports.
//!
//! Fairness is measured with and without turns. Without, each request goes to the disk as it comes,
//! and an export whose blocks are in a slower region gets less: that is due to the disk, and the
//! same without a server. With `qos fairness` requests wait in the gate, and the exports take
//! turns. The bound applies to that case.

use super::super::contender::Ours;
use super::super::{fio_json, median};
use anyhow::{Context as _, Result, bail};
use std::fmt;
use std::path::Path;
use std::process::Command;

const EXPORTS: usize = 16;
/// Connections to each export.
const CONNECTIONS: usize = 4;
/// Requests in flight on each connection.
const DEPTH: u32 = 8;
/// Bytes of an export.
const SIZE: u64 = 16 << 20;
/// Largest deviation of an export's rate from the mean.
const FAIR: f64 = 0.05;
/// Most memory of the server beyond its buffers, in MiB.
const MEMORY: f64 = 64.0;

/// Runs it; returns bounds met and missed.
pub(super) fn run(seawall: &Path, folder: &Path, settings: &str, runs: u32, seconds: u64) -> Result<(u32, u32)> {
    println!("\n{} connections to {EXPORTS} exports, 4 KiB random reads, depth {DEPTH} on each", EXPORTS * CONNECTIONS);
    let ours = Ours::start(seawall, &folder.join("pool-crowd"), settings, "")?;
    println!("  ours:   {}", ours.line);
    let fill = folder.join("fill");
    super::make_data(&fill, SIZE >> 20)?;
    for export in 0..EXPORTS {
        ours.make_lun(&name(export), SIZE)?;
        super::succeed(Command::new("nbdcopy").arg("--flush").arg(&fill).arg(ours.uri(&name(export))))?;
    }
    let (mut free, mut turns, mut beside, mut whole) = (Shares::default(), Shares::default(), Vec::new(), Vec::new());
    for _ in 0..runs {
        for (shares, enable) in [(&mut free, false), (&mut turns, true)] {
            ours.order(&format!("qos fairness modify -enable {enable} -vserver svm01 -volume vol1"))?;
            shares.add(&load(&ours, seconds, folder)?);
            let memory = Memory::of(ours.served.id())?;
            beside.push(memory.beside());
            whole.push(memory.whole);
        }
    }
    let (beside, whole) = (median(beside), median(whole));
    let spread = turns.spread();
    let word = |held| if held { "met" } else { "MISSED" };
    let percent = spread * 100.0;
    println!("  first come, first served: {free}");
    println!("  taking turns (qos fairness): {turns}");
    println!("  farthest export from the mean: {percent:.1} %  ≤ 5 % {}", word(spread <= FAIR));
    println!("  memory: {whole:.1} MiB, {beside:.1} MiB beside the buffers  ≤ {MEMORY} MiB {}", word(beside <= MEMORY));
    let held = [spread <= FAIR, beside <= MEMORY];
    let met = held.iter().filter(|held| **held).count() as u32;
    Ok((met, held.len() as u32 - met))
}

/// The shares of the exports in all runs.
#[derive(Default)]
struct Shares {
    /// Largest deviation of an export from the mean, as a fraction.
    spreads: Vec<f64>,
    /// IOPS of all exports together.
    rates: Vec<f64>,
}

impl Shares {
    /// Adds a run with these IOPS of each export.
    fn add(&mut self, shares: &[f64]) {
        let all: f64 = shares.iter().sum();
        let mean = all / shares.len() as f64;
        self.spreads.push(shares.iter().map(|share| (share / mean - 1.0).abs()).fold(0.0, f64::max));
        self.rates.push(all);
    }

    fn spread(&self) -> f64 {
        median(self.spreads.iter().copied())
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, rate) = (self.spread() * 100.0, median(self.rates.iter().copied()));
        write!(f, "{rate:.0} IOPS of all, farthest export {percent:.1} % from the mean")
    }
}

fn name(export: usize) -> String {
    format!("lun{export}")
}

/// IOPS of each export.
fn load(ours: &Ours, seconds: u64, folder: &Path) -> Result<Vec<f64>> {
    let mut command = Command::new("fio");
    command.current_dir(folder).args(["--output-format=json", "--ioengine=nbd", "--rw=randread", "--bs=4k"]);
    command.args(["--time_based", "--norandommap", "--thread", "--group_reporting"]);
    command.arg(format!("--runtime={seconds}")).arg(format!("--iodepth={DEPTH}"));
    command.arg(format!("--numjobs={CONNECTIONS}"));
    for export in 0..EXPORTS {
        command.arg(format!("--name={}", name(export))).arg("--new_group");
        command.arg(format!("--uri={}", ours.uri(&name(export))));
    }
    let json = fio_json(&mut command)?;
    let jobs = json["jobs"].as_array().context("fio's JSON has no jobs")?;
    let shares: Vec<f64> = jobs.iter().filter_map(|job| job["read"]["iops"].as_f64()).collect();
    if shares.len() != EXPORTS {
        bail!("fio reported {} groups instead of {EXPORTS}", shares.len());
    }
    Ok(shares)
}

/// The resident memory of a process, in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    whole: f64,
    /// Its largest mapping: the slab with all data in flight.
    largest: f64,
}

impl Memory {
    fn of(process: u32) -> Result<Memory> {
        let path = format!("/proc/{process}/smaps");
        Ok(Memory::read(&std::fs::read_to_string(&path).with_context(|| path)?))
    }

    fn beside(self) -> f64 {
        self.whole - self.largest
    }

    /// Parses `smaps` of proc(5): the size and the resident part of each mapping.
    fn read(smaps: &str) -> Memory {
        let (mut size, mut longest, mut memory) = (0, 0, Memory { whole: 0.0, largest: 0.0 });
        let kib = |line: &str| line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        for line in smaps.lines() {
            if line.starts_with("Size:") {
                size = kib(line);
            } else if line.starts_with("Rss:") {
                let resident = kib(line) as f64 / 1024.0;
                memory.whole += resident;
                if size > longest {
                    longest = size;
                    memory.largest = resident;
                }
            }
        }
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_export_counts() {
        let mut shares = Shares::default();
        // Mean 100; 88 is 12 % below it, 106 only 6 % above.
        shares.add(&[88.0, 106.0, 106.0]);
        assert_eq!(shares.to_string(), "300 IOPS of all, farthest export 12.0 % from the mean");
    }

    #[test]
    fn the_largest_mapping_is_told_apart() {
        let smaps = "55d0-55d1 r-xp 0 0:0 1 /bin/x\nSize: 2048 kB\nRss: 1024 kB\n\
                     7f00-7f10 rw-p 0 0:0 0\nSize: 262144 kB\nRss: 3072 kB\n\
                     7f20-7f30 rw-p 0 0:0 0\nSize: 8192 kB\nRss: 5120 kB\n";
        let memory = Memory::read(smaps);
        assert_eq!(memory, Memory { whole: 9.0, largest: 3.0 });
        assert_eq!(memory.beside(), 6.0);
    }
}
