//! Passwords: typed where they are not shown, and never in a line, which is remembered.

use anyhow::{Context as _, Result, anyhow, bail};
use std::io::{BufRead as _, IsTerminal as _};
use std::process::Command;

/// Asks for one once.
///
/// # Errors
/// The input is not read, or the terminal cannot hide what is typed.
pub fn ask(question: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        return line();
    }
    crate::terminal::aside(question);
    unseen(line)
}

/// Asks for a new one: at a terminal twice; elsewhere it is the next line of the input.
///
/// # Errors
/// As [`ask`], or both are not the same.
pub fn ask_new(question: &str) -> Result<String> {
    let password = ask(question)?;
    if std::io::stdin().is_terminal() && ask("Please enter it again: ")? != password {
        bail!("the two passwords are not the same; nothing was changed");
    }
    Ok(password)
}

/// The next line of the input.
fn line() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).context("the password")?;
    if read == 0 {
        bail!("no password: it is the next line of the input, or asked for at a terminal");
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// What is typed meanwhile is not shown.
fn unseen<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let echo = |word: &str| Command::new("stty").arg(word).status();
    if !echo("-echo").is_ok_and(|status| status.success()) {
        return Err(anyhow!("the terminal cannot hide a password; give it as the first line of the input"));
    }
    let read = read();
    let _ = echo("echo");
    crate::terminal::aside("\n");
    read
}
