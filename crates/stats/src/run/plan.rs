//! A plan's recording as a run, and any run as a recording: what tables and pages are made from.

use super::{Actor, Cell, Class, GateRow, GateSeries, Identity, Kind, Place, Point, Run, Series, Slice, State, Times};
use crate::recording::{Origin, Part, Phase, Recording, Tally, WorkloadRecord};
use crate::{Counts, Histogram, Interval};
use block::Span;

impl Run {
    /// The run of a recording that `tool` made.
    pub fn of_recording(recording: &Recording, tool: &str) -> Run {
        let Recording { origin, machine, scale, phases, workloads, objects, host, verdicts, notes } = recording;
        let mut run = Run {
            identity: identity(origin, tool),
            machine: machine.clone(),
            scale: *scale,
            points: phases.iter().map(point).collect(),
            objects: objects.clone(),
            host: host.clone(),
            verdicts: verdicts.clone(),
            notes: notes.clone(),
            ..Run::default()
        };
        for (number, workload) in workloads.iter().enumerate() {
            run.add_workload(number as u32, workload);
        }
        run
    }

    fn add_workload(&mut self, number: u32, workload: &WorkloadRecord) {
        let WorkloadRecord { name, host, object, kind, intervals, tallies, cycles } = workload;
        let place = Place { kind: kind.clone(), name: object.clone(), size: None };
        let place = (!object.is_empty()).then(|| self.place(place));
        self.actors.push(Actor { name: name.clone(), host: host.clone(), group: None, place });
        self.cycles.extend(cycles.iter().map(|cycle| (number, *cycle)));
        for (point, tally) in tallies.iter().enumerate() {
            self.cells.extend(cells(point as u32, number, tally));
        }
        self.series.extend(series(number, intervals));
        let rows: Vec<GateRow> = intervals.iter().map(gate_row).collect();
        let nothing = |row: &GateRow| GateRow { start: row.start, length: row.length, ..GateRow::default() } == *row;
        if !rows.iter().all(nothing) {
            self.gates.push(GateSeries { actor: number, rows });
        }
    }

    /// The run as a recording. What a recording has no field for is left out, what the run does not know is zero there.
    pub fn recording(&self) -> Recording {
        let Run { identity, machine, scale, points, actors, objects, host, verdicts, notes, .. } = self;
        let Identity { title, command, text, version, seed, started_unix_ms, simulated, state, .. } = identity;
        let workloads = actors.iter().enumerate();
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
            },
            machine: machine.clone(),
            scale: *scale,
            phases: points.iter().map(phase).collect(),
            workloads: workloads.map(|(number, actor)| self.workload(number as u32, actor)).collect(),
            objects: objects.clone(),
            host: host.clone(),
            verdicts: verdicts.clone(),
            notes: notes.clone(),
        }
    }

    fn workload(&self, number: u32, actor: &Actor) -> WorkloadRecord {
        let place = actor.place.and_then(|place| self.places.get(place as usize));
        let last = self.cells.iter().filter(|cell| cell.actor == number).map(|cell| cell.point + 1).max();
        let points = 0..last.unwrap_or(0);
        WorkloadRecord {
            name: actor.name.clone(),
            host: actor.host.clone(),
            object: place.map_or(String::new(), |place| place.name.clone()),
            kind: place.map_or(String::new(), |place| place.kind.clone()),
            intervals: self.intervals(number),
            tallies: points.map(|point| self.tally(point, number)).collect(),
            cycles: self.cycles.iter().filter(|(of, _)| *of == number).map(|(_, cycle)| *cycle).collect(),
        }
    }

    fn intervals(&self, actor: u32) -> Vec<Interval> {
        let whole = self.whole(actor);
        let parts: Vec<(&Class, Vec<Slice>)> = self
            .series
            .iter()
            .filter(|series| series.actor == actor && series.class.is_part())
            .map(|series| (&series.class, aligned(&series.slices, &whole)))
            .collect();
        let gate = self.gates.iter().find(|gate| gate.actor == actor).map_or(&[][..], |gate| &gate.rows);
        let interval = |(index, slice): (usize, &Slice)| {
            let parts = parts.iter().map(|(class, slices)| (*class, slices[index].ops, slices[index].bytes));
            let gate = gate.get(index).copied().unwrap_or_default();
            Interval {
                start: slice.start,
                length: slice.length,
                counts: counts(parts, slice.failed),
                response: slice.response.map(|times| times.summary()).unwrap_or_default(),
                service: slice.service.map(|times| times.summary()).unwrap_or_default(),
                outstanding: slice.outstanding.unwrap_or(0),
                waits: gate.waits,
                held_by: gate.held_by,
                held_at: gate.held_at,
                floor: gate.floor,
            }
        };
        whole.iter().enumerate().map(interval).collect()
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
            device: whole(Kind::Device),
            late: all.late.unwrap_or(0),
            late_max: all.late_max.unwrap_or_default(),
            held: all.held,
            never_sent: all.never_sent,
            parts: classes().map(part).filter(|part| part.response.count() + part.service.count() > 0).collect(),
        }
    }
}

fn identity(origin: &Origin, tool: &str) -> Identity {
    let Origin { title, plan, command, version, seed, started_unix_ms, simulated, cut_short } = origin;
    Identity {
        tool: tool.into(),
        title: title.clone(),
        command: command.clone(),
        text: plan.clone(),
        version: version.clone(),
        seed: *seed,
        started_unix_ms: *started_unix_ms,
        simulated: *simulated,
        state: if *cut_short { State::CutShort } else { State::Ended },
    }
}

fn point(phase: &Phase) -> Point {
    let Phase { name, about, commands, commands_published, start, end, stalled } = phase.clone();
    Point { name, about, commands, commands_published, start, end, stalled: Some(stalled) }
}

fn phase(point: &Point) -> Phase {
    let Point { name, about, commands, commands_published, start, end, stalled } = point.clone();
    Phase { name, about, commands, commands_published, start, end, stalled: stalled.unwrap_or_default() }
}

/// The whole and its classes. Failures are not told by class, flushes move no bytes.
fn cells(point: u32, actor: u32, tally: &Tally) -> Vec<Cell> {
    let Tally { length, counts, late, late_max, held, never_sent, .. } = tally;
    let scheduled = never_sent.is_some() || held.is_some() || *late > 0 || *late_max > Span::ZERO;
    let cell = |class| Cell::new(point, actor, class, *length);
    let all = Cell {
        ops: counts.ops(),
        bytes: Some(counts.bytes()),
        failed: Some(counts.faults),
        late: scheduled.then_some(*late),
        late_max: scheduled.then_some(*late_max),
        held: *held,
        never_sent: *never_sent,
        ..cell(Class::ALL)
    };
    let all = all.with(Kind::Response, &tally.response).with(Kind::Service, &tally.service);
    let mut cells = vec![all.with(Kind::Gate, &tally.queued).with(Kind::Device, &tally.device)];
    let classes = [
        (Class::READ, counts.reads, Some(counts.read_bytes)),
        (Class::WRITE, counts.writes, Some(counts.write_bytes)),
        (Class::OTHER, counts.other, None),
    ];
    for (class, ops, bytes) in classes {
        let part = tally.parts.iter().find(|part| part.class == class);
        if ops == 0 && bytes.unwrap_or(0) == 0 && part.is_none() {
            continue;
        }
        let counted = Cell { ops, bytes, ..cell(class) };
        cells.push(match part {
            Some(part) => counted.with(Kind::Response, &part.response).with(Kind::Service, &part.service),
            None => counted,
        });
    }
    cells
}

/// The whole with its times, and of each class the counts.
fn series(actor: u32, intervals: &[Interval]) -> Vec<Series> {
    let of = |class: Class, slice: &dyn Fn(&Interval) -> Slice| {
        let at = |interval: &Interval| Slice { start: interval.start, length: interval.length, ..slice(interval) };
        Series { actor, class, slices: intervals.iter().map(at).collect() }
    };
    let all = of(Class::ALL, &|interval| Slice {
        ops: interval.counts.ops(),
        bytes: Some(interval.counts.bytes()),
        failed: Some(interval.counts.faults),
        response: Times::of(&interval.response),
        service: Times::of(&interval.service),
        outstanding: Some(interval.outstanding),
        ..Slice::default()
    });
    let counted = |ops, bytes| Slice { ops, bytes, ..Slice::default() };
    let classes = [
        of(Class::READ, &|interval| counted(interval.counts.reads, Some(interval.counts.read_bytes))),
        of(Class::WRITE, &|interval| counted(interval.counts.writes, Some(interval.counts.write_bytes))),
        of(Class::OTHER, &|interval| counted(interval.counts.other, None)),
    ];
    let used = |series: &Series| series.slices.iter().any(|slice| slice.ops + slice.bytes.unwrap_or(0) > 0);
    let all = [all].into_iter().filter(|series| !series.slices.is_empty());
    all.chain(classes.into_iter().filter(used)).collect()
}

fn gate_row(interval: &Interval) -> GateRow {
    let Interval { start, length, waits, held_by, held_at, floor, .. } = *interval;
    GateRow { start, length, waits, held_by, held_at, floor }
}

/// The slices of a class beside those of the whole: one for each, empty where the class has none then.
fn aligned(slices: &[Slice], whole: &[Slice]) -> Vec<Slice> {
    if slices.len() == whole.len() {
        return slices.to_vec();
    }
    let at = |whole: &Slice| slices.iter().find(|slice| slice.start == whole.start).copied().unwrap_or_default();
    whole.iter().map(at).collect()
}

/// Operations and bytes by direction, from those of classes.
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
        }
    }
    counts
}

fn merged<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Histogram {
    let mut sum = Histogram::new();
    histograms.for_each(|histogram| sum.merge(histogram));
    sum
}
