//! The built program: run to its end, or kept running and listened to.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a program may say nothing that a test waits for. Long: it only bounds a test that fails
/// anyway.
const PATIENCE: Duration = Duration::from_secs(120);

/// The variable that says where runs are kept.
pub const RESULTS: &str = "SEAWALL_RESULTS";

/// The program, to be run in `folder`. It keeps no run unless a test says where: never in a user's
/// file.
pub fn seawall(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seawall"));
    command
        .current_dir(folder)
        .env(RESULTS, "none")
        .env_remove("SEAWALL_LOG")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it complained.
    pub err: String,
}

impl Ended {
    /// Whether it came to its end with a verdict, whichever: what a busy machine can show may be
    /// too little to say.
    pub fn has_verdict(&self) -> bool {
        matches!(self.code, Some(0 | 1)) || self.code == Some(2) && self.err.contains("seawall: cannot say: ")
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// A command that another one runs, whose last word so far is the program: with the arguments,
/// variables and folder that it was given.
pub fn run_by(mut inside: Command, command: &Command) -> Command {
    inside.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}

/// Waits until something is so, a minute at most.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if is_so() {
            return;
        }
        succeed(Command::new("sleep").arg("0.05"));
    }
    panic!("not in a minute: {what}");
}

/// Runs a command that must succeed, and returns what it printed.
pub fn succeed(command: &mut Command) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{command:?}\n{}{}", ended.out, ended.err);
    ended.out
}

/// The same with arguments on the spot.
pub fn succeed_with<S: AsRef<OsStr>>(mut command: Command, arguments: impl IntoIterator<Item = S>) -> String {
    succeed(command.args(arguments))
}

/// A program that runs. It is killed when this is dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Every line so far, of both streams.
    pub seen: Vec<String>,
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        command.stdout(writer.try_clone().expect("a pipe can be shared")).stderr(writer);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        // Else the pipe never ends, as the command holds its writing end.
        drop(command);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, lines, seen: Vec::new() }
    }

    /// Waits for a line that contains `text` and returns it.
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen.push(line);
                    let line = self.seen.last().expect("it was just put there");
                    if line.contains(text) {
                        return line.clone();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without {text:?}:\n{}", self.seen.join("\n")),
                Err(RecvTimeoutError::Timeout) => panic!("no {text:?} came:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// Waits until it says that it listens, or ends; whether it listens.
    pub fn listens(&mut self) -> bool {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let listens = line.contains("commands: seawall shell");
                    self.seen.push(line);
                    if listens {
                        return true;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("neither listening nor ended:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// Gives it a line, where its input was made a pipe.
    pub fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input is a pipe");
        writeln!(input, "{line}").expect("it listens");
    }

    /// What it said, if it has ended already.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().expect("it can be waited for")?;
        self.seen.extend(self.lines.iter());
        Some(format!("{}; {status}", self.seen.join("; ")))
    }

    /// Its number for the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal: `INT`, `TERM`, `KILL`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status();
        assert!(sent.is_ok_and(|status| status.success()), "signal {name}");
    }

    /// Waits for its end: how it ended, and every line.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.seen.join("\n")),
            }
        }
        let status = self.child.wait().expect("it can be waited for");
        (status, std::mem::take(&mut self.seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
