//! The developers' commands: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask bench`,
//! `cargo xtask soak`.
//!
//! They drive tools that are available (cargo, its test runners, Debian's packages); nothing has to
//! be installed by hand.

mod bench;
mod soak;
mod step;
mod tally;
mod test;
mod tidy;
mod tools;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The developers' commands.
#[derive(Parser)]
#[command(name = "cargo xtask", max_term_width = 100, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check and every test; install what the tests need
    Test,
    /// Check what can be checked of the style: lengths, heads, words, who may use whom
    Tidy,
    /// Measure a release build beside the programs that people use today
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Run for long what the tests run briefly
    #[command(subcommand)]
    Soak(soak::Soak),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Test => test::run(),
        Command::Tidy => tidy_alone(),
        Command::Bench(bench) => bench.run().map(|()| true),
        Command::Soak(soak) => soak.run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn tidy_alone() -> Result<bool> {
    let findings = tidy::findings(&root())?;
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(findings.is_empty())
}

/// The workspace's root folder.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
