//! Pools that were served, to be damaged, checked, repaired and served again.

use super::{BACKENDS, Client, LUN, Server, limits, open, settings};
use nbd::{Command, NbdRequest, Wishes};
use std::fs;
use std::path::{Path, PathBuf};
use store::{Pool, RepairSettings, Repaired, StoreError};
use tempfile::TempDir;

pub const BLOCK: usize = 64 << 10;

/// A pool that was served: two LUNs with the first four blocks of each written, and a snapshot.
/// Beside it, as `killed`, is the same pool before the server stopped and made a checkpoint.
pub fn served(server: Server) -> (TempDir, PathBuf) {
    let Server { mut control, socket, dir } = server;
    control.execute("lun create /vol/vol1/lun2 -size 64MiB").unwrap();
    for (export, byte) in [(LUN, 1), ("/vol/vol1/lun2", 2)] {
        let mut client = Client::connect(&socket, Wishes::plain(export));
        client.write(0, &[byte; 4 * BLOCK]).unwrap();
        client.call(NbdRequest::new(9, Command::Flush, 0, 0), &[]).unwrap();
    }
    copy(&dir.path().join("pool"), &dir.path().join("killed"));
    drop(control);
    let pool = dir.path().join("pool");
    (dir, pool)
}

/// Copies a folder while nothing is written to it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&from, &to),
            kind if kind.is_file() => drop(fs::copy(from, to).unwrap()),
            _ => {}
        }
    }
}

pub fn with_maps() -> (TempDir, PathBuf) {
    let mut server = Server::start(BACKENDS[0], limits());
    server.control.execute("volume snapshot create vol1 -snapshot s").unwrap();
    served(server)
}

pub fn troubles(pool: &Path) -> Vec<String> {
    store::check(pool).unwrap().troubles.iter().map(ToString::to_string).collect()
}

/// The first bytes of both LUNs' first blocks, from a new server.
pub fn read(dir: &TempDir, pool: &Path) -> [Vec<u8>; 2] {
    let socket = dir.path().join("again");
    let control = open(Pool::open(pool).unwrap(), &socket, limits(), settings(BACKENDS[0], &limits()));
    let read = [LUN, "/vol/vol1/lun2"].map(|export| {
        let mut client = Client::connect(&socket, Wishes::plain(export));
        (0..4).map(|block| client.read(block * BLOCK as u64, 1).unwrap()[0]).collect()
    });
    drop(control);
    read
}

pub fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// All files of a folder with their contents, to detect changes.
pub fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => found.extend(everything(&entry.path())),
            // SQLite's shared memory is written by readers too.
            false if entry.path().extension().is_some_and(|e| e == "db-shm") => {}
            false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

/// Repairs a pool and gives up the named objects.
pub fn mend(pool: &Path, copy: &Path, give_up: &[&str]) -> Result<Repaired, StoreError> {
    let give_up = give_up.iter().map(ToString::to_string).collect();
    store::repair(pool, &RepairSettings { copy: copy.into(), give_up, take_catalogue: false })
}
