//! `seawall serve`: the storage server alone.

use crate::fresh_pool::FreshPool;
use crate::{Answer, interrupt, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use server::{
    Control, ControlSocket, Housekeeping, HousekeepingSettings, Listen, ServerLimits, Shard, registry_settings,
};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Named, Pool, StoreError};
use uring::IoSettings;

/// Serve a pool's LUNs over NBD until interrupted
///
/// A LUN's export is called /vol/VOLUME/LUN, and SVM:/vol/VOLUME/LUN in any case. Administrators' commands go to the
/// control socket in the pool's folder: see `seawall shell`.
#[derive(clap::Args)]
pub struct Serve {
    /// The pool's folder
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// Where to listen: HOST:PORT, or unix:PATH for its owner only; may be given several times
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:10809")]
    listen: Vec<String>,
    /// Make the pool if the folder is empty or missing
    #[arg(long)]
    create: bool,
    /// Use threads for I/O and not io_uring
    #[arg(long)]
    no_io_uring: bool,
    /// Log more: -v each command and what is refused of clients, -vv everything
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Serve {
    pub fn run(self) -> Result<Answer> {
        let stop = interrupt::watch()?;
        log(self.verbose);
        let listen = self.listen.iter().map(|text| text.parse()).collect::<Result<Vec<Listen>, _>>()?;
        let (pool, mut fresh) = self.pool()?;
        let socket = pool.control_socket();
        let registry = registry_settings(&pool)?;
        let limits = ServerLimits::default();
        let shard = Shard::start(&listen, limits, io_settings(self.no_io_uring, limits.memory))?;
        for address in shard.listening() {
            terminal::line(&format!("listening on {address}"));
        }
        terminal::line(&format!("I/O: {}", shard.backend()));
        let control = Arc::new(Mutex::new(Control::open(pool, shard, registry)?.with_date(date)));
        let _commands = ControlSocket::open(&socket, Arc::clone(&control))
            .with_context(|| format!("{}: control socket", socket.display()))?;
        let _housekeeping = Housekeeping::start(Arc::clone(&control), HousekeepingSettings::default())
            .context("start the housekeeping thread")?;
        if let Some(fresh) = &mut fresh {
            fresh.keep();
        }
        terminal::line(&format!("commands: seawall shell --pool {}", self.pool.display()));
        stop.wait();
        terminal::line("stopping: requests under way are answered first");
        Ok(Answer::Yes)
    }

    /// The pool, and how its place was before where it was made just now.
    fn pool(&self) -> Result<(Pool, Option<FreshPool>)> {
        if self.pool.exists() && !self.pool.is_dir() {
            bail!("--pool {}: must be a folder, and this is a file; name another place", self.pool.display());
        }
        match Pool::open(&self.pool) {
            // A folder with nothing but settings is not a pool yet, and may become one.
            Err(StoreError::Missing(_) | StoreError::NotAPool(_)) if self.create => self.make_pool(),
            opened => Ok((opened.map_err(pool_error)?, None)),
        }
    }

    fn make_pool(&self) -> Result<(Pool, Option<FreshPool>)> {
        must_be_free(&store::named(&self.pool)?)?;
        let mut fresh = FreshPool::before(&self.pool);
        let pool = Pool::create(&self.pool).inspect_err(|error| {
            // Somebody's folder: nothing was made there, and nothing is to be removed.
            if matches!(error, StoreError::NotAPool(_)) {
                fresh.keep();
            }
        });
        Ok((pool.map_err(pool_error)?, Some(fresh)))
    }
}

/// Seconds since the beginning of 1970; a clock before that is a clock that nobody set.
#[allow(clippy::disallowed_methods, reason = "a server's snapshots are of the date on which they are made")]
fn date() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Refuses to lay a pool over something that is in use or looks like data.
fn must_be_free(named: &Named) -> Result<()> {
    for path in [&named.data, &named.log].into_iter().flatten() {
        let objections = engine::safety::objections(path).with_context(|| format!("[pool] {}", path.display()))?;
        if !objections.is_empty() {
            bail!("[pool] {}: {}; nothing was changed", path.display(), objections.join(", "));
        }
    }
    Ok(())
}

/// Names the option, where the error is about the folder that it gave.
fn pool_error(error: StoreError) -> anyhow::Error {
    use StoreError::{File, InUse, Missing, NotAPool};
    match error {
        Missing(_) | NotAPool(_) | InUse(_) | File { .. } => anyhow!("--pool {error}"),
        other => other.into(),
    }
}

/// The settings of a data thread's I/O with `memory` for its buffers. Little of it is pinned: small requests, which are
/// the many, come from there.
pub fn io_settings(no_io_uring: bool, memory: Bytes) -> IoSettings {
    IoSettings {
        backend: if no_io_uring { uring::Choice::Threads } else { uring::Choice::Auto },
        entries: 1024,
        in_flight: 16_384,
        slab: memory,
        registered: Bytes::mib(64),
        ..IoSettings::default()
    }
}

fn log(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("SEAWALL_LOG").unwrap_or_else(|_| level.into());
    // Colours are for people; a file or a pipe gets plain lines.
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    log.with_target(false).init();
}
