//! `cargo xtask bench results`: the size of a results database, the time of views of it and its
//! page, the memory of the plan behind it, and the cost of recording for the load engine. Bounds
//! apply to processor time, which the examples report beside the wall time, and to instructions, so
//! that a busy machine does not matter.

use super::{Folder, fio_json, line_of, load_average, need, release_build};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of `bench results`.
#[derive(clap::Args)]
pub struct Results {
    /// Where the database is made: a folder that does not exist
    #[arg(long, default_value = "target/bench-results")]
    folder: PathBuf,
    /// Only what recording costs the load engine
    #[arg(long)]
    recording: bool,
}

impl Results {
    /// Measures and prints the figures.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        need(&["valgrind", "callgrind_annotate"])?;
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&self.folder)?;
        if self.recording {
            return recording(&folder.0);
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--release", "--package", "results", "--example", "growth", "--"]);
        let file = std::path::absolute(&folder.0)?.join("results.sqlite");
        let status = command.arg(&file).current_dir(root()).stdin(Stdio::null()).status();
        let status = status.context("run the example growth")?;
        recording(&folder.0)?;
        memory()?;
        println!("load average at the end: {}", load_average()?);
        if !status.success() {
            bail!("the example growth: {status}");
        }
        Ok(())
    }
}

/// The memory of a plan of that length.
fn memory() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", "engine", "--example", "day", "--", "24", "100"]);
    let status = command.current_dir(root()).stdin(Stdio::null()).status().context("run the example day")?;
    if !status.success() {
        bail!("the example day: {status}");
    }
    Ok(())
}

/// Most that recording may cost the engine, as a part of its instructions.
const RECORDING_MOST: f64 = 0.005;

/// The functions that run each second of a recorded run: slices end, the run is made of them, and a
/// thread writes it. Some code is in two of them.
const EACH_SECOND: [&str; 4] = [
    "stats::tape::Tape::end_second",
    "stats::tape::Tape::end_slices_before",
    "stats::run::tapes::<impl stats::run::Run>::add_tape",
    "seawall::memory::writer::Database::serve",
];

/// The cost of recording for the load engine on nothing, in instructions: those of [`EACH_SECOND`]
/// as counted by callgrind, of all that the engine executes in a second at its own maximum rate.
fn recording(folder: &Path) -> Result<()> {
    let out = std::path::absolute(folder.join("callgrind.out"))?;
    let kept = std::path::absolute(folder.join("kept.sqlite"))?;
    let program = release_build()?;
    let engine = |mut command: Command, size: &str| {
        command.args(["fio", "--eta=never", "--name=a", "--ioengine=null", "--rw=randread", "--bs=4k"]);
        command
            .args(["--iodepth=32", "--output-format=json"])
            .arg(format!("--size={size}"))
            .env("SEAWALL_RESULTS", &kept);
        played(command)
    };
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display())).arg(&program);
    let counted = engine(valgrind, "16g")?;
    let by_itself = engine(Command::new(&program), "64g")?;
    let mut annotate = Command::new("callgrind_annotate");
    let text =
        annotate.args(["--inclusive=yes", "--threshold=100"]).arg(&out).output().context("callgrind_annotate")?;
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let of = |name: &str| -> Result<f64> {
        let line = text.lines().find(|line| line.contains(name) && line.contains('('));
        let line = line.with_context(|| format!("callgrind did not see {name}"))?;
        let number = line.split_whitespace().next().unwrap_or_default().replace(',', "");
        number.parse().with_context(|| format!("not a number of instructions: {line}"))
    };
    let each = EACH_SECOND.into_iter().map(of).sum::<Result<f64>>()? / counted.seconds;
    let second = of("PROGRAM TOTALS")? / counted.requests * by_itself.requests / by_itself.seconds;
    println!(
        "{:>7.3} %   of the engine's instructions to keep its run: at most {:.2} million a second of {:.0}",
        each / second * 100.0,
        each / 1e6,
        second / 1e6
    );
    if each / second > RECORDING_MOST {
        bail!("to keep a run may cost {} % of the engine's instructions", RECORDING_MOST * 100.0);
    }
    Ok(())
}

/// The result of a load.
struct Played {
    requests: f64,
    seconds: f64,
}

fn played(mut command: Command) -> Result<Played> {
    let read = &fio_json(&mut command)?["jobs"][0]["read"];
    match (read["total_ios"].as_f64(), read["runtime"].as_f64()) {
        (Some(requests), Some(runtime)) if runtime > 0.0 => Ok(Played { requests, seconds: runtime / 1e3 }),
        _ => bail!("{}: no figures: {read}", line_of(&command)),
    }
}
