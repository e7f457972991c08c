//! Our server with volumes of one full LUN each, and how to give it commands.

use super::super::served::Served;
use super::super::{line_of, succeed};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pool being served.
pub struct Pool {
    _served: Served,
    seawall: PathBuf,
    folder: PathBuf,
    /// The command that started it, for the report.
    pub line: String,
}

impl Pool {
    /// Makes a pool with these settings, serves it, and fills a LUN of each volume from `data`.
    ///
    /// # Errors
    /// The server does not start or refuses a command.
    pub fn start(seawall: &Path, folder: PathBuf, settings: &str, volumes: &[&str], data: &Path) -> Result<Pool> {
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("seawall.toml"), settings)?;
        let mut command = Command::new(seawall);
        command.arg("serve").arg("--pool").arg(&folder).arg("--create");
        command.arg("--listen").arg(format!("unix:{}", folder.join("nbd.sock").display()));
        let line = format!("{} ({})", line_of(&command), settings.trim());
        // The control socket opens last, so the server is ready when it answers.
        let served = Served::start(command, &folder.join("control.sock"))?;
        let pool = Pool { _served: served, seawall: seawall.into(), folder, line };
        let size = data.metadata()?.len();
        pool.order(&["vserver create -vserver svm01"])?;
        for volume in volumes {
            pool.order(&[
                &format!("volume create -vserver svm01 -volume {volume} -size {size}"),
                &format!("lun create -vserver svm01 -path /vol/{volume}/lun1 -size {size}"),
            ])?;
            succeed(Command::new("nbdcopy").arg("--flush").arg(data).arg(pool.uri(volume)))?;
        }
        Ok(pool)
    }

    /// Gives it commands.
    ///
    /// # Errors
    /// It refuses one.
    pub fn order(&self, orders: &[&str]) -> Result<()> {
        let mut shell = Command::new(&self.seawall);
        shell.arg("shell").arg("--pool").arg(&self.folder);
        orders.iter().for_each(|order| {
            shell.arg("-c").arg(order);
        });
        succeed(&mut shell)
    }

    /// The URI of a volume's LUN.
    pub fn uri(&self, volume: &str) -> String {
        let socket = self.folder.join("nbd.sock");
        format!("nbd+unix:///svm01:%2Fvol%2F{volume}%2Flun1?socket={}", socket.display())
    }
}
