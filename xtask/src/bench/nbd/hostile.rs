//! A client that reads 4 KiB at random from the page cache, alone and beside clients that request
//! more than they read, or request without end.
//!
//! Clients that do not read their replies should only delay themselves: the measured client may
//! lose at most a twentieth to them. Clients that request without end and do read are ordinary
//! ones: the measured client should get as much as each of them, if it requests as much. Its runs
//! alone and beside them alternate, and so does which comes first. A ratio is the median of the
//! ratios of neighbouring runs.

use super::super::contender::Ours;
use super::super::fio::Load;
use super::super::median;
use super::{load, make_data, succeed};
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes of the export.
const SIZE: u64 = 256 << 20;
/// The depths of the client that is measured.
const DEPTHS: [u32; 2] = [8, 32];
/// What the client keeps beside clients that do not read, as a part of its rate alone.
const KEPT: f64 = 0.95;
/// What the client gets beside clients that request without end, as a part of what each of them
/// gets: 21 clients do not share perfectly evenly.
const SHARE: f64 = 0.8;
/// Most memory that may remain beyond what there was before they came, in MiB.
const LEFT: f64 = 32.0;
/// How long after the others came or left a run begins: they should be measured at work, not while
/// connecting.
const SETTLE: Duration = Duration::from_millis(500);
/// How long to wait for memory to be returned.
const PATIENCE: Duration = Duration::from_secs(60);

/// A kind of client that must not harm others.
struct Kind {
    name: &'static str,
    connections: usize,
    /// Bytes of each read.
    length: u32,
    /// Number of reads of each; `None` without end.
    reads: Option<u64>,
    /// Whether they read the replies.
    listens: bool,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "100 that ask for 500 reads of 1 MiB and read nothing",
        connections: 100,
        length: 1 << 20,
        reads: Some(500),
        listens: false,
    },
    Kind {
        name: "20 that ask for 4 KiB without end and read nothing",
        connections: 20,
        length: 4096,
        reads: None,
        listens: false,
    },
    Kind {
        name: "20 that ask for 4 KiB without end and read all",
        connections: 20,
        length: 4096,
        reads: None,
        listens: true,
    },
];

/// Runs it; returns bounds met and missed.
pub(super) fn run(seawall: &Path, folder: &Path, settings: &str, runs: u32, seconds: u64) -> Result<(u32, u32)> {
    println!("\na client that reads 4 KiB at random from the page cache, alone and beside others");
    let ours = Ours::start(seawall, &folder.join("pool-hostile"), settings, "")?;
    println!("  ours:   {}", ours.line);
    let fill = folder.join("fill-hostile");
    make_data(&fill, SIZE >> 20)?;
    ours.make_lun("lun1", SIZE)?;
    succeed(Command::new("nbdcopy").arg("--flush").arg(&fill).arg(ours.uri("lun1")))?;
    let (mut met, mut missed) = (0, 0);
    let mut count = |held: bool| {
        met += u32::from(held);
        missed += u32::from(!held);
        if held { "met" } else { "MISSED" }
    };
    for kind in &KINDS {
        println!("\n  beside {}", kind.name);
        let before = anonymous(&ours)?;
        let mut most = before;
        for depth in DEPTHS {
            let measured = Measured::take(&ours, kind, depth, (runs, seconds), folder, &mut most)?;
            let (alone, beside, kept) = (measured.alone(), measured.beside(), measured.kept());
            let says = match kind.listens {
                false => format!("{:>5.1} % kept  ≥ 95 % {}", kept * 100.0, count(kept >= KEPT)),
                true => {
                    let share = measured.share();
                    let each = median(measured.runs.iter().map(|run| run.each));
                    format!("each of them {each:>7.0}, a share of {share:.2}  ≥ {SHARE} {}", count(share >= SHARE))
                }
            };
            println!("    depth {depth:>2}: alone {alone:>7.0} IOPS, beside them {beside:>7.0}; {says}");
        }
        let (left, after) = wait_for_memory(&ours, before)?;
        let word = count(left - before <= LEFT);
        println!("    memory: {before:.0} MiB, {most:.0} at most, {left:.0} within {after:.0} s of their end  {word}");
    }
    Ok((met, missed))
}

/// Runs of one client.
#[derive(Default)]
struct Measured {
    runs: Vec<Run>,
}

/// Two neighbouring runs.
struct Run {
    /// IOPS.
    alone: f64,
    beside: f64,
    /// Mean IOPS of each of the others.
    each: f64,
}

impl Measured {
    fn take(
        ours: &Ours,
        kind: &Kind,
        depth: u32,
        (runs, seconds): (u32, u64),
        folder: &Path,
        most: &mut f64,
    ) -> Result<Measured> {
        let load: Load = load("randread", "4k", depth);
        let mut measured = Measured::default();
        for number in 0..runs {
            let alone = || Ok::<f64, anyhow::Error>(load.run(&ours.uri("lun1"), seconds, folder)?.iops());
            // The second measurement may find the machine in another state, so the order alternates
            // too.
            let first = (number % 2 == 0).then(alone).transpose()?;
            let others = Others::come(kind, &ours.socket(), "svm01:/vol/vol1/lun1")?;
            std::thread::park_timeout(SETTLE);
            let (begun, watch) = (others.answered(kind), Watch::start());
            let beside = load.run(&ours.uri("lun1"), seconds, folder)?.iops();
            let answered = (others.answered(kind) - begun) as f64;
            let each = answered / watch.elapsed().as_secs_f64() / kind.connections as f64;
            *most = most.max(anonymous(ours)?);
            others.go();
            let alone = match first {
                Some(alone) => alone,
                None => {
                    std::thread::park_timeout(SETTLE);
                    alone()?
                }
            };
            measured.runs.push(Run { alone, beside, each });
        }
        Ok(measured)
    }

    fn alone(&self) -> f64 {
        median(self.runs.iter().map(|run| run.alone))
    }

    fn beside(&self) -> f64 {
        median(self.runs.iter().map(|run| run.beside))
    }

    fn kept(&self) -> f64 {
        median(self.runs.iter().map(|run| run.beside / run.alone))
    }

    /// What the client gets, as a part of what each of the others gets.
    fn share(&self) -> f64 {
        median(self.runs.iter().map(|run| run.beside / run.each))
    }
}

/// Connections that send requests, each with a thread that writes, and one that reads if it reads
/// at all.
struct Others {
    streams: Vec<UnixStream>,
    threads: Vec<JoinHandle<()>>,
    /// Bytes of replies that were read.
    taken: Arc<AtomicU64>,
}

impl Others {
    /// Connects them and starts their requests.
    fn come(kind: &Kind, socket: &Path, export: &str) -> Result<Others> {
        let mut others = Others { streams: Vec::new(), threads: Vec::new(), taken: Arc::default() };
        for number in 0..kind.connections as u64 {
            let stream = connect(socket, export)?;
            let (mut to, mut from) = (stream.try_clone()?, stream.try_clone()?);
            let (length, reads) = (kind.length, kind.reads);
            // A chunk is sent again and again, until the socket is shut down.
            let chunk: Vec<u8> = (0..reads.unwrap_or(512)).flat_map(|n| request(n, number + n * 7, length)).collect();
            others.threads.push(std::thread::spawn(move || while to.write_all(&chunk).is_ok() && reads.is_none() {}));
            if kind.listens {
                let taken = Arc::clone(&others.taken);
                others.threads.push(std::thread::spawn(move || {
                    let mut bytes = vec![0; 256 << 10];
                    while let Ok(got @ 1..) = from.read(&mut bytes) {
                        taken.fetch_add(got as u64, Ordering::Relaxed);
                    }
                }));
            }
            others.streams.push(stream);
        }
        Ok(others)
    }

    /// Replies that were read: simple ones, with a header and the data.
    fn answered(&self, kind: &Kind) -> u64 {
        self.taken.load(Ordering::Relaxed) / (16 + u64::from(kind.length))
    }

    fn go(self) {
        self.streams.iter().for_each(|stream| _ = stream.shutdown(Shutdown::Both));
        self.threads.into_iter().for_each(|thread| _ = thread.join());
    }
}

/// A read request of NBD; `block` counts reads of this length and wraps at the end of the export.
fn request(cookie: u64, block: u64, length: u32) -> Vec<u8> {
    let at = block * u64::from(length) % SIZE;
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0; 4], &cookie.to_be_bytes()].concat();
    [&head[..], &at.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// Connects and does the necessary part of the handshake: the new style, GO, without requesting
/// information.
fn connect(socket: &Path, export: &str) -> Result<UnixStream> {
    const ACK: u32 = 1;
    const ERROR: u32 = 1 << 31;
    let mut stream = UnixStream::connect(socket).with_context(|| socket.display().to_string())?;
    stream.read_exact(&mut [0; 18])?;
    let name = [&(export.len() as u32).to_be_bytes()[..], export.as_bytes(), &[0; 2]].concat();
    let go = [&b"IHAVEOPT"[..], &7_u32.to_be_bytes(), &(name.len() as u32).to_be_bytes(), &name].concat();
    stream.write_all(&[&3_u32.to_be_bytes()[..], &go].concat())?;
    loop {
        let mut head = [0; 20];
        stream.read_exact(&mut head)?;
        let [kind, len] = [12, 16].map(|at| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        stream.read_exact(&mut vec![0; len as usize])?;
        match kind {
            ACK => return Ok(stream),
            ERROR.. => bail!("the server refuses {export}: reply {kind:#x}"),
            _ => {}
        }
    }
}

/// Waits until the server has returned the memory it took since; returns what is left in MiB, and
/// the seconds it took.
fn wait_for_memory(ours: &Ours, before: f64) -> Result<(f64, f64)> {
    let watch = Watch::start();
    loop {
        let left = anonymous(ours)?;
        if left - before <= LEFT || watch.elapsed() > PATIENCE {
            return Ok((left, watch.elapsed().as_secs_f64()));
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

/// The server's anonymous memory in MiB: mappings of its pool's files belong to the page cache.
fn anonymous(ours: &Ours) -> Result<f64> {
    let path = format!("/proc/{}/status", ours.served.id());
    let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    anonymous_of(&status).with_context(|| path)
}

fn anonymous_of(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_28_bytes_and_stays_within_the_export() {
        let bytes = request(5, 257, 1 << 20);
        assert_eq!(bytes.len(), 28);
        assert_eq!(bytes[16..24], (1_u64 << 20).to_be_bytes());
    }

    #[test]
    fn only_memory_of_its_own_counts() {
        let status = "VmRSS:\t  600 kB\nRssAnon:\t   2048 kB\nRssFile:\t  100 kB\n";
        assert_eq!(anonymous_of(status), Some(2.0));
    }

    #[test]
    fn ratios_are_of_neighbouring_runs() {
        let run = |alone, beside, each| Run { alone, beside, each };
        let measured = Measured { runs: vec![run(100.0, 50.0, 50.0), run(10.0, 9.0, 10.0), run(40.0, 40.0, 20.0)] };
        assert_eq!((measured.alone(), measured.beside(), measured.kept(), measured.share()), (40.0, 40.0, 0.9, 1.0));
    }
}
