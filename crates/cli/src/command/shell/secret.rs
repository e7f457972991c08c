//! Passwords: typed where they are not shown, and never in a line, which is remembered.

use anyhow::{Context as _, Result, anyhow, bail};
use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

/// Asks for one once; `None` where whoever is asked gave up with Ctrl-C or Ctrl-D.
///
/// # Errors
/// The input is not read, or the terminal cannot hide what is typed.
pub fn ask(question: &str) -> Result<Option<String>> {
    if !std::io::stdin().is_terminal() {
        return line().map(Some);
    }
    unseen(question, || typed(std::io::stdin().lock().bytes()).context("the password"))
}

/// Asks for a new one: at a terminal twice; elsewhere it is the next line of the input. What is
/// refused of what was typed is a sentence: the terminal can be asked for something else.
///
/// # Errors
/// As [`ask`].
pub fn ask_new(question: &str) -> Result<Result<String, &'static str>> {
    let given = ask(question)?;
    let again =
        if std::io::stdin().is_terminal() && given.is_some() { ask("Please enter it again: ")? } else { given.clone() };
    Ok(match (given, again) {
        (Some(given), Some(again)) if given == again => Ok(given),
        (Some(_), Some(_)) => Err("the two passwords are not the same; nothing was changed"),
        _ => Err("no password was given; nothing was changed"),
    })
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

/// What the keys of a terminal come to that hands over each of them: up to Enter, with the last
/// character taken back by Backspace and all of them by Ctrl-U. Nothing after Ctrl-C, Ctrl-D in an
/// empty line, or the end of the input.
fn typed(mut keys: impl Iterator<Item = std::io::Result<u8>>) -> std::io::Result<Option<String>> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const TAKE_BACK: u8 = 8;
    const CLEAR: u8 = 21;
    const DELETE: u8 = 127;
    let mut bytes = Vec::new();
    loop {
        let Some(key) = keys.next() else { return Ok(None) };
        match key? {
            b'\r' | b'\n' => break,
            INTERRUPT => return Ok(None),
            END if bytes.is_empty() => return Ok(None),
            TAKE_BACK | DELETE => {
                // The bytes of a character that follow its first are 10xxxxxx.
                while bytes.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            CLEAR => bytes.clear(),
            byte => bytes.push(byte),
        }
    }
    let wrong = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    String::from_utf8(bytes).map(Some).map_err(wrong)
}

/// What is typed meanwhile is not shown, and each key comes as it is: Ctrl-C too, which would end
/// the shell as a signal.
fn unseen<T>(question: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let stty = |words: &[&str]| Command::new("stty").args(words).stdin(Stdio::inherit()).output();
    let before = stty(&["-g"]).ok().filter(|before| before.status.success());
    let before = before.map(|before| String::from_utf8_lossy(&before.stdout).trim().to_owned());
    let is_hidden = stty(&["-echo", "-icanon", "-isig", "min", "1", "time", "0"]).is_ok_and(|set| set.status.success());
    let (Some(before), true) = (before, is_hidden) else {
        return Err(anyhow!("the terminal cannot hide a password; give it as the first line of the input"));
    };
    crate::terminal::aside(question);
    let read = read();
    let _ = stty(&[&before]);
    crate::terminal::aside("\n");
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_to_a_password_or_to_none() {
        let of = |keys: &[u8]| typed(keys.iter().map(|key| Ok(*key))).unwrap();
        assert_eq!(of(b"secret\rmore").as_deref(), Some("secret"));
        assert_eq!(of("pä\u{7f}a\u{15}höh\u{8}\n".as_bytes()).as_deref(), Some("hö"));
        assert_eq!(of(b"\x7f\x7fa\x04b\n").as_deref(), Some("a\u{4}b"));
        assert_eq!([of(b"secr\x03et\n"), of(b"\x04")], [None, None]);
        assert!(typed([Ok(0xff), Ok(b'\n')].into_iter()).is_err());
    }
}
