//! `seawall shell`: an administrator's lines to a running server.

mod link;
mod pages;
mod secret;
mod settings;
mod terminal;

use crate::{Answer, interrupt, terminal as screen};
use anyhow::{Context as _, Result, bail};
use link::{Link, Place};
use ontap::Command;
use ontap::catalogue::{Output, StatisticsShow};
use settings::Settings;
use std::io::{BufRead, IsTerminal};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Give a running server an administrator's commands
///
/// Takes those of -c, or else lines from the input until its end or `exit`. Empty lines and those
/// that begin with # do nothing. At a terminal Tab completes, ? lists what could follow, and Ctrl-C
/// ends what runs. Every command explains itself: `seawall shell --pool DIR -c help`.
#[derive(clap::Args)]
pub struct Shell {
    /// The pool's folder
    #[arg(long, value_name = "DIR", required_unless_present = "rest")]
    pool: Option<PathBuf>,
    /// Reach the server by REST instead, at https://HOST:PORT, with a log-in
    #[arg(long, value_name = "URL", conflicts_with = "pool", requires = "user", requires = "ca")]
    rest: Option<String>,
    /// Who logs in
    #[arg(long, value_name = "NAME", requires = "rest")]
    user: Option<String>,
    /// The authority that the server's certificate is by, or that certificate: rest-cert.pem of its
    /// pool's folder
    #[arg(long, value_name = "FILE", requires = "rest")]
    ca: Option<PathBuf>,
    /// The password is the first line of the input
    #[arg(long, requires = "rest")]
    password_stdin: bool,
    /// A command; may be given several times, and the first that is refused is the last
    #[arg(short, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Shell {
    pub fn run(self) -> Result<Answer> {
        let mut session = Session::begin(self.place()?)?;
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

impl Shell {
    fn place(&self) -> Result<Place> {
        match (&self.pool, &self.rest, &self.user, &self.ca) {
            (Some(pool), ..) => Ok(Place::Pool(pool.clone())),
            (None, Some(url), Some(user), Some(ca)) => {
                link::log_in(url.clone(), user.clone(), ca.clone(), self.password_stdin)
            }
            _ => bail!("--pool DIR, or --rest URL with --user and --ca: missing"),
        }
    }
}

/// A connection to a server.
struct Session {
    place: Place,
    server: Link,
    /// Where Ctrl-C only ends the line that runs.
    interrupts: Option<Interrupts>,
    settings: Settings,
}

impl Session {
    fn begin(place: Place) -> Result<Session> {
        let server = place.connect()?;
        Ok(Session { place, server, interrupts: None, settings: Settings::default() })
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

    /// Has the server run a line, with the password that it needs; its refusal in text. `None` of
    /// one that was interrupted.
    fn run_each(
        &mut self,
        line: &str,
        secret: Option<&str>,
        mut each: impl FnMut(&str) -> bool,
    ) -> Result<Option<Result<(), String>>> {
        self.interrupts.iter().for_each(|interrupts| interrupts.runs.store(true, Relaxed));
        let interrupts = self.interrupts.clone();
        let goes_on = || !interrupts.as_ref().is_some_and(Interrupts::was_struck);
        let mut result = self.server.run_each(line, secret, |answer| each(answer) && goes_on());
        if result.as_ref().is_err_and(link::is_closed) {
            // This connection was idle, and had to give way to others.
            self.connect_again()?;
            result = self.server.run_each(line, secret, |answer| each(answer) && goes_on());
        }
        self.interrupts.iter().for_each(|interrupts| interrupts.runs.store(false, Relaxed));
        if self.interrupts.as_ref().is_some_and(Interrupts::was_struck) {
            self.connect_again()?;
            return Ok(None);
        }
        result.map(Some)
    }

    fn connect_again(&mut self) -> Result<()> {
        self.server = self.place.connect()?;
        self.interrupts.iter().try_for_each(|interrupts| interrupts.aim(&self.server))
    }
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
    fn aim(&self, server: &Link) -> Result<()> {
        let connection = server.connection().context("the connection to the server")?;
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
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
    loop {
        // Not held: a line may need a password, which is the next one.
        let mut line = Vec::new();
        if std::io::stdin().lock().read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let line = text_of(&line)?.trim();
        if matches!(line, "exit" | "quit") {
            break;
        }
        if !line.is_empty() && !line.starts_with('#') && run_line(session, line)? == Answer::No {
            return Ok(Answer::No);
        }
    }
    Ok(Answer::Yes)
}

fn text_of(line: &[u8]) -> Result<&str> {
    std::str::from_utf8(line).map_err(|_| {
        let shown: String = String::from_utf8_lossy(line).trim().chars().take(SHOWN_CHARS).collect();
        anyhow::anyhow!("{shown:?}: a command is text in UTF-8; the lines before this one were done")
    })
}

/// Characters that a message has of a line.
const SHOWN_CHARS: usize = 80;

fn run_line(session: &mut Session, line: &str) -> Result<Answer> {
    let by_hand = std::io::stdout().is_terminal();
    match ontap::parse(line) {
        Ok(Command::Session(command)) => {
            screen::print(&session.settings.take(&command));
            return Ok(Answer::Yes);
        }
        Ok(command) if !session.settings.allows(&command) => {
            screen::aside(
                "Error: this takes the advanced privilege; `set -privilege advanced` gives it to this session\n",
            );
            return Ok(Answer::No);
        }
        _ => {}
    }
    let secret = match secret_of(line)?.transpose() {
        Ok(secret) => secret,
        Err(refusal) => return Ok(ended(Some(Err(refusal.into())), false)),
    };
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
    let width = if by_hand && !as_json { screen::width() } else { None };
    let is_statistics = statistics(line).is_some();
    let mut shown = false;
    let result = session.run_each(line, secret.as_deref(), |answer| {
        // Statistics come again and again.
        if std::mem::replace(&mut shown, true) {
            screen::print(between);
        }
        let laid_out = width.map(|width| laid_out(answer, width, is_statistics));
        let answer = laid_out.as_deref().unwrap_or(answer);
        if session_rows > 0 { pages::print(answer, session_rows) } else { screen::is_read(answer) }
    })?;
    Ok(ended(result, as_json))
}

/// An answer as a terminal of `width` columns shows it: a table of statistics is laid out for it,
/// and notes are broken between words.
fn laid_out(answer: &str, width: usize, is_statistics: bool) -> String {
    let table = if is_statistics { ontap::show::fitted(answer, width) } else { answer.to_owned() };
    let broken = |line: &str| match line.starts_with("Note: ") {
        true => report::text::wrap(line.trim_end(), width).join("\n") + "\n",
        false => line.to_owned(),
    };
    table.split_inclusive('\n').map(broken).collect()
}

/// Tells how a line ended that was refused, or interrupted.
fn ended(result: Option<Result<(), String>>, as_json: bool) -> Answer {
    match result {
        Some(Ok(())) => return Answer::Yes,
        // Who reads JSON reads the refusal where the answer would be.
        Some(Err(refusal)) if as_json => screen::print(&format!("{refusal}\n")),
        Some(Err(refusal)) => screen::aside(&format!("Error: {refusal}\n")),
        None => screen::print("\n"),
    }
    Answer::No
}

/// The password that a line needs, asked for, or why what was typed is none.
fn secret_of(line: &str) -> Result<Option<Result<String, &'static str>>> {
    let Ok(Command::Security(command)) = ontap::parse(line) else { return Ok(None) };
    command.secret().map(|question| secret::ask_new(&question)).transpose()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_broken_at_the_terminals_width() {
        let answer = "Vserver Volume and much more\nNote: one two three four.\n";
        let shown = "Vserver Volume and much more\nNote: one two\nthree four.\n";
        assert_eq!(laid_out(answer, 14, false), shown);
        assert_eq!(laid_out(answer, 80, false), answer);
    }
}
