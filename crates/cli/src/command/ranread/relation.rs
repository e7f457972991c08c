//! Reads a relation of a PostgreSQL server through the server, by one blocking thread per process.

use super::batch::Finished;
use crate::classic::device_of;
use crate::{Answer, interrupt, terminal};
use ::database::{BLOCK, Database, Looked, Relation, StopSignal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span};
use oltp::{Chance, Failure};
use ranread::{BatchEvidence, Effort, Load, PurgeOptions, SetupOptions};
use report::text::percent;
use stats::job::{JobError, JobOutcome};
use stats::{Ended, Noted, Tape};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use uring::Clock;

/// Whether a target is a database of a server.
pub fn is_relation(target: &str) -> bool {
    ["postgres://", "postgresql://", "private:"].iter().any(|start| target.starts_with(start))
}

/// The relation that setup made in that database.
///
/// # Errors
/// There is none, or the server does not answer.
pub fn open(target: &str) -> Result<Relation> {
    Ok(Relation::open(server(target)?)?)
}

fn server(target: &str) -> Result<::database::Postgres> {
    match Database::named(target, &|name| std::env::var(name).ok(), None).context("--database")? {
        Database::Postgres(postgres) => Ok(postgres),
        Database::Sqlite(_) | Database::Mysql(_) => {
            bail!("--database: must be postgres://USER@HOST/DATABASE or private:FOLDER")
        }
    }
}

/// Makes a relation.
pub fn set_up(ask: &SetupOptions) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let postgres = server(&ask.directory)?;
    let name = postgres.name();
    Relation::must_be_missing(&postgres).context("setup")?;
    terminal::line(&format!("Making a relation of {} in {name}", ask.size));
    let relation = Relation::set_up(&postgres, ask.size, ask.seed, &mut |_| !stop.is_asked()).context("setup")?;
    let buffers = relation.postgres().buffers()?;
    terminal::line(&format!(
        "{} blocks of 8 KiB are there; the server's cache has {}",
        relation.blocks(),
        Bytes(buffers)
    ));
    if relation.size().0 <= buffers {
        terminal::complain("note: the relation fits into the server's cache; make it twice the host's memory");
    }
    Ok(Answer::Yes)
}

/// Removes it.
pub fn purge(ask: &PurgeOptions) -> Result<Answer> {
    let postgres = server(&ask.directory).context("purge")?;
    Relation::remove(&postgres).context("purge")?;
    terminal::line(&format!("The relation in {} is removed.", postgres.name()));
    Ok(Answer::Yes)
}

/// Runs a batch of processes, each a thread with its own connection. All are connected before the
/// first read.
///
/// # Errors
/// A process cannot connect.
pub fn play(
    relation: &Relation,
    load: &Load,
    processes: u32,
    repeat: u64,
    wants_stop: &mut dyn FnMut() -> bool,
) -> Result<Finished> {
    let (signal, over, clock) = (StopSignal::default(), AtomicBool::new(false), Clock::new());
    let readers = (0..processes).map(|_| relation.reader(&signal)).collect::<Result<Vec<_>, _>>();
    let readers = readers.map_err(|error| anyhow!("{}: {error}", relation.postgres().name()))?;
    let device = relation.postgres().folder().and_then(|folder| device_of(&folder));
    let (before, fetched) = (relation.looked()?, device.as_deref().and_then(read_bytes));
    let mut outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(readers)
            .map(|(process, reader)| {
                let work = Process { load, process, repeat, blocks: relation.blocks(), clock, over: &over };
                scope.spawn(move || work.read(reader))
            })
            .collect();
        // Checked ten times a second, which is the maximum delay of a stop.
        while threads.iter().any(|thread| !thread.is_finished()) {
            signal.wait(Span::from_millis(100));
            if wants_stop() {
                over.store(true, Ordering::Relaxed);
            }
        }
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    let after = relation.looked()?;
    let looked =
        Looked { hits: after.hits.saturating_sub(before.hits), reads: after.reads.saturating_sub(before.reads) };
    // The device counts everybody's reads; ours cannot be more than the server requested.
    let asked = looked.reads * BLOCK;
    let fetched = device.as_deref().and_then(read_bytes).zip(fetched);
    let fetched = fetched.map(|(after, before)| after.saturating_sub(before).min(asked));
    outcomes.sort_by_key(|outcome| outcome.number);
    Ok(Finished { outcomes, fetched, looked: Some(looked) })
}

/// Minimum fraction of blocks that must have come from a device for a verdict on it.
const REACHED: f64 = 0.9;

/// Why the reads say nothing about the storage; `None` if they reached it.
pub fn unsure(evidence: &BatchEvidence, looked: Looked) -> Option<String> {
    if looked.hits + looked.reads == 0 {
        return Some("the server counted no block".into());
    }
    match evidence.cached() {
        None => Some("what the server's device read is not seen from here".into()),
        Some(cached) if 1.0 - cached < REACHED => {
            Some(format!("only {:.0} % of what was read came from the device", (1.0 - cached) * 100.0))
        }
        Some(_) => None,
    }
}

/// Where the blocks of some batches came from.
pub struct Served {
    looked: Looked,
    /// Bytes that the processes asked for, and those that the device read, if that is known.
    asked: u64,
    fetched: Option<u64>,
}

impl Served {
    /// Of one batch.
    pub fn of(evidence: &BatchEvidence, looked: Looked) -> Served {
        Served { looked, asked: evidence.bytes_asked, fetched: evidence.bytes_fetched }
    }

    /// Adds another batch.
    pub fn add(&mut self, evidence: &BatchEvidence, looked: Looked) {
        self.looked.hits += looked.hits;
        self.looked.reads += looked.reads;
        self.asked += evidence.bytes_asked;
        self.fetched = self.fetched.zip(evidence.bytes_fetched).map(|(before, more)| before + more);
    }

    /// In one line.
    pub fn said(&self) -> String {
        let Served { looked, asked, fetched } = self;
        let all = (looked.hits + looked.reads).max(1) as f64;
        let part = |fetched: u64| (fetched as f64 / (*asked).max(1) as f64).min(1.0);
        let device = fetched.map_or("unknown".to_owned(), |fetched| format!("{} %", percent(part(fetched))));
        format!("blocks: {} % in the server's cache, {device} from the device", percent(looked.hits as f64 / all))
    }
}

/// Bytes read from a device since the system was started.
fn read_bytes(device: &Path) -> Option<u64> {
    let stat = std::fs::read_to_string(device.join("stat")).ok()?;
    stat.split_whitespace().nth(2)?.parse::<u64>().ok().map(|sectors| sectors * 512)
}

/// A process of a batch.
struct Process<'a> {
    load: &'a Load,
    process: u32,
    repeat: u64,
    blocks: u64,
    clock: Clock,
    over: &'a AtomicBool,
}

impl Process<'_> {
    fn read(&self, mut reader: ::database::Reader<'_>) -> JobOutcome {
        let mut chance = Chance::new(self.load.seed, (self.repeat << 32) | u64::from(self.process));
        let start = self.clock.now();
        let mut tape = Tape::new(start, Noted { slices: Some(Span::from_millis(500)), ..Noted::default() });
        let (most, until) = match self.load.effort {
            Some(Effort::Seconds(seconds)) => (u64::MAX, Some(start + Span::from_secs(seconds))),
            Some(Effort::Iterations(most)) => (most, None),
            None => (0, None),
        };
        let (mut now, mut done, mut error) = (start, 0, None);
        while done < most && until.is_none_or(|until| now < until) && !self.over.load(Ordering::Relaxed) {
            let made = self.clock.now();
            let read = reader.read(chance.between(0, self.blocks as i64 - 1) as u64);
            now = self.clock.now();
            match read {
                Ok(()) => {
                    let class = Tape::READ;
                    tape.ended(&Ended {
                        class,
                        due: made,
                        made,
                        handed: made,
                        end: now,
                        gate: Span::ZERO,
                        bytes: BLOCK,
                    });
                }
                Err(failure) => {
                    tape.failed(Tape::READ, false);
                    let is_lost = matches!(failure, Failure::Lost(_));
                    error.get_or_insert(JobError { number: 5, text: failure.to_string() });
                    if is_lost {
                        break;
                    }
                }
            }
            done += 1;
        }
        reader.count();
        tape.finish(now, now);
        JobOutcome {
            name: format!("process {}", self.process + 1),
            number: self.process,
            elapsed: now.since(start),
            measured: now.since(start),
            tape,
            interrupted: self.over.load(Ordering::Relaxed),
            backend: "PostgreSQL".into(),
            seed: self.load.seed,
            error,
            ..JobOutcome::default()
        }
    }
}
