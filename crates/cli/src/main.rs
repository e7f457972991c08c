//! The program `seawall`. It only connects the parts; each command has a file in `command`.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 could not. If the reader of its output has left, it
//! cleans up and ends by SIGPIPE.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod amount;
mod beside;
mod catalogue;
mod classic;
mod command;
mod dataset;
mod date;
mod demand;
mod error_line;
mod fresh_pool;
mod hosts;
mod interrupt;
mod live;
mod machine;
mod memory;
mod names;
mod outputs;
mod play;
mod ramping;
mod scale;
mod service_manager;
mod state;
mod terminal;
mod watch;
mod workspace;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use report::Paint;
use std::ffi::OsString;
use std::process::ExitCode;

/// Measures what shared storage can carry and walls databases off from noisy neighbours.
#[derive(Parser)]
// 80 columns without a terminal, and never more: longer lines are hard to read.
#[command(version, max_term_width = 80, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 done, 1 the answer is no, 2 could not.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    memory: memory::Memory,
}

/// The commands; each is documented with its options.
#[derive(Subcommand)]
enum Command {
    Demo(command::demo::Demo),
    Run(command::run::Run),
    Simulate(command::simulate::Simulate),
    Fio(command::fio::Fio),
    Serve(command::serve::Serve),
    Shell(command::shell::Shell),
    User(command::user::User),
    Check(command::check::Check),
    Dgen(command::dgen::Dgen),
    Ramp(command::ramp::Ramp),
    Ranread(command::ranread::Ranread),
    Orion(command::orion::Orion),
    Oltp(command::oltp::Oltp),
    Tiers(command::tiers::Tiers),
    Levels(command::levels::Levels),
    Arrays(command::arrays::Arrays),
    Calibrate(command::calibrate::Calibrate),
    Reproduce(command::reproduce::Reproduce),
    Size(command::size::Size),
    Spec(command::spec::Spec),
    Advise(command::advise::Advise),
    Results(command::results::Results),
    Report(command::report::Report),
    InstallNames(command::install_names::InstallNames),
}

impl Command {
    /// Whether the command keeps runs, which can be labelled.
    fn keeps_runs(&self) -> bool {
        use Command::{Calibrate, Demo, Fio, Oltp, Orion, Ramp, Ranread, Results, Run, Simulate, Tiers};
        match self {
            Demo(_) | Run(_) | Simulate(_) | Fio(_) | Ramp(_) | Ranread(_) | Orion(_) | Calibrate(_) => true,
            Oltp(oltp) => oltp.keeps_runs(),
            Tiers(tiers) => tiers.keeps_runs(),
            Results(results) => results.imports_runs(),
            _ => false,
        }
    }
}

/// The answer of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

fn main() -> ExitCode {
    uring::signal::survive_file_limit();
    let code = carry_out();
    if terminal::reader_left() {
        uring::signal::end_by_broken_pipe();
    }
    match terminal::unwritten() {
        Some(error) => {
            let lost = anyhow::anyhow!("standard output: {error}; what was printed is not complete");
            terminal::complain(&error_line::of(&lost));
            ExitCode::from(2)
        }
        None => code,
    }
}

fn carry_out() -> ExitCode {
    let (words, as_typed) = match names::unfold(std::env::args_os()) {
        Ok(names::Typed::Words(words, as_typed)) => (words, as_typed),
        Ok(names::Typed::Text(text)) => {
            terminal::print(&text);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            terminal::complain(&error.to_string());
            return ExitCode::from(2);
        }
    };
    let words = command::dgen::with_dashes(asking_for_help(words));
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return without_command(&error, &words, &as_typed),
    };
    let memory = &arguments.memory;
    let labels = if arguments.command.keeps_runs() { Ok(()) } else { memory.keeps_no_run() };
    let result = labels.and_then(|()| run(arguments.command, memory));
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            // A plan may have several mistakes, with a line for each.
            as_typed.message(&error_line::of(&error)).lines().for_each(terminal::complain);
            ExitCode::from(2)
        }
    }
}

/// `seawall help run` as `seawall run --help`.
fn asking_for_help(words: Vec<OsString>) -> Vec<OsString> {
    match words.as_slice() {
        [program, help, rest @ ..] if help == "help" => {
            [program].into_iter().chain(rest).cloned().chain(["--help".into()]).collect()
        }
        _ => words,
    }
}

fn run(command: Command, memory: &memory::Memory) -> anyhow::Result<Answer> {
    match command {
        Command::Demo(demo) => demo.run(memory),
        Command::Run(run) => run.run(memory),
        Command::Simulate(simulate) => simulate.run(memory),
        Command::Fio(fio) => fio.run(memory),
        Command::Serve(serve) => memory.reads_no_run().and_then(|()| serve.run()),
        Command::Shell(shell) => memory.reads_no_run().and_then(|()| shell.run()),
        Command::User(user) => memory.reads_no_run().and_then(|()| user.run()),
        Command::Check(check) => memory.reads_no_run().and_then(|()| check.run()),
        Command::Dgen(dgen) => dgen.run(),
        Command::Ramp(ramp) => ramp.run(memory),
        Command::Ranread(ranread) => ranread.run(memory),
        Command::Orion(orion) => orion.run(memory),
        Command::Oltp(oltp) => oltp.run(memory),
        Command::Tiers(tiers) => tiers.run(memory),
        Command::Levels(levels) => levels.run(),
        Command::Arrays(arrays) => arrays.run(),
        Command::Calibrate(calibrate) => calibrate.run(memory),
        Command::Reproduce(reproduce) => reproduce.run(),
        Command::Size(size) => size.run(),
        Command::Spec(spec) => spec.run(memory),
        Command::Advise(advise) => advise.run(),
        Command::Results(results) => results.run(memory),
        Command::Report(report) => report.run(memory),
        Command::InstallNames(names) => names.run(),
    }
}

/// The end of a call that requests help or cannot be parsed.
fn without_command(error: &clap::Error, words: &[OsString], as_typed: &names::AsTyped) -> ExitCode {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        let text = error.render();
        let stream = if error.use_stderr() { live::Stream::Err } else { live::Stream::Out };
        let text = if watch::paint(stream) == Paint::Ansi { text.ansi().to_string() } else { text.to_string() };
        let text = names::folded(&text);
        if error.use_stderr() {
            terminal::aside(&text);
        } else {
            terminal::print(&text);
        }
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    terminal::complain(&as_typed.message(&error_line::of_usage(error, words)));
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// Every command and option has a help text, which fits into 80 columns.
    #[test]
    fn every_command_and_option_has_its_help() {
        let mut commands = Arguments::command();
        commands.build();
        for command in commands.get_subcommands_mut() {
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                let longest = help.lines().map(|line| line.chars().count()).max();
                assert!(longest.is_some_and(|columns| columns <= 80), "{help}");
            }
            assert!(command.get_about().is_some() && command.get_long_about().is_some(), "{}", command.get_name());
            for option in command.get_arguments() {
                assert!(option.get_help().is_some(), "{} {}", command.get_name(), option.get_id());
            }
        }
    }
}
