//! The charts of a run: the usual picture (IOPS over time with phases and ceilings), throughput,
//! and for each workload its response time with the wait in QoS apart from the time in the disk.

use crate::chart::{Axis, Band, Chart, LevelKind, Look, Mark, Merge, Stretch, Threshold, thinned};
use crate::relation::{self, Bound, Ceiling, Floor};
use crate::text;
use block::Span;
use stats::{Interval, Phase, Recording, Tally, WorkloadRecord};

/// Minimum and maximum number of characters for names of lines at the right.
const NAME_LEAST: usize = 14;
const NAME_MOST: usize = 28;
/// A ceiling further above the highest figure is left out, because it would compress the figures.
const CEILING_IN_SIGHT: f64 = 1.2;
/// Maximum number of points in a line, and the minimum if a page has many lines and `POINTS_PAGE`
/// points in all.
const POINTS_MOST: usize = 1200;
const POINTS_LEAST: usize = 150;
const POINTS_PAGE: usize = 120_000;

/// What all charts of a page share, so that they can be compared and their time axes align.
pub(crate) struct Scales {
    /// Characters that names have room for.
    pub room: usize,
    /// The end of the longest run, in seconds.
    end: f64,
    /// The highest rates: operations, and 10^6 bytes, a second.
    rates: [f64; 2],
    /// The shortest and the longest time in milliseconds.
    times: (f64, f64),
    /// Number of points in a line.
    points: usize,
}

impl Scales {
    /// The scales for a page of these runs.
    pub(crate) fn of(recordings: &[&Recording]) -> Scales {
        let workloads = || recordings.iter().flat_map(|recording| &recording.workloads);
        let intervals = || workloads().flat_map(|workload| &workload.intervals);
        let longest = workloads().map(|workload| text::width(&label(workload))).max();
        let end = recordings.iter().map(|recording| relation::end_of(recording)).max().unwrap_or(Span::ZERO);
        let highest = |rate: &Rate| {
            let figures = intervals().map(rate.of_interval).fold(0.0, f64::max);
            let bounds = recordings.iter().flat_map(|recording| bounds_in_sight(recording, rate, figures));
            bounds.fold(figures, f64::max)
        };
        let lower = |interval: &Interval| relation::p50(interval).or_else(|| relation::mean(interval));
        let upper = |interval: &Interval| {
            let known = relation::p99(interval).or_else(|| relation::longest(interval));
            known.or_else(|| lower(interval))
        };
        let slowest = intervals().filter_map(|interval| positive(upper(interval))).fold(0.0, f64::max);
        let times = intervals().flat_map(|interval| [lower(interval), relation::in_disk(interval)]);
        let fastest = times.filter_map(positive).fold(f64::INFINITY, f64::min).min(slowest);
        // Four lines of response times and two of rates, each drawn twice.
        let lines = (workloads().count() * 12).max(1);
        Scales {
            room: longest.unwrap_or(0).clamp(NAME_LEAST, NAME_MOST),
            end: end.as_secs_f64(),
            rates: [highest(&IOPS), highest(&THROUGHPUT)],
            times: (fastest, slowest),
            points: (POINTS_PAGE / lines).clamp(POINTS_LEAST, POINTS_MOST),
        }
    }

    /// The axis of time.
    pub(crate) fn time(&self) -> Axis {
        Axis::seconds(self.end)
    }

    /// What a point of a line stands for: `second by second`, `means of 5 seconds`, `means of 10
    /// minutes`.
    pub(crate) fn said(&self, recording: &Recording) -> String {
        let longest = recording.workloads.iter().max_by_key(|workload| workload.intervals.len());
        let intervals = longest.map_or(&[][..], |workload| &workload.intervals);
        let each = intervals.get(intervals.len() / 2).map_or(1.0, |interval| interval.length.as_secs_f64());
        let seconds = (intervals.len().div_ceil(self.points).max(1) as f64 * each).round() as u64;
        match seconds {
            ..=1 => "second by second".into(),
            60 => "minute by minute".into(),
            minutes if minutes % 60 == 0 => format!("means of {} minutes", minutes / 60),
            _ => format!("means of {seconds} seconds"),
        }
    }
}

/// The figure in a chart of rates.
struct Rate {
    index: usize,
    /// Its name in "… of 3 workloads over time".
    name: &'static str,
    unit: &'static str,
    of_interval: fn(&Interval) -> f64,
    of_tally: fn(&Tally) -> f64,
    of_ceiling: fn(&Ceiling<'_>) -> Option<Bound>,
    of_floor: fn(&Floor<'_>) -> Option<f64>,
    say: fn(f64) -> String,
}

const IOPS: Rate = Rate {
    index: 0,
    name: "IOPS",
    unit: "IOPS",
    of_interval: Interval::iops,
    of_tally: Tally::iops,
    of_ceiling: |ceiling| ceiling.iops,
    of_floor: |floor| floor.iops,
    say: text::iops,
};

const THROUGHPUT: Rate = Rate {
    index: 1,
    name: "Throughput in MB/s",
    unit: "MB/s",
    of_interval: |interval| interval.bytes_per_second() / 1e6,
    of_tally: |tally| tally.bytes_per_second() / 1e6,
    of_ceiling: |ceiling| ceiling.bytes.map(|bound| Bound { limit: bound.limit / 1e6, ..bound }),
    of_floor: |floor| floor.bytes.map(|bytes| bytes / 1e6),
    say: text::short,
};

/// IOPS over time, or transactions.
pub(crate) fn iops(recording: &Recording, scales: &Scales) -> Chart {
    let unit = recording.origin.rate_unit();
    Chart { height: 400.0, ..rates(recording, scales, &Rate { name: unit, unit, ..IOPS }) }
}

/// Throughput over time.
pub(crate) fn throughput(recording: &Recording, scales: &Scales) -> Chart {
    Chart { height: 260.0, ..rates(recording, scales, &THROUGHPUT) }
}

/// Hit ratio of each workload in the server's cache over time, in percent; `None` if it was not
/// used.
pub(crate) fn hits(recording: &Recording, scales: &Scales) -> Option<Chart> {
    let share = |interval: &Interval| interval.cached.share().map(|share| 100.0 * share);
    let asked = |workload: &WorkloadRecord| workload.intervals.iter().any(|interval| share(interval).is_some());
    if !recording.workloads.iter().any(asked) {
        return None;
    }
    let y = Axis::from_zero(100.0).unit("%");
    let mut chart = Chart::new("Pages found in the server's cache over time", scales.time(), y);
    chart.bands = bands(recording);
    chart.room = scales.room;
    chart.height = 260.0;
    for (index, workload) in recording.workloads.iter().enumerate().rev().filter(|(_, workload)| asked(workload)) {
        let all: Vec<Stretch> = workload.intervals.iter().map(|interval| stretch(interval, share(interval))).collect();
        let (stretches, _) = thinned(&all, scales.points, Merge::Mean);
        chart.marks.push(Mark::Steps { name: label(workload), stretches, look: Look::Series(index) });
        let sum = workload.intervals.iter().fold(stats::run::Hits::default(), |mut sum, interval| {
            sum += interval.cached;
            sum
        });
        let whole = text::percent(sum.share().unwrap_or_default());
        chart.description += &format!("{}: {whole} % of all pages asked for. ", label(workload));
    }
    Some(chart)
}

/// A workload's response time over time on a logarithmic axis: the median and the range up to the
/// 99th percentile, or for seconds without percentiles the mean and, if known, the maximum. Also
/// the mean wait in QoS, if there is a gate, and the mean time in the disk. All workloads of a page
/// have the same axes.
pub(crate) fn latency(recording: &Recording, index: usize, scales: &Scales) -> Chart {
    let workload = &recording.workloads[index];
    let title = format!("Response time of {} over time, in milliseconds", label(workload));
    let mut chart = Chart::new(title, scales.time(), Axis::milliseconds(scales.times.0, scales.times.1));
    chart.description = describe_latency(recording, workload);
    chart.bands = bands(recording);
    chart.height = 210.0;
    chart.room = scales.room;
    let of = |figure: fn(&Interval) -> Option<Span>, merge| -> Vec<Stretch> {
        let all: Vec<Stretch> =
            workload.intervals.iter().map(|interval| stretch(interval, positive(figure(interval)))).collect();
        thinned(&all, scales.points, merge).0
    };
    let [lower, upper] = match has_percentiles(workload) {
        true => [("response p50", of(relation::p50, Merge::Mean)), ("response p99", of(relation::p99, Merge::Highest))],
        false => {
            [("response mean", of(relation::mean, Merge::Mean)), ("longest", of(relation::longest, Merge::Highest))]
        }
    };
    let look = Look::Series(index);
    let is_known = |(_, stretches): &(&str, Vec<Stretch>)| stretches.iter().any(|stretch| stretch.figure.is_some());
    let upper = Some(upper).filter(is_known);
    if let Some((_, upper)) = &upper {
        let (lower, upper) = (lower.1.clone(), upper.clone());
        chart.marks.push(Mark::Area { lower, upper, name: String::new(), look });
    }
    let has_gate = relation::has_gate(recording);
    let disk = (if has_gate { "in the disk" } else { "service" }, of(relation::in_disk, Merge::Mean));
    let gate = has_gate.then(|| ("in QoS", of(relation::in_gate, Merge::Mean)));
    let upper = upper.map(|upper| (upper, Look::Thin(index)));
    let lines = upper.into_iter().chain([(disk, Look::Disk), (lower, Look::Alone(index))]);
    for ((name, stretches), look) in lines.chain(gate.map(|gate| (gate, Look::Gate))) {
        chart.marks.push(Mark::Steps { name: name.into(), stretches, look });
    }
    chart
}

/// Whether percentiles of a workload's seconds are known.
pub(crate) fn has_percentiles(workload: &WorkloadRecord) -> bool {
    workload.intervals.iter().any(|interval| relation::p50(interval).is_some())
}

/// A workload and the volume it uses: `server1 · vol1`.
pub(crate) fn label(workload: &WorkloadRecord) -> String {
    match (workload.name.as_str(), &*relation::volume_of(workload)) {
        (name, "") => name.into(),
        (name, volume) if name == volume => name.into(),
        (name, volume) => format!("{name} · {volume}"),
    }
}

fn rates(recording: &Recording, scales: &Scales, rate: &Rate) -> Chart {
    let count = text::count(recording.workloads.len(), "workload", "workloads");
    let y = Axis::from_zero(scales.rates[rate.index]).unit(rate.unit).said(rate.say);
    let mut chart = Chart::new(format!("{} of {count} over time", rate.name), scales.time(), y);
    chart.description = describe_rates(recording, rate);
    chart.bands = bands(recording);
    chart.room = scales.room;
    // The first workload is the one that affects the others: it is drawn last and so in front.
    for (index, workload) in recording.workloads.iter().enumerate().rev() {
        let rates = relation::with_rates(workload);
        let all: Vec<Stretch> =
            rates.iter().map(|interval| stretch(interval, Some((rate.of_interval)(interval)))).collect();
        let (stretches, _) = thinned(&all, scales.points, Merge::Mean);
        // Transactions among requests are told apart.
        let own = if workload.rate_unit() == "TPS" && rate.unit == "IOPS" { ", TPS" } else { "" };
        let name = label(workload) + own;
        chart.marks.push(Mark::Steps { name, stretches, look: Look::Series(index) });
    }
    let ceilings = relation::ceilings(recording);
    let bounds = ceilings.iter().filter_map(|ceiling| Some((ceiling, (rate.of_ceiling)(ceiling)?)));
    for (ceiling, bound) in bounds.filter(|(_, bound)| bound.limit <= chart.y.high()) {
        if ceiling.shared {
            let (stretches, _) = thinned(&together(recording, ceiling, rate), scales.points, Merge::Mean);
            chart.marks.push(Mark::Steps { name: String::new(), stretches, look: Look::Sum });
        }
        let kind = if bound.binds { LevelKind::Ceiling } else { LevelKind::IdleCeiling };
        let says = says(ceiling, &(rate.say)(bound.limit)).to_vec();
        chart.marks.push(level(&recording.phases[ceiling.phase], bound.limit, says, kind));
    }
    for floor in relation::floors(recording) {
        let Some(least) = (rate.of_floor)(&floor) else { continue };
        let each = if floor.volumes.len() > 1 { " each" } else { "" };
        let says = vec![relation::listed(&floor.volumes, ", "), format!("≥ {}{each}", (rate.say)(least))];
        chart.marks.push(level(&recording.phases[floor.phase], least, says, LevelKind::Floor));
    }
    chart
}

fn level(phase: &Phase, figure: f64, says: Vec<String>, kind: LevelKind) -> Mark {
    Mark::Level(Threshold { from: phase.start.as_secs_f64(), to: phase.end.as_secs_f64(), figure, says, kind })
}

/// The limits shown in a chart: ceilings not far above the highest figure, and all floors.
fn bounds_in_sight(recording: &Recording, rate: &Rate, most: f64) -> Vec<f64> {
    let ceilings = relation::ceilings(recording);
    let ceilings = ceilings.iter().filter_map(|ceiling| Some((rate.of_ceiling)(ceiling)?.limit));
    let ceilings = ceilings.filter(|limit| *limit <= most * CEILING_IN_SIGHT);
    ceilings.chain(relation::floors(recording).iter().filter_map(|floor| (rate.of_floor)(floor))).collect()
}

/// The sum of the workloads under a shared ceiling, for each second of its phase.
fn together(recording: &Recording, ceiling: &Ceiling<'_>, rate: &Rate) -> Vec<Stretch> {
    let members: Vec<&WorkloadRecord> = ceiling.workloads.iter().map(|&index| &recording.workloads[index]).collect();
    let Some((first, others)) = members.split_first() else { return Vec::new() };
    let in_phase = |interval: &&Interval| relation::phase_of(&recording.phases, interval) == Some(ceiling.phase);
    let sum = |interval: &Interval| {
        let middle = interval.start + interval.length / 2;
        let found = others.iter().map(|other| relation::interval_at(other, middle).map(rate.of_interval));
        found.sum::<Option<f64>>().map(|sum| sum + (rate.of_interval)(interval))
    };
    relation::with_rates(first).iter().filter(in_phase).map(|interval| stretch(interval, sum(interval))).collect()
}

/// The label of a ceiling in two parts: `vol1 + vol2` and `≤ 1,500`; `vol1, vol2` and `≤ 1,000
/// each`.
fn says(ceiling: &Ceiling<'_>, limit: &str) -> [String; 2] {
    let each = if ceiling.volumes.len() > 1 && !ceiling.shared { " each" } else { "" };
    [relation::listed(&ceiling.volumes, if ceiling.shared { " + " } else { ", " }), format!("≤ {limit}{each}")]
}

fn bands(recording: &Recording) -> Vec<Band> {
    let band = |(index, phase): (usize, &Phase)| Band {
        from: phase.start.as_secs_f64(),
        to: phase.end.as_secs_f64(),
        number: super::number(recording, index),
        name: phase.name.clone(),
        about: phase.about.clone(),
    };
    recording.phases.iter().enumerate().map(band).collect()
}

fn stretch(interval: &Interval, figure: Option<f64>) -> Stretch {
    let (from, to) = (interval.start.as_secs_f64(), (interval.start + interval.length).as_secs_f64());
    Stretch { from, to, figure }
}

/// A time in milliseconds; `None` for zero, which has no place on a logarithmic axis.
fn positive(span: Option<Span>) -> Option<f64> {
    span.filter(|span| *span > Span::ZERO).map(Span::as_millis_f64)
}

/// The means of every phase as text.
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
        let (gate, disk) = (text::mean_or_dash(&tally.queued), text::mean_or_dash(&tally.device));
        format!("{}: median {p50}, 99th percentile {p99}, in QoS {gate}, in the disk {disk}.", phase.name)
    };
    let phases: Vec<String> = recording.phases.iter().zip(&workload.tallies).map(phase).collect();
    format!("Figures of each phase in milliseconds. {}", phases.join(" "))
}
