//! The program `seawall`. It connects the parts and decides nothing on its own: one file a command in `command`, what
//! plays a plan in `stage`.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 could not.

mod command;
mod interrupt;
mod machine;
mod play;
mod scale;
mod stage;
mod watch;
mod workspace;

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

/// What each does is said where its options are.
#[derive(Subcommand)]
enum Command {
    Demo(command::demo::Demo),
    Run(command::run::Run),
    Simulate(command::simulate::Simulate),
    Serve(command::serve::Serve),
    Shell(command::shell::Shell),
}

/// The answer of a command that did what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
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
            // A plan's mistakes are several, a line each.
            plain(&format!("{error:#}")).lines().for_each(|line| eprintln!("seawall: {line}"));
            ExitCode::from(2)
        }
    }
}

/// A message without the numbers of the system's errors, which help nobody: their words stand before them.
fn plain(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(')'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn messages_are_in_words() {
        let told = "a: No such file or directory (os error 2); b: Permission denied (os error 13)";
        assert_eq!(plain(told), "a: No such file or directory; b: Permission denied");
        assert_eq!(plain("as it is"), "as it is");
    }

    /// What people read at the usual width: every command and option says what it is for.
    #[test]
    fn every_command_and_option_has_its_help() {
        let mut commands = Arguments::command();
        commands.build();
        for command in commands.get_subcommands() {
            assert!(command.get_about().is_some() && command.get_long_about().is_some(), "{}", command.get_name());
            for option in command.get_arguments() {
                assert!(option.get_help().is_some(), "{} {}", command.get_name(), option.get_id());
            }
        }
    }
}
