//! A PostgreSQL of a bench's own: a cluster in a folder of `target`, its server and its clients
//! behind a Unix socket. Root starts the server as `postgres`, as PostgreSQL wants.

use super::served::Served;
use super::{succeed, text_of};
use crate::step::Watch;
use anyhow::{Context as _, Result, anyhow};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where Debian has PostgreSQL's programs.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// How long a server may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The role of all of it.
const ROLE: &str = "seawall";

/// A cluster, running or not.
pub struct Cluster {
    programs: PathBuf,
    /// Where its socket and its folder of data are.
    pub folder: PathBuf,
}

impl Cluster {
    /// The cluster that is in a folder, or will be.
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

    /// The folder of its files.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Makes it, in a folder that is not there yet.
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

    /// Starts its server, under the program that these words call, if any, and waits until it is
    /// ready. Settings are `name=value`.
    ///
    /// # Errors
    /// It does not start.
    pub fn serve(&self, under: &[OsString], settings: &[&str]) -> Result<Served> {
        let mut command = self.owned(under, "postgres")?;
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder).args(["-c", "listen_addresses="]);
        settings.iter().for_each(|setting| _ = command.args(["-c", setting]));
        // In order, where it fails: what it runs under would leave it when it is killed.
        let stop = |error| {
            let _ = self.stop();
            error
        };
        let served = Served::start(command, &self.folder.join(".s.PGSQL.5432")).map_err(stop)?;
        // It accepts before it is ready.
        let watch = Watch::start();
        while self.sql("SELECT 1").is_err() {
            if watch.elapsed() > PATIENCE {
                return Err(stop(anyhow!("the server is not ready after {} s", PATIENCE.as_secs())));
            }
        }
        Ok(served)
    }

    /// Ends its server in order.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&self) -> Result<()> {
        succeed(self.owned(&[], "pg_ctl")?.args(["stop", "-m", "fast", "-w", "-s", "-D"]).arg(self.data()))
    }

    /// A program of PostgreSQL's that calls the server, in a database. Others of them that it calls
    /// are of the same version.
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

    /// A program of PostgreSQL's as the account that the server runs as, under these words.
    fn owned(&self, under: &[OsString], program: &str) -> Result<Command> {
        let account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"];
        let account = if is_root()? { account.map(OsString::from).to_vec() } else { Vec::new() };
        let words = [under, &account, &[self.programs.join(program).into()]].concat();
        let mut command = Command::new(&words[0]);
        // Where the account may enter.
        command.args(&words[1..]).current_dir("/");
        Ok(command)
    }
}

fn is_root() -> Result<bool> {
    Ok(Path::new("/proc/self").metadata()?.uid() == 0)
}
