//! fio's normal output, for people. Additional lines, marked `seawall`, follow fio's if there is
//! something to report: late requests, failures by kind, mismatches.

use super::entry::{self, Entry};
use super::figure::{Prefix, short};
use super::shares::{self, LatencyShares};
use super::{Report, VERSION, json};
use crate::dialect::KbBase;
use crate::job::Job;
use crate::options::{Directions, Options, Unified};
use crate::percentile::PercentileList;
use stats::job::{JobOutcome, SteadyReport};
use stats::{Direction, Histogram, Tape, Track};
use workload::job::{SteadyCheck, SteadyFigure, SteadyLimit};

impl Report<'_> {
    /// `--output-format=normal`, without the lines before a run ([`Report::opening`]).
    pub fn normal(&self) -> String {
        let entries = Entry::all(self);
        let mut lines = vec![String::new()];
        for entry in &entries {
            self.entry(&mut lines, entry, &entries);
        }
        let mut groups: Vec<u32> = entries.iter().map(|entry| entry.job.group).collect();
        groups.dedup();
        for group in groups {
            let of_group: Vec<&Entry<'_>> = entries.iter().filter(|entry| entry.job.group == group).collect();
            lines.extend(["".into(), format!("Run status group {group} (all jobs):")]);
            group_lines(&mut lines, &of_group);
        }
        let disks = entry::disks(self);
        if !disks.is_empty() {
            lines.extend(["".into(), "Disk stats (read/write):".into()]);
        }
        for disk in disks {
            let [reads, writes] = disk.ticks.map(|ticks| ticks.as_nanos() / 1_000_000);
            lines.push(format!(
                "  {}: ios={}/{}, merge={}/{}, ticks={reads}/{writes}, in_queue={}, util={:3.2}%",
                disk.name,
                disk.ios[0],
                disk.ios[1],
                disk.merges[0],
                disk.merges[1],
                disk.in_queue.as_nanos() / 1_000_000,
                entry::busy_percent(&disk)
            ));
        }
        lines.join("\n") + "\n"
    }

    fn entry(&self, lines: &mut Vec<String>, entry: &Entry<'_>, all: &[Entry<'_>]) {
        let (job, outcome) = (entry.job, &entry.outcome);
        let why = match (&outcome.error, entry.error()) {
            (Some(error), _) => format!(" ({})", error.text),
            (None, 0) => String::new(),
            (None, _) => " (went on after it)".into(),
        };
        lines.push(format!(
            "{}: (groupid={}, jobs={}): err={:2}{why}: pid={}: {}",
            job.name,
            job.group,
            entry.jobs,
            entry.error(),
            self.pid,
            self.moment.date()
        ));
        if let Some(description) = &job.options.description {
            lines.push(format!("  Description  : [{description}]"));
        }
        for (name, figures) in entry.directions() {
            if figures.ops > 0 {
                let group_bw = entry::group_bw(all, job.group, name);
                let scheduled = outcome.tape.punctuality.scheduled;
                direction(lines, name, figures, &Way { options: &job.options, scheduled, group_bw });
            }
        }
        coarse(lines, entry);
        let flushes = &outcome.tape[Tape::FLUSH];
        if flushes.ops > 0 {
            lines.push("  fsync/fdatasync/sync_file_range:".into());
            latency(lines, "sync", &flushes.response);
            percentiles(lines, "sync", &flushes.response, &job.options.report.percentiles);
        }
        course(lines, entry);
        added(lines, outcome);
    }

    /// What fio prints before a run: each job with its kind, block sizes, engine and depth.
    pub fn opening(&self) -> String {
        let mut text = String::new();
        let jobs = &self.invocation.jobs;
        for job in jobs.iter().filter(|job| job.number == 0) {
            text.push_str(&opening(job));
            if job.options.course.numjobs > 1 {
                text.push_str("...\n");
            }
        }
        text += &format!("{VERSION}\nStarting {}\n", block::count(jobs.len(), "thread", "threads"));
        // fio's words, once for each thread.
        let capped = jobs.iter().filter(|job| job.options.target.engine.calls() && job.options.pace.depth > 1);
        capped.for_each(|_| text += CAPPED);
        text
    }
}

/// What fio prints of a depth that the engine cannot have.
const CAPPED: &str =
    "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1\n";

fn opening(job: &Job) -> String {
    let options = &job.options;
    let (own, _) = prefixes(options);
    let sizes = Direction::ALL.map(|direction| {
        let sizes = job.block_sizes(direction);
        let [least, most] = [sizes.least(), sizes.most()].map(|size| short(u64::from(size), 4, own, "B"));
        let letter = direction.name()[..1].to_uppercase();
        format!("({letter}) {least}-{most}")
    });
    let sizes = match options.pattern.blocks_by_order {
        true => format!("{}, bs_is_seq_rand", sizes[..2].join(", ")),
        false => sizes.join(", "),
    };
    format!(
        "{}: (g={}): rw={}, bs={sizes}, ioengine={}, iodepth={}\n",
        job.name,
        job.group,
        kind(options),
        options.target.engine_name,
        options.pace.depth
    )
}

/// `rw` in full.
pub(crate) fn kind(options: &Options) -> String {
    let kind = options.pattern.kind;
    let random = if kind.random { "rand" } else { "" };
    match kind.directions {
        Directions::Only(direction) => format!("{random}{}", direction.name()),
        Directions::ReadWrite => format!("{random}rw"),
        Directions::TrimWrite => format!("{random}trimwrite"),
    }
}

/// The prefixes that the user chose, and the other ones.
fn prefixes(options: &Options) -> (Prefix, Prefix) {
    match options.kb_base {
        KbBase::Binary => (Prefix::Binary, Prefix::Decimal),
        KbBase::Decimal => (Prefix::Decimal, Prefix::Binary),
    }
}

/// A rate in the unit that the user chose, and in the other one.
fn rates(bytes_per_second: f64, options: &Options) -> (String, String) {
    let (own, other) = prefixes(options);
    let digits = options.report.figures as usize;
    let (number, unit) = if options.bits { (bytes_per_second * 8.0, "bit/s") } else { (bytes_per_second, "B/s") };
    (short(number as u64, digits, own, unit), short(number as u64, digits, other, unit))
}

/// What the lines of all directions of an entry have in common.
struct Way<'e> {
    options: &'e Options,
    /// Whether requests were due by a schedule.
    scheduled: bool,
    /// Total bytes per second of the group.
    group_bw: f64,
}

fn direction(lines: &mut Vec<String>, name: &str, figures: &Track, way: &Way<'_>) {
    let Way { options, scheduled, group_bw } = *way;
    let digits = options.report.figures as usize;
    let (own, _) = prefixes(options);
    let (rate, other_rate) = rates(figures.bytes_per_second(), options);
    let zones = if name == "write" { "; 0 zone resets" } else { "" };
    lines.push(format!(
        "  {name}: IOPS={}, BW={rate} ({other_rate})({}/{}msec){zones}",
        short(figures.iops() as u64, digits, Prefix::Decimal, ""),
        short(figures.bytes, digits, own, "B"),
        entry::run_millis(figures.measured)
    ));
    let report = &options.report;
    for (name, latencies, hidden) in [
        ("slat", &figures.submission, report.no_slat),
        ("clat", &figures.service, report.no_clat),
        (" lat", &figures.response, report.no_lat),
    ] {
        if !hidden && latencies.max().as_nanos() > 0 {
            latency(lines, name, latencies);
        }
    }
    let (clat, lat) = (report.clat_percentiles && !report.no_clat, report.lat_percentiles && !report.no_lat);
    for (name, latencies, shown) in [
        ("slat", &figures.submission, report.slat_percentiles && !report.no_slat),
        ("clat", &figures.service, clat && !scheduled),
        ("lat", &figures.response, lat && !scheduled),
        // With a schedule, service time hides a pause, because it does not include the wait of
        // later requests.
        ("response", &figures.response, scheduled && (clat || lat)),
    ] {
        if shown && latencies.count() > 0 {
            percentiles(lines, name, latencies, &report.percentiles);
        }
    }
    if !report.no_bw {
        over_time(lines, figures, group_bw);
    }
}

fn over_time(lines: &mut Vec<String>, figures: &Track, group_bw: f64) {
    let (bw, iops) = (figures.throughput_spread(), figures.iops_spread());
    if bw.samples == 0 {
        return;
    }
    let percent = if group_bw > 0.0 { (bw.mean / group_bw * 100.0).min(100.0) } else { 0.0 };
    let (unit, scale) = if bw.mean > (1u64 << 30) as f64 { ("MiB", 1_048_576.0) } else { ("KiB", 1024.0) };
    lines.push(format!(
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={percent:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
        (bw.least / scale) as u64,
        (bw.most / scale) as u64,
        bw.mean / scale,
        bw.deviation / scale,
        bw.samples
    ));
    lines.push(format!(
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
        iops.least as u64, iops.most as u64, iops.mean, iops.deviation, iops.samples
    ));
}

/// fio uses the largest unit in which the figures still have digits.
fn unit_of(least: u64, most: u64, deviation: Option<f64>) -> (&'static str, u64) {
    let deviates = |by: f64| deviation.is_none_or(|deviation| deviation > by);
    if least > 2_000_000 && most > 99_999_999 && deviates(1_000_000.0) {
        ("msec", 1_000_000)
    } else if least > 2_000 && most > 99_999 && deviates(1_000.0) {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

fn latency(lines: &mut Vec<String>, name: &str, latencies: &Histogram) {
    let (least, most) = (latencies.min().as_nanos(), latencies.max().as_nanos());
    let deviation = latencies.deviation();
    let (unit, scale) = unit_of(least, most, Some(deviation));
    let mean = latencies.sum().as_nanos() as f64 / latencies.count().max(1) as f64;
    lines.push(format!(
        "    {name} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        short(least / scale, 6, Prefix::Decimal, ""),
        short(most / scale, 6, Prefix::Decimal, ""),
        mean / scale as f64,
        deviation / scale as f64
    ));
}

fn percentiles(lines: &mut Vec<String>, name: &str, latencies: &Histogram, list: &PercentileList) {
    let values: Vec<(f64, u64)> =
        list.iter().map(|percent| (percent, latencies.quantile(percent / 100.0).as_nanos())).collect();
    let least = values.iter().map(|(_, value)| *value).min().unwrap_or(0);
    let most = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let (unit, scale) = unit_of(least, most, None);
    let precision = values.iter().map(|(percent, _)| decimals(*percent)).max().unwrap_or(0);
    let width = (most / scale).to_string().len().max(5);
    let each_line = (73 / (precision + 10 + width)).max(1);
    lines.push(format!("    {name} percentiles ({unit}):"));
    let cell = |(percent, value): &(f64, u64)| {
        // Rounded up, as in fio.
        format!(" {percent:pw$.precision$}th=[{:width$}]", value.div_ceil(scale), pw = precision + 3)
    };
    let rows: Vec<String> =
        values.chunks(each_line).map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",")).collect();
    let last = rows.len().saturating_sub(1);
    let ends = rows
        .iter()
        .enumerate()
        .map(|(index, row)| if index == last { format!("     |{row}") } else { format!("     |{row},") });
    lines.extend(ends);
}

/// The number of decimals that a percentile needs, at most six.
fn decimals(percent: f64) -> usize {
    let text = format!("{percent:.6}");
    text.trim_end_matches('0').split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

fn coarse(lines: &mut Vec<String>, entry: &Entry<'_>) {
    let latencies = LatencyShares::of(&entry.service());
    let bounds: Vec<String> = shares::BOUNDS.iter().map(u64::to_string).collect();
    let long: Vec<String> = shares::ms_names().collect();
    for (unit, names, shares) in
        [("nsec", &bounds, &latencies.ns[..]), ("usec", &bounds, &latencies.us[..]), ("msec", &long, &latencies.ms[..])]
    {
        let cells = names.iter().zip(shares).filter(|(_, share)| **share > 0.0);
        // As in fio, what occurred is never shown as 0 %; the same holds for depths.
        let cells: Vec<String> = cells.map(|(name, share)| format!("{name}={:3.2}%", share.max(0.01))).collect();
        lines.extend(cells.chunks(5).map(|row| format!("  lat ({unit})   : {}", row.join(", "))));
    }
}

fn course(lines: &mut Vec<String>, entry: &Entry<'_>) {
    let (outcome, pace) = (&entry.outcome, &entry.job.options.pace);
    let whole = entry.run_time.as_secs_f64();
    let percent = |part: block::Span| if whole > 0.0 { part.as_secs_f64() / whole * 100.0 } else { 0.0 };
    let usage = &outcome.usage;
    lines.push(format!(
        "  cpu          : usr={:3.2}%, sys={:3.2}%, ctx={}, majf={}, minf={}",
        percent(usage.user),
        percent(usage.system),
        usage.switches,
        usage.faults_major,
        usage.faults_minor
    ));
    let row = |names: &[&str], shares: [f64; 7]| {
        let shown = |share: f64| if share > 0.0 { share.max(0.1) } else { share };
        let cells = names.iter().zip(shares).map(|(name, share)| format!("{name}={:3.1}%", shown(share)));
        cells.collect::<Vec<_>>().join(", ")
    };
    lines.push(format!("  IO depths    : {}", row(&shares::DEPTHS, shares::depths(&outcome.depth))));
    lines.push(format!("     submit    : {}", row(&shares::BATCHES, shares::batches(&outcome.submitted))));
    lines.push(format!("     complete  : {}", row(&shares::BATCHES, shares::batches(&outcome.completed))));
    let none = Track::default();
    let [read, write, trim] = match &entry.mixed {
        // As in fio, combined directions are in the place of reads.
        Some(all) if entry.job.options.report.unified == Unified::Mixed => [all, &none, &none],
        _ => Direction::ALL.map(|direction| &outcome.tape[direction]),
    };
    lines.push(format!(
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
        read.ops + read.failed,
        write.ops + write.failed,
        trim.ops + trim.failed,
        outcome.syncs_whole,
        read.short,
        write.short,
        trim.short
    ));
    if let Some((total, first)) = entry.failures() {
        lines.push(format!("     errors    : total={total}, first_error={first}/<{}>", words_of(first)));
    }
    lines.push(format!(
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        pace.search.target.as_nanos(),
        pace.search.window.as_nanos() / 1000,
        pace.search.percent,
        outcome.latency_search.map_or(pace.depth, |search| search.depth)
    ));
    if let Some(steady) = &outcome.steady {
        lines.push(steadystate(steady, entry));
    }
}

/// The system's text for one of its error numbers.
fn words_of(number: i32) -> String {
    let number_behind = format!(" (os error {number})");
    match number {
        0 => "Success".into(),
        _ => std::io::Error::from_raw_os_error(number).to_string().replace(&number_behind, ""),
    }
}

/// fio's line: whether steady state was reached, and the figure that the rule judges.
fn steadystate(steady: &SteadyReport, entry: &Entry<'_>) -> String {
    let (iops, bw) = json::steady_rounds(steady, entry);
    let (bw, other) = rates(json::mean(&bw), &entry.job.options);
    let rule = entry.job.options.course.steady;
    let figure = match rule.map(|rule| rule.figure) {
        Some(SteadyFigure::Throughput) => "bw",
        Some(SteadyFigure::Latency) => "lat",
        _ => "iops",
    };
    let mean = json::mean(&steady.rounds);
    let (name, value) = match json::slopes(entry) {
        true => ("slope", stats::job::line_rise(&steady.rounds)),
        false => ("mean dev", steady.rounds.iter().map(|round| (round - mean).abs()).fold(0.0, f64::max)),
    };
    let absolute = |check| {
        matches!(check, SteadyCheck::Deviation(SteadyLimit::Absolute(_)) | SteadyCheck::Slope(SteadyLimit::Absolute(_)))
    };
    let criterion = match rule.is_some_and(|rule| absolute(rule.check)) {
        true => format!("{value:.3}"),
        false if mean == 0.0 => "0.000%".to_owned(),
        false => format!("{:.3}%", (value / mean * 100.0).abs()),
    };
    format!(
        "  steadystate  : attained={}, bw={bw} ({other}), iops={:.0}, {figure} {name}={criterion}",
        if steady.reached { "yes" } else { "no" },
        json::mean(&iops)
    )
}

/// Lines that fio lacks.
fn added(lines: &mut Vec<String>, outcome: &JobOutcome) {
    let kept = &outcome.tape.punctuality;
    if kept.scheduled {
        lines.push(format!(
            "  seawall      : late={}, latest by {}, held by depth={}, never sent={}",
            kept.late, kept.late_most, kept.held, kept.never_sent
        ));
    }
    let kinds: Vec<String> =
        outcome.errors.occurred().map(|(kind, count)| format!("{}={count}", kind.name())).collect();
    if !kinds.is_empty() {
        lines.push(format!("  seawall      : failed {}", kinds.join(", ")));
    }
    for wrong in outcome.verify.iter().flat_map(|verify| &verify.mismatches) {
        lines.push(format!(
            "  seawall      : {} at {} ({} bytes): expected {}, found {}",
            wrong.file, wrong.at, wrong.len, wrong.expected, wrong.found
        ));
    }
    if let Some(steady) = &outcome.steady {
        let word = if steady.reached { "steady" } else { "not steady" };
        lines.push(format!("  seawall      : {word}: {}", steady.rule));
    }
    lines.extend(outcome.notes.iter().map(|note| format!("  seawall      : {note}")));
}

fn group_lines(lines: &mut Vec<String>, entries: &[&Entry<'_>]) {
    for name in ["read", "write", "trim", "mixed"] {
        let of_name = |entry: &&Entry<'_>| {
            entry
                .directions()
                .into_iter()
                .find(|(other, _)| *other == name)
                .map(|(_, d)| (d.bytes, d.measured, d.bytes_per_second()))
        };
        let found: Vec<_> = entries.iter().filter_map(of_name).filter(|(bytes, ..)| *bytes > 0).collect();
        let Some(first) = entries.first().filter(|_| !found.is_empty()) else { continue };
        let options = &first.job.options;
        let bytes: u64 = found.iter().map(|(bytes, ..)| bytes).sum();
        let longest = found.iter().map(|(_, time, _)| *time).max().unwrap_or_default();
        let shortest = found.iter().map(|(_, time, _)| *time).min().unwrap_or_default();
        let all = if longest.as_nanos() == 0 { 0.0 } else { bytes as f64 / longest.as_secs_f64() };
        let slowest = found.iter().map(|(.., rate)| *rate).fold(f64::INFINITY, f64::min);
        let fastest = found.iter().map(|(.., rate)| *rate).fold(0.0, f64::max);
        let ((all, all_other), (slow, slow_other), (fast, fast_other)) =
            (rates(all, options), rates(slowest, options), rates(fastest, options));
        let (own, other) = prefixes(options);
        let digits = options.report.figures as usize;
        lines.push(format!(
            "{:>7}: bw={all} ({all_other}), {slow}-{fast} ({slow_other}-{fast_other}), io={} ({}), run={}-{}msec",
            name.to_uppercase(),
            short(bytes, digits, own, "B"),
            short(bytes, digits, other, "B"),
            entry::run_millis(shortest),
            entry::run_millis(longest)
        ));
    }
}
