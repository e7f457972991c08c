//! A PostgreSQL server of one's own in a folder: made, started and ended by this program, behind a
//! Unix socket in that folder and nowhere else. Its data stay there for the next start.
//!
//! PostgreSQL refuses to run as root; root starts it as the user `postgres`, or `nobody`.

use crate::cgroup::{Memory, MemoryBound};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where packages put its programs, by version.
const PACKAGES: &str = "/usr/lib/postgresql";
/// The role and the database.
const ROLE: &str = "seawall";

/// A running server, which ends with this.
#[derive(Debug)]
pub struct Private {
    programs: PathBuf,
    folder: PathBuf,
    account: Option<(u32, u32)>,
    settings: String,
    /// It was started by this, and is stopped by it.
    is_started: bool,
    /// Outlives the server's processes.
    memory: Option<Memory>,
    /// Held while this has the folder.
    _lock: File,
}

impl Private {
    /// The folder of PostgreSQL's programs, the newest there is; `None` where there is no server.
    pub fn programs() -> Option<PathBuf> {
        let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        let installed = fs::read_dir(PACKAGES).into_iter().flatten().flatten().map(|entry| entry.path());
        let newest = installed.filter(|path| path.join("bin/initdb").exists()).max_by_key(|path| version(path));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = || std::env::split_paths(&path).find(|folder| folder.join("initdb").exists());
        newest.map(|folder| folder.join("bin")).or_else(on_path)
    }

    /// Starts the cluster in that folder with these settings, and makes one first where there is
    /// none; the folder must be empty then. With a password the role needs it.
    ///
    /// # Errors
    /// There is no server, somebody else has the folder, or it does not start; its log says why.
    /// What runs already is left alone.
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

    /// A server that is there, though nobody has the folder, was left by a run that was killed, or
    /// somebody started it: not ours to end.
    fn must_not_run(&self) -> io::Result<()> {
        let mut command = self.command("pg_ctl");
        command.args(["status", "--pgdata"]).arg(self.data()).stdout(Stdio::null()).stderr(Stdio::null());
        if !command.status()?.success() {
            return Ok(());
        }
        let (data, program) = (self.data(), self.programs.join("pg_ctl"));
        Err(io::Error::other(format!(
            "{}: its server runs already, of a run that was killed or started by hand; end it with {} stop -D {}",
            self.folder.display(),
            program.display(),
            data.display()
        )))
    }

    /// Makes a cluster.
    fn make(&self, password: Option<&str>) -> io::Result<()> {
        let private = self;
        own(&private.folder, private.account)?;
        fs::set_permissions(&private.folder, fs::Permissions::from_mode(0o755))?;
        let mut command = private.command("initdb");
        command.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--username", ROLE, "--pgdata"]);
        command.arg(private.data());
        match password {
            None => command.arg("--auth=trust"),
            Some(password) => {
                let path = private.folder.join("password");
                File::create(&path)?.write_all(password.as_bytes())?;
                own(&path, private.account)?;
                command.args(["--auth=scram-sha-256", "--pwfile"]).arg(path)
            }
        };
        private.run(command)
    }

    /// Limits the memory of all of its processes, page cache included, and leaves nothing of its
    /// files in the cache that others had read. Only root may.
    ///
    /// # Errors
    /// The host has no such limits, or this process may not set them.
    pub fn limit_memory(&mut self, bytes: u64) -> io::Result<()> {
        let file = self.data().join("postmaster.pid");
        let pid = fs::read_to_string(file)?.lines().next().and_then(|line| line.trim().parse().ok());
        let pid = pid.ok_or_else(|| io::Error::other("the server is not running"))?;
        let memory = Memory::limited(&format!("seawall-{pid}"), bytes)?;
        drop_cached(&self.data())?;
        memory.take(pid)?;
        // Those that were there before the first was taken in.
        for task in fs::read_dir("/proc")?.flatten() {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit_once(')').and_then(|(_, behind)| behind.split_whitespace().nth(1)?.parse().ok());
            if let (true, Some(child)) =
                (parent == Some(pid), task.file_name().to_str().and_then(|name| name.parse().ok()))
            {
                memory.take(child)?;
            }
        }
        self.memory = Some(memory);
        Ok(())
    }

    /// What its processes may have, where that is limited.
    pub fn memory(&self) -> Option<MemoryBound> {
        self.memory.as_ref().map(Memory::bound)
    }

    /// The URL of its database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}@/postgres?host={}", self.folder.display())
    }

    /// The folder of its files.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Ends it as a crash does, and starts it again.
    ///
    /// # Errors
    /// It does not come back.
    pub fn crash(&self) -> io::Result<()> {
        self.control(&["restart", "-m", "immediate"])
    }

    /// One of its programs, as the account that the server runs as, with what leads to the server
    /// in its environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = self.account {
            command.uid(uid).gid(gid);
        }
        // A folder that the other account may not enter would be refused.
        command.current_dir("/").env("PGHOST", &self.folder).env("PGUSER", ROLE).env("PGDATABASE", "postgres");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a program to its end; a failure has the line that it gave as its reason.
    fn run(&self, mut command: Command) -> io::Result<()> {
        // A server that is started keeps what it inherits: a file and no pipe, so that nothing
        // waits for its end.
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
        // What earlier starts wrote stands before it.
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
        // It may have ended by itself.
        let _ = self.run(command);
    }
}

/// A shell reads the path on its way to the server, and URLs have it.
fn must_be_plain(folder: &Path) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@".contains(c);
    match folder.to_str().is_some_and(|text| text.chars().all(is_plain)) {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{}: the path of a private server's folder may have letters, digits and ._-+=@ only; choose another folder",
            folder.display()
        ))),
    }
}

/// The folder's lock, which goes with the process that has it.
fn locked(folder: &Path) -> io::Result<File> {
    let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
    if uring::space::try_lock(&lock)? {
        return Ok(lock);
    }
    Err(io::Error::other(format!(
        "{}: another process has the server of this folder; wait for its end, or name another folder",
        folder.display()
    )))
}

/// Takes the files of a folder and of those below out of the page cache.
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

/// Makes a file or folder that account's, where there is one.
pub(crate) fn own(path: &Path, account: Option<(u32, u32)>) -> io::Result<()> {
    account.map_or(Ok(()), |(uid, gid)| chown(path, Some(uid), Some(gid)))
}

/// The account for a server where this is root's process: the first of these that there is.
pub(crate) fn account(names: &[&str]) -> io::Result<Option<(u32, u32)>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let all = fs::read_to_string("/etc/passwd")?;
    let of = |name: &str| {
        let line = all.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.next()?))
    };
    let found = names.iter().find_map(|name| of(name));
    let missing = || io::Error::other(format!("root needs a user {} to start a server as", names.join(" or ")));
    found.map(Some).ok_or_else(missing)
}

/// The reason in what a program of PostgreSQL's wrote: its first error, without what stands before
/// it; where none is marked, its last line.
fn reason(said: &str) -> Option<&str> {
    let marked = |line: &str| ["FATAL:", "PANIC:", "ERROR:", "error:"].iter().find_map(|mark| line.find(mark));
    let error = said.lines().find_map(|line| Some(&line[marked(line)?..]));
    error.or_else(|| said.lines().rfind(|line| !line.trim().is_empty())).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

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
