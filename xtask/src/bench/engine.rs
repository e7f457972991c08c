//! `cargo xtask bench engine`: the load engine compared with fio, with the same command line.
//!
//! Runs alternate (ours, fio, ours, …). A figure is the median of its runs; a ratio is that of the
//! medians. Processor time is what the system counted for the whole process from start to end, for
//! both. Memory is the peak resident size. The stall is real: a signal stops nbdkit for half a
//! second while both read from it.

use super::served::{Served, children_seconds};
use super::turns::{Data, Turns};
use super::{Folder, line_of, load_average, median, need, release_build, succeed};
use crate::root;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The options of this bench.
#[derive(clap::Args)]
pub struct Engine {
    #[command(flatten)]
    turns: Turns<5, 5, 1>,
    #[command(flatten)]
    data: Data,
    /// Only loads whose name has this in it
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A load, and the bounds on ours.
struct Row {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Whether to read the file into memory before each run.
    warm: bool,
    /// Whether to stop the server for half a second.
    stall: bool,
    bounds: &'static [(Figure, Bound)],
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Iops,
    /// Mean total latency.
    Mean,
    /// Total latency: the tools differ in what they count as submission.
    P50,
    P99,
    /// User and system time per request.
    Cpu,
    /// User time per MiB.
    UserCpu,
    /// From start to end of the process.
    Wall,
    Memory,
    /// Deviation from the configured rate.
    RateError,
}

/// A bound on our figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// At least this part of fio's.
    AtLeast(f64),
    /// At most this part of fio's.
    AtMost(f64),
    /// Within this part of fio's, either way: both measure the same thing.
    Within(f64),
    /// In absolute terms.
    Below(f64),
    /// In absolute terms.
    Above(f64),
}

use Bound::{Above, AtLeast, AtMost, Below, Within};

/// The rate of the load with a fixed rate.
const RATE: f64 = 300_000.0;

const DIRECT: [&str; 5] = ["--direct=1", "--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--norandommap"];

const ROWS: &[Row] = &[
    Row {
        name: "null, 4 KiB, depth 32",
        arguments: &["--ioengine=null", "--rw=randread", "--bs=4k", "--iodepth=32", "--size=1g", "--norandommap"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Iops, AtLeast(3.0))],
    },
    Row {
        name: "cached 4 KiB random read, depth 32",
        arguments: &[
            "FILE",
            "--ioengine=io_uring",
            "--rw=randread",
            "--bs=4k",
            "--iodepth=32",
            "--invalidate=0",
            "--norandommap",
        ],
        warm: true,
        stall: false,
        bounds: &[(Figure::Iops, AtLeast(1.5))],
    },
    Row {
        name: "direct 4 KiB random read, depth 32",
        arguments: &["FILE", "DIRECT", "--rw=randread", "--bs=4k", "--iodepth=32"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Cpu, AtMost(0.65)), (Figure::Iops, AtLeast(1.0)), (Figure::P99, AtMost(1.0))],
    },
    Row {
        name: "direct 4 KiB random read, depth 1",
        arguments: &["FILE", "DIRECT", "--rw=randread", "--bs=4k", "--iodepth=1"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Iops, AtLeast(1.0)), (Figure::P50, AtMost(1.0))],
    },
    Row {
        name: "direct 4 KiB random read, system calls",
        arguments: &["FILE", "--direct=1", "--ioengine=psync", "--rw=randread", "--bs=4k", "--norandommap"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Mean, Within(0.05))],
    },
    Row {
        name: "4 KiB random write, checked in rounds of 128",
        arguments: &[
            "OWN",
            "--rw=randwrite",
            "--bs=4k",
            "--size=16m",
            "--verify=crc32c",
            "--verify_backlog=128",
            "ONCE",
        ],
        warm: false,
        stall: false,
        bounds: &[(Figure::Wall, AtMost(1.0))],
    },
    Row {
        name: "1 MiB sequential write, depth 16",
        arguments: &["OWN", "DIRECT", "--rw=write", "--bs=1m", "--iodepth=16", "--size=256m"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Iops, AtLeast(1.0)), (Figure::UserCpu, AtMost(1.0))],
    },
    Row {
        name: "1 MiB sequential read, depth 16",
        arguments: &["FILE", "DIRECT", "--rw=read", "--bs=1m", "--iodepth=16"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Iops, AtLeast(1.0)), (Figure::UserCpu, AtMost(1.0))],
    },
    Row {
        name: "one block of one job",
        arguments: &["FILE", "--rw=read", "--bs=4k", "--size=4k", "ONCE"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Wall, Below(0.020))],
    },
    Row {
        name: "one block of 64 jobs",
        arguments: &["FILE", "--rw=read", "--bs=4k", "--size=4k", "--numjobs=64", "ONCE"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Wall, Below(0.060))],
    },
    Row {
        name: "64 jobs at depth 32 (8 MiB of buffers)",
        arguments: &["FILE", "DIRECT", "--rw=randread", "--bs=4k", "--iodepth=32", "--numjobs=64", "--thread"],
        warm: false,
        stall: false,
        bounds: &[(Figure::Memory, Below(32.0))],
    },
    Row {
        name: "poisson at 300 000 a second",
        arguments: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--iodepth=32",
            "--size=1g",
            "--norandommap",
            "--rate_iops=300000",
            "--rate_process=poisson",
        ],
        warm: false,
        stall: false,
        bounds: &[(Figure::RateError, Below(0.005))],
    },
    Row {
        name: "1000 a second with a stall of 0.5 s",
        arguments: &["NBD", "--rw=randread", "--bs=4k", "--iodepth=1", "--rate_iops=1000"],
        warm: false,
        stall: true,
        bounds: &[(Figure::P99, Above(0.4))],
    },
];

impl Engine {
    /// Runs all loads and prints a table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        need(&["fio", "nbdkit"])?;
        let seawall = release_build()?;
        let folder = Folder::make(&root().join("target/bench-engine"))?;
        super::make_data(&folder.0.join("data"), self.data.mib)?;
        println!("{} MiB of data that cannot be compressed, in {}", self.data.mib, folder.0.display());
        println!(
            "{} runs of {} s each, taking turns; medians; ratios are ours / fio's",
            self.turns.runs, self.turns.seconds
        );
        for row in ROWS.iter().filter(|row| self.only.as_ref().is_none_or(|only| row.name.contains(only.as_str()))) {
            self.compare(row, &seawall, &folder.0)?;
        }
        println!("\nload average at the end: {}", load_average()?);
        Ok(())
    }

    fn compare(&self, row: &Row, seawall: &Path, folder: &Path) -> Result<()> {
        println!("\n{}\n  {}", row.name, line_of(&self.command(row, None, folder)));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.turns.runs {
            ours.push(self.sample(row, Some(seawall), folder)?);
            theirs.push(self.sample(row, None, folder)?);
        }
        for &(figure, bound) in row.bounds {
            let of = |samples: &[Sample]| median(samples.iter().map(|sample| sample.figure(figure)));
            println!("  {}", verdict(figure, bound, of(&ours), of(&theirs)));
        }
        Ok(())
    }

    /// The command for ours, or for fio.
    fn command(&self, row: &Row, seawall: Option<&Path>, folder: &Path) -> Command {
        let mut command = match seawall {
            Some(seawall) => {
                let mut command = Command::new(seawall);
                command.env("SEAWALL_RESULTS", "none");
                command.arg("fio");
                command
            }
            None => Command::new("fio"),
        };
        command.current_dir(folder).args(["--name=bench", "--output-format=json", "--lat_percentiles=1"]);
        let tool = if seawall.is_some() { "ours" } else { "fio" };
        for &argument in row.arguments {
            match argument {
                "FILE" => command.arg("--filename=data").arg("--readonly"),
                "OWN" => command.arg(format!("--filename=written-by-{tool}")),
                "DIRECT" => command.args(DIRECT),
                "NBD" => command.arg("--ioengine=nbd").arg("--uri=nbd+unix:///?socket=nbd.sock"),
                "ONCE" => &mut command,
                plain => command.arg(plain),
            };
        }
        if !row.arguments.contains(&"ONCE") {
            let seconds = if row.stall { 6 } else { self.turns.seconds };
            command.arg("--time_based").arg(format!("--runtime={seconds}"));
        }
        command
    }

    fn sample(&self, row: &Row, seawall: Option<&Path>, folder: &Path) -> Result<Sample> {
        if row.warm {
            succeed(Command::new("cat").arg(folder.join("data")))?;
        }
        let _server = if row.stall { Some(stalling_server(folder)?) } else { None };
        let mut command = self.command(row, seawall, folder);
        let line = line_of(&command);
        let before = children_seconds()?;
        let watch = crate::step::Watch::start();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let child = child.with_context(|| line.clone())?;
        let stall = _server.as_ref().map(Served::id);
        let (output, memory_mib) = observe(child, stall, self.turns.seconds, &line)?;
        let wall = watch.elapsed().as_secs_f64();
        let after = children_seconds()?;
        let json = output.find('{').and_then(|at| serde_json::from_str(&output[at..]).ok());
        let json: Value = json.with_context(|| format!("{line}: no JSON: {output}"))?;
        let cpu = (after.user + after.system) - (before.user + before.system);
        Sample::of(&json, wall, cpu, after.user - before.user, memory_mib)
            .with_context(|| format!("{line}: its figures"))
    }
}

/// A server with data in memory, at `nbd.sock`.
fn stalling_server(folder: &Path) -> Result<Served> {
    let socket = folder.join("nbd.sock");
    let _ = std::fs::remove_file(&socket);
    let mut command = Command::new("nbdkit");
    command.arg("-f").arg("-U").arg(&socket).args(["memory", "64M"]);
    Served::start(command, &socket)
}

/// Waits for a process to end. Halfway, reads its memory, and stops the server if the load has a
/// stall.
fn observe(mut child: Child, stall: Option<u32>, seconds: u64, line: &str) -> Result<(String, f64)> {
    let pid = child.id();
    let mut out = child.stdout.take().context("its output is piped")?;
    let (ended, end) = channel();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.read_to_string(&mut text);
        let _ = ended.send(());
        read.map(|_| text)
    });
    let mut memory_kib = 0.0;
    let wait = |millis: u64| end.recv_timeout(Duration::from_millis(millis)).is_err();
    if let Some(server) = stall {
        wait(3000);
        succeed(Command::new("kill").args(["-STOP", &server.to_string()]))?;
        wait(500);
        succeed(Command::new("kill").args(["-CONT", &server.to_string()]))?;
    } else if wait(seconds * 700) {
        memory_kib = resident_most_kib(pid);
    }
    let text = reader.join().map_err(|_| anyhow::anyhow!("{line}: its output could not be read"))??;
    let status = child.wait()?;
    if !status.success() {
        bail!("{line}: {status}");
    }
    Ok((text, memory_kib / 1024.0))
}

/// `VmHWM` of a process, from proc(5).
pub(super) fn resident_most_kib(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    most.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0.0)
}

/// The figures of one run.
#[derive(Clone, Copy, Debug)]
struct Sample {
    iops: f64,
    mean_s: f64,
    p50_s: f64,
    p99_s: f64,
    cpu_each_s: f64,
    user_each_mib_s: f64,
    wall_s: f64,
    memory_mib: f64,
}

impl Sample {
    fn of(json: &Value, wall_s: f64, cpu_s: f64, user_s: f64, memory_mib: f64) -> Option<Sample> {
        let jobs = json["jobs"].as_array()?;
        let side = |job: &Value| {
            let key = if job["read"]["total_ios"].as_u64() > Some(0) { "read" } else { "write" };
            job[key].clone()
        };
        let sides: Vec<Value> = jobs.iter().map(side).collect();
        let sum = |key: &str| sides.iter().filter_map(|side| side[key].as_f64()).sum::<f64>();
        let percentile = |key: &str| sides[0]["lat_ns"]["percentile"][key].as_f64().unwrap_or(0.0) / 1e9;
        Some(Sample {
            iops: sum("iops"),
            mean_s: sides[0]["lat_ns"]["mean"].as_f64()? / 1e9,
            p50_s: percentile("50.000000"),
            p99_s: percentile("99.000000"),
            cpu_each_s: cpu_s / sum("total_ios"),
            user_each_mib_s: user_s / (sum("io_bytes") / f64::from(1 << 20)),
            wall_s,
            memory_mib,
        })
    }

    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Iops => self.iops,
            Figure::Mean => self.mean_s,
            Figure::P50 => self.p50_s,
            Figure::P99 => self.p99_s,
            Figure::Cpu => self.cpu_each_s,
            Figure::UserCpu => self.user_each_mib_s,
            Figure::Wall => self.wall_s,
            Figure::Memory => self.memory_mib,
            Figure::RateError => (self.iops / RATE - 1.0).abs(),
        }
    }
}

fn verdict(figure: Figure, bound: Bound, ours: f64, theirs: f64) -> String {
    let (name, scale, unit) = match figure {
        Figure::Iops => ("IOPS", 1.0, ""),
        Figure::Mean => ("mean", 1e6, " µs"),
        Figure::P50 => ("p50", 1e6, " µs"),
        Figure::P99 => ("p99", 1e3, " ms"),
        Figure::Cpu => ("CPU a request", 1e6, " µs"),
        Figure::UserCpu => ("user CPU a MiB", 1e6, " µs"),
        Figure::Wall => ("start to end", 1e3, " ms"),
        Figure::Memory => ("memory", 1.0, " MiB"),
        Figure::RateError => ("rate error", 100.0, " %"),
    };
    let ratio = ours / theirs;
    let (wanted, held) = match bound {
        AtLeast(least) => (format!("at least {least} ×"), ratio >= least),
        AtMost(most) => (format!("at most {most} ×"), ratio <= most),
        Within(part) => (format!("within {} %", part * 100.0), (ratio - 1.0).abs() <= part),
        Below(most) => (format!("at most {}{unit}", most * scale), ours <= most),
        Above(least) => (format!("at least {}{unit}", least * scale), ours >= least),
    };
    format!(
        "{name:<16} ours {:>12.2}{unit}  fio {:>12.2}{unit}  ratio {ratio:>6.2}   {wanted}: {}",
        ours * scale,
        theirs * scale,
        if held { "held" } else { "missed" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_from_all_jobs() {
        let side = |ios: u64| {
            serde_json::json!({"total_ios": ios, "iops": ios as f64, "io_bytes": ios * 1048576,
            "lat_ns": {"mean": 31000, "percentile": {"50.000000": 25000, "99.000000": 99000}}})
        };
        let json = serde_json::json!({"jobs": [{"read": side(10), "write": {}}, {"read": {"total_ios": 0}, "write": side(30)}]});
        let sample = Sample::of(&json, 1.0, 4.0, 2.0, 24.0).unwrap();
        assert_eq!((sample.iops, sample.cpu_each_s, sample.user_each_mib_s), (40.0, 0.1, 0.05));
        assert_eq!((sample.mean_s, sample.p50_s, sample.p99_s), (31e-6, 25e-6, 99e-6));
    }

    #[test]
    fn a_verdict_says_what_was_wanted() {
        let line = verdict(Figure::Cpu, AtMost(0.65), 2.0e-6, 4.0e-6);
        assert!(line.contains("ratio   0.50") && line.ends_with("at most 0.65 ×: held"), "{line}");
        assert!(verdict(Figure::Mean, Within(0.05), 94e-6, 100e-6).ends_with("within 5 %: missed"));
        assert!(verdict(Figure::Mean, Within(0.05), 104e-6, 100e-6).ends_with("within 5 %: held"));
        assert!(verdict(Figure::Wall, Below(0.02), 0.03, 0.3).ends_with("at most 20 ms: missed"));
        assert!(verdict(Figure::P99, Above(0.4), 0.45, 0.0001).ends_with("at least 400 ms: held"));
    }
}
