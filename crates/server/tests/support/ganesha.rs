//! nfs-ganesha, an independent NFS server, in a network namespace of its own with a port mapper:
//! both have fixed ports. This requires root.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The server in its namespace, which ends when this is dropped.
pub struct Ganesha {
    child: Child,
    folder: TempDir,
}

/// The script that starts it, also for the bench.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/support/ganesha.sh");

/// A network namespace, mounts and processes of its own.
pub const OWN: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Whether this process may create a network namespace.
pub fn may_have_a_network() -> bool {
    let may = Command::new("unshare").args(OWN).arg("true").output();
    may.is_ok_and(|may| may.status.success())
}

impl Ganesha {
    /// Starts it on an empty folder; it answers soon. An error is the reason why that is
    /// impossible.
    pub fn start(folder: TempDir) -> Result<Ganesha, &'static str> {
        if !may_have_a_network() {
            return Err("a network of one's own takes root");
        }
        if !Path::new("/usr/share/doc/nfs-ganesha-vfs").exists() {
            return Err("nfs-ganesha-vfs is not installed");
        }
        let mut command = Command::new("sh");
        command.arg(SCRIPT).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Ganesha { child: command.spawn().unwrap(), folder })
    }

    /// Its export, which has the same path.
    pub fn export(&self) -> PathBuf {
        self.folder.path().join("export")
    }

    /// Its output, if it has ended.
    pub fn ended(&mut self) -> Option<String> {
        let is_over = self.child.try_wait().is_ok_and(|status| status.is_some());
        is_over.then(|| std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default())
    }

    /// A program in the server's network namespace.
    pub fn inside(&self, program: impl AsRef<Path>) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--net=/proc/{}/ns/net", self.child.id())).arg(program.as_ref());
        inside
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
