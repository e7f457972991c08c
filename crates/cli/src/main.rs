//! The program `seawall`. It connects the parts and decides nothing on its own: one file a command in `command`, what
//! plays a plan in `stage`.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 could not.

mod command;
mod complaint;
mod fresh_pool;
mod interrupt;
mod machine;
mod play;
mod scale;
mod stage;
mod terminal;
mod watch;
mod workspace;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures what shared storage can carry and walls databases off from noisy neighbours.
#[derive(Parser)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done, 1 the answer is no, 2 could not.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch a noisy neighbour starve two volumes, and a policy give them back what they had
    Demo(command::demo::Demo),
    /// Run a plan on real storage
    Run(command::run::Run),
    /// Run a plan in virtual time over the simulated device that it names
    Simulate(command::simulate::Simulate),
    /// Serve a pool's LUNs over NBD
    Serve(command::serve::Serve),
    /// Give a running server an administrator's commands
    Shell(command::shell::Shell),
}

/// The answer of a command that did what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return without_command(&error),
    };
    let result = match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::Run(run) => run.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Serve(serve) => serve.run(),
        Command::Shell(shell) => shell.run(),
    };
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            eprintln!("seawall: {}", complaint::of(&error));
            ExitCode::from(2)
        }
    }
}

/// The end of a call that asks for help, or that nobody can understand.
fn without_command(error: &clap::Error) -> ExitCode {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        error.exit();
    }
    eprintln!("seawall: {}", complaint::of_usage(error));
    ExitCode::from(2)
}
