//! Repeats the reads of a recorded run.
//!
//! A stream is a pure function of its specification, lane and seed. So the requests follow from the
//! plan and from what a run of it did in each second. Their order across connections is not
//! recorded: the connections of a workload take turns, and a workload's requests are spread evenly
//! over a second.

use super::{Phase, Plan};
use crate::spec::{Arrival, Spec, SpecError};
use crate::stream::{Next, Stream};
use block::{OpKind, Span, Time};
use stats::run::{Run, Slice};

/// A read that a run made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedRead {
    /// Approximate due time, from the start of the run.
    pub due: Span,
    /// Index in [`Plan::volumes`].
    pub volume: usize,
    /// Its first byte.
    pub at: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// A workload with all of its connections.
struct Actor {
    lanes: Vec<Stream>,
    /// Connections that the current phase uses.
    used: usize,
    turn: usize,
}

/// What is left to repeat of a workload's slice.
struct Rest<'a> {
    workload: usize,
    slice: &'a Slice,
    made: u64,
}

impl Rest<'_> {
    fn due(&self) -> Span {
        let (length, ops) = (u128::from(self.slice.length.as_nanos()), u128::from(self.slice.ops));
        let into = length * (2 * u128::from(self.made) + 1) / (2 * ops.max(1));
        self.slice.start + Span::from_nanos(u64::try_from(into).unwrap_or(u64::MAX))
    }
}

impl Plan {
    /// Repeats the reads of `run`, a run of this plan, and passes them to `each` in order of time
    /// until it returns `false`. Every volume must have its size.
    ///
    /// # Errors
    /// A load does not fit its volume.
    pub fn read_again(&self, run: &Run, each: &mut dyn FnMut(ReplayedRead) -> bool) -> Result<(), SpecError> {
        let mut actors = (0..self.workloads.len()).map(|load| self.actor(load)).collect::<Result<Vec<_>, _>>()?;
        for point in &run.points {
            let Some(phase) = self.phases.iter().find(|phase| phase.name == point.name) else { continue };
            self.take_phase(&mut actors, phase)?;
            if !self.play_again(&mut actors, run, (point.start, point.end), each) {
                break;
            }
        }
        Ok(())
    }

    fn actor(&self, workload: usize) -> Result<Actor, SpecError> {
        let load = &self.workloads[workload];
        let spec = Spec { seed: self.seed_of(workload), ..unhindered(&load.spec) };
        let lane = |lane: u32| {
            let size = self.volumes[load.volume_of(lane)].size.unwrap_or_default();
            Stream::new(&spec, size, lane, Time::ZERO)
        };
        let lanes = (0..self.connections(workload)).map(lane).collect::<Result<_, _>>()?;
        Ok(Actor { lanes, used: 0, turn: 0 })
    }

    fn take_phase(&self, actors: &mut [Actor], phase: &Phase) -> Result<(), SpecError> {
        for (actor, spec) in actors.iter_mut().zip(&phase.specs) {
            actor.used = spec.connections as usize;
            let spec = unhindered(spec);
            actor.lanes.iter_mut().try_for_each(|lane| lane.reshape(Time::ZERO, &spec))?;
        }
        Ok(())
    }

    /// Repeats one point; returns whether to continue.
    fn play_again(
        &self,
        actors: &mut [Actor],
        run: &Run,
        (from, to): (Span, Span),
        each: &mut dyn FnMut(ReplayedRead) -> bool,
    ) -> bool {
        let mut rest: Vec<Rest<'_>> = Vec::new();
        for (number, actor) in run.actors.iter().enumerate() {
            let Some(workload) = self.workloads.iter().position(|load| load.name == actor.name) else { continue };
            let slices = run.whole(number as u32, from).iter().take_while(|slice| slice.start < to);
            rest.extend(slices.filter(|slice| slice.ops > 0).map(|slice| Rest { workload, slice, made: 0 }));
        }
        // In reverse order of start, so that the next to begin is at the end.
        rest.sort_by_key(|rest| (std::cmp::Reverse(rest.slice.start), rest.workload));
        let mut under_way: Vec<Rest<'_>> = Vec::new();
        loop {
            let next = under_way.iter().enumerate().map(|(at, rest)| (rest.due(), at)).min();
            if rest.last().is_some_and(|later| next.is_none_or(|(due, _)| later.slice.start <= due)) {
                under_way.extend(rest.pop());
                continue;
            }
            let Some((due, at)) = next else { return true };
            let (workload, under) = (under_way[at].workload, &mut under_way[at]);
            under.made += 1;
            if under.made == under.slice.ops {
                under_way.swap_remove(at);
            }
            if let Some(read) = self.make_again(&mut actors[workload], workload, due)
                && !each(read)
            {
                return false;
            }
        }
    }

    /// A workload's next request, if it reads.
    fn make_again(&self, actor: &mut Actor, workload: usize, due: Span) -> Option<ReplayedRead> {
        let lane = actor.turn % actor.used.max(1);
        actor.turn = lane + 1;
        let stream = actor.lanes.get_mut(lane)?;
        loop {
            let Next::Issue(draft) = stream.next(Time::ZERO) else { return None };
            stream.completed(Time::ZERO);
            match draft.kind {
                // Flushes are not among the operations counted.
                OpKind::Flush => {}
                OpKind::Read => {
                    let volume = self.workloads[workload].volume_of(lane as u32);
                    return Some(ReplayedRead { due, volume, at: draft.at, len: draft.len });
                }
                _ => return None,
            }
        }
    }
}

/// The same load without schedule or pace, so that requests come as fast as they are asked for.
fn unhindered(spec: &Spec) -> Spec {
    Spec { arrival: Arrival::Closed { depth: 1 }, pace: None, requests: None, ..spec.clone() }
}
