//! The files that are loaded, and our server with two of them.

use super::super::contender::Ours;
use super::super::succeed;
use super::Shape;
use anyhow::{Context as _, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What all tables share.
pub(super) struct Tools {
    pub(super) seawall: PathBuf,
    pub(super) folder: PathBuf,
    /// Length of every file, in bytes.
    pub(super) bytes: u64,
}

/// A file of an NFS server.
pub(super) struct Place {
    /// Its description, for the report.
    pub(super) what: &'static str,
    /// The server's port; `None` if a port mapper reports it.
    pub(super) port: Option<u16>,
    /// The exported folder, for version 3.
    pub(super) folder: String,
    pub(super) file: &'static str,
    /// The process whose network namespace contains the server, if it is not this one's.
    pub(super) inside: Option<u32>,
}

impl Place {
    /// The file's name for libnfs.
    pub(super) fn libnfs(&self, version: u32) -> String {
        let port = self.port.map_or_else(String::new, |port| format!("&nfsport={port}&mountport={port}"));
        // In version 4, one tree contains all exports.
        let folder = if version == 4 { "/export" } else { &self.folder };
        format!("nfs://127.0.0.1{folder}/{}?version={version}{port}", self.file)
    }

    /// A command that runs in the server's network namespace.
    pub(super) fn command(&self, program: &Path) -> Command {
        let Some(process) = self.inside else { return Command::new(program) };
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{process}/ns/net")).arg(program);
        command
    }
}

impl Tools {
    /// The command of our client; with zero seconds it ends after its first request. It may
    /// overwrite the file.
    pub(super) fn fio(&self, place: &Place, shape: Shape, seconds: u64) -> Command {
        let port = place.port.map_or_else(String::new, |port| format!(":{port}"));
        let url = format!("nfs://127.0.0.1{port}{}", place.folder);
        let mut command = place.command(&self.seawall);
        command.current_dir(&self.folder).args(["fio", "--name=bench", "--output-format=json", "--ioengine=nfs"]);
        command.arg(format!("--nfs_url={url}")).arg(format!("--filename={}", place.file));
        command.arg(format!("--rw={}", shape.load.pattern)).arg(format!("--bs={}", shape.load.block));
        command.arg(format!("--iodepth={}", shape.load.depth)).arg(format!("--size={}", self.bytes));
        command.arg("--norandommap");
        match seconds {
            0 => command.arg(format!("--io_size={}", shape.load.block)),
            _ => command.arg(format!("--runtime={seconds}")).arg("--time_based"),
        };
        if shape.commit_every > 0 {
            command.arg(format!("--fsync={}", shape.commit_every));
            command.arg(format!("--destroy-data={url}/{}?size={}", place.file, self.bytes));
        }
        command
    }
}

/// Our server on a new pool, with `config` and additional lines for `[server]`; `data` is in a LUN
/// and in a clients' file.
pub(super) fn serve(tools: &Tools, name: &str, config: &str, server: &str, data: &Path) -> Result<(Ours, [Place; 2])> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|any| any.local_addr()).context("a free port")?.port();
    let pool = tools.folder.join(format!("pool-{name}"));
    let config = format!("nfs = \"127.0.0.1:{port}\"\n{config}[server]\n{server}");
    let ours = Ours::start(&tools.seawall, &pool, "cache = \"page\"\n", &config)?;
    ours.make_lun("lun1", tools.bytes)?;
    succeed(Command::new("nbdcopy").arg("--flush").arg(data).arg(ours.uri("lun1")))?;
    let place = |what, file| Place { what, port: Some(port), folder: "/vol1".into(), file, inside: None };
    let places = [place("a LUN of seawall", "lun1"), place("a client's file of seawall", "made")];
    succeed(Command::new("nfs-cp").arg(data).arg(places[1].libnfs(3)))?;
    Ok((ours, places))
}
