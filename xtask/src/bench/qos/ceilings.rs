//! One limit, three servers: how much passes in the worst second, including the first, and on
//! average.
//!
//! The limit is 5 000 operations of 4 KiB per second. nbdkit's rate filter only limits bandwidth,
//! so there it is the equivalent in bits.

use super::super::fio::Load;
use super::super::served::Served;
use super::super::{line_of, median};
use super::completions::{Completions, Running, command};
use super::pool::Pool;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

const LIMIT: u64 = 5_000;
const LOAD: Load = Load { pattern: "randread", block: "4k", depth: 32, once: false };

/// A server with the limit.
struct Contender {
    name: &'static str,
    uri: String,
    line: String,
    /// Stops the server when dropped.
    _keep: Keep,
}

enum Keep {
    Ours { _pool: Pool },
    Theirs { _served: Served },
}

/// Runs them alternately and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(seawall: &Path, folder: &Path, data: &Path, runs: u32, seconds: u64) -> Result<()> {
    println!("\na ceiling of {LIMIT} IOPS, 4 KiB random reads at depth 32; all data in the page cache");
    println!("{runs} runs of {seconds} s each, taking turns; a new server for each, so that each has a first second");
    let contenders = [ours, qemu, nbdkit];
    let mut found: [Vec<Completions>; 3] = Default::default();
    for run in 0..runs {
        for (start, found) in contenders.iter().zip(&mut found) {
            let contender = start(seawall, folder, data, run)?;
            if run == 0 {
                println!("  {:<9} {}", contender.name, contender.line);
            }
            found.push(Running::start(&LOAD, &contender.uri, seconds, folder, "ceiling", &[])?.finish()?);
        }
    }
    let shown = command(&LOAD, "nbd+unix:///…", seconds, folder, "ceiling", &[]);
    println!("  {:<9} {}", "fio", line_of(&shown));
    println!("\n  {:<28} {:>14} {:>9} {:>10} {:>9}", "", "worst 1 s", "", "mean", "");
    for (name, found) in ["seawall", "QEMU throttle group", "nbdkit rate filter"].into_iter().zip(&found) {
        println!("{}", line(name, found, seconds));
    }
    println!("  (the worst of all runs; the median of the runs' means)");
    Ok(())
}

fn line(name: &str, found: &[Completions], seconds: u64) -> String {
    let worst = found.iter().map(Completions::worst_window).max().unwrap_or(0);
    let mean = median(found.iter().map(|run| run.mean(seconds)));
    let against = |rate: f64| format!("{:+.1} %", (rate / LIMIT as f64 - 1.0) * 100.0);
    format!("  {name:<28} {worst:>14} {:>9} {mean:>10.0} {:>9}", against(worst as f64), against(mean))
}

fn ours(seawall: &Path, folder: &Path, data: &Path, run: u32) -> Result<Contender> {
    let place = folder.join(format!("ceiling-{run}"));
    let pool = Pool::start(seawall, place, "cache = \"page\"\n", &["vol1"], data)?;
    let policy = format!("qos policy-group create limit -vserver svm01 -max-throughput {LIMIT}IOPS");
    pool.order(&[&policy, "volume modify -vserver svm01 -volume vol1 -qos-policy-group limit"])?;
    let line = format!("{}, {policy}", pool.line);
    Ok(Contender { name: "seawall", uri: pool.uri("vol1"), line, _keep: Keep::Ours { _pool: pool } })
}

fn qemu(_: &Path, folder: &Path, data: &Path, run: u32) -> Result<Contender> {
    let socket = folder.join(format!("qemu-{run}.sock"));
    let mut command = Command::new("qemu-nbd");
    command.args(["-t", "-e", "8", "-k"]).arg(&socket);
    command.arg("--object").arg(format!("throttle-group,id=limit,x-iops-total={LIMIT}")).arg("--image-opts");
    command.arg(format!(
        "driver=throttle,throttle-group=limit,file.driver=raw,file.file.driver=file,file.file.filename={}",
        data.display()
    ));
    theirs("QEMU", command, &socket)
}

fn nbdkit(_: &Path, folder: &Path, data: &Path, run: u32) -> Result<Contender> {
    let socket = folder.join(format!("nbdkit-{run}.sock"));
    let mut command = Command::new("nbdkit");
    command.arg("-f").arg("-U").arg(&socket).args(["--filter=rate", "file"]).arg(data);
    command.arg(format!("rate={}", LIMIT * 4096 * 8));
    theirs("nbdkit", command, &socket)
}

fn theirs(name: &'static str, command: Command, socket: &Path) -> Result<Contender> {
    let line = line_of(&command);
    let served = Served::start(command, socket)?;
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    Ok(Contender { name, uri, line, _keep: Keep::Theirs { _served: served } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passed_is_shown_as_such() {
        let line = line("x", &[Completions::default()], 10);
        assert!(line.contains("-100.0 %"), "{line}");
    }
}
