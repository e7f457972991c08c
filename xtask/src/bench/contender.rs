//! The servers of a comparison, started with data.

use super::served::Served;
use super::{line_of, succeed};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// nbdkit with its memory plugin.
pub(super) const MEMORY: &str = "nbdkit memory";

/// A competing server with a file.
pub(super) struct Contender {
    pub(super) served: Served,
    pub(super) uri: String,
    /// The command that started it, for the report.
    pub(super) line: String,
}

impl Contender {
    /// nbdkit's file plugin or qemu-nbd on `data`, or nbdkit's memory plugin with a copy of it.
    pub(super) fn rival(folder: &Path, name: &str, data: &Path) -> Result<Contender> {
        let stem = data.file_name().unwrap_or_default().to_string_lossy();
        let socket = folder.join(format!("{}-{stem}.sock", name.replace(' ', "-")));
        if socket.exists() {
            std::fs::remove_file(&socket)?;
        }
        let mut command = Command::new(name.split(' ').next().unwrap_or(name));
        match name {
            MEMORY => command.arg("-f").arg("-U").arg(&socket).arg("memory").arg(data.metadata()?.len().to_string()),
            "nbdkit" => command.arg("-f").arg("-U").arg(&socket).arg("file").arg(data),
            _ => {
                command.args(["-t", "-e", "8", "--cache=none", "--aio=native", "--discard=unmap", "-f", "raw", "-k"]);
                command.arg(&socket).arg(data)
            }
        };
        let line = line_of(&command);
        let served = Served::start(command, &socket)?;
        let uri = format!("nbd+unix:///?socket={}", socket.display());
        if name == MEMORY {
            succeed(Command::new("nbdcopy").arg(data).arg(&uri))?;
        }
        Ok(Contender { served, uri, line })
    }
}

/// Our server, and how to give it commands.
pub(super) struct Ours {
    pub(super) served: Served,
    seawall: PathBuf,
    pool: PathBuf,
    /// The command that started it, for the report.
    pub(super) line: String,
}

/// A ceiling that no machine reaches, so that the gate counts but never holds back.
const NEVER_REACHED: &str = "qos policy-group create never -vserver svm01 -max-throughput 100000000IOPS,1000000MB/s";

/// A volume with room for everything that is measured; it is thin-provisioned.
const VOLUME: &str = "volume create -vserver svm01 -volume vol1 -size 1TB";

impl Ours {
    /// Starts a server with that configuration on a new pool with these settings, with a volume
    /// under a ceiling that is never reached.
    pub(super) fn start(seawall: &Path, pool: &Path, settings: &str, config: &str) -> Result<Ours> {
        std::fs::create_dir(pool)?;
        std::fs::write(pool.join("seawall.toml"), settings)?;
        let mut command = Command::new(seawall);
        command.arg("serve").arg("--pool").arg(pool).arg("--create");
        command.arg("--listen").arg(format!("unix:{}", pool.join("nbd.sock").display()));
        if !config.is_empty() {
            let file = pool.with_extension("toml");
            std::fs::write(&file, config)?;
            command.arg("--config").arg(file);
        }
        let settings = format!("{settings}{config}").trim().replace('\n', ", ");
        let line = format!("{}\n          ({settings}; {NEVER_REACHED})", line_of(&command));
        // The control socket opens last, so the server is ready when it answers.
        let served = Served::start(command, &pool.join("control.sock"))?;
        let ours = Ours { served, seawall: seawall.into(), pool: pool.into(), line };
        ours.order("vserver create -vserver svm01")?;
        ours.order(VOLUME)?;
        ours.order(NEVER_REACHED)?;
        ours.order("volume modify -vserver svm01 -volume vol1 -qos-policy-group never")?;
        Ok(ours)
    }

    pub(super) fn make_lun(&self, lun: &str, size: u64) -> Result<()> {
        self.order(&format!("lun create -vserver svm01 -path /vol/vol1/{lun} -size {size}"))
    }

    pub(super) fn delete_lun(&self, lun: &str) -> Result<()> {
        self.order(&format!("lun delete -vserver svm01 -path /vol/vol1/{lun}"))
    }

    pub(super) fn uri(&self, lun: &str) -> String {
        let socket = self.socket();
        format!("nbd+unix:///svm01:%2Fvol%2Fvol1%2F{lun}?socket={}", socket.display())
    }

    /// The socket that it listens on.
    pub(super) fn socket(&self) -> PathBuf {
        self.pool.join("nbd.sock")
    }

    /// Gives the server a command.
    pub(super) fn order(&self, order: &str) -> Result<()> {
        succeed(Command::new(&self.seawall).arg("shell").arg("--pool").arg(&self.pool).arg("-c").arg(order))
    }
}
