//! A private PostgreSQL server in a folder: created, started and stopped by this program, and
//! reachable only by a Unix socket in that folder. Its data stays there for the next start.
//!
//! PostgreSQL refuses to run as root; if this program does, the server runs as `postgres` or
//! `nobody`.

use crate::cgroup::{Memory, MemoryBound};
use crate::{process, shell};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where packages install its programs, by version.
const PACKAGES: &str = "/usr/lib/postgresql";
/// The role and the database.
const ROLE: &str = "seawall";

/// A running server, which is stopped when this is dropped.
#[derive(Debug)]
pub struct Private {
    programs: PathBuf,
    folder: PathBuf,
    account: Option<Account>,
    settings: String,
    /// Whether this has started it and must stop it.
    is_started: bool,
    /// Must outlive the server's processes.
    memory: Option<Memory>,
    /// Held for as long as the folder is in use.
    _lock: File,
}

impl Private {
    /// The folder of PostgreSQL's programs, of the newest version; `None` if no server is
    /// installed.
    pub fn programs() -> Option<PathBuf> {
        let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        let installed = fs::read_dir(PACKAGES).into_iter().flatten().flatten().map(|entry| entry.path());
        let newest = installed.filter(|path| path.join("bin/initdb").exists()).max_by_key(|path| version(path));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = || std::env::split_paths(&path).find(|folder| folder.join("initdb").exists());
        newest.map(|folder| folder.join("bin")).or_else(on_path)
    }

    /// Starts the cluster in that folder with these settings. If there is none, creates it first,
    /// for which the folder must be empty. With a password the role needs it.
    ///
    /// # Errors
    /// No server is installed, the folder is in use, or the server does not start; its log says
    /// why. A server that is running already is left alone.
    pub fn start(folder: &Path, settings: &[(&str, &str)], password: Option<&str>) -> io::Result<Private> {
        let programs = Private::programs().ok_or_else(|| io::Error::other("no PostgreSQL server is installed"))?;
        let account = account(&["postgres", "nobody"])?;
        let folder = folder.canonicalize()?;
        must_be_plain(&folder)?;
        let lock = locked(&folder)?;
        let mut all = format!("-c listen_addresses= -c unix_socket_directories={}", folder.display());
        for (name, value) in settings {
            all += &format!(" -c {name}={value}");
        }
        let settings = all;
        let mut private = Private { programs, folder, account, settings, is_started: false, memory: None, _lock: lock };
        if !private.data().join("PG_VERSION").exists() {
            private.make(password)?;
        }
        private.must_not_run()?;
        private.control(&["start"])?;
        private.is_started = true;
        Ok(private)
    }

    /// Fails if a server is running although the folder is not locked: it was left by a run that
    /// was killed, or started by the user, and is not ours to stop.
    fn must_not_run(&self) -> io::Result<()> {
        let mut command = self.command("pg_ctl");
        command.args(["status", "--pgdata"]).arg(self.data()).stdout(Stdio::null()).stderr(Stdio::null());
        if !command.status()?.success() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "its server is already running, left by a killed run or started by hand; stop it with: {}",
            stop_command(&self.programs, &self.data(), self.account.as_ref())
        )))
    }

    /// Creates a cluster.
    fn make(&self, password: Option<&str>) -> io::Result<()> {
        let private = self;
        own(&private.folder, private.account.as_ref())?;
        fs::set_permissions(&private.folder, fs::Permissions::from_mode(0o755))?;
        let mut command = private.command("initdb");
        command.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--username", ROLE, "--pgdata"]);
        command.arg(private.data());
        match password {
            None => command.arg("--auth=trust"),
            Some(password) => {
                let path = private.folder.join("password");
                File::create(&path)?.write_all(password.as_bytes())?;
                own(&path, private.account.as_ref())?;
                command.args(["--auth=scram-sha-256", "--pwfile"]).arg(path)
            }
        };
        private.run(command)
    }

    /// Limits the memory of all of its processes, page cache included, and drops its files from the
    /// page cache first. Needs root.
    ///
    /// # Errors
    /// The host does not support such limits, or this process may not set them.
    pub fn limit_memory(&mut self, bytes: u64) -> io::Result<()> {
        let file = self.data().join("postmaster.pid");
        let pid = fs::read_to_string(file)?.lines().next().and_then(|line| line.trim().parse().ok());
        let pid = pid.ok_or_else(|| io::Error::other("the server is not running"))?;
        let memory = Memory::limited(&format!("seawall-{pid}"), bytes)?;
        drop_cached(&self.data())?;
        memory.take(pid)?;
        // Moves the children that already exist.
        for task in fs::read_dir("/proc")?.flatten() {
            let task = task.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(child) = task.filter(|task| process::parent(*task) == Some(pid)) {
                memory.take(child)?;
            }
        }
        self.memory = Some(memory);
        Ok(())
    }

    /// Memory limit of its processes, if there is one.
    pub fn memory(&self) -> Option<MemoryBound> {
        self.memory.as_ref().map(Memory::bound)
    }

    /// The URL of its database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}@/postgres?host={}", self.folder.display())
    }

    /// The folder that it was started in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of its files.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Kills the server as in a crash, and starts it again.
    ///
    /// # Errors
    /// It does not start.
    pub fn crash(&self) -> io::Result<()> {
        self.control(&["restart", "-m", "immediate"])
    }

    /// One of its programs, to run under the server's account, with the server's address in its
    /// environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some(account) = &self.account {
            command.uid(account.uid).gid(account.gid);
        }
        // The server's account may not be able to enter the current folder.
        command.current_dir("/").env("PGHOST", &self.folder).env("PGUSER", ROLE).env("PGDATABASE", "postgres");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a program to its end; on failure the error is what the program wrote.
    fn run(&self, mut command: Command) -> io::Result<()> {
        // A server keeps the files that it inherits: with a pipe, reading would wait for the
        // server's end.
        let path = self.folder.join("errors");
        let file = File::create(&path)?;
        let status = command.stdout(file.try_clone()?).stderr(file).status()?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read_to_string(&path)?;
        let name = command.get_program().to_string_lossy().into_owned();
        Err(io::Error::other(format!("{name}: {}", reason(&said).unwrap_or("failed"))))
    }

    fn control(&self, what: &[&str]) -> io::Result<()> {
        let mut command = self.command("pg_ctl");
        command.args(what).args(["--wait", "--silent", "--timeout=60"]);
        command.arg("--pgdata").arg(self.data()).arg("--log").arg(self.folder.join("log"));
        command.arg("--options").arg(&self.settings);
        // Earlier starts have written to the same log.
        let log = || fs::read(self.folder.join("log")).unwrap_or_default();
        let before = log().len();
        self.run(command).map_err(|error| {
            let log = log();
            let said = String::from_utf8_lossy(log.get(before..).unwrap_or_default());
            io::Error::other(format!("{error}; {}", reason(&said).unwrap_or("nothing in its log")))
        })
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if !self.is_started {
            return;
        }
        let mut command = self.command("pg_ctl");
        command.args(["stop", "-m", "fast", "--wait", "--silent", "--pgdata"]).arg(self.data());
        // It may have stopped by itself.
        let _ = self.run(command);
    }
}

/// Refuses unusual characters, because the path is used by a shell and in URLs.
fn must_be_plain(folder: &Path) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@".contains(c);
    match folder.to_str().is_some_and(|text| text.chars().all(is_plain)) {
        true => Ok(()),
        false => Err(io::Error::other(
            "the path of a private server's folder may have letters, digits and ._-+=@ only; choose another folder",
        )),
    }
}

/// Locks the folder; the lock ends with the process.
fn locked(folder: &Path) -> io::Result<File> {
    let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
    if uring::space::try_lock(&lock)? {
        return Ok(lock);
    }
    Err(io::Error::other("another process has the server of this folder; wait for its end, or name another folder"))
}

/// Drops the files of a folder and its subfolders from the page cache.
fn drop_cached(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            drop_cached(&path)?;
        } else if let Ok(file) = File::open(&path) {
            file.sync_all()?;
            uring::space::drop_cache(&file)?;
        }
    }
    Ok(())
}

/// A shell command that stops the server of `data`. `pg_ctl` refuses to run as root, and a server
/// is stopped by its own user.
fn stop_command(programs: &Path, data: &Path, account: Option<&Account>) -> String {
    let quoted = |path: &Path| shell::word(&path.display().to_string());
    let stop = format!("{} stop -D {}", quoted(&programs.join("pg_ctl")), quoted(data));
    account.map_or(stop.clone(), |account| format!("runuser -u {} -- {stop}", account.name))
}

/// The user that a server runs as if this process is root.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// The user's name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// Its group's number.
    pub gid: u32,
}

/// Changes the owner of a file or folder, if an account is given.
pub(crate) fn own(path: &Path, account: Option<&Account>) -> io::Result<()> {
    account.map_or(Ok(()), |account| chown(path, Some(account.uid), Some(account.gid)))
}

/// The account for a server if this process is root: the first of these that exists.
pub(crate) fn account(names: &[&str]) -> io::Result<Option<Account>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let all = fs::read_to_string("/etc/passwd")?;
    let of = |name: &str| {
        let line = all.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map_while(|field| field.parse().ok());
        Some(Account { name: name.to_owned(), uid: fields.next()?, gid: fields.next()? })
    };
    let found = names.iter().find_map(|name| of(name));
    let missing = || io::Error::other(format!("root needs a user {} to start a server as", names.join(" or ")));
    found.map(Some).ok_or_else(missing)
}

/// The reason in the output of one of PostgreSQL's programs: its first error without the prefix, or
/// the last line if there is none.
fn reason(said: &str) -> Option<&str> {
    let marked = |line: &str| ["FATAL:", "PANIC:", "ERROR:", "error:"].iter().find_map(|mark| line.find(mark));
    let error = said.lines().find_map(|line| Some(&line[marked(line)?..]));
    error.or_else(|| said.lines().rfind(|line| !line.trim().is_empty())).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root cannot run `pg_ctl`; its server's user can. A path with a space is one word of the
    /// shell.
    #[test]
    fn the_command_that_stops_a_server_works_for_its_reader() {
        let (programs, data) = (Path::new("/usr/lib/postgresql/15/bin"), Path::new("/tmp/pg/data"));
        let plain = "/usr/lib/postgresql/15/bin/pg_ctl stop -D /tmp/pg/data";
        assert_eq!(stop_command(programs, data, None), plain);
        let account = Account { name: "postgres".into(), uid: 105, gid: 111 };
        assert_eq!(stop_command(programs, data, Some(&account)), format!("runuser -u postgres -- {plain}"));
        let spaced = stop_command(Path::new("/opt/my pg/bin"), data, None);
        assert_eq!(spaced, "'/opt/my pg/bin/pg_ctl' stop -D /tmp/pg/data");
    }

    #[test]
    fn the_reason_is_the_first_error_and_not_what_was_tidied_up_after_it() {
        let full = "post-bootstrap ... 2026-11-27 17:20:28.463 UTC [304] FATAL:  could not write to file \"base/4/3602_fsm\": No \
                    space left on device\n2026-11-27 17:20:28.463 UTC [304] STATEMENT:  CREATE DATABASE template0\nchild process exited \
                    with exit code 1\ninitdb: removing data directory \"data\"\n";
        assert_eq!(reason(full), Some("FATAL:  could not write to file \"base/4/3602_fsm\": No space left on device"));
        let held = "initdb: error: directory \"data\" exists but is not empty\ninitdb: hint: empty it\n";
        assert_eq!(reason(held), Some("error: directory \"data\" exists but is not empty"));
        assert_eq!((reason("stopped\n\n"), reason("")), (Some("stopped"), None));
    }
}
