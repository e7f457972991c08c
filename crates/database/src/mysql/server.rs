//! A MariaDB server of one's own in a folder: made, started and ended by this program, behind a
//! Unix socket in that folder and nowhere else. Its data stay there for the next start.
//!
//! Root starts it as the user `mysql`, or `nobody`.

use super::address::{MysqlAddress, Place};
use super::wire::Wire;
use super::{MysqlError, WORDS};
use crate::play::Whistle;
use crate::private::{account, own};
use block::Span;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The account and the database that are for the load.
const ACCOUNT: &str = "seawall";
const DATABASE: &str = "shop";
/// The folder for temporary tables: a server that begins removes those that are there, other
/// servers' too.
const TEMPORARY: &str = "tmp";
/// Where packages put programs that only root has on its path.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/usr/bin"];
/// How often a server that begins or ends is looked at, and how many times: for a minute.
const LOOK: Span = Span::from_millis(20);
const LOOKS: u32 = 3000;

/// A running server, which ends with this.
#[derive(Debug)]
pub struct PrivateMariadb {
    folder: PathBuf,
    account: Option<(u32, u32)>,
    options: Vec<String>,
    child: Mutex<Child>,
}

impl PrivateMariadb {
    /// The server's program; `None` where it is not installed.
    pub fn program() -> Option<PathBuf> {
        find("mariadb-install-db").and_then(|_| find("mariadbd"))
    }

    /// Starts the server whose data are in that folder, with these options; makes it first where
    /// there is none, with a database and an account for the load, which needs that password if
    /// there is one.
    ///
    /// # Errors
    /// No server is installed, or it does not start; its log says why.
    pub fn start(folder: &Path, options: &[&str], password: Option<&str>) -> io::Result<PrivateMariadb> {
        let program = PrivateMariadb::program().ok_or_else(|| io::Error::other("no MariaDB server is installed"))?;
        let (account, folder) = (account(&["mysql", "nobody"])?, folder.canonicalize()?);
        let is_new = !folder.join("data/mysql").exists();
        if is_new {
            make(&folder, account)?;
        }
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let child = Mutex::new(serve(&program, &folder, account, &options)?);
        let server = PrivateMariadb { folder, account, options, child };
        server.wait_until_ready()?;
        if is_new {
            let identified = password.map(|password| format!(" IDENTIFIED BY '{}'", password.replace('\'', "''")));
            server.run(&format!("CREATE DATABASE {DATABASE}"))?;
            server.run(&format!("CREATE USER {ACCOUNT}@localhost{}", identified.unwrap_or_default()))?;
            server.run(&format!("GRANT ALL ON {DATABASE}.* TO {ACCOUNT}@localhost"))?;
            // What connections wait for, of which the server tells those only who may know.
            server.run(&format!("GRANT PROCESS ON *.* TO {ACCOUNT}@localhost"))?;
        }
        Ok(server)
    }

    /// The URL of its database for the load.
    pub fn url(&self) -> String {
        format!("mysql://{ACCOUNT}@/{DATABASE}?socket={}", self.socket().display())
    }

    /// Does a statement as the server's own root, in the database for the load if it is there.
    ///
    /// # Errors
    /// The server refuses it, in its words.
    pub fn run(&self, sql: &str) -> io::Result<()> {
        let done = self.connect(DATABASE).or_else(|_| self.connect("mysql")).and_then(|mut wire| wire.batch(sql));
        done.map_err(io::Error::other)
    }

    /// Ends it as a crash does, and starts it again.
    ///
    /// # Errors
    /// It does not come back.
    pub fn crash(&self) -> io::Result<()> {
        let program = PrivateMariadb::program().ok_or_else(|| io::Error::other("no MariaDB server is installed"))?;
        {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            child.kill()?;
            child.wait()?;
            *child = serve(&program, &self.folder, self.account, &self.options)?;
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
            Whistle::default().wait(LOOK);
        }
        Err(io::Error::other("mariadbd: was not ready after a minute"))
    }

    fn has_ended(&self) -> io::Result<bool> {
        Ok(self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?.is_some())
    }
}

impl Drop for PrivateMariadb {
    fn drop(&mut self) {
        // It may have ended by itself; one that cannot be asked, or does not end, is ended.
        let looks = if self.run("SHUTDOWN").is_ok() { LOOKS } else { 1 };
        for _ in 0..looks {
            if !matches!(self.has_ended(), Ok(false)) {
                return;
            }
            Whistle::default().wait(LOOK);
        }
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill().and_then(|()| child.wait());
    }
}

/// Where a program is.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = SYSTEM.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Makes the folder of a server's data.
fn make(folder: &Path, account: Option<(u32, u32)>) -> io::Result<()> {
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

/// The last error in a log that is not the farewell.
fn why(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let error = log.lines().rfind(|line| line.contains("ERROR") && !line.ends_with("Aborting"));
    error.or_else(|| log.lines().last()).unwrap_or("ended without a word").to_owned()
}

fn serve(program: &Path, folder: &Path, account: Option<(u32, u32)>, options: &[String]) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(folder.join("log"))?;
    let mut command = as_account(program, folder, account);
    command.args(["--no-defaults", "--skip-networking"]);
    for (option, file) in [("datadir", "data"), ("socket", "socket"), ("pid-file", "pid")] {
        command.arg(format!("--{option}={}", folder.join(file).display()));
    }
    command.args(options).stdout(Stdio::null()).stderr(log).spawn()
}

fn as_account(program: &Path, folder: &Path, account: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = account {
        command.uid(uid).gid(gid);
    }
    // A folder that the other account may not enter would be refused.
    command.current_dir("/").env("TMPDIR", folder.join(TEMPORARY)).stdin(Stdio::null());
    command
}
