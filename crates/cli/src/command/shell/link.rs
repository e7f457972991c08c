//! The way to a server: the control socket in its pool's folder, or REST with a log-in.

use super::{secret, statistics};
use anyhow::{Context as _, Result, bail};
use api::{Client, ClientSettings};
use server::ControlClient;
use std::io::{ErrorKind, IsTerminal as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::CONTROL_SOCKET;

/// Statistics come again so often by REST, where each is asked for.
const INTERVAL: Duration = Duration::from_secs(1);

const CLOSED: &str = "the server closed the connection";

/// Whether the server closed the connection instead of taking a line: another one can repeat it.
pub fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::ConnectionAborted)
}

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

    /// Has the server run a line, with the password that it needs, and hands over each of its
    /// answers; or its refusal.
    pub fn run_each(
        &mut self,
        line: &str,
        secret: Option<&str>,
        mut each: impl FnMut(&str) -> bool,
    ) -> Result<Result<(), String>> {
        let client = match self {
            Link::Socket(server) => {
                let answered = server.run_with(line, secret, each);
                return answered.map_err(|error| match error.kind() {
                    ErrorKind::ConnectionAborted => anyhow::Error::new(error).context(CLOSED),
                    _ => anyhow::Error::new(error).context("the server went away"),
                });
            }
            Link::Rest(client) => client,
        };
        let show = statistics(line);
        let most = show.map_or(Some(1), |show| show.iterations.map(|count| count.0));
        let mut iteration = 0;
        loop {
            let answer = match client.run_with(line, secret)? {
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
        let result = self.run_each(line, None, |answer| {
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

/// The log-in at a server: the password is the first line of the input, or asked for at a terminal,
/// where it is not shown.
pub fn log_in(url: String, user: String, ca: PathBuf, password_stdin: bool) -> Result<Place> {
    if !password_stdin && !std::io::stdin().is_terminal() {
        bail!("--rest {url}: no password; give it as the first line of the input with --password-stdin");
    }
    let Some(password) = secret::ask(&format!("Password of {user}: "))? else { bail!("--rest {url}: no password") };
    Ok(Place::Rest(ClientSettings { url, ca, user, password }))
}
