//! A PostgreSQL server of a bench's own: a cluster in a folder of `target`, with its server and its
//! clients on a Unix socket. Root starts the server as `postgres`, as PostgreSQL requires.

use super::served::Served;
use super::{succeed, text_of};
use crate::step::Watch;
use anyhow::{Context as _, Result, anyhow};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The folder of PostgreSQL's programs in Debian.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// How long the server may take to become ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The role that owns everything.
const ROLE: &str = "seawall";

/// A cluster, running or not.
pub struct Cluster {
    programs: PathBuf,
    /// The folder of its socket and its data.
    pub folder: PathBuf,
}

impl Cluster {
    /// The cluster in a folder, whether it exists yet or not.
    ///
    /// # Errors
    /// No PostgreSQL is installed.
    pub fn at(folder: PathBuf) -> Result<Cluster> {
        let installed = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
        let newest = installed.map(|entry| entry.path().join("bin")).filter(|bin| bin.join("pgbench").exists()).max();
        let programs =
            newest.with_context(|| format!("no PostgreSQL in {PROGRAMS}; `cargo xtask test` says how to get it"))?;
        Ok(Cluster { programs, folder })
    }

    /// Its data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Makes the cluster, in a folder that does not exist yet.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(&self) -> Result<()> {
        let owner: &[&str] = if is_root()? { &["-o", "postgres", "-g", "postgres"] } else { &[] };
        succeed(Command::new("install").arg("-d").args(owner).arg(&self.folder))?;
        let mut command = self.owned(&[], "initdb")?;
        command.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust", "--username", ROLE, "-D"]);
        succeed(command.arg(self.data()))
    }

    /// Starts the server and waits until it is ready. `under` are the words of a program that runs
    /// it, if any; settings are `name=value`.
    ///
    /// # Errors
    /// It does not start.
    pub fn serve(&self, under: &[OsString], settings: &[&str]) -> Result<Served> {
        let mut command = self.owned(under, "postgres")?;
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder).args(["-c", "listen_addresses="]);
        settings.iter().for_each(|setting| _ = command.args(["-c", setting]));
        // On failure the server is stopped properly: if it were killed, the program that it runs
        // under would leave it running.
        let stop = |error| {
            let _ = self.stop();
            error
        };
        let served = Served::start(command, &self.folder.join(".s.PGSQL.5432")).map_err(stop)?;
        // It accepts connections before it is ready.
        let watch = Watch::start();
        while self.sql("SELECT 1").is_err() {
            if watch.elapsed() > PATIENCE {
                return Err(stop(anyhow!("the server is not ready after {} s", PATIENCE.as_secs())));
            }
        }
        Ok(served)
    }

    /// Stops the server properly.
    ///
    /// # Errors
    /// It does not stop.
    pub fn stop(&self) -> Result<()> {
        succeed(self.owned(&[], "pg_ctl")?.args(["stop", "-m", "fast", "-w", "-s", "-D"]).arg(self.data()))
    }

    /// A client program of PostgreSQL for a database. Other programs that it calls are of the same
    /// version.
    pub fn client(&self, program: &str, database: &str) -> Command {
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([self.programs.clone()].into_iter().chain(std::env::split_paths(&others)));
        let mut command = Command::new(self.programs.join(program));
        command.env("PATH", path.unwrap_or(others));
        command.env("PGHOST", &self.folder).env("PGUSER", ROLE).env("PGDATABASE", database);
        command
    }

    /// `psql`, which fails at the first error.
    pub fn psql(&self, database: &str) -> Command {
        let mut command = self.client("psql", database);
        command.args(["-q", "-v", "ON_ERROR_STOP=1"]);
        command
    }

    /// Runs a statement in the database `postgres`.
    ///
    /// # Errors
    /// It fails.
    pub fn sql(&self, sql: &str) -> Result<()> {
        text_of(self.psql("postgres").arg("-c").arg(sql)).map(drop)
    }

    /// A program of PostgreSQL, run as the server's account under these words.
    fn owned(&self, under: &[OsString], program: &str) -> Result<Command> {
        let account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];
        let account = if is_root()? { account.map(OsString::from).to_vec() } else { Vec::new() };
        let words = [under, &account, &[self.programs.join(program).into()]].concat();
        let mut command = Command::new(&words[0]);
        // A folder that the account may enter.
        command.args(&words[1..]).current_dir("/");
        Ok(command)
    }
}

fn is_root() -> Result<bool> {
    Ok(Path::new("/proc/self").metadata()?.uid() == 0)
}
