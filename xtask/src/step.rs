//! One step of a long command: its heading, its output as it arrives, its result and its duration.

use anyhow::{Context as _, Result};
use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::time::{Duration, Instant};

/// The result of a step.
#[derive(Debug)]
pub struct Ended {
    /// Whether its exit code was 0.
    pub good: bool,
    /// Everything it printed.
    pub output: String,
    /// How long it took.
    pub took: Duration,
}

/// A running stopwatch.
pub struct Watch(Instant);

impl Watch {
    /// Starts it.
    pub fn start() -> Watch {
        #[allow(clippy::disallowed_methods, reason = "the wall time of a step is what it reports")]
        Watch(Instant::now())
    }

    /// The time since its start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Prints a step's heading.
pub fn heading(text: &str) {
    println!("\n── {text} {}", "─".repeat(100usize.saturating_sub(text.chars().count() + 4)));
}

/// Runs a command to its end. Its output is passed on line by line, with both streams merged, and
/// kept.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command) -> Result<Ended> {
    let watch = Watch::start();
    let (reader, writer) = std::io::pipe().context("make a pipe")?;
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(std::process::Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("start {program}"))?;
    // Reading ends when nobody can write to the pipe any more, and `command` still holds both ends.
    drop(command);
    let mut output = String::new();
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).context("read what it prints")? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        std::io::stdout().flush()?;
        output.push_str(&text);
        line.clear();
    }
    let good = child.wait().with_context(|| format!("wait for {program}"))?.success();
    Ok(Ended { good, output, took: watch.elapsed() })
}
