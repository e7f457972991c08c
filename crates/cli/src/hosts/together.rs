//! Hosts side by side, each with its own thread and ring. All open their storage, then all begin.
//!
//! ```text
//!   host 1   open ── ready ┐          ┌─ run ─────────────┐
//!   host 2   open ─── ready├─► begin ─┼─ run ──────────── ├─► outcomes
//!   host 3   open ─ ready  ┘          └─ run ─────────────┘
//! ```
//! If a host cannot open its storage or loses it in a run, the runs of all hosts end.

use super::stopped;
use crate::interrupt::Stop;
use crate::ramping::{OpenedStorage, Wanted, failed};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Span, Time};
use ramp::{RampSettings, RunOutcome, RunSetup};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, ScopedJoinHandle};
use uring::Clock;

/// A database's host.
pub struct Host {
    /// Its name.
    pub name: String,
    /// The places of its data.
    pub data: Vec<String>,
    /// The place of its write image journal.
    pub journal: String,
}

/// The signals to a host: when to begin, and whether to continue.
struct Cue<'a> {
    ready: Sender<()>,
    begin: Receiver<()>,
    stop: &'a Stop,
    /// Another host has failed.
    lost: &'a AtomicBool,
    clock: Clock,
}

/// A host's run and its start; `None` if it ended for a reason outside of this host.
type Played = Option<(RunOutcome, Time)>;

/// Plays run `number` of each host's ramp. Returns the outcomes and the time between the first
/// start and the last.
///
/// # Errors
/// A stop was requested, or the error of the first host that failed. The runs of all hosts have
/// ended.
pub fn together(hosts: &[Host], ramps: &[RampSettings], number: u64, stop: &Stop) -> Result<(Vec<RunOutcome>, Span)> {
    let (lost, clock) = (&AtomicBool::new(false), Clock::new());
    let played: Vec<Result<Played>> = std::thread::scope(|scope| {
        let (ready, is_ready) = channel();
        let start = |(host, ramp)| {
            let (sender, begin) = channel();
            let cue = Cue { ready: ready.clone(), begin, stop, lost, clock };
            let host: &Host = host;
            let thread = Builder::new().name(host.name.clone()).spawn_scoped(scope, move || {
                let played = host.run(ramp, number, cue).with_context(|| host.name.clone());
                lost.fetch_or(played.is_err(), Ordering::Relaxed);
                played
            });
            Ok((sender, thread.with_context(|| format!("{}: start its thread", host.name))?))
        };
        let started = hosts.iter().zip(ramps).map(start).collect::<Result<Vec<_>>>();
        drop(ready);
        let (begin, threads): (Vec<Sender<()>>, Vec<ScopedJoinHandle<'_, _>>) = started?.into_iter().unzip();
        // The iterator ends when each host is ready or has failed.
        if is_ready.iter().count() == hosts.len() {
            begin.iter().for_each(|begin| _ = begin.send(()));
        }
        drop(begin);
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a host's thread died")));
        anyhow::Ok(joined.collect())
    })?;
    if stop.is_asked() {
        return Err(stopped());
    }
    // The error of a failed host comes before those of hosts that ended because of it.
    let played = played.into_iter().collect::<Result<Vec<Played>>>()?;
    let played = played.into_iter().collect::<Option<Vec<_>>>().ok_or_else(stopped)?;
    let (outcomes, begun): (Vec<_>, Vec<Time>) = played.into_iter().unzip();
    let apart = begun.iter().max().zip(begun.iter().min()).map(|(last, first)| last.since(*first));
    Ok((outcomes, apart.unwrap_or_default()))
}

impl Host {
    fn run(&self, ramp: &RampSettings, number: u64, cue: Cue<'_>) -> Result<Played> {
        let Cue { ready, begin, stop, lost, clock } = cue;
        let settings = RampSettings { wij_file: self.journal.clone(), ..ramp.clone() };
        let mut storage = OpenedStorage::open(&Wanted::beside_others(&self.data), &settings, stop)?;
        let (load, setup) = (settings.loads()[number as usize], RunSetup::of(&settings, number));
        let opened = storage.ready(&settings, number)?;
        let _ = ready.send(());
        drop(ready);
        if begin.recv().is_err() {
            return Ok(None);
        }
        let began = clock.now();
        let mut goes_on = |_: &ramp::Progress| !stop.is_asked() && !lost.load(Ordering::Relaxed);
        let (outcome, _) = opened.run(&load, &setup, &mut goes_on)?;
        match failed(&outcome, &storage) {
            Some(failure) => Err(anyhow!(failure)),
            None if outcome.cut_short => Ok(None),
            None => Ok(Some((outcome, began))),
        }
    }
}
