//! Converts a run to a recording: by phases and workloads, as tables, pages and criteria use it.

use super::{Cell, Class, GateRow, Identity, Kind, Point, Run, RunActor, Slice, State};
use crate::recording::{Origin, Part, Phase, Recording, Tally, WorkloadRecord};
use crate::{Counts, Histogram, Interval, ObjectRecord};
use block::Span;
use std::ops::Range;

impl Run {
    /// Converts the run. What has no field in a recording is left out.
    pub fn recording(&self) -> Recording {
        let points = 0..self.points.len() as u32;
        let workload =
            |(number, actor): (usize, &RunActor)| self.workload(number as u32, actor, Span::ZERO, points.clone());
        Recording {
            objects: self.objects.clone(),
            partitions: self.partitions.clone(),
            host: self.host.clone(),
            workloads: self.actors.iter().enumerate().map(workload).collect(),
            ..self.heading()
        }
    }

    /// [`Run::recording`] of only the last second and the last point of a run in progress, without
    /// objects and host.
    pub fn latest(&self) -> Recording {
        let point = (self.points.len() as u32).saturating_sub(1);
        let starts = self.series.iter().filter_map(|series| series.slices.last()).map(|slice| slice.start);
        let from = starts.max().unwrap_or_default();
        let workload =
            |(number, actor): (usize, &RunActor)| self.workload(number as u32, actor, from, point..point + 1);
        let object = |object: &ObjectRecord| ObjectRecord {
            path: object.path.clone(),
            is_group: object.is_group,
            limits: object.limits.clone(),
            ..ObjectRecord::default()
        };
        Recording {
            objects: self.objects.iter().map(object).collect(),
            workloads: self.actors.iter().enumerate().map(workload).collect(),
            ..self.heading()
        }
    }

    /// The parts that occur once in a run.
    fn heading(&self) -> Recording {
        let Run { identity, machine, labels, scale, points, verdicts, notes, .. } = self;
        let Identity { title, command, text, version, seed, started_unix_ms, simulated, state, .. } = identity;
        Recording {
            origin: Origin {
                title: title.clone(),
                plan: text.clone(),
                command: command.clone(),
                version: version.clone(),
                seed: *seed,
                started_unix_ms: *started_unix_ms,
                simulated: *simulated,
                cut_short: *state != State::Ended,
                goes_on: *state == State::Running,
                labels: labels.clone(),
                transactions: identity.has_transactions(),
            },
            machine: machine.clone(),
            scale: *scale,
            phases: points.iter().map(phase).collect(),
            verdicts: verdicts.clone(),
            notes: notes.clone(),
            ..Recording::default()
        }
    }

    /// An actor's seconds from `from` on and its tallies of these points; tallies of other points
    /// stay empty.
    fn workload(&self, number: u32, actor: &RunActor, from: Span, points: Range<u32>) -> WorkloadRecord {
        let place = actor.place.and_then(|place| self.places.get(place as usize));
        let last = self.cells.iter().filter(|cell| cell.actor == number).map(|cell| cell.point + 1).max();
        let tally = |point| if points.contains(&point) { self.tally(point, number) } else { Tally::default() };
        WorkloadRecord {
            name: actor.name.clone(),
            host: actor.host.clone(),
            object: place.map_or(String::new(), |place| place.name.clone()),
            kind: place.map_or(String::new(), |place| place.kind.clone()),
            transactions: self.has_transactions(number),
            intervals: self.intervals(number, from),
            tallies: (0..last.unwrap_or(0)).map(tally).collect(),
            cycles: self.cycles.iter().filter(|(of, _)| *of == number).map(|(_, cycle)| *cycle).collect(),
        }
    }

    fn intervals(&self, actor: u32, from: Span) -> Vec<Interval> {
        let whole = self.whole(actor, from);
        let of_actor = self.series.iter().filter(|series| series.actor == actor && series.class.is_part());
        let parts: Vec<(&Class, Vec<Slice>)> =
            of_actor.map(|series| (&series.class, aligned(since(&series.slices, from), whole))).collect();
        let flushes = self.series(actor, &Class::FLUSH).map(|series| aligned(since(&series.slices, from), whole));
        let rows = self.gates.iter().find(|gate| gate.actor == actor).map_or(&[][..], |gate| &gate.rows);
        let interval = |(index, slice): (usize, &Slice)| {
            let parts = parts.iter().map(|(class, slices)| (*class, slices[index].ops, slices[index].bytes));
            let row = rows.binary_search_by_key(&slice.start, |row| row.start);
            let GateRow { waits, held_by, held_at, floor, cached, .. } = row.map(|at| rows[at]).unwrap_or_default();
            Interval {
                start: slice.start,
                length: slice.length,
                counts: counts(parts, slice.failed),
                flushes: flushes.as_ref().map_or(0, |slices| slices[index].ops),
                response: slice.response,
                service: slice.service,
                outstanding: slice.outstanding,
                waits,
                held_by,
                held_at,
                floor,
                cached,
            }
        };
        whole.iter().enumerate().map(interval).collect()
    }

    /// Whether an actor used a server's objects together with others in a point: then the server's
    /// times are not its own, and its seconds have none.
    fn shares_objects(&self, point: u32, number: u32) -> bool {
        let place = |actor: &RunActor| self.places.get(actor.place? as usize).filter(|place| place.kind == "volume");
        let Some(own) = self.actors.get(number as usize).and_then(place) else { return false };
        let is_same = |other: &RunActor| {
            let names = place(other).map_or("", |place| &place.name);
            own.name.split(", ").any(|name| names.split(", ").any(|other| other == name))
        };
        let Some(at) = self.points.get(point as usize) else { return false };
        let slices = self.series(number, &Class::ALL).map_or(&[][..], |series| &series.slices);
        let mut within = since(slices, at.start).iter().take_while(|slice| slice.start < at.end);
        self.actors.iter().filter(|other| is_same(other)).count() > 1 && within.all(|slice| slice.service.is_none())
    }

    fn tally(&self, point: u32, actor: u32) -> Tally {
        let cells: Vec<&Cell> = self.cells.iter().filter(|cell| (cell.point, cell.actor) == (point, actor)).collect();
        let Some(all) = cells.iter().find(|cell| cell.class == Class::ALL) else { return Tally::default() };
        let classes = || cells.iter().filter(|cell| cell.class.is_part());
        let parts = classes().map(|cell| (&cell.class, cell.ops, cell.bytes));
        let whole =
            |kind| all.latency(kind).cloned().unwrap_or_else(|| merged(classes().filter_map(|c| c.latency(kind))));
        let part = |cell: &&Cell| Part {
            class: cell.class.clone(),
            response: cell.latency(Kind::Response).cloned().unwrap_or_default(),
            service: cell.latency(Kind::Service).cloned().unwrap_or_default(),
        };
        Tally {
            length: all.measured,
            counts: counts(parts, all.failed),
            response: whole(Kind::Response),
            service: whole(Kind::Service),
            queued: whole(Kind::Gate),
            device: match all.latency(Kind::Device) {
                Some(device) => device.clone(),
                None if self.shares_objects(point, actor) => Histogram::default(),
                None => whole(Kind::Service),
            },
            late: all.late,
            late_max: all.late_max,
            held: all.held,
            never_sent: all.never_sent,
            flushes: cells.iter().filter(|cell| cell.class == Class::FLUSH).map(|cell| cell.ops).sum(),
            parts: classes().map(part).filter(|part| part.response.count() + part.service.count() > 0).collect(),
        }
    }
}

fn phase(point: &Point) -> Phase {
    let Point { name, about, commands, commands_published, start, end, stalled, arm: _ } = point.clone();
    Phase { name, about, commands, commands_published, start, end, stalled: stalled.unwrap_or_default() }
}

/// The slices that begin at `from` or later.
pub(super) fn since(slices: &[Slice], from: Span) -> &[Slice] {
    &slices[slices.partition_point(|slice| slice.start < from)..]
}

/// The slices of a class, aligned with those of the whole; empty slices where the class has none.
fn aligned(slices: &[Slice], whole: &[Slice]) -> Vec<Slice> {
    if slices.len() == whole.len() {
        return slices.to_vec();
    }
    let at = |whole: &Slice| slices.iter().find(|slice| slice.start == whole.start).copied().unwrap_or_default();
    whole.iter().map(at).collect()
}

/// Counts by direction, from those of classes.
fn counts<'c>(classes: impl Iterator<Item = (&'c Class, u64, Option<u64>)>, failed: Option<u64>) -> Counts {
    let mut counts = Counts { faults: failed.unwrap_or(0), ..Counts::default() };
    for (class, ops, bytes) in classes {
        let bytes = bytes.unwrap_or(0);
        if *class == Class::READ {
            (counts.reads, counts.read_bytes) = (ops, bytes);
        } else if *class == Class::WRITE {
            (counts.writes, counts.write_bytes) = (ops, bytes);
        } else {
            counts.other += ops;
            counts.other_bytes += bytes;
        }
    }
    counts
}

fn merged<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Histogram {
    let mut sum = Histogram::new();
    histograms.for_each(|histogram| sum.merge(histogram));
    sum
}
