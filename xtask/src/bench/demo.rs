//! `cargo xtask bench demo`: what a newcomer waits for beside the disk.
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
use std::process::{Command, Stdio};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Demo {
    /// Size of each volume
    #[arg(long, default_value = "256MiB")]
    size: String,
}

/// What the demo says at the end of each stretch, and whether the time until then is ours to save.
const STRETCHES: [(&str, &str, bool); 5] = [
    ("start", "filling", true),
    ("filling the volumes", "filled", false),
    ("connecting", "measuring", true),
    ("measuring the machine", "Depths and limits", false),
    ("to the first second, its own length left out", "0:01 ", true),
];

/// Seconds that are ours at most, beside the disk's filling and the measuring.
const OURS_MOST: f64 = 3.0;

impl Demo {
    /// Runs it and prints the stretches.
    ///
    /// # Errors
    /// The demo failed or says other things than expected.
    pub fn run(&self) -> Result<()> {
        let seawall = release_build()?;
        let folder = Folder::make(&root().join("target/bench"))?;
        let mut command = Command::new(seawall);
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
        Ok(())
    }
}
