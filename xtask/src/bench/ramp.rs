//! `cargo xtask bench ramp`: the cost of the write-cycle test itself.
//!
//! ```text
//! dgen, disk   fio writes the same bytes to the same disk, its buffers refilled for each write; runs take turns
//! dgen, null   how fast one core makes data that goes nowhere
//! ramp, null   how well one core keeps 150 000 IOPS when storage takes no time; fio's null engine paces beside it
//! ```
//! Both ways of filling time themselves until everything is durable, so the start of the processes
//! is not included.

use super::served::children_seconds;
use super::turns::Turns;
use super::{Folder, fio_json, line_of, load_average, median, need, release_build, succeed, text_of};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Ramp {
    #[command(flatten)]
    turns: Turns<3, 20, 8>,
    /// MiB that are written to the disk in each run
    #[arg(long, default_value_t = 2048, value_parser = clap::value_parser!(u64).range(64..=1_048_576))]
    mib: u64,
}

/// The bounds on ours.
const DISK_LEAST: f64 = 0.95;
const NULL_LEAST_GB_S: f64 = 4.0;
const IOPS: u64 = 150_000;
const SCHEDULE_MOST_US: f64 = 20.0;
const TOTAL_MOST: f64 = 0.001;
/// GiB of data that one core makes in a run.
const NULL_GIB: u64 = 24;
/// Seconds from one write cycle to the next.
const CYCLE: u64 = 4;

impl Ramp {
    /// Runs all of it and prints a table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        need(&["fio", "taskset"])?;
        let seawall = release_build()?;
        let folder = Folder::make(&root().join("target/bench-ramp"))?;
        println!("{} runs of each, taking turns; medians", self.turns.runs);
        self.disk(&seawall, &folder.0)?;
        self.null(&seawall, &folder.0)?;
        self.pace(&seawall, &folder.0)?;
        println!("\nload average at the end: {}", load_average()?);
        Ok(())
    }

    fn disk(&self, seawall: &Path, folder: &Path) -> Result<()> {
        let ours = || {
            let mut command = Command::new(seawall);
            command.env("SEAWALL_RESULTS", "none");
            command.current_dir(folder).args(["dgen", "--device", "ours", "--destroy-data", "ours"]);
            command.args(["--pctfull", "100"]);
            command
        };
        let theirs = || {
            let mut command = Command::new("fio");
            command.current_dir(folder).args(["--name=bench", "--filename=theirs", "--rw=write", "--bs=1m"]);
            command.args(["--direct=1", "--ioengine=io_uring", "--iodepth=8", "--fallocate=none", "--end_fsync=1"]);
            command.args(["--refill_buffers", "--buffer_compress_percentage=50", "--output-format=json"]);
            command.arg(format!("--size={}m", self.mib));
            command
        };
        println!("\nfilling {} MiB of a disk\n  {}\n  {}", self.mib, line_of(&ours()), line_of(&theirs()));
        let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
        let bytes = (self.mib << 20) as f64;
        for _ in 0..self.turns.runs {
            self.anew(&folder.join("ours"))?;
            let said = text_of(&mut ours())?;
            our_rates.push(bytes / seconds_of(&said).with_context(|| format!("dgen's time in {said:?}"))?);
            self.anew(&folder.join("theirs"))?;
            let job = fio_json(&mut theirs())?["jobs"][0].clone();
            their_rates.push(job["write"]["bw_bytes"].as_f64().context("fio's bandwidth")?);
        }
        let (ours, theirs) = (median(our_rates), median(their_rates));
        let ratio = ours / theirs;
        println!(
            "  ours {:.0} MB/s  fio {:.0} MB/s  ratio {ratio:.2}   at least {DISK_LEAST} ×: {}",
            ours / 1e6,
            theirs / 1e6,
            held(ratio >= DISK_LEAST)
        );
        Ok(())
    }

    /// Makes a file without any blocks. Writes that result from this are on disk before a run
    /// begins.
    fn anew(&self, path: &Path) -> Result<()> {
        let _ = std::fs::remove_file(path);
        std::fs::File::create(path)?.set_len(self.mib << 20)?;
        succeed(&mut Command::new("sync"))
    }

    fn null(&self, seawall: &Path, folder: &Path) -> Result<()> {
        let ours = || {
            let mut command = Command::new(seawall);
            command.env("SEAWALL_RESULTS", "none");
            command.current_dir(folder).args(["dgen", "--quiet", "--device"]).arg(format!("null:{NULL_GIB}GiB"));
            command.args(["--pctfull", "100"]);
            command
        };
        println!("\nmaking data that goes nowhere\n  {}", line_of(&ours()));
        let mut rates = Vec::new();
        for _ in 0..self.turns.runs {
            let before = children_seconds()?;
            succeed(&mut ours())?;
            let after = children_seconds()?;
            let cpu = (after.user + after.system) - (before.user + before.system);
            rates.push((NULL_GIB << 30) as f64 / cpu / 1e9);
        }
        let rate = median(rates);
        println!(
            "  ours {rate:.2} GB for each second of a processor   at least {NULL_LEAST_GB_S}: {}",
            held(rate >= NULL_LEAST_GB_S)
        );
        Ok(())
    }

    fn pace(&self, seawall: &Path, folder: &Path) -> Result<()> {
        let ours = || {
            let mut command = Command::new("taskset");
            command
                .current_dir(folder)
                .env("SEAWALL_RESULTS", "none")
                .args(["--cpu-list", "0"])
                .arg(seawall)
                .args(["ramp", "--quiet"]);
            command.args(["--miniops", &IOPS.to_string(), "--maxiops", &IOPS.to_string(), "--numruns", "1"]);
            command.args(["--runtime", &format!("{}s", self.turns.seconds), "--cycle", &format!("{CYCLE}s")]);
            command.args(["--disable-warmup", "--device", "null:64GiB", "--wijfile", "null:64GiB", "--output", "ramp"]);
            command
        };
        let theirs = || {
            let mut command = Command::new("taskset");
            command.current_dir(folder).args(["--cpu-list", "0", "fio", "--name=bench", "--ioengine=null"]);
            command.args(["--rw=randread", "--bs=8k", "--size=64g", "--norandommap", "--iodepth=32", "--thread"]);
            command.args(["--time_based", "--output-format=json"]).arg(format!("--runtime={}", self.turns.seconds));
            command.arg(format!("--rate_iops={IOPS}"));
            command
        };
        println!("\nkeeping {IOPS} IOPS on one core\n  {}\n  {}", line_of(&ours()), line_of(&theirs()));
        let (mut late, mut off, mut their_off) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.turns.runs {
            let _ = std::fs::remove_dir_all(folder.join("ramp"));
            // The verdict does not matter: storage that takes no time passes, or the exit code says
            // no.
            let status = ours().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            if !matches!(status.code(), Some(0 | 1)) {
                bail!("{}: {status}", line_of(&ours()));
            }
            let summary = std::fs::read_to_string(folder.join("ramp/summary.csv"))?;
            let paced = Paced::of(&summary).context("summary.csv: its figures")?;
            late.push(paced.late_p99_us);
            off.push((paced.iops() / expected(self.turns.seconds) - 1.0).abs());
            let job = fio_json(&mut theirs())?["jobs"][0].clone();
            let iops = job["read"]["iops"].as_f64().context("fio's rate")?;
            their_off.push((iops / IOPS as f64 - 1.0).abs());
        }
        let (late, off, their_off) = (median(late), median(off), median(their_off));
        println!(
            "  schedule error, 99 %: ours {late:.1} µs   at most {SCHEDULE_MOST_US} µs: {}",
            held(late <= SCHEDULE_MOST_US)
        );
        println!(
            "  total off by: ours {:.4} %  fio {:.4} %   at most {} %: {}",
            off * 100.0,
            their_off * 100.0,
            TOTAL_MOST * 100.0,
            held(off <= TOTAL_MOST)
        );
        Ok(())
    }
}

/// Expected requests: the reads of the whole run, and a burst of a quarter of the target for each
/// cycle that starts before its end.
fn expected(seconds: u64) -> f64 {
    let cycles = (seconds - 1) / CYCLE;
    let reads = 0.75 * (IOPS * seconds) as f64;
    (reads + 0.25 * (IOPS * CYCLE * cycles) as f64) / seconds as f64
}

/// The results that a ramp of one run prints.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Paced {
    late_p99_us: f64,
    reads: f64,
    cycles: f64,
    elapsed_s: f64,
}

impl Paced {
    fn of(summary: &str) -> Option<Paced> {
        let mut lines = summary.lines();
        let (heads, row) = (lines.next()?, lines.next()?);
        let value = |name: &str| {
            let place = heads.split(',').position(|head| head == name)?;
            row.split(',').nth(place)?.parse::<f64>().ok()
        };
        Some(Paced {
            late_p99_us: value("Schedule Error p99 (us)")?,
            reads: value("Reads")?,
            cycles: value("Cycles")?,
            elapsed_s: value("Elapsed (sec)")?,
        })
    }

    fn iops(&self) -> f64 {
        (self.reads + self.cycles * 0.25 * (IOPS * CYCLE) as f64) / self.elapsed_s
    }
}

/// The duration that dgen prints.
fn seconds_of(said: &str) -> Option<f64> {
    said.split(" written in ").nth(1)?.split(' ').next()?.parse().ok()
}

const fn held(is: bool) -> &'static str {
    if is { "held" } else { "missed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_run_is_read_by_its_heads() {
        let summary = "Run,Reads,Cycles,Schedule Error p99 (us),Elapsed (sec)\n0,2250000,4,3.5,20.00\n";
        let paced = Paced::of(summary).unwrap();
        assert_eq!(paced, Paced { late_p99_us: 3.5, reads: 2_250_000.0, cycles: 4.0, elapsed_s: 20.0 });
        // 20 s: cycles wake at 4, 8, 12 and 16 s, 150 000 blocks each.
        assert_eq!(paced.iops(), expected(20));
        assert_eq!(Paced::of("Run\n0\n"), None);
        assert_eq!(seconds_of("ours: 1 GiB\n1 GiB written in 1.250 s, 859 MB/s\n"), Some(1.25));
    }
}
