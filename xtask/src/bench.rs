//! `cargo xtask bench`: compares a release build with the programs that people use today, on this
//! machine.
//!
//! These are not tests: figures depend on the machine and on its other load. What counts are ratios
//! of runs that alternate, so that a busy minute affects both sides.

mod api;
mod array;
mod before;
mod cache;
mod classics;
mod contender;
mod demo;
mod engine;
mod fio;
mod libcachesim;
mod nbd;
mod nfs;
mod oltp;
mod orders;
mod postgres;
mod qos;
mod ramp;
mod recorder;
mod results;
mod row;
mod served;
mod store;
mod turns;

use crate::{root, tools};
use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use serde_json::Value;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to compare.
#[derive(Subcommand)]
pub enum Bench {
    /// This tree with another commit, in pairs, and what of the difference is chance
    Before(before::Before),
    /// `seawall serve` with nbdkit's file plugin and qemu-nbd, all driven by fio's NBD engine
    Nbd(nbd::Nbd),
    /// The NFS server with nfs-ganesha, the client with a loop over libnfs, versions 3 and 4
    Nfs(nfs::Nfs),
    /// `seawall fio` with fio, the same command lines
    Engine(engine::Engine),
    /// What quality of service costs a request and keeps on a server, QEMU's and nbdkit's limits
    /// beside it
    Qos(qos::Qos),
    /// `seawall orion` and `seawall ranread` with `seawall fio` and fio, on the same file
    Classics(classics::Classics),
    /// What filling and ramping cost by themselves, fio beside them
    Ramp(ramp::Ramp),
    /// What administration by REST takes with many volumes and policies, and what the data path
    /// notices of it
    Api(api::Api),
    /// What maps cost beside a sparse file, through clones, for a first write, and when a pool is
    /// opened
    Store(store::Store),
    /// Events and requests a second in simulated arrays, and the policies of caches beside
    /// libcachesim
    Array(array::Array),
    /// The policies of the server's cache on what a PostgreSQL asked of its files
    Cache(cache::Cache),
    /// For how long administrators' orders keep the data thread, with 10 000 LUNs and one of 1 TiB
    Orders(orders::Orders),
    /// The driver of order entry with pgbench, on the same server
    Oltp(oltp::Oltp),
    /// How large the results of a hundred workloads get, and how long views of them take
    Results(results::Results),
    /// How long `seawall demo` takes from its start to its first measured second
    Demo(demo::Demo),
}

impl Bench {
    /// Runs it and prints its table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        match self {
            Bench::Before(before) => before.run(),
            Bench::Nbd(nbd) => nbd.run(),
            Bench::Nfs(nfs) => nfs.run(),
            Bench::Engine(engine) => engine.run(),
            Bench::Qos(qos) => qos.run(),
            Bench::Classics(classics) => classics.run(),
            Bench::Ramp(ramp) => ramp.run(),
            Bench::Api(api) => api.run(),
            Bench::Store(store) => store.run(),
            Bench::Array(array) => array.run(),
            Bench::Cache(cache) => cache.run(),
            Bench::Orders(orders) => orders.run(),
            Bench::Oltp(oltp) => oltp.run(),
            Bench::Results(results) => results.run(),
            Bench::Demo(demo) => demo.run(),
        }
    }
}

/// The median; the mean of the middle two for an even number of values, and 0 for none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

/// A folder that exists for the duration of the bench.
struct Folder(PathBuf);

impl Folder {
    fn make(path: &Path) -> Result<Folder> {
        if path.exists() {
            std::fs::remove_dir_all(path).with_context(|| format!("remove {}", path.display()))?;
        }
        std::fs::create_dir_all(path).with_context(|| format!("make {}", path.display()))?;
        Ok(Folder(path.into()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Fails with the name of the first program that is missing.
fn need(programs: &[&str]) -> Result<()> {
    match programs.iter().find(|program| !tools::has(program)) {
        Some(program) => bail!("{program} is not installed; `cargo xtask test` says how to get it"),
        None => Ok(()),
    }
}

fn load_average() -> Result<String> {
    Ok(std::fs::read_to_string("/proc/loadavg").context("/proc/loadavg")?.trim().to_owned())
}

/// Writes incompressible data to disk.
fn make_data(path: &Path, mib: u64) -> Result<()> {
    let mut random = File::open("/dev/urandom").context("/dev/urandom")?.take(mib << 20);
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    std::io::copy(&mut random, &mut file).with_context(|| path.display().to_string())?;
    file.sync_all().with_context(|| path.display().to_string())
}

fn release_build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    succeed(Command::new(cargo).args(["build", "--release", "--package", "seawall"]).current_dir(root()))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/seawall"))
}

/// The output of an example, in a release build.
fn example(package: &str, name: &str, words: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", package, "--example", name, "--"]).args(words);
    let about = || format!("run the example {name}");
    let output =
        command.current_dir(root()).stdin(Stdio::null()).stderr(Stdio::inherit()).output().with_context(about)?;
    if !output.status.success() {
        bail!("the example {name}: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.with_context(|| line_of(command))?;
    if status.success() { Ok(()) } else { bail!("{}: {status}", line_of(command)) }
}

/// The output of a command that succeeds.
fn text_of(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| line_of(command))?;
    if !output.status.success() {
        bail!("{}: {}", line_of(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The report of fio, or a compatible program, with `--output-format=json`; other lines may precede
/// it.
fn fio_json(command: &mut Command) -> Result<Value> {
    let text = text_of(command)?;
    let json = text.find('{').with_context(|| format!("{}: no JSON: {text}", line_of(command)))?;
    serde_json::from_str(&text[json..]).with_context(|| format!("{}: its JSON", line_of(command)))
}

/// A command as a person would type it, with the bare name of the program.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
    }
}
