//! `cargo xtask bench api`: the cost of administration by REST with many volumes and policies, and
//! its effect on the data path. The client is `api.py` in this folder.

use super::{Folder, load_average, need, release_build};
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The tests' NBD client, followed by the client of this bench.
const CLIENT: &str =
    concat!(include_str!("../../../crates/cli/tests/end_to_end/nbd_client.py"), include_str!("api.py"));

/// The options of `bench api`.
#[derive(clap::Args)]
pub struct Api {
    /// Where the pool is made: a folder that does not exist; on tmpfs the disk is not what is
    /// measured
    #[arg(long, default_value = "/dev/shm/seawall-bench-api")]
    folder: PathBuf,
    /// Volumes, each under a policy
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    volumes: u32,
    /// Policies
    #[arg(long, default_value_t = 11_999, value_parser = clap::value_parser!(u32).range(200..=11_999))]
    policies: u32,
    /// Workloads of the pool that is started
    #[arg(long, default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(200..=40_000))]
    workloads: u32,
    /// How often each is measured
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=10_000))]
    rounds: u32,
    /// Measure this program, and do not build one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// A server with a pool, and what its client needs.
struct Server {
    child: Child,
    port: String,
    password: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Api {
    /// Measures and prints the table.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        need(&["python3", "fio"])?;
        let given = self.program.as_ref().map(|path| path.canonicalize().with_context(|| path.display().to_string()));
        let program = given.unwrap_or_else(release_build)?;
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&self.folder)?;
        let pool = Pool { program: &program, folder: &folder.0 };
        let rounds = self.rounds.to_string();
        let server = pool.serve("pool")?;
        pool.ask(&server, &["seed", &self.volumes.to_string(), &self.policies.to_string()])?;
        println!("{} volumes, {} policies", self.volumes, self.policies);
        println!("lists:  {}", pool.ask(&server, &["lists", &rounds])?);
        let (before, began) = (data_thread(&server)?, Watch::start());
        let polled = pool.ask(&server, &["poll", "15"])?;
        let share = 100.0 * (data_thread(&server)? - before) / began.elapsed().as_secs_f64();
        println!("poll:   {polled}, {share:.3} % of the data thread's time");
        pool.shell(&[
            "vserver create probe",
            "volume create probe -vserver probe -size 16MiB",
            "lun create /vol/probe/lun1 -vserver probe -size 16MiB",
            "volume create load -vserver probe -size 64MiB",
            "lun create /vol/load/lun1 -vserver probe -size 64MiB",
            "qos policy-group create probe -vserver probe -max-throughput 1IOPS -is-shared false",
            "volume modify probe -vserver probe -qos-policy-group probe",
        ])?;
        let alone = pool.load(8)?.rate()?;
        let load = pool.load(600)?;
        let socket = pool.socket();
        let effect = pool.ask(&server, &["effect", &socket, "probe:/vol/probe/lun1", &rounds])?;
        let beside = load.stopped()?;
        println!(
            "effect: {effect}, beside {beside:.0} IOPS of fio, {:.0} % of its {alone:.0} alone",
            100.0 * beside / alone
        );
        drop(server);
        let server = pool.serve("large")?;
        pool.ask(&server, &["seed", &self.workloads.to_string(), &self.policies.to_string()])?;
        drop(server);
        let watch = Watch::start();
        let server = pool.serve("large")?;
        println!("start:  {} workloads in {:.2} s", self.workloads, watch.elapsed().as_secs_f64());
        drop(server);
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }
}

struct Pool<'a> {
    program: &'a Path,
    folder: &'a Path,
}

impl Pool<'_> {
    fn socket(&self) -> String {
        self.folder.join("nbd.sock").display().to_string()
    }

    fn seawall(&self) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.folder).stdin(Stdio::null());
        command
    }

    /// Serves a pool of that name until it is dropped; returns when the server answers.
    fn serve(&self, name: &str) -> Result<Server> {
        let mut command = self.seawall();
        command.args(["serve", "--pool", name, "--create", "--rest", "127.0.0.1:0", "--listen"]);
        let mut child = command.arg(format!("unix:{}", self.socket())).stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().context("its output")?);
        let (mut server, mut port) = (Server { child, port: String::new(), password: String::new() }, None);
        for line in said.lines() {
            let line = line?;
            if line.starts_with("REST: https://") {
                port = line.trim_end_matches("/api").rsplit(':').next().map(str::to_owned);
            }
            if line.starts_with("commands: ") {
                break;
            }
        }
        server.port = port.context("the server did not say where REST is")?;
        let _ = self.seawall().args(["user", "delete", "admin", "--pool", name]).stderr(Stdio::null()).status()?;
        let added = self.seawall().args(["user", "add", "admin", "--pool", name]).output()?;
        let text = String::from_utf8_lossy(&added.stdout).trim().to_owned();
        server.password = text.rsplit(' ').next().unwrap_or_default().to_owned();
        Ok(server)
    }

    fn shell(&self, lines: &[&str]) -> Result<()> {
        let mut command = self.seawall();
        command.args(["shell", "--pool", "pool"]).stdout(Stdio::null());
        lines.iter().for_each(|line| {
            command.args(["-c", line]);
        });
        if command.status()?.success() { Ok(()) } else { bail!("a command was refused; see above") }
    }

    /// The output of a part of the client.
    fn ask(&self, server: &Server, part: &[&str]) -> Result<String> {
        let mut command = Command::new("python3");
        command.args(["-c", CLIENT, part[0], &server.port, &server.password]).args(&part[1..]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("python3")?;
        if !output.status.success() {
            bail!("the client's part {}: {}", part[0], output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Has fio read a LUN at depth 32.
    fn load(&self, seconds: u32) -> Result<Load> {
        let mut command = Command::new("fio");
        command.args(["--name=load", "--ioengine=nbd", "--rw=randread", "--bs=4k", "--iodepth=32", "--size=64m"]);
        command.args(["--time_based", "--output-format=terse", &format!("--runtime={seconds}")]);
        let uri = format!("--uri=nbd+unix:///probe:%2Fvol%2Fload%2Flun1?socket={}", self.socket());
        Ok(Load(command.arg(uri).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("fio")?))
    }
}

/// A running fio.
struct Load(Child);

impl Load {
    /// Waits for its end; returns its rate in IOPS, field 8 of fio's terse output.
    fn rate(self) -> Result<f64> {
        let output = self.0.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate =
            text.lines().find(|line| line.starts_with("3;")).and_then(|line| line.split(';').nth(7)?.parse().ok());
        rate.with_context(|| format!("fio: {text}"))
    }

    /// Stops it, and returns its rate.
    fn stopped(self) -> Result<f64> {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().context("kill")?;
        self.rate()
    }
}

/// Processor time that the data thread has used, in seconds.
fn data_thread(server: &Server) -> Result<f64> {
    let tasks = PathBuf::from(format!("/proc/{}/task", server.child.id()));
    for task in std::fs::read_dir(&tasks)? {
        let task = task?.path();
        if std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "shard") {
            let spent = std::fs::read_to_string(task.join("schedstat"))?;
            let nanoseconds: f64 = spent.split_whitespace().next().unwrap_or_default().parse()?;
            return Ok(nanoseconds / 1e9);
        }
    }
    bail!("{}: there is no data thread", tasks.display())
}
