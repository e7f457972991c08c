//! `cargo xtask soak`: long runs of what the tests do briefly. These are the fuzz targets driven by
//! a seeded generator (with the normal compiler), simulated power losses of the store for many
//! seeds, repeated kills of the server, and documents, lines and requests that are nearly valid.

use crate::root;
use anyhow::{Context as _, Result};
use clap::Subcommand;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What to soak.
#[derive(Subcommand)]
pub enum Soak {
    /// Histories of the scheduler and of the registry (`fuzz/qos`)
    Qos(Qos),
    /// What floors may cost and hold (`crates/simtest/tests/gate`, `bounded.rs` and `latency.rs`),
    /// on seeds of its own
    Floors(Floors),
    /// Power losses in simulation: of the store's maps (`crates/map/tests/crash`), of which a seed
    /// is four, and of the files that clients make on volumes (`crates/tree/tests/crash`)
    Crash(Crash),
    /// The classic tools in virtual time: RampRun's published row whole
    /// (`crates/ramp/tests/virtual_time.rs`), RanRead's knee with a hundred seeds
    /// (`crates/ranread/tests/knee.rs`)
    Tools,
    /// The server killed under writes (`crates/cli/tests/end_to_end/kill.rs`), and under files of
    /// NFS clients (`kill_files.rs`)
    Kill(Kill),
    /// Documents nearly like fio's JSON, imported (`crates/fio/tests/suite/reading.rs`); `fuzz/`
    /// has a target for a fuzzer
    Import(Import),
    /// Calls and replies of NFS, and records of files on volumes, damaged or of any bytes
    /// (`crates/nfs/tests/wire.rs`, `crates/tree/src/fuzz.rs`); `fuzz/` has targets for a fuzzer
    Nfs(Nfs),
    /// Values, lines of commands, queries and bodies of REST, read or refused: the properties of
    /// ontap and api, each with so many inputs; `fuzz/` has targets for a fuzzer
    Requests(Requests),
}

/// The options of `soak qos`.
#[derive(clap::Args)]
pub struct Qos {
    /// For how long
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: u64,
    /// What all inputs follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The options of `soak floors`.
#[derive(clap::Args)]
pub struct Floors {
    /// How many seeds
    #[arg(long, default_value_t = 40)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 200)]
    first: u64,
}

/// The options of `soak crash`.
#[derive(clap::Args)]
pub struct Crash {
    /// How many seeds
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only of these
    #[arg(long, value_enum)]
    only: Option<Losing>,
}

/// What loses its power.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Losing {
    /// The store's maps
    Maps,
    /// The files that clients make on volumes
    Files,
}

/// The options of `soak kill`.
#[derive(clap::Args)]
pub struct Kill {
    /// How often
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// What all choices follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The options of `soak import`.
#[derive(clap::Args)]
pub struct Import {
    /// How many documents
    #[arg(long, default_value_t = 100_000)]
    documents: u32,
}

/// The options of `soak nfs`.
#[derive(clap::Args)]
pub struct Nfs {
    /// How many inputs, of all properties together
    #[arg(long, default_value_t = 10_000_000)]
    inputs: u32,
    /// What all inputs follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The properties of `soak nfs`. In each case, the first two get bytes of a client and bytes of a
/// server.
const NFS_READERS: [&str; 3] = ["any_bytes_are_survived", "damaged_messages_are_survived", "any_record_is_survived"];

/// The options of `soak requests`.
#[derive(clap::Args)]
pub struct Requests {
    /// How many inputs each property has
    #[arg(long, default_value_t = 100_000)]
    inputs: u32,
    /// What all inputs follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The properties of `soak requests`: values, the grammar of lines, queries, the selection of
/// fields, and whole requests with bodies.
const READERS: [&str; 10] = [
    "printed_limits_read_back",
    "printed_rates_and_sizes_read_back",
    "any_text_reads_or_is_refused_and_what_prints_reads_back",
    "no_text_makes_the_parser_panic",
    "no_scrambled_command_makes_the_parser_panic",
    "any_words_are_read_or_refused",
    "a_printed_word_reads_back",
    "no_query_string_ends_the_reader",
    "no_text_ends_the_reader",
    "whatever_is_sent_is_answered",
];

impl Soak {
    /// Runs it at the lowest priority. Returns false if something was found; the line that repeats
    /// it has been printed.
    ///
    /// # Errors
    /// It cannot be built or started.
    pub fn run(&self) -> Result<bool> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(cargo);
        match self {
            Soak::Qos(qos) => qos.complete(&mut command),
            Soak::Floors(floors) => floors.complete(&mut command),
            Soak::Crash(crash) => crash.complete(&mut command),
            Soak::Tools => tools(&mut command),
            Soak::Kill(kill) => kill.complete(&mut command),
            Soak::Import(import) => import.complete(&mut command),
            Soak::Nfs(nfs) => nfs.complete(&mut command),
            Soak::Requests(requests) => requests.complete(&mut command),
        }
        let status = command.stdin(Stdio::null()).status().context("run the soak")?;
        Ok(status.success())
    }
}

impl Qos {
    fn complete(&self, command: &mut Command) {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        command.args(["run", "--quiet", "--release", "--bin", "soak"]);
        command.arg("--manifest-path").arg(root().join("fuzz/qos/Cargo.toml")).arg("--target-dir");
        command.arg(target.join("fuzz")).arg("--").arg((self.minutes * 60).to_string()).arg(self.seed.to_string());
    }
}

impl Floors {
    fn complete(&self, command: &mut Command) {
        command.args(["test", "--release", "--package", "simtest", "--test", "gate", "--"]);
        command.args(["bounded::", "latency::", "--nocapture"]);
        command.env("SIMTEST_SEEDS", format!("{}..{}", self.first, self.first + self.seeds)).current_dir(root());
    }
}

impl Crash {
    fn complete(&self, command: &mut Command) {
        command.args(["test", "--release"]);
        if !matches!(self.only, Some(Losing::Files)) {
            command.args(["--package", "map"]);
        }
        if !matches!(self.only, Some(Losing::Maps)) {
            command.args(["--package", "tree"]);
        }
        command.args(["--test", "crash", "--", "--nocapture"]);
        command.env("SEAWALL_CRASH_SEEDS", self.seeds.to_string()).env("SEAWALL_CRASH_FIRST", self.first.to_string());
        command.current_dir(root());
    }
}

fn tools(command: &mut Command) {
    command.args(["test", "--release", "--package", "ramp", "--package", "ranread", "--tests", "--"]);
    command.args(["the_published_row", "the_knee_is_found"]).current_dir(root());
    command.env("SEAWALL_RAMP_PART", "1").env("SEAWALL_KNEE_SEEDS", "100");
}

impl Import {
    fn complete(&self, command: &mut Command) {
        command.args([
            "test",
            "--release",
            "--package",
            "fio",
            "--test",
            "suite",
            "reading::nearly_right_documents",
            "--",
        ]);
        command.arg("--nocapture").env("SEAWALL_DOCUMENTS", self.documents.to_string()).current_dir(root());
    }
}

impl Nfs {
    fn complete(&self, command: &mut Command) {
        command.args(["test", "--release", "--package", "nfs", "--package", "tree", "--lib", "--test", "wire", "--"]);
        // Cases of the three properties have two, two and one input.
        let cases = self.inputs.div_ceil(5);
        command.args(NFS_READERS).env("PROPTEST_CASES", cases.to_string());
        command.env("PROPTEST_RNG_SEED", self.seed.to_string()).current_dir(root());
    }
}

impl Requests {
    fn complete(&self, command: &mut Command) {
        command.args(["test", "--package", "api", "--package", "ontap", "--tests", "--"]).args(READERS);
        command.env("PROPTEST_CASES", self.inputs.to_string()).env("PROPTEST_RNG_SEED", self.seed.to_string());
        command.current_dir(root());
    }
}

impl Kill {
    fn complete(&self, command: &mut Command) {
        command.args(["test", "--package", "seawall", "--test", "end_to_end", "--", "kill::", "kill_files::"]);
        // One at a time, because starts are timed.
        command.args(["--nocapture", "--test-threads", "1"]);
        command.env("SEAWALL_KILLS", self.kills.to_string()).env("SEAWALL_KILL_SEED", self.seed.to_string());
        command.current_dir(root());
    }
}
