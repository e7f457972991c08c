//! `cargo xtask bench before COMMIT`: compares this tree's build with that of another commit, on
//! this machine.
//!
//! ```text
//!   turn 1   now, before      turn 2   before, now      turn 3   now, before      …
//!            └── a pair ──┘            └── a pair ──┘
//! ```
//! Both do the same work one after the other, and take turns at being first, so that a busy minute
//! or a warm processor favours neither. Each pair gives the ratio of the two rates. The result is
//! the mean of the ratios' logarithms, with its 95 % confidence interval (Student's t). If the
//! interval contains a ratio of 1, no change was shown.

use super::qos::Pool;
use super::served::children_seconds;
use super::turns::{Data, Turns};
use super::{Folder, fio_json, line_of, load_average, make_data, need, release_build, succeed};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Before {
    /// The commit to compare with
    #[arg(default_value = "HEAD~1")]
    commit: String,
    #[command(flatten)]
    turns: Turns<9, 5, 2>,
    #[command(flatten)]
    data: Data,
    /// Only these rows
    #[arg(long, value_enum)]
    only: Vec<Row>,
}

/// What both builds do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Row {
    /// The load engine on nothing: IOPS
    EngineNull,
    /// The load engine on a file in the page cache: IOPS
    EngineCached,
    /// A ramp of 150 000 IOPS on nothing: requests for each second of a processor
    Ramp,
    /// A server, read by fio over NBD: IOPS
    Nbd,
    /// The same under a ceiling that is not reached: IOPS
    Qos,
}

const ROWS: [Row; 5] = [Row::EngineNull, Row::EngineCached, Row::Ramp, Row::Nbd, Row::Qos];

/// The target rate of a ramp.
const IOPS: u64 = 150_000;

/// A build, and what the rows need of it.
struct Build {
    program: PathBuf,
    folder: PathBuf,
    /// Its servers, for rows that read from one: without a policy, and with one.
    pools: Vec<Pool>,
}

impl Before {
    /// Builds both, runs the rows and prints a line for each.
    ///
    /// # Errors
    /// A program is missing or failed, or a row became slower by more than chance.
    pub fn run(&self) -> Result<()> {
        let rows: Vec<Row> = ROWS.into_iter().filter(|row| self.only.is_empty() || self.only.contains(row)).collect();
        let serves = rows.iter().any(|row| matches!(row, Row::Nbd | Row::Qos));
        need(if serves { &["fio", "git", "nbdcopy", "taskset"] } else { &["git", "taskset"] })?;
        let folder = Folder::make(&root().join("target/bench-before"))?;
        let other = built(&self.commit, &folder.0)?;
        let data = folder.0.join("data");
        make_data(&data, self.data.mib)?;
        println!("load average at the start: {}", load_average()?);
        println!(
            "{} pairs of {} s each; now / {}, and the interval with 95 %",
            self.turns.runs, self.turns.seconds, self.commit
        );
        let builds = [("now", release_build()?), ("before", other)];
        let builds = builds.map(|(name, program)| Build::of(program, &folder.0.join(name), &data, serves));
        let [now, before] = builds;
        let (now, before) = (now?, before?);
        let mut slower = Vec::new();
        for row in rows {
            let mut ratios = Vec::new();
            for turn in 0..self.turns.runs {
                let (ours, theirs) = match turn % 2 {
                    0 => (self.rate(row, &now)?, self.rate(row, &before)?),
                    _ => {
                        let theirs = self.rate(row, &before)?;
                        (self.rate(row, &now)?, theirs)
                    }
                };
                ratios.push(ours / theirs);
            }
            let (ratio, [least, most]) = paired(&ratios);
            println!("  {row:<12?}  {ratio:.4}   {least:.4} to {most:.4}");
            if most < 1.0 {
                slower.push(format!("{row:?}"));
            }
        }
        println!("load average at the end: {}", load_average()?);
        if slower.is_empty() { Ok(()) } else { bail!("slower by more than chance: {}", slower.join(", ")) }
    }

    /// The rate of one run of a build.
    fn rate(&self, row: Row, build: &Build) -> Result<f64> {
        let seconds = self.turns.seconds;
        let engine = |more: &[&str]| {
            let mut command = build.command("fio");
            command.args(["--name=bench", "--output-format=json", "--rw=randread", "--bs=4k", "--iodepth=32"]);
            command.args(["--norandommap", "--time_based"]).arg(format!("--runtime={seconds}")).args(more);
            command
        };
        match row {
            Row::EngineNull => iops(engine(&["--ioengine=null", "--size=1g"])),
            Row::EngineCached => {
                succeed(Command::new("cat").arg(build.folder.join("../data")))?;
                iops(engine(&["--filename=../data", "--readonly", "--ioengine=io_uring", "--invalidate=0"]))
            }
            Row::Ramp => build.ramp(seconds.max(4)),
            Row::Nbd | Row::Qos => {
                let pool = &build.pools[usize::from(row == Row::Qos)];
                let mut command = Command::new("fio");
                command.args(["--name=bench", "--ioengine=nbd", "--rw=randread", "--bs=4k", "--iodepth=32"]);
                command.args(["--output-format=json", "--time_based"]).arg(format!("--runtime={seconds}"));
                iops({
                    command.arg(format!("--uri={}", pool.uri("vol1"))).current_dir(&build.folder);
                    command
                })
            }
        }
    }
}

impl Build {
    fn of(program: PathBuf, folder: &Path, data: &Path, serves: bool) -> Result<Build> {
        std::fs::create_dir(folder).with_context(|| folder.display().to_string())?;
        let mut pools = Vec::new();
        if serves {
            for name in ["free", "under"] {
                pools.push(Pool::start(&program, folder.join(name), "cache = \"page\"\n", &["vol1"], data)?);
            }
            pools[1].order(&[
                "qos policy-group create high -vserver svm01 -max-throughput 10000000iops",
                "volume modify -vserver svm01 -volume vol1 -qos-policy-group high",
            ])?;
        }
        Ok(Build { program, folder: folder.into(), pools })
    }

    fn command(&self, tool: &str) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]).arg(&self.program).arg(tool);
        command.current_dir(&self.folder).env("SEAWALL_RESULTS", "none");
        command
    }

    /// Requests of a ramp per second of processor time.
    fn ramp(&self, seconds: u64) -> Result<f64> {
        let _ = std::fs::remove_dir_all(self.folder.join("ramp"));
        let mut command = self.command("ramp");
        let rate = IOPS.to_string();
        command.args(["--quiet", "--miniops", &rate, "--maxiops", &rate, "--numruns", "1", "--disable-warmup"]);
        command.args(["--runtime", &format!("{seconds}s"), "--cycle", "2s", "--output", "ramp"]);
        command.args(["--device", "null:64GiB", "--wijfile", "null:64GiB"]);
        let before = children_seconds()?;
        let output = command.stdin(Stdio::null()).output().with_context(|| line_of(&command))?;
        let after = children_seconds()?;
        // The verdict does not matter: storage that takes no time passes, or the exit code says no.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("{}: {}", line_of(&command), String::from_utf8_lossy(&output.stderr));
        }
        Ok((IOPS * seconds) as f64 / (after.user + after.system - before.user - before.system))
    }
}

/// The program of a commit, built in a worktree of its own.
fn built(commit: &str, folder: &Path) -> Result<PathBuf> {
    let tree = std::path::absolute(folder)?.join("tree");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(root()).args(words);
        command
    };
    let name = tree.display().to_string();
    succeed(&mut git(&["worktree", "add", "--force", "--detach", &name, commit]))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Outside of the folder, which is deleted: the next comparison builds only what changed.
    let target = root().join("target/before");
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--package", "seawall"]).current_dir(&tree).env("CARGO_TARGET_DIR", &target);
    let program = succeed(&mut build).and_then(|()| {
        let program = folder.join("seawall-before");
        std::fs::copy(target.join("release/seawall"), &program).context("the program that was built")?;
        Ok(std::path::absolute(program)?)
    });
    succeed(&mut git(&["worktree", "remove", "--force", &name]))?;
    program
}

fn iops(mut command: Command) -> Result<f64> {
    let json = fio_json(&mut command)?;
    json["jobs"][0]["read"]["iops"].as_f64().with_context(|| format!("{}: no rate: {json}", line_of(&command)))
}

/// The mean of ratios, and its 95 % confidence interval.
fn paired(ratios: &[f64]) -> (f64, [f64; 2]) {
    let n = ratios.len() as f64;
    let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / n;
    let square: f64 = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2)).sum();
    let half = match ratios.len().checked_sub(2) {
        None => f64::INFINITY,
        Some(more) => T_975[more.min(T_975.len() - 1)] * (square / (n - 1.0) / n).sqrt(),
    };
    (mean.exp(), [(mean - half).exp(), (mean + half).exp()])
}

/// The 97.5 % quantile of Student's t, from one degree of freedom on; beyond 30 it is hardly less
/// than the last value.
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios e^-0.1, 1 and e^0.1: their logarithms have mean 0 and deviation 0.1, so with two
    /// degrees of freedom half of the interval is 4.303 × 0.1 / √3 = 0.2484.
    #[test]
    fn pairs_have_a_mean_and_an_interval() {
        let (ratio, [least, most]) = paired(&[-0.1f64, 0.0, 0.1].map(f64::exp));
        assert!((ratio - 1.0).abs() < 1e-12);
        assert!((most.ln() - 0.2484).abs() < 1e-4 && (least.ln() + 0.2484).abs() < 1e-4, "{least} {most}");
        assert_eq!(paired(&[1.1]).1, [0.0, f64::INFINITY], "of one pair nothing is known");
    }
}
