//! `cargo xtask soak`: the tests with a seed, for as many seeds as one has time for.

use crate::{root, step};
use anyhow::Result;
use clap::{Args, Subcommand};
use std::process::Command;

/// What to run for long.
#[derive(Subcommand)]
pub enum Soak {
    /// Power losses of the store's maps in simulation (`crates/map/tests/crash`); a seed is four of them
    Crash(Crash),
}

/// Which seeds.
#[derive(Args)]
pub struct Crash {
    /// How many seeds
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    first: u64,
}

impl Soak {
    /// Runs it; whether all was well.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run(&self) -> Result<bool> {
        let Soak::Crash(Crash { seeds, first }) = self;
        step::heading(&format!("power losses: {seeds} seeds from {first}"));
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["test", "--release", "--package", "map", "--test", "crash", "--", "--nocapture"]);
        command.env("SEAWALL_CRASH_SEEDS", seeds.to_string()).env("SEAWALL_CRASH_FIRST", first.to_string());
        command.current_dir(root());
        Ok(step::run(command)?.good)
    }
}
