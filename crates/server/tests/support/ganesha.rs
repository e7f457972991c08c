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

/// What runs in the network: its loopback, a port mapper with a `/run` of its own, the server.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs none /run
mkdir /run/rpcbind
ip link set lo up
rpcbind -w -f &
until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do :; done
exec ganesha.nfsd -F -f "$1/ganesha.conf" -p "$1/pid" -L "$1/log" -N NIV_WARN
"#;

/// A network, mounts and processes of one's own.
pub const OWN: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Whether this process may have a network of its own.
pub fn may_have_a_network() -> bool {
    let may = Command::new("unshare").args(["--net", "--mount", "true"]).output();
    may.is_ok_and(|may| may.status.success())
}

impl Ganesha {
    /// Starts it on an empty folder; it answers soon. An error is why it cannot be.
    pub fn start(folder: TempDir) -> Result<Ganesha, &'static str> {
        if !may_have_a_network() {
            return Err("a network of one's own takes root");
        }
        let plugins = find_plugins().ok_or("nfs-ganesha-vfs is not installed")?;
        for name in ["export", "recovery"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let (export, recovery) = (folder.path().join("export"), folder.path().join("recovery"));
        let configuration = format!(
            r#"
NFS_CORE_PARAM {{
    Protocols = 3, 4;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Mnt_Port = 20048;
    Plugins_Dir = "{}";
}}
NFSV4 {{ RecoveryRoot = "{}"; Graceless = true; }}
EXPORT {{
    Export_Id = 1;
    Path = "{}";
    Pseudo = "/export";
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    Protocols = 3, 4;
    Transports = TCP;
    FSAL {{ Name = VFS; }}
}}
"#,
            plugins.display(),
            recovery.display(),
            export.display()
        );
        std::fs::write(folder.path().join("ganesha.conf"), configuration).unwrap();
        let mut command = Command::new("unshare");
        command.args(OWN).args(["sh", "-c", SCRIPT, "sh"]).arg(folder.path());
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

/// Where the server has what it loads.
fn find_plugins() -> Option<PathBuf> {
    let all = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("ganesha"));
    all.into_iter().find(|folder| folder.join("libfsalvfs.so").is_file())
}
