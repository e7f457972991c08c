//! A storage server for one test.

use crate::running::{Ended, Running, run, seawall};
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// `seawall serve` on a pool in a test's folder, listening on a Unix socket and on a port that the
/// system chose.
pub struct Server {
    running: Running,
    folder: PathBuf,
    /// `127.0.0.1:PORT`
    pub tcp: String,
    /// What its I/O runs on, as it says.
    pub backend: String,
}

/// The export of the LUN that [`Server::make_lun`] makes.
pub const LUN: &str = "/vol/vol1/lun1";

impl Server {
    /// Starts a server on the pool of that folder, and makes the pool if there is none.
    pub fn start(scratch: &Scratch) -> Server {
        Server::start_with(scratch, &[])
    }

    /// The same on a pool of another name.
    pub fn start_on(scratch: &Scratch, pool: &str) -> Server {
        Server::start_on_with(scratch, pool, &[])
    }

    /// The same with more arguments.
    pub fn start_with(scratch: &Scratch, arguments: &[&str]) -> Server {
        Server::start_on_with(scratch, "pool", arguments)
    }

    /// The same as `within` starts a command: in a control group, say.
    pub fn start_within(scratch: &Scratch, arguments: &[&str], within: impl Fn(&Command) -> Command) -> Server {
        Server::listening(scratch, within(&command(scratch, "pool", arguments)))
    }

    fn start_on_with(scratch: &Scratch, pool: &str, arguments: &[&str]) -> Server {
        Server::listening(scratch, command(scratch, pool, arguments))
    }

    fn listening(scratch: &Scratch, command: Command) -> Server {
        let mut running = Running::start(command);
        running.wait_for("listening on unix:");
        // What follows the address is whether it is encrypted.
        let tcp = running.wait_for("listening on 127.0.0.1:").replace("listening on ", "");
        let tcp = tcp.split(' ').next().unwrap_or_default().to_owned();
        let backend = running.wait_for("I/O: ").replace("I/O: ", "");
        running.wait_for("commands: ");
        Server { running, folder: scratch.path().into(), tcp, backend }
    }

    /// Makes `vol1` with the LUN [`LUN`] of `size` (`64MiB`) in it, in a new SVM `svm01`.
    pub fn make_lun(&self, size: &str) {
        self.tell(&[
            "vserver create -vserver svm01",
            &format!("volume create -vserver svm01 -volume vol1 -size {size}"),
            &format!("lun create -vserver svm01 -path {LUN} -size {size}"),
        ]);
    }

    /// Gives it commands, all of which it must take; returns its answers.
    pub fn tell(&self, lines: &[&str]) -> String {
        let ended = self.ask(lines);
        assert_eq!(ended.code, Some(0), "{lines:?}: {}", ended.err);
        ended.out
    }

    /// Gives it commands.
    pub fn ask(&self, lines: &[&str]) -> Ended {
        let mut command = seawall(&self.folder);
        command.args(["shell", "--pool", "pool"]);
        lines.iter().for_each(|line| {
            command.args(["-c", line]);
        });
        run(&mut command)
    }

    /// Where the Unix socket is.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("nbd.sock")
    }

    /// The URI of an export over the Unix socket.
    pub fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{}?socket={}", in_uri(export), self.socket().display())
    }

    /// The URI of an export over TCP.
    pub fn tcp_uri(&self, export: &str) -> String {
        format!("nbd://{}/{}", self.tcp, in_uri(export))
    }

    /// `127.0.0.1:PORT` of NFS, where it was started with `--nfs 127.0.0.1:0`.
    pub fn nfs(&self) -> String {
        let line = self.running.seen.iter().find(|line| line.ends_with("(NFS)")).expect("it serves NFS");
        line.replace("listening on ", "").replace(" (NFS)", "")
    }

    /// The process.
    pub fn running(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Kills it as a power cut would: nothing is answered, nothing cleaned up.
    pub fn kill(self) {
        self.running.signal("KILL");
        self.running.end();
    }

    /// Asks it to stop, and waits: how it ended and what it had said.
    pub fn stop(self) -> (ExitStatus, Vec<String>) {
        self.running.signal("TERM");
        self.running.end()
    }
}

fn command(scratch: &Scratch, pool: &str, arguments: &[&str]) -> Command {
    let mut command = seawall(scratch.path());
    command.args(["serve", "--pool", pool, "--create", "--listen", "unix:nbd.sock", "--listen", "127.0.0.1:0"]);
    command.args(arguments);
    command
}

/// An export's name begins with a slash, which a URI needs written as such: what follows `///` is
/// the name.
fn in_uri(export: &str) -> String {
    export.replacen('/', "%2F", usize::from(export.starts_with('/')))
}

/// The bytes of a file.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file's text.
pub fn read_text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Bytes that repeat nowhere soon, so that a block in the wrong place shows: each eight hold their
/// own offset, mixed.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64 / 8).flat_map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}
