//! Hosts as child processes: this program's own `dgen` and `ramp`, held at a barrier before each run. Only children that
//! were started here are ever ended.

use crate::interrupt::Stop;
use crate::ramping::{ask_to_stop, barrier};
use anyhow::{Context as _, Result, anyhow, bail};
use ramp::Settings;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often it is looked whether a stop was asked for.
const LOOK: Duration = Duration::from_millis(200);

/// So many looks a host has to end once it was asked to: 10 s.
const PATIENCE: u32 = 50;

/// What the hosts are started with.
pub struct Hosts {
    /// Of each host: the exports of its data, and its journal's last.
    pub exports: Vec<Vec<String>>,
    /// Ends them.
    pub stop: Stop,
}

/// How well the hosts of a ramp kept together, the worst of its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// Farthest clock from this process's.
    pub offset_us: f64,
    /// To within what that is known: half of the way there and back.
    pub error_us: f64,
    /// From the first host that was let go to the last.
    pub spread_us: f64,
}

impl Hosts {
    /// Fills every export.
    pub fn fill(&self, folder: &Path, seed: u64) -> Result<()> {
        let mut words: Vec<String> = ["dgen", "--quiet", "--pctfull", "100", "--seed"].map(str::to_owned).into();
        words.push(seed.to_string());
        for exports in &self.exports {
            let data = &exports[..exports.len() - 1];
            words.extend(data.iter().flat_map(|export| ["--device".to_owned(), export.clone()]));
        }
        let mut child = Started::new(&words, folder, "fill")?;
        loop {
            match child.next(LOOK)? {
                Said::Nothing if self.stop.is_asked() => bail!("stopped while the volumes were being filled"),
                Said::End => break,
                _ => {}
            }
        }
        child.end()
    }

    /// Starts every host's ramp with its outputs in its folder, and waits until all stand at their barriers.
    pub fn ready(&self, folders: Vec<PathBuf>, ramps: &[Settings]) -> Result<Ready> {
        let start = |((ramp, exports), folder): ((&Settings, &Vec<String>), &PathBuf)| {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            Started::new(&words(ramp, exports, folder), folder, &ramp.system)
        };
        let hosts: Vec<Started> = ramps.iter().zip(&self.exports).zip(&folders).map(start).collect::<Result<_>>()?;
        let mut ready = Ready { hosts, folders, runs: ramps[0].ladder.runs, played: 0 };
        let waited = ready.hosts.iter_mut().try_for_each(|host| self.until_ready(host));
        if waited.is_err() {
            ready.wind_down();
        }
        self.or_stopped(waited)?;
        Ok(ready)
    }

    /// Plays the next run of hosts that were let go, to its end.
    pub fn run(&self, ready: &mut Ready) -> Result<()> {
        ready.played += 1;
        let last = ready.played == ready.runs;
        let over = ready
            .hosts
            .iter_mut()
            .try_for_each(|host| if last { self.until_end(host) } else { self.until_ready(host) });
        self.or_stopped(over)
    }

    fn until_end(&self, host: &mut Started) -> Result<()> {
        while !matches!(self.said(host)?, Said::End) {}
        Ok(())
    }

    fn until_ready(&self, host: &mut Started) -> Result<()> {
        loop {
            match self.said(host)? {
                Said::Line(line) if line.starts_with(barrier::READY) => return Ok(()),
                Said::End => return Err(host.end().err().unwrap_or_else(|| anyhow!("{}: ended too early", host.name))),
                _ => {}
            }
        }
    }

    /// The next thing that a host says, unless a stop was asked for.
    fn said(&self, host: &mut Started) -> Result<Said> {
        if self.stop.is_asked() {
            return Err(stopped());
        }
        host.next(LOOK)
    }

    /// A host that was told to stop at the same moment may have said so first.
    fn or_stopped(&self, ended: Result<()>) -> Result<()> {
        if self.stop.is_asked() { Err(stopped()) } else { ended }
    }
}

fn stopped() -> anyhow::Error {
    anyhow!("stopped by hand")
}

/// The hosts of one ramp, between two runs.
pub struct Ready {
    hosts: Vec<Started>,
    /// Where each writes what it measures.
    pub folders: Vec<PathBuf>,
    /// How many runs they have.
    pub runs: u32,
    played: u32,
}

impl Ready {
    /// Reads the hosts' clocks, then lets all go; how well they kept together.
    pub fn let_go(&mut self) -> Result<Clocks> {
        let mut clocks = Clocks::default();
        for host in self.hosts.iter_mut() {
            let asked = barrier::unix_ns();
            host.say(barrier::CLOCK)?;
            let said = loop {
                match host.next(LOOK)? {
                    Said::Line(line) => match line.strip_prefix(barrier::TIME) {
                        Some(time) => {
                            break time.trim().parse::<u64>().with_context(|| format!("{}: {line}", host.name))?;
                        }
                        None => continue,
                    },
                    Said::End => {
                        return Err(host.end().err().unwrap_or_else(|| anyhow!("{}: ended too early", host.name)));
                    }
                    Said::Nothing => {}
                }
            };
            let answered = barrier::unix_ns();
            let half = answered.saturating_sub(asked) as f64 / 2.0;
            let offset = said as f64 - (asked as f64 + half);
            clocks.offset_us = clocks.offset_us.max(offset.abs() / 1e3);
            clocks.error_us = clocks.error_us.max(half / 1e3);
        }
        let from = barrier::unix_ns();
        self.hosts.iter_mut().try_for_each(|host| host.say(barrier::GO))?;
        clocks.spread_us = barrier::unix_ns().saturating_sub(from) as f64 / 1e3;
        Ok(clocks)
    }

    /// The end of hosts that played all their runs.
    pub fn end(&mut self) -> Result<()> {
        self.hosts.iter_mut().try_for_each(Started::end)
    }

    /// Asks every host to end and waits for it; who does not within [`PATIENCE`] looks is ended without being asked. Each
    /// keeps what it measured.
    pub fn wind_down(&mut self) {
        for (host, folder) in self.hosts.iter_mut().zip(&self.folders) {
            // One that waits at the barrier ends with what it listens to, one in a run when it finds the file.
            host.stdin = None;
            let _ = ask_to_stop(folder);
        }
        for host in &mut self.hosts {
            let mut looks = 0;
            while looks < PATIENCE {
                match host.next(LOOK) {
                    Ok(Said::End) | Err(_) => break,
                    Ok(Said::Nothing) => looks += 1,
                    Ok(Said::Line(_)) => {}
                }
            }
            if looks < PATIENCE {
                let _ = host.child.wait();
            }
        }
    }
}

/// The command line of a host's ramp.
fn words(ramp: &Settings, exports: &[String], folder: &Path) -> Vec<String> {
    let mut words: Vec<String> = ["ramp", "--barrier", "--quiet", "--disable-warmup"].map(str::to_owned).into();
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    option("miniops", ramp.ladder.min.to_string());
    option("maxiops", ramp.ladder.max.to_string());
    option("numruns", ramp.ladder.runs.to_string());
    option("runtime", format!("{}ms", ramp.runtime.as_nanos() / 1_000_000));
    option("cycle", format!("{}ms", ramp.constants.cycle.as_nanos() / 1_000_000));
    option("writers", ramp.constants.writers.to_string());
    option("seed", ramp.seed.to_string());
    option("output", folder.display().to_string());
    option("results", folder.join(RESULTS).display().to_string());
    option("system", ramp.system.clone());
    if let [data @ .., journal] = exports {
        data.iter().for_each(|export| option("device", export.clone()));
        option("wijfile", journal.clone());
    }
    option("comment", ramp.comment.clone());
    words
}

/// Where in its folder a host keeps its runs whole.
pub const RESULTS: &str = "results.sqlite";

/// What a host says.
enum Said {
    Line(String),
    Nothing,
    End,
}

/// A child. It is ended when this goes.
struct Started {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What it complains of.
    complaints: PathBuf,
}

impl Started {
    fn new(words: &[String], folder: &Path, name: &str) -> Result<Started> {
        let complaints = folder.join(format!("{name}.log"));
        let log = File::create(&complaints).with_context(|| complaints.display().to_string())?;
        let mut child = Command::new(std::env::current_exe().context("this program's own file")?)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C is for this process, which asks its hosts to end one after the other.
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = channel();
        if let Some(stdout) = stdout {
            // Ends with the child's output.
            std::thread::Builder::new().name(name.into()).spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            })?;
        }
        Ok(Started { name: name.into(), child, stdin, lines, complaints })
    }

    fn next(&mut self, patience: Duration) -> Result<Said> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Ok(Said::Line(line)),
            Err(RecvTimeoutError::Timeout) => Ok(Said::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Said::End),
        }
    }

    fn say(&mut self, word: &str) -> Result<()> {
        let Some(stdin) = &mut self.stdin else { bail!("{}: has no ear", self.name) };
        writeln!(stdin, "{word}").and_then(|()| stdin.flush()).with_context(|| format!("{}: is gone", self.name))
    }

    /// Its end: a verdict either way is well, anything else an error with what it complained of last.
    fn end(&mut self) -> Result<()> {
        self.stdin = None;
        let status = self.child.wait().with_context(|| self.name.clone())?;
        if matches!(status.code(), Some(0 | 1)) {
            return Ok(());
        }
        let said = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        let last = said.lines().last().unwrap_or("it said nothing").trim_start_matches("seawall: ").to_owned();
        // It ran to its end and saw too little: the rows say so themselves.
        if last.starts_with("cannot say") {
            return Ok(());
        }
        bail!("{}: {last}", self.name)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
