//! `cargo xtask bench demo`: how long a newcomer waits, apart from the disk.
//!
//! ```text
//! start ──► filling … filled ──► measuring … measured ──► first second
//!   └─ ours ─┘  the disk's  └─ ours ─┘   the plan's   └─ ours + 1 s ─┘
//! ```

use super::{Folder, release_build};
use crate::root;
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Demo {
    /// Size of each volume
    #[arg(long, default_value = "256MiB")]
    size: String,
    /// How often to play it whole afterwards: each of them is to end with every criterion held
    #[arg(long, default_value_t = 0)]
    runs: u32,
}

/// What the demo prints at the end of each step, and whether we can shorten the step.
const STRETCHES: [(&str, &str, bool); 5] = [
    ("start", "filling", true),
    ("filling the volumes", "filled", false),
    ("connecting", "measuring", true),
    ("measuring the machine", "Depths and limits", false),
    ("to the first second, its own length left out", "0:01 ", true),
];

/// Most seconds for which we are responsible, apart from filling and measuring.
const OURS_MOST: f64 = 3.0;

impl Demo {
    /// Runs the demo and prints its steps.
    ///
    /// # Errors
    /// The demo failed, or printed something unexpected.
    pub fn run(&self) -> Result<()> {
        let seawall = release_build()?;
        let folder = Folder::make(&root().join("target/bench"))?;
        let mut command = Command::new(&seawall);
        command.env("SEAWALL_RESULTS", "none");
        command.current_dir(&folder.0).args(["demo", "--phase-seconds", "2", "--size", &self.size]);
        let watch = Watch::start();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("start the demo")?;
        let mut lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        let (mut last, mut ours) = (0.0, 0.0);
        for (name, says, is_ours) in STRETCHES {
            loop {
                let Some(line) = lines.next() else { bail!("the demo ended before it said {says:?}") };
                if line.context("read what it says")?.trim_start().starts_with(says) {
                    break;
                }
            }
            let now = watch.elapsed().as_secs_f64();
            let own_length = if says == "0:01 " { 1.0 } else { 0.0 };
            let took = now - last - own_length;
            println!("{took:>7.2} s  {name}{}", if is_ours { "" } else { " (not ours)" });
            ours += if is_ours { took } else { 0.0 };
            last = now;
        }
        lines.for_each(drop);
        child.wait().context("wait for the demo")?;
        let verdict = if ours <= OURS_MOST { "held" } else { "missed" };
        println!("{ours:>7.2} s  ours together, at most {OURS_MOST} s: {verdict}");
        (1..=self.runs).try_for_each(|run| play_whole(&seawall, &folder, run))
    }
}

/// Plays the demo as a newcomer does, and prints the results of the floors, the last of its
/// criteria.
fn play_whole(seawall: &Path, folder: &Folder, run: u32) -> Result<()> {
    let mut command = Command::new(seawall);
    command.env("SEAWALL_RESULTS", "none").current_dir(&folder.0).arg("demo").stdin(Stdio::null());
    let output = command.output().context("play the demo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().map(str::trim).skip_while(|line| !line.contains("of their floor in every second"));
    let told: Vec<&str> = said.skip(1).take_while(|line| !line.is_empty()).collect();
    println!("run {run}: exit {}, {}", output.status.code().unwrap_or(-1), told.join(" "));
    Ok(())
}
