//! The way to a server: the control socket in its pool's folder, or REST with a log-in.

use super::statistics;
use anyhow::{Context as _, Result, anyhow, bail};
use api::{Client, ClientSettings};
use server::ControlClient;
use std::io::{BufRead as _, IsTerminal as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use store::CONTROL_SOCKET;

/// Statistics come again so often by REST, where each is asked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where a server is.
#[derive(Clone)]
pub enum Place {
    /// The folder of its pool.
    Pool(PathBuf),
    /// By REST.
    Rest(ClientSettings),
}

/// A connection to one.
pub enum Link {
    Socket(ControlClient),
    Rest(Box<Client>),
}

impl Place {
    /// Connects.
    pub fn connect(&self) -> Result<Link> {
        match self {
            Place::Pool(pool) => Ok(Link::Socket(by_socket(pool)?)),
            Place::Rest(settings) => Ok(Link::Rest(Box::new(Client::connect(settings.clone())?))),
        }
    }
}

impl Link {
    /// Another handle of the socket, to end the line that it waits for.
    pub fn connection(&self) -> std::io::Result<Option<UnixStream>> {
        match self {
            Link::Socket(server) => server.connection().map(Some),
            Link::Rest(_) => Ok(None),
        }
    }

    /// Has the server run a line and hands over each of its answers; or its refusal.
    pub fn run_each(&mut self, line: &str, mut each: impl FnMut(&str) -> bool) -> Result<Result<(), String>> {
        let client = match self {
            Link::Socket(server) => return server.run_each(line, each).context("the server went away"),
            Link::Rest(client) => client,
        };
        let show = statistics(line);
        let most = show.map_or(Some(1), |show| show.iterations.map(|count| count.0));
        let mut iteration = 0;
        loop {
            let answer = match client.run(line)? {
                Ok(answer) => answer,
                Err(refusal) => return Ok(Err(refusal)),
            };
            iteration += 1;
            if !each(&answer) || most.is_some_and(|most| iteration >= most) {
                return Ok(Ok(()));
            }
            std::thread::park_timeout(INTERVAL);
        }
    }

    /// The same for one answer.
    pub fn run(&mut self, line: &str) -> Result<Result<String, String>> {
        let mut whole = String::new();
        let result = self.run_each(line, |answer| {
            whole.push_str(answer);
            true
        })?;
        Ok(result.map(|()| whole))
    }
}

fn by_socket(pool: &Path) -> Result<ControlClient> {
    ControlClient::connect(&pool.join(CONTROL_SOCKET)).with_context(|| {
        let pool = pool.display();
        format!("--pool {pool}: no server answers there; `seawall serve --pool {pool}` starts one")
    })
}

/// The log-in at a server: the password is the first line of the input, or asked for at a terminal, where it is not shown.
pub fn log_in(url: String, user: String, ca: PathBuf, password_stdin: bool) -> Result<Place> {
    let input = std::io::stdin();
    if !password_stdin && !input.is_terminal() {
        bail!("--rest {url}: no password; give it as the first line of the input with --password-stdin");
    }
    let ask = || -> Result<String> {
        if input.is_terminal() {
            crate::terminal::aside(&format!("Password of {user}: "));
        }
        let mut line = String::new();
        input.lock().read_line(&mut line).context("the password")?;
        Ok(line.trim_end_matches(['\n', '\r']).to_owned())
    };
    let password = if input.is_terminal() { unseen(ask)? } else { ask()? };
    Ok(Place::Rest(ClientSettings { url, ca, user, password }))
}

/// What is typed meanwhile is not shown.
fn unseen<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let echo = |word: &str| Command::new("stty").arg(word).status();
    if !echo("-echo").is_ok_and(|status| status.success()) {
        return Err(anyhow!("the terminal cannot hide a password; give it with --password-stdin"));
    }
    let read = read();
    let _ = echo("echo");
    crate::terminal::aside("\n");
    read
}
