//! `seawall shell`: an administrator's lines to a running server.

mod pages;
mod settings;
mod terminal;

use crate::{Answer, interrupt, terminal as screen};
use anyhow::{Context as _, Result};
use ontap::Command;
use ontap::catalogue::{Output, StatisticsShow};
use server::ControlClient;
use settings::Settings;
use std::io::{BufRead, IsTerminal};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use store::CONTROL_SOCKET;

/// Give a running server an administrator's commands
///
/// Takes those of -c, or else lines from the input until its end or `exit`. Empty lines and those that begin with # do
/// nothing. At a terminal Tab completes, ? lists what could follow, and Ctrl-C ends what runs. Every command explains
/// itself: `seawall shell --pool DIR -c help`.
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
        let mut session = Session::begin(&self.pool)?;
        if !self.command.is_empty() {
            for line in &self.command {
                if run_line(&mut session, line)? == Answer::No {
                    return Ok(Answer::No);
                }
            }
            return Ok(Answer::Yes);
        }
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            session.survive_interrupts()?;
            return terminal::converse(&mut session);
        }
        script(&mut session)
    }
}

/// A connection to a pool's server.
struct Session {
    pool: PathBuf,
    server: ControlClient,
    /// Where Ctrl-C only ends the line that runs.
    interrupts: Option<Interrupts>,
    settings: Settings,
}

impl Session {
    fn begin(pool: &Path) -> Result<Session> {
        Ok(Session { pool: pool.to_owned(), server: connect(pool)?, interrupts: None, settings: Settings::default() })
    }

    /// From now on Ctrl-C ends the line that runs, not the program.
    fn survive_interrupts(&mut self) -> Result<()> {
        let interrupts = Interrupts::default();
        interrupts.aim(&self.server)?;
        let handler = interrupts.clone();
        interrupt::each(move || handler.strike())?;
        self.interrupts = Some(interrupts);
        Ok(())
    }

    /// Has the server run a line; its refusal in text. `None` of one that was interrupted.
    fn run_each(&mut self, line: &str, each: impl FnMut(&str) -> bool) -> Result<Option<Result<(), String>>> {
        self.interrupts.iter().for_each(|interrupts| interrupts.runs.store(true, Relaxed));
        let result = self.server.run_each(line, each);
        self.interrupts.iter().for_each(|interrupts| interrupts.runs.store(false, Relaxed));
        if self.interrupts.as_ref().is_some_and(Interrupts::was_struck) {
            self.server = connect(&self.pool)?;
            self.interrupts.iter().try_for_each(|interrupts| interrupts.aim(&self.server))?;
            return Ok(None);
        }
        result.map(Some).context("the server went away")
    }
}

fn connect(pool: &Path) -> Result<ControlClient> {
    ControlClient::connect(&pool.join(CONTROL_SOCKET)).with_context(|| {
        let pool = pool.display();
        format!("--pool {pool}: no server answers there; `seawall serve --pool {pool}` starts one")
    })
}

/// Ends the connection that a line waits on.
#[derive(Clone, Default)]
struct Interrupts {
    /// A line runs.
    runs: Arc<AtomicBool>,
    struck: Arc<AtomicBool>,
    connection: Arc<Mutex<Option<UnixStream>>>,
}

impl Interrupts {
    fn aim(&self, server: &ControlClient) -> Result<()> {
        let connection = server.connection().context("the connection to the server")?;
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
        self.struck.store(false, Relaxed);
        Ok(())
    }

    fn strike(&self) {
        if !self.runs.load(Relaxed) {
            // At the prompt Ctrl-C is a key and no signal: another process ends the shell.
            std::process::exit(143);
        }
        self.struck.store(true, Relaxed);
        if let Some(connection) = &*self.connection.lock().unwrap_or_else(PoisonError::into_inner) {
            // One that is closed already has ended its line.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn was_struck(&self) -> bool {
        self.struck.load(Relaxed)
    }
}

/// Lines from the input until its end or `exit`; the first that is refused ends it.
fn script(session: &mut Session) -> Result<Answer> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let line = line.trim();
        if matches!(line, "exit" | "quit") {
            break;
        }
        if !line.is_empty() && !line.starts_with('#') && run_line(session, line)? == Answer::No {
            return Ok(Answer::No);
        }
    }
    Ok(Answer::Yes)
}

fn run_line(session: &mut Session, line: &str) -> Result<Answer> {
    let by_hand = std::io::stdout().is_terminal();
    if let Ok(Command::Session(command)) = ontap::parse(line) {
        screen::print(&session.settings.take(&command));
        return Ok(Answer::Yes);
    }
    // What goes on until it is interrupted would never end a script.
    let once = !by_hand && statistics(line).is_some_and(|show| show.iterations.is_none());
    let line = if once { &format!("{line} -iterations 1") } else { line };
    let clears = by_hand && statistics(line).is_some_and(|show| show.refresh_display);
    let as_json = ontap::output_of(line) == Output::Json;
    let between = if clears {
        CLEAR
    } else if as_json {
        ""
    } else {
        "\n"
    };
    // Statistics that come again and again are a page each already.
    let session_rows =
        if session.interrupts.is_some() && statistics(line).is_none() { session.settings.rows } else { 0 };
    let mut shown = false;
    let result = session.run_each(line, |answer| {
        // Statistics come again and again.
        if std::mem::replace(&mut shown, true) {
            screen::print(between);
        }
        if session_rows > 0 { pages::print(answer, session_rows) } else { screen::is_read(answer) }
    })?;
    match result {
        Some(Ok(())) => Ok(Answer::Yes),
        // Who reads JSON reads the refusal where the answer would be.
        Some(Err(refusal)) if as_json => {
            screen::print(&format!("{refusal}\n"));
            Ok(Answer::No)
        }
        Some(Err(refusal)) => {
            screen::aside(&format!("Error: {refusal}\n"));
            Ok(Answer::No)
        }
        None => {
            screen::print("\n");
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
