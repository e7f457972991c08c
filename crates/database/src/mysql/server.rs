//! A private MariaDB server in a folder: created, started and stopped by this program, and
//! reachable only by a Unix socket in that folder. Its data stays there for the next start.
//!
//! If this program runs as root, the server runs as `mysql` or `nobody`.

use super::address::{MysqlAddress, Place};
use super::wire::Wire;
use super::{MysqlError, WORDS};
use crate::play::StopSignal;
use crate::private::{Account, account, own};
use block::Span;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The account and the database of the load.
const ACCOUNT: &str = "seawall";
const DATABASE: &str = "shop";
/// A separate folder for temporary tables, because a starting server removes all that it finds,
/// including those of other servers.
const TEMPORARY: &str = "tmp";
/// Where packages install programs that are only on root's path.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/usr/bin"];
/// How often a server that is starting or stopping is polled, and how many times: for a minute.
const LOOK: Span = Span::from_millis(20);
const LOOKS: u32 = 3000;

/// A running server, which is stopped when this is dropped.
#[derive(Debug)]
pub struct PrivateMariadb {
    folder: PathBuf,
    account: Option<Account>,
    options: Vec<String>,
    child: Mutex<Child>,
}

impl PrivateMariadb {
    /// The server's program; `None` if it is not installed.
    pub fn program() -> Option<PathBuf> {
        find("mariadb-install-db").and_then(|_| find("mariadbd"))
    }

    /// Starts the server whose data is in that folder, with these options. If there is none,
    /// creates it first, with a database and an account for the load, protected by `password` if
    /// given.
    ///
    /// # Errors
    /// No server is installed, or it does not start; its log says why.
    pub fn start(folder: &Path, options: &[&str], password: Option<&str>) -> io::Result<PrivateMariadb> {
        let program = PrivateMariadb::program().ok_or_else(|| io::Error::other("no MariaDB server is installed"))?;
        let (account, folder) = (account(&["mysql", "nobody"])?, folder.canonicalize()?);
        let is_new = !folder.join("data/mysql").exists();
        if is_new {
            make(&folder, account.as_ref())?;
        }
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let child = Mutex::new(serve(&program, &folder, account.as_ref(), &options)?);
        let server = PrivateMariadb { folder, account, options, child };
        server.wait_until_ready()?;
        if is_new {
            let identified = password.map(|password| format!(" IDENTIFIED BY '{}'", password.replace('\'', "''")));
            server.run(&format!("CREATE DATABASE {DATABASE}"))?;
            server.run(&format!("CREATE USER {ACCOUNT}@localhost{}", identified.unwrap_or_default()))?;
            server.run(&format!("GRANT ALL ON {DATABASE}.* TO {ACCOUNT}@localhost"))?;
            // Lets the account see what connections wait for.
            server.run(&format!("GRANT PROCESS ON *.* TO {ACCOUNT}@localhost"))?;
        }
        Ok(server)
    }

    /// The URL of its database for the load.
    pub fn url(&self) -> String {
        format!("mysql://{ACCOUNT}@/{DATABASE}?socket={}", self.socket().display())
    }

    /// Runs a statement as the server's own root, in the load's database if it exists.
    ///
    /// # Errors
    /// The server's error.
    pub fn run(&self, sql: &str) -> io::Result<()> {
        let done = self.connect(DATABASE).or_else(|_| self.connect("mysql")).and_then(|mut wire| wire.batch(sql));
        done.map_err(io::Error::other)
    }

    /// Kills the server as in a crash, and starts it again.
    ///
    /// # Errors
    /// It does not start.
    pub fn crash(&self) -> io::Result<()> {
        let program = PrivateMariadb::program().ok_or_else(|| io::Error::other("no MariaDB server is installed"))?;
        {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            child.kill()?;
            child.wait()?;
            *child = serve(&program, &self.folder, self.account.as_ref(), &self.options)?;
        }
        self.wait_until_ready()
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    fn connect(&self, database: &str) -> Result<Wire, MysqlError> {
        let (place, user) = (Place::Socket(self.socket()), "root".to_owned());
        let address = MysqlAddress { place, user, database: database.to_owned(), password: None };
        Wire::connect(&address, &[WORDS], None)
    }

    fn wait_until_ready(&self) -> io::Result<()> {
        for _ in 0..LOOKS {
            if self.has_ended()? {
                return Err(io::Error::other(format!("mariadbd: {}", why(&self.folder))));
            }
            if self.connect("mysql").is_ok() {
                return Ok(());
            }
            StopSignal::default().wait(LOOK);
        }
        Err(io::Error::other("mariadbd: was not ready after a minute"))
    }

    fn has_ended(&self) -> io::Result<bool> {
        Ok(self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?.is_some())
    }
}

impl Drop for PrivateMariadb {
    fn drop(&mut self) {
        // It may have stopped by itself. If it cannot be asked, or does not stop, it is killed.
        let looks = if self.run("SHUTDOWN").is_ok() { LOOKS } else { 1 };
        for _ in 0..looks {
            if !matches!(self.has_ended(), Ok(false)) {
                return;
            }
            StopSignal::default().wait(LOOK);
        }
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill().and_then(|()| child.wait());
    }
}

/// Finds a program.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = SYSTEM.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Creates the folder of a server's data.
fn make(folder: &Path, account: Option<&Account>) -> io::Result<()> {
    let temporary = folder.join(TEMPORARY);
    fs::create_dir_all(&temporary)?;
    own(&temporary, account)?;
    own(folder, account)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    let program = find("mariadb-install-db").ok_or_else(|| io::Error::other("no MariaDB server is installed"))?;
    let mut command = as_account(&program, folder, account);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", folder.join("data").display()));
    let log = File::create(folder.join("log"))?;
    let status = command.stdout(Stdio::null()).stderr(log).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("mariadb-install-db: {}", why(folder))))
}

/// The last error in a log, apart from the message on exit.
fn why(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let error = log.lines().rfind(|line| line.contains("ERROR") && !line.ends_with("Aborting"));
    error.or_else(|| log.lines().last()).unwrap_or("ended without a word").to_owned()
}

fn serve(program: &Path, folder: &Path, account: Option<&Account>, options: &[String]) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(folder.join("log"))?;
    let mut command = as_account(program, folder, account);
    command.args(["--no-defaults", "--skip-networking"]);
    for (option, file) in [("datadir", "data"), ("socket", "socket"), ("pid-file", "pid")] {
        command.arg(format!("--{option}={}", folder.join(file).display()));
    }
    command.args(options).stdout(Stdio::null()).stderr(log).spawn()
}

fn as_account(program: &Path, folder: &Path, account: Option<&Account>) -> Command {
    let mut command = Command::new(program);
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    // The server's account may not be able to enter the current folder.
    command.current_dir("/").env("TMPDIR", folder.join(TEMPORARY)).stdin(Stdio::null());
    command
}
