//! `cargo xtask bench classics`: the classic tools' front ends compared with `seawall fio` and fio,
//! on the same file.
//!
//! Runs alternate (ours, `seawall fio`, fio, ours, …). A figure is the median of its runs; a ratio
//! is that of the medians.

use super::served::children_seconds;
use super::turns::{Data, Turns};
use super::{Folder, line_of, load_average, median, need, release_build};
use crate::root;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Classics {
    #[command(flatten)]
    turns: Turns<5, 5, 1>,
    #[command(flatten)]
    data: Data,
    /// Processes of a RanRead batch, and jobs beside it
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    processes: u32,
    /// Reads of each of them
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    reads: u64,
}

/// The result of a run: requests per second, and processor time per request in microseconds.
struct Done {
    iops: f64,
    cpu_us: f64,
}

/// Finds the rate, and the number of requests if it is reported, in a tool's output.
type Reader = fn(&str) -> Option<(f64, Option<f64>)>;

/// The file that all tools read.
const FILE: &str = "RANREAD.DAT";

impl Classics {
    /// Runs both comparisons and prints them.
    ///
    /// # Errors
    /// fio is missing, or something failed.
    pub fn run(&self) -> Result<()> {
        need(&["fio"])?;
        let seawall = release_build()?;
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&root().join("target/bench"))?;
        let size = format!("{}MiB", self.data.mib);
        let setup = [&["ranread", "setup", "db", "BENCH"][..], &[size.as_str()]].concat();
        let mut setup = self.ours(&seawall, &folder.0, &setup);
        if !setup.output().context("make the database")?.status.success() {
            bail!("{} failed", line_of(&setup));
        }
        let file = folder.0.join("db").join(FILE);
        std::fs::write(folder.0.join("t.lun"), format!("{}\n", file.display())).context("t.lun")?;
        self.orion(&seawall, &folder.0, &file)?;
        self.ranread(&seawall, &folder.0, &file)?;
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }

    /// Orion's point of 32 small requests.
    fn orion(&self, seawall: &Path, folder: &Path, file: &Path) -> Result<()> {
        let seconds = self.turns.seconds.to_string();
        let point = ["orion", "-run", "advanced", "-matrix", "point", "-num_small", "32", "-num_large", "0"];
        let point = [&point[..], &["-testname", "t", "-duration", &seconds]].concat();
        let job = self.job(file, &["--ioengine=io_uring", "--iodepth=32", "--time_based", "--norandommap"]);
        let job = [job, vec![format!("--runtime={seconds}")]].concat();
        let runs = (0..self.turns.runs).map(|_| {
            let orion = self.timed(self.ours(seawall, folder, &point), best_iops)?;
            Ok([orion, self.fio(seawall, folder, &job, true)?, self.fio(seawall, folder, &job, false)?])
        });
        let names = ["orion, 32 small requests", "seawall fio, iodepth=32", "fio, iodepth=32"];
        let [orion, ours, fio] = told(names, &runs.collect::<Result<Vec<_>>>()?);
        judged("orion's IOPS beside seawall fio", orion.iops / ours.iops, 0.97, f64::INFINITY);
        judged("orion's IOPS beside fio", orion.iops / fio.iops, 0.95, 1.05);
        Ok(())
    }

    /// A batch of RanRead, and as many jobs with as many reads.
    fn ranread(&self, seawall: &Path, folder: &Path, file: &Path) -> Result<()> {
        let (processes, reads) = (self.processes.to_string(), self.reads.to_string());
        let batch = ["ranread", "run", "db", &processes, &reads];
        let job = self.job(file, &["--ioengine=psync", "--thread", "--group_reporting", "--norandommap"]);
        let job = [job, vec![format!("--numjobs={processes}"), format!("--number_ios={reads}")]].concat();
        let runs = (0..self.turns.runs).map(|_| {
            let ranread = self.timed(self.ours(seawall, folder, &batch), clocked)?;
            Ok([ranread, self.fio(seawall, folder, &job, true)?, self.fio(seawall, folder, &job, false)?])
        });
        let names = ["ranread, a batch", "seawall fio, psync", "fio, psync"];
        let [ranread, ours, fio] = told(names, &runs.collect::<Result<Vec<_>>>()?);
        judged("processor time of a read beside seawall fio", ranread.cpu_us / ours.cpu_us, 0.0, 1.0);
        judged("ranread's IOPS beside fio", ranread.iops / fio.iops, 0.95, 1.05);
        Ok(())
    }

    fn job(&self, file: &Path, more: &[&str]) -> Vec<String> {
        let (name, size) = (format!("--filename={}", file.display()), format!("--size={}m", self.data.mib));
        let common = ["--name=bench", "--rw=randread", "--bs=8k", "--direct=1", "--output-format=json"];
        common.iter().chain(more).map(|word| (*word).to_owned()).chain([name, size]).collect()
    }

    fn ours(&self, seawall: &Path, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(seawall);
        command.env("SEAWALL_RESULTS", folder.join("results.sqlite")).env("XDG_STATE_HOME", folder.join("state"));
        command.current_dir(folder).args(words);
        command
    }

    fn fio(&self, seawall: &Path, folder: &Path, job: &[String], ours: bool) -> Result<Done> {
        let words: Vec<&str> = job.iter().map(String::as_str).collect();
        let mut command = if ours { self.ours(seawall, folder, &["fio"]) } else { Command::new("fio") };
        command.current_dir(folder).args(words);
        self.timed(command, json)
    }

    /// Runs a command; `read` finds the rate and the number of requests in its output and its
    /// folder.
    fn timed(&self, mut command: Command, read: Reader) -> Result<Done> {
        let before = children_seconds()?;
        let output = command.stdin(Stdio::null()).output().with_context(|| line_of(&command))?;
        let after = children_seconds()?;
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        let Some((iops, requests)) = read(&said) else { bail!("{} said: {said}", line_of(&command)) };
        let cpu = after.user + after.system - before.user - before.system;
        Ok(Done { iops, cpu_us: requests.map_or(0.0, |requests| 1e6 * cpu / requests) })
    }
}

/// Prints and returns the median of each column.
fn told(names: [&str; 3], runs: &[[Done; 3]]) -> [Done; 3] {
    [0, 1, 2].map(|at| {
        let of = |figure: fn(&Done) -> f64| median(runs.iter().map(|run| figure(&run[at])));
        let done = Done { iops: of(|done| done.iops), cpu_us: of(|done| done.cpu_us) };
        let cpu =
            if done.cpu_us > 0.0 { format!(" {:>8.2} us of processor a request", done.cpu_us) } else { String::new() };
        println!("{:<28} {:>10.0} IOPS{cpu}", names[at], done.iops);
        done
    })
}

fn judged(what: &str, ratio: f64, least: f64, most: f64) {
    let bound = match (least > 0.0, most.is_finite()) {
        (true, true) => format!("{least} to {most}"),
        (true, false) => format!("at least {least}"),
        _ => format!("at most {most}"),
    };
    let verdict = if (least..=most).contains(&ratio) { "held" } else { "missed" };
    println!("  {what}: {ratio:.3} ({bound}): {verdict}");
}

/// Orion's maximum, of its only point; the number of requests is not reported.
fn best_iops(said: &str) -> Option<(f64, Option<f64>)> {
    let line = said.lines().find_map(|line| line.strip_prefix("Maximum Small IOPS="))?;
    let iops: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some((iops, None))
}

/// Parses `128,000 requests, p50 …; 3,035 IOPS by the clock`.
fn clocked(said: &str) -> Option<(f64, Option<f64>)> {
    let line = said.lines().find(|line| line.contains(" IOPS by the clock"))?;
    let number = |text: &str| text.trim().replace(',', "").parse().ok();
    let requests = number(line.split(" requests").next()?.rsplit(' ').next()?)?;
    let iops = number(line.split(" IOPS by the clock").next()?.rsplit(' ').next()?)?;
    Some((iops, Some(requests)))
}

/// The reads in a report of fio.
fn json(said: &str) -> Option<(f64, Option<f64>)> {
    let report = said.get(said.find('{')?..=said.rfind('}')?)?;
    let json: Value = serde_json::from_str(report).ok()?;
    let read = &json["jobs"][0]["read"];
    Some((read["iops"].as_f64()?, Some(read["total_ios"].as_f64()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_say_is_read() {
        let orion = "x\nMaximum Small IOPS=66392 @ Small=32 and Large=0\n";
        assert_eq!(best_iops(orion).map(|found| found.0), Some(66_392.0));
        let ranread = "seawall: 128,000 requests, p50 0.2 ms, max 3.1; 35,968 IOPS by the clock\n";
        assert_eq!(clocked(ranread), Some((35_968.0, Some(128_000.0))));
        let fio = "note\n{\"jobs\": [{\"read\": {\"iops\": 5.5, \"total_ios\": 11}}]}\nseawall: x";
        assert_eq!(json(fio), Some((5.5, Some(11.0))));
        assert_eq!(json(""), None);
    }
}
