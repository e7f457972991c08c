//! nfs-ganesha, an NFS server that somebody else wrote, in a network of its own, beside a port
//! mapper of its own: both have ports that a machine has once. That takes root.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The server, in its network. It ends when this is dropped.
pub struct Ganesha {
    child: Child,
    folder: TempDir,
}

/// What starts it, for the bench too.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/support/ganesha.sh");

/// A network, mounts and processes of one's own.
pub const OWN: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Whether this process may have a network of its own.
pub fn may_have_a_network() -> bool {
    let may = Command::new("unshare").args(OWN).arg("true").output();
    may.is_ok_and(|may| may.status.success())
}

impl Ganesha {
    /// Starts it on an empty folder; it answers soon. An error is why it cannot be.
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

    /// What it exports, by the same path.
    pub fn export(&self) -> PathBuf {
        self.folder.path().join("export")
    }

    /// Whether it has ended, and what it said.
    pub fn ended(&mut self) -> Option<String> {
        let is_over = self.child.try_wait().is_ok_and(|status| status.is_some());
        is_over.then(|| std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default())
    }

    /// A program in the server's network.
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
