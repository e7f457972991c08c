//! The charts of a run: the picture people know (IOPS over time under phases and ceilings), throughput, and for each
//! workload its response time with the wait in QoS apart from the time in the disk.

use crate::chart::{Axis, Band, Chart, Setup, Stretch};
use crate::relation::{self, Bound, Ceiling, Floor};
use crate::{chart, palette, text};
use block::Span;
use stats::{Interval, Phase, Recording, Tally, WorkloadRecord};

/// Room for the names of the lines, at the right: for so many characters at least and at most.
const NAME_LEAST: usize = 14;
const NAME_MOST: usize = 28;
/// At most so many ticks.
const TICKS_OF_TIME: u32 = 10;
/// A ceiling further above the highest figure than this is left out, so that it does not press the figures down.
const CEILING_IN_SIGHT: f64 = 1.2;

/// A drawing's size in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// What a chart of rates counts.
struct Rate {
    id: &'static str,
    /// As in "… of 3 workloads over time".
    name: &'static str,
    unit: &'static str,
    of_interval: fn(&Interval) -> f64,
    of_tally: fn(&Tally) -> f64,
    of_ceiling: fn(&Ceiling<'_>) -> Option<Bound>,
    of_floor: fn(&Floor<'_>) -> Option<f64>,
    say: fn(f64) -> String,
}

const IOPS: Rate = Rate {
    id: "iops",
    name: "IOPS",
    unit: "IOPS",
    of_interval: Interval::iops,
    of_tally: Tally::iops,
    of_ceiling: |ceiling| ceiling.iops,
    of_floor: |floor| floor.iops,
    say: text::iops,
};

const THROUGHPUT: Rate = Rate {
    id: "throughput",
    name: "Throughput in MB/s",
    unit: "MB/s",
    of_interval: |interval| interval.bytes_per_second() / 1e6,
    of_tally: |tally| tally.bytes_per_second() / 1e6,
    of_ceiling: |ceiling| ceiling.bytes.map(|bound| Bound { limit: bound.limit / 1e6, ..bound }),
    of_floor: |floor| floor.bytes.map(|bytes| bytes / 1e6),
    say: text::short,
};

/// IOPS over time.
pub(crate) fn iops(recording: &Recording, size: Size) -> Chart {
    rates(recording, size, &IOPS)
}

/// Throughput over time.
pub(crate) fn throughput(recording: &Recording, size: Size) -> Chart {
    rates(recording, size, &THROUGHPUT)
}

/// A workload's response time over time on a logarithmic axis: the median, the stretch up to the 99th percentile, the
/// mean wait in QoS and the mean time in the disk. All workloads of a run have the same axes.
pub(crate) fn latency(recording: &Recording, index: usize, size: Size) -> Chart {
    let workload = &recording.workloads[index];
    let setup = Setup {
        id: format!("latency-{index}"),
        title: format!("Response time of {} over time, in milliseconds", label(workload)),
        description: describe_latency(recording, workload),
        unit: String::new(),
        width: size.width,
        height: size.height,
        names: room_for_names(recording),
        top: 12.0,
    };
    let mut chart = Chart::new(setup, time(recording), latency_axis(recording), &bands(recording), tick_of_millis);
    let of = |figure: fn(&Interval) -> Span| -> Vec<Stretch> {
        workload.intervals.iter().map(|interval| stretch(interval, positive(figure(interval)))).collect()
    };
    let (p50, p99) = (of(|interval| interval.response.p50), of(|interval| interval.response.p99));
    let (gate, disk) = (of(in_gate), of(|interval| interval.waits.device));
    let class = palette::class(index);
    chart.area(&p50, &p99, &class);
    for (line, class, name) in [
        (&p99, format!("{class} thin"), "response p99"),
        (&disk, "disk".into(), "in the disk"),
        (&p50, format!("{class} alone"), "response p50"),
        (&gate, "gate".into(), "in QoS"),
    ] {
        chart.line(line, &class);
        if let Some(figure) = last(line) {
            chart.name(figure, name, class);
        }
    }
    chart
}

/// A workload and the volume it uses: `server1 · vol1`.
pub(crate) fn label(workload: &WorkloadRecord) -> String {
    match (workload.name.as_str(), &*relation::volume_of(workload)) {
        (name, "") => name.into(),
        (name, volume) if name == volume => name.into(),
        (name, volume) => format!("{name} · {volume}"),
    }
}

/// The mean wait in the QoS gate, whatever for.
pub(crate) fn in_gate(interval: &Interval) -> Span {
    interval.waits.ceiling + interval.waits.floors + interval.waits.turn
}

fn rates(recording: &Recording, size: Size, rate: &Rate) -> Chart {
    let lines: Vec<Vec<Stretch>> = recording
        .workloads
        .iter()
        .map(|workload| workload.intervals.iter().map(|i| stretch(i, Some((rate.of_interval)(i)))).collect())
        .collect();
    let ceilings = relation::ceilings(recording);
    let most = lines.iter().flatten().filter_map(|stretch| stretch.figure).fold(0.0, f64::max);
    let in_sight = ceilings.iter().filter_map(|ceiling| Some((ceiling, (rate.of_ceiling)(ceiling)?)));
    let in_sight: Vec<_> = in_sight.filter(|(_, bound)| bound.limit <= most * CEILING_IN_SIGHT).collect();
    let floors = relation::floors(recording);
    let floors: Vec<_> = floors.iter().filter_map(|floor| Some((floor, (rate.of_floor)(floor)?))).collect();
    let bounds = in_sight.iter().map(|(_, bound)| bound.limit).chain(floors.iter().map(|(_, least)| *least));
    let highest = bounds.fold(most, f64::max);
    let setup = Setup {
        id: rate.id.into(),
        title: format!("{} of {} over time", rate.name, text::count(lines.len(), "workload", "workloads")),
        description: describe_rates(recording, rate),
        unit: rate.unit.into(),
        width: size.width,
        height: size.height,
        names: room_for_names(recording),
        top: 34.0,
    };
    let mut chart = Chart::new(setup, time(recording), Axis::from_zero(highest, 5), &bands(recording), rate.say);
    // The first workload is the one the others suffer from: it is drawn last, so that it lies on top.
    for (index, (line, workload)) in lines.iter().zip(&recording.workloads).enumerate().rev() {
        chart.line(line, &palette::class(index));
        if let Some(figure) = last(line) {
            chart.name(figure, label(workload), palette::class(index));
        }
    }
    for (ceiling, bound) in in_sight {
        let phase = &recording.phases[ceiling.phase];
        let (from, to) = (phase.start.as_secs_f64(), phase.end.as_secs_f64());
        if ceiling.shared {
            chart.line(&together(recording, ceiling, rate), "sum");
        }
        let class = if bound.binds { "binding" } else { "idle" };
        chart.ceiling(from, to, bound.limit, &says(ceiling, &(rate.say)(bound.limit)), class);
    }
    for (floor, least) in floors {
        let phase = &recording.phases[floor.phase];
        let (from, to) = (phase.start.as_secs_f64(), phase.end.as_secs_f64());
        let each = if floor.volumes.len() > 1 { " each" } else { "" };
        let says = [relation::listed(&floor.volumes, ", "), format!("≥ {}{each}", (rate.say)(least))];
        chart.floor(from, to, least, &says);
    }
    chart
}

/// The sum of the workloads under a shared ceiling, second by second of its phase.
fn together(recording: &Recording, ceiling: &Ceiling<'_>, rate: &Rate) -> Vec<Stretch> {
    let members: Vec<&WorkloadRecord> = ceiling.workloads.iter().map(|&index| &recording.workloads[index]).collect();
    let Some((first, others)) = members.split_first() else { return Vec::new() };
    let in_phase = |interval: &&Interval| relation::phase_of(&recording.phases, interval) == Some(ceiling.phase);
    let sum = |interval: &Interval| {
        let middle = interval.start + interval.length / 2;
        let found = others.iter().map(|other| relation::interval_at(other, middle).map(rate.of_interval));
        found.sum::<Option<f64>>().map(|sum| sum + (rate.of_interval)(interval))
    };
    first.intervals.iter().filter(in_phase).map(|interval| stretch(interval, sum(interval))).collect()
}

/// A power of ten of milliseconds in the unit that suits.
fn tick_of_millis(millis: f64) -> String {
    match millis {
        1e3.. => format!("{} s", text::short(millis / 1e3)),
        0.9..1e3 => format!("{} ms", text::short(millis)),
        0.0009..0.9 => format!("{} µs", text::short(millis * 1e3)),
        _ => format!("{} ns", text::short(millis * 1e6)),
    }
}

/// What stands beside a ceiling, in two parts: `vol1 + vol2` and `≤ 1,500`; `vol1, vol2` and `≤ 1,000 each`.
fn says(ceiling: &Ceiling<'_>, limit: &str) -> [String; 2] {
    let each = if ceiling.volumes.len() > 1 && !ceiling.shared { " each" } else { "" };
    [relation::listed(&ceiling.volumes, if ceiling.shared { " + " } else { ", " }), format!("≤ {limit}{each}")]
}

/// The same on all charts of a run, so that their axes of time lie below each other.
pub(crate) fn room_for_names(recording: &Recording) -> f64 {
    let longest = recording.workloads.iter().map(|workload| text::width(&label(workload))).max();
    chart::room_for_name(longest.unwrap_or(0).clamp(NAME_LEAST, NAME_MOST))
}

pub(crate) fn time(recording: &Recording) -> Axis {
    Axis::seconds(relation::end_of(recording).as_secs_f64(), TICKS_OF_TIME)
}

fn bands(recording: &Recording) -> Vec<Band> {
    let band = |(index, phase): (usize, &Phase)| Band {
        from: phase.start.as_secs_f64(),
        to: phase.end.as_secs_f64(),
        number: index + 1,
        name: phase.name.clone(),
        about: phase.about.clone(),
    };
    recording.phases.iter().enumerate().map(band).collect()
}

fn latency_axis(recording: &Recording) -> Axis {
    let intervals = || recording.workloads.iter().flat_map(|workload| &workload.intervals);
    let highest = intervals().filter_map(|interval| positive(interval.response.p99)).fold(0.0, f64::max);
    let lowest = intervals().flat_map(|interval| [interval.response.p50, interval.waits.device]).filter_map(positive);
    Axis::decades(lowest.fold(f64::INFINITY, f64::min).min(highest), highest)
}

fn stretch(interval: &Interval, figure: Option<f64>) -> Stretch {
    let (from, to) = (interval.start.as_secs_f64(), (interval.start + interval.length).as_secs_f64());
    Stretch { from, to, figure }
}

/// In milliseconds; none has no place on a logarithmic axis.
fn positive(span: Span) -> Option<f64> {
    (span > Span::ZERO).then(|| span.as_millis_f64())
}

fn last(stretches: &[Stretch]) -> Option<f64> {
    stretches.iter().rev().find_map(|stretch| stretch.figure)
}

/// The means of every phase in words.
fn describe_rates(recording: &Recording, rate: &Rate) -> String {
    let phase = |(index, phase): (usize, &Phase)| {
        let means = recording.workloads.iter().filter_map(|workload| {
            let mean = (rate.of_tally)(workload.tallies.get(index)?);
            Some(format!("{} {}", label(workload), (rate.say)(mean)))
        });
        format!("{}: {}.", phase.name, means.collect::<Vec<_>>().join(", "))
    };
    let phases: Vec<String> = recording.phases.iter().enumerate().map(phase).collect();
    format!("Means of each phase in {}. {}", rate.unit, phases.join(" "))
}

fn describe_latency(recording: &Recording, workload: &WorkloadRecord) -> String {
    let phase = |(phase, tally): (&Phase, &Tally)| {
        let response = tally.response.summary();
        let (p50, p99) = (text::millis(response.p50), text::millis(response.p99));
        let (gate, disk) = (text::millis(tally.queued.mean()), text::millis(tally.device.mean()));
        format!("{}: median {p50}, 99th percentile {p99}, in QoS {gate}, in the disk {disk}.", phase.name)
    };
    let phases: Vec<String> = recording.phases.iter().zip(&workload.tallies).map(phase).collect();
    format!("Figures of each phase in milliseconds. {}", phases.join(" "))
}
