//! One run of fio's NBD engine.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A load for fio.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// `randread`, `randwrite`, `read`, as fio calls them.
    pub pattern: &'static str,
    /// Size of a request, as fio reads it.
    pub block: &'static str,
    /// Requests in flight.
    pub depth: u32,
    /// Whether each block is read once, until all were or the time is over; otherwise blocks
    /// repeat.
    pub once: bool,
}

/// The result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Completed requests.
    pub operations: u64,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// Median response time, in microseconds.
    pub p50_us: f64,
}

impl Done {
    /// Operations per second.
    pub fn iops(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

impl Load {
    /// The command that runs it for `seconds` on the export `uri`, in a folder for its files.
    pub fn command(&self, uri: &str, seconds: u64, folder: &Path) -> Command {
        let mut command = self.bare(seconds, folder);
        command.arg("--ioengine=nbd").arg(format!("--uri={uri}"));
        command
    }

    /// The command for the same load on a file, without a server: past the page cache or through
    /// it.
    pub fn on_disk(&self, file: &Path, direct: bool, seconds: u64, folder: &Path) -> Command {
        let mut command = self.bare(seconds, folder);
        command.arg("--ioengine=io_uring").arg(format!("--direct={}", u8::from(direct)));
        // The page cache is not dropped: being cached is the condition of that table.
        command.arg(format!("--invalidate={}", u8::from(direct))).arg(format!("--filename={}", file.display()));
        command
    }

    fn bare(&self, seconds: u64, folder: &Path) -> Command {
        let mut command = Command::new("fio");
        command.current_dir(folder).args(["--name=bench", "--output-format=json"]);
        command.arg(format!("--rw={}", self.pattern)).arg(format!("--bs={}", self.block));
        command.arg(format!("--iodepth={}", self.depth)).arg(format!("--runtime={seconds}"));
        if !self.once {
            // Blocks repeat. Without this, fio spends time on remembering which it has used.
            command.args(["--time_based", "--norandommap"]);
        }
        command
    }

    /// Runs it.
    ///
    /// # Errors
    /// fio failed, or its output cannot be parsed.
    pub fn run(&self, uri: &str, seconds: u64, folder: &Path) -> Result<Done> {
        self.run_command(self.command(uri, seconds, folder))
    }

    /// Runs a command made by [`Load::on_disk`].
    ///
    /// # Errors
    /// As for [`Load::run`].
    pub fn run_command(&self, mut command: Command) -> Result<Done> {
        let output = command.stdin(Stdio::null()).output().context("run fio")?;
        if !output.status.success() {
            bail!("{}: {}", super::line_of(&command), String::from_utf8_lossy(&output.stderr).trim());
        }
        done_of(&String::from_utf8_lossy(&output.stdout)).context("fio's JSON")
    }
}

/// The results of the only job in fio's JSON.
fn done_of(output: &str) -> Result<Done> {
    let json: Value = serde_json::from_str(&output[output.find('{').context("there is none")?..])?;
    let job = &json["jobs"][0];
    let side = ["read", "write"].map(|side| &job[side]).into_iter().find(|side| side["total_ios"].as_u64() > Some(0));
    let side = side.context("nothing was read or written")?;
    Ok(Done {
        operations: side["total_ios"].as_u64().context("no total_ios")?,
        seconds: side["runtime"].as_f64().context("no runtime")? / 1e3,
        p50_us: side["clat_ns"]["percentile"]["50.000000"].as_f64().context("no median")? / 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_taken_from_the_side_that_ran() {
        let text = r#"fio: a warning
            {"jobs": [{"read": {"total_ios": 0, "runtime": 0},
                       "write": {"total_ios": 1000, "runtime": 500, "clat_ns": {"percentile": {"50.000000": 27000}}}}]}"#;
        let done = done_of(text).unwrap();
        assert_eq!((done.operations, done.seconds, done.p50_us, done.iops()), (1000, 0.5, 27.0, 2000.0));
        assert!(done_of("no JSON").is_err());
    }
}
