//! `seawall shell`: an administrator's lines to a running server.

use crate::{Answer, terminal};
use anyhow::{Context as _, Result};
use ontap::Command;
use ontap::catalogue::StatisticsShow;
use server::ControlClient;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use store::CONTROL_SOCKET;

/// Give a running server an administrator's commands
///
/// Takes those of -c, or else lines from the input until its end or `exit`. Empty lines and those that begin with # do
/// nothing. Every command explains itself: `seawall shell --pool DIR -c help`.
#[derive(clap::Args)]
pub struct Shell {
    /// The pool's folder
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// A command; may be given several times, and the first that is refused is the last
    #[arg(short, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Shell {
    pub fn run(self) -> Result<Answer> {
        let socket = self.pool.join(CONTROL_SOCKET);
        let mut server = ControlClient::connect(&socket).with_context(|| {
            let pool = self.pool.display();
            format!("--pool {pool}: no server answers there; `seawall serve --pool {pool}` starts one")
        })?;
        if !self.command.is_empty() {
            for line in &self.command {
                if run_line(&mut server, line)? == Answer::No {
                    return Ok(Answer::No);
                }
            }
            return Ok(Answer::Yes);
        }
        converse(&mut server)
    }
}

/// Lines from the input until its end or `exit`. In a terminal a refusal is just an answer; in a script the first ends it.
fn converse(server: &mut ControlClient) -> Result<Answer> {
    let input = std::io::stdin();
    let by_hand = input.is_terminal();
    loop {
        if by_hand {
            terminal::print("seawall::> ");
            std::io::stdout().flush()?;
        }
        let mut line = String::new();
        if input.lock().read_line(&mut line)? == 0 || matches!(line.trim(), "exit" | "quit") {
            return Ok(Answer::Yes);
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if run_line(server, line)? == Answer::No && !by_hand {
            return Ok(Answer::No);
        }
    }
}

fn run_line(server: &mut ControlClient, line: &str) -> Result<Answer> {
    let by_hand = std::io::stdout().is_terminal();
    // What goes on until it is interrupted would never end a script.
    let once = !by_hand && statistics(line).is_some_and(|show| show.iterations.is_none());
    let line = if once { &format!("{line} -iterations 1") } else { line };
    let clears = by_hand && statistics(line).is_some_and(|show| show.refresh_display);
    let mut shown = false;
    let result = server.run_each(line, |answer| {
        // Statistics come again and again.
        if std::mem::replace(&mut shown, true) {
            terminal::print(if clears { CLEAR } else { "\n" });
        }
        terminal::is_read(answer)
    });
    match result.context("the server went away")? {
        Ok(()) => Ok(Answer::Yes),
        Err(refusal) => {
            eprintln!("Error: {refusal}");
            Ok(Answer::No)
        }
    }
}

/// Wipes a terminal and begins at its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// The statistics command that a line is, if it is one.
fn statistics(line: &str) -> Option<StatisticsShow> {
    match ontap::parse(line) {
        Ok(Command::Statistics(show)) => Some(show),
        _ => None,
    }
}
