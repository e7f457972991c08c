//! fio's JSON: `json` and `json+`.

use super::entry::{self, Entry};
use super::json_text::Json;
use super::shares::{self, LatencyShares};
use super::{Interim, Report, VERSION};
use crate::options::{ReportOptions, Unified};
use block::Span;
use stats::Histogram;
use stats::job::{DiskUse, JobOutcome, KindCounts, Losses, SteadyReport};
use stats::{Tape, TapeSlice, Track};
use workload::job::{SteadyCheck, SteadyFigure, SteadyLimit};

impl Report<'_> {
    /// `--output-format=json`.
    pub fn json(&self) -> String {
        self.document(Bins::Left).document()
    }

    /// `--output-format=json+`.
    pub fn json_plus(&self) -> String {
        self.document(Bins::Shown).document()
    }

    fn document(&self, bins: Bins) -> Json {
        let mut whole = Json::object([
            ("fio version", Json::text(VERSION)),
            ("timestamp", Json::from(self.moment.unix_ms / 1000)),
            ("timestamp_ms", Json::from(self.moment.unix_ms)),
            ("time", Json::text(self.moment.date())),
        ]);
        if let Some(global) = &self.invocation.global {
            whole.insert("global options", options(global));
        }
        whole.insert("jobs", self.jobs(bins));
        let disks = entry::disks(self);
        if !disks.is_empty() {
            whole.insert("disk_util", Json::List(disks.iter().map(disk).collect()));
        }
        whole.insert("seawall", self.added());
        whole
    }

    fn jobs(&self, bins: Bins) -> Json {
        let entries = Entry::all(self);
        let group_kib = |group: u32, name: &str| entry::group_bw(&entries, group, name) / 1024.0;
        let jobs = entries.iter().map(|entry| job(entry, bins, &|name| group_kib(entry.job.group, name)));
        Json::List(jobs.collect())
    }

    /// This report as that of a run that is still going on, `passed` after its start.
    pub fn as_interim(&self, passed: Span) -> Interim {
        Interim(Json::object([
            ("timestamp_ms", Json::from(self.moment.unix_ms)),
            ("passed_ms", Json::from(millis(passed))),
            ("jobs", self.jobs(Bins::Left)),
        ]))
    }

    /// Figures of the whole run that fio lacks.
    fn added(&self) -> Json {
        let plan = self.invocation.describe();
        let notes = self.invocation.notes.iter().chain(self.notes);
        let mut added = Json::object([
            ("version", Json::text(env!("CARGO_PKG_VERSION"))),
            ("host", Json::text(self.host)),
            ("plan", Json::List(plan.iter().map(Json::text).collect())),
            ("notes", Json::List(notes.map(Json::text).collect())),
            ("interrupted", Json::Bool(self.interrupted)),
        ]);
        if self.invocation.flags.status_interval.is_some() || !self.interim.is_empty() {
            added.insert("interim", Json::List(self.interim.iter().map(|Interim(json)| json.clone()).collect()));
        }
        added
    }
}

/// Whether all bins of a histogram are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bins {
    Left,
    Shown,
}

fn options(given: &[(String, String)]) -> Json {
    Json::object(given.iter().map(|(name, value)| (name.as_str(), Json::text(value))))
}

fn job(entry: &Entry<'_>, bins: Bins, group_kib: &dyn Fn(&str) -> f64) -> Json {
    let (job, outcome) = (entry.job, &entry.outcome);
    let mut found = Json::object([("jobname", Json::text(&job.name)), ("groupid", Json::from(job.group))]);
    found.insert("error", Json::Whole(i128::from(entry.error())));
    found.insert("eta", Json::from(0u64));
    found.insert("elapsed", Json::from(outcome.elapsed.as_nanos().div_ceil(1_000_000_000)));
    // As in fio.
    if !entry.given.is_empty() {
        found.insert("job options", options(entry.given));
    }
    let directions = entry.directions();
    let (each, mixed): (Vec<_>, Vec<_>) = directions.into_iter().partition(|(name, _)| *name != "mixed");
    for (name, figures) in each {
        found.insert(name, direction(figures, &job.options.report, bins, group_kib(name)));
    }
    // As in fio, combined directions do not include flushes.
    if job.options.report.unified != Unified::Mixed {
        found.insert("sync", flushes(entry, bins));
    }
    for (name, figures) in mixed {
        found.insert(name, direction(figures, &job.options.report, bins, group_kib(name)));
    }
    usage(&mut found, entry);
    spread(&mut found, entry);
    searched(&mut found, entry);
    if let Some(description) = &job.options.description {
        found.insert("desc", Json::text(description));
    }
    if let Some(steady) = &outcome.steady {
        found.insert("steadystate", steadystate(steady, entry));
    }
    found.insert("seawall", added(entry));
    found
}

/// fio counts only fsync here, but includes fdatasync in the times.
fn flushes(entry: &Entry<'_>, bins: Bins) -> Json {
    let (flushes, report) = (&entry.outcome.tape[Tape::FLUSH], &entry.job.options.report);
    let mut found = Json::object([("total_ios", Json::from(entry.outcome.syncs_whole))]);
    let percentiles = report.lat_percentiles || report.clat_percentiles;
    found.insert("lat_ns", latency(&flushes.response, report, percentiles, bins));
    found
}

fn direction(figures: &Track, report: &ReportOptions, bins: Bins, group_kib: f64) -> Json {
    let bytes_per_second = figures.bytes_per_second();
    let whole = |number: f64| Json::Whole(number as i128);
    let empty = Histogram::new();
    let unless = |hidden: bool, shown| if hidden { &empty } else { shown };
    let mut found = Json::object([
        ("io_bytes", Json::from(figures.bytes)),
        ("io_kbytes", Json::from(figures.bytes >> 10)),
        ("bw_bytes", whole(bytes_per_second)),
        ("bw", whole(bytes_per_second / 1024.0)),
        ("iops", Json::Real(figures.iops())),
        ("runtime", Json::from(entry::run_millis(figures.measured))),
        ("total_ios", Json::from(figures.ops)),
        ("short_ios", Json::from(figures.short)),
        ("drop_ios", Json::from(0u64)),
        ("slat_ns", latency(unless(report.no_slat, &figures.submission), report, report.slat_percentiles, bins)),
        ("clat_ns", latency(unless(report.no_clat, &figures.service), report, report.clat_percentiles, bins)),
        ("lat_ns", latency(unless(report.no_lat, &figures.response), report, report.lat_percentiles, bins)),
    ]);
    let (bw, iops) = match report.no_bw {
        true => Default::default(),
        false => (figures.throughput_spread(), figures.iops_spread()),
    };
    let agg = if group_kib > 0.0 { (bw.mean / 1024.0 / group_kib * 100.0).min(100.0) } else { 0.0 };
    for (key, value) in [
        ("bw_min", whole(bw.least / 1024.0)),
        ("bw_max", whole(bw.most / 1024.0)),
        ("bw_agg", Json::Real(agg)),
        ("bw_mean", Json::Real(bw.mean / 1024.0)),
        ("bw_dev", Json::Real(bw.deviation / 1024.0)),
        ("bw_samples", Json::from(bw.samples)),
        ("iops_min", whole(iops.least)),
        ("iops_max", whole(iops.most)),
        ("iops_mean", Json::Real(iops.mean)),
        ("iops_stddev", Json::Real(iops.deviation)),
        ("iops_samples", Json::from(iops.samples)),
    ] {
        found.insert(key, value);
    }
    found
}

fn millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

fn latency(latencies: &Histogram, report: &ReportOptions, percentiles: bool, bins: Bins) -> Json {
    let mean = match latencies.count() {
        0 => 0.0,
        count => latencies.sum().as_nanos() as f64 / count as f64,
    };
    let mut found = Json::object([
        ("min", Json::from(latencies.min().as_nanos())),
        ("max", Json::from(latencies.max().as_nanos())),
        ("mean", Json::Real(mean)),
        ("stddev", Json::Real(latencies.deviation())),
        ("N", Json::from(latencies.count())),
    ]);
    if percentiles && latencies.count() > 0 {
        let each = report
            .percentiles
            .iter()
            .map(|percent| (format!("{percent:.6}"), Json::from(latencies.quantile(percent / 100.0).as_nanos())));
        found.insert("percentile", Json::object(each));
        if bins == Bins::Shown {
            let each = latencies.bins().map(|(middle, count)| (middle.as_nanos().to_string(), Json::from(count)));
            found.insert("bins", Json::object(each));
        }
    }
    found
}

fn usage(found: &mut Json, entry: &Entry<'_>) {
    let usage = &entry.outcome.usage;
    let percent = |part: Span| match entry.run_time {
        Span::ZERO => 0.0,
        whole => part.as_secs_f64() / whole.as_secs_f64() * 100.0,
    };
    found.insert("job_runtime", Json::from(entry::run_millis(entry.run_time)));
    found.insert("usr_cpu", Json::Real(percent(usage.user)));
    found.insert("sys_cpu", Json::Real(percent(usage.system)));
    found.insert("ctx", Json::from(usage.switches));
    found.insert("majf", Json::from(usage.faults_major));
    found.insert("minf", Json::from(usage.faults_minor));
}

fn spread(found: &mut Json, entry: &Entry<'_>) {
    let percents = |names: &[&str], shares: &[f64]| {
        Json::object(names.iter().zip(shares).map(|(name, share)| (*name, Json::Real(*share))))
    };
    let outcome = &entry.outcome;
    found.insert("iodepth_level", percents(&shares::DEPTHS, &shares::depths(&outcome.depth)));
    found.insert("iodepth_submit", percents(&shares::BATCHES, &shares::batches(&outcome.submitted)));
    found.insert("iodepth_complete", percents(&shares::BATCHES, &shares::batches(&outcome.completed)));
    let latencies = LatencyShares::of(&entry.service());
    let named = |names: Vec<String>, shares: &[f64]| {
        Json::object(names.into_iter().zip(shares).map(|(name, share)| (name, Json::Real(*share))))
    };
    let bounds = || shares::BOUNDS.iter().map(u64::to_string).collect();
    found.insert("latency_ns", named(bounds(), &latencies.ns));
    found.insert("latency_us", named(bounds(), &latencies.us));
    found.insert("latency_ms", named(shares::ms_names().collect(), &latencies.ms));
}

fn searched(found: &mut Json, entry: &Entry<'_>) {
    let pace = &entry.job.options.pace;
    if let Some((total, first)) = entry.failures() {
        found.insert("total_err", Json::from(total));
        found.insert("first_error", Json::Whole(i128::from(first)));
    }
    // As in fio, a job that made no requests and was not meant to has no depths.
    if entry.job.options.target.layout.only || entry.outcome.elapsed == Span::ZERO {
        return;
    }
    let depth = entry.outcome.latency_search.map_or(pace.depth, |search| search.depth);
    found.insert("latency_depth", Json::from(depth));
    found.insert("latency_target", Json::from(pace.search.target.as_nanos()));
    found.insert("latency_percentile", Json::Real(pace.search.percent));
    found.insert("latency_window", Json::from(pace.search.window.as_nanos() / 1000));
}

fn steadystate(steady: &SteadyReport, entry: &Entry<'_>) -> Json {
    let rounds = &steady.rounds;
    let mean = mean(rounds);
    let deviation = rounds.iter().map(|round| (round - mean).abs()).fold(0.0, f64::max);
    let percent = if mean == 0.0 { 0.0 } else { deviation / mean * 100.0 };
    let duration = entry.job.options.course.steady_duration;
    Json::object([
        ("ss", Json::text(steady_option(entry))),
        ("duration", Json::from(duration.as_nanos() / 1_000_000_000)),
        ("attained", Json::from(u64::from(steady.reached))),
        ("criterion", Json::text(format!("{percent:.6}%"))),
        ("max_deviation", Json::Real(deviation)),
        ("slope", Json::Real(if slopes(entry) { stats::job::line_rise(rounds) } else { 0.0 })),
        ("data", steady_data(steady, entry)),
    ])
}

/// Whether the rule judges the slope.
pub(super) fn slopes(entry: &Entry<'_>) -> bool {
    entry.job.options.course.steady.is_some_and(|steady| !matches!(steady.check, SteadyCheck::Deviation(_)))
}

/// The rule as it is typed as an option.
fn steady_option(entry: &Entry<'_>) -> String {
    let Some(steady) = entry.job.options.course.steady else { return String::new() };
    let figure = match steady.figure {
        SteadyFigure::Iops => "iops",
        SteadyFigure::Throughput => "bw",
        SteadyFigure::Latency => "lat",
    };
    let limit = |limit| match limit {
        SteadyLimit::Percent(percent) => format!("{percent:.6}%"),
        SteadyLimit::Absolute(value) => format!("{value:.6}"),
    };
    match steady.check {
        SteadyCheck::Deviation(most) => format!("{figure}:{}", limit(most)),
        SteadyCheck::Slope(most) => format!("{figure}_slope:{}", limit(most)),
        SteadyCheck::Snia { .. } => format!("snia_{figure}"),
    }
}

fn steady_data(steady: &SteadyReport, entry: &Entry<'_>) -> Json {
    let (iops, bw) = steady_rounds(steady, entry);
    let whole = |value: f64| Json::Whole(value as i128);
    let list = |values: &[f64]| Json::List(values.iter().map(|value| whole(*value)).collect());
    Json::object([
        ("bw_mean", whole(mean(&bw))),
        ("iops_mean", whole(mean(&iops))),
        ("iops", list(&iops)),
        ("bw", list(&bw)),
    ])
}

/// IOPS and bytes per second of the rounds. The judged figure is the one that was judged; the other
/// comes from the slices of the same time.
pub(super) fn steady_rounds(steady: &SteadyReport, entry: &Entry<'_>) -> (Vec<f64>, Vec<f64>) {
    let figure = entry.job.options.course.steady.map(|steady| steady.figure);
    let rounds_of = |wanted: SteadyFigure, of: fn(&TapeSlice) -> u64| match figure {
        Some(judged) if judged == wanted => steady.rounds.clone(),
        _ => rounds_from_slices(steady, entry, of),
    };
    let iops = rounds_of(SteadyFigure::Iops, |slice| slice.ops);
    (iops, rounds_of(SteadyFigure::Throughput, |slice| slice.bytes))
}

fn rounds_from_slices(steady: &SteadyReport, entry: &Entry<'_>, of: fn(&TapeSlice) -> u64) -> Vec<f64> {
    let count = steady.rounds.len() as u64;
    let length = entry.job.options.course.steady_duration.as_nanos() / count.max(1);
    let end = steady.at.unwrap_or(entry.outcome.measured).as_nanos();
    let round = |index: u64| {
        let from = end.saturating_sub(length * (count - index));
        let within = |slice: &&TapeSlice| (from + 1..=from + length).contains(&slice.end.as_nanos());
        let slices = entry.outcome.tape.directions().flat_map(|(_, figures)| &figures.slices).filter(within);
        slices.map(of).sum::<u64>() as f64 / Span::from_nanos(length.max(1)).as_secs_f64()
    };
    (0..count).map(round).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn disk(disk: &DiskUse) -> Json {
    Json::object([
        ("name", Json::text(&disk.name)),
        ("read_ios", Json::from(disk.ios[0])),
        ("write_ios", Json::from(disk.ios[1])),
        ("read_merges", Json::from(disk.merges[0])),
        ("write_merges", Json::from(disk.merges[1])),
        ("read_ticks", Json::from(millis(disk.ticks[0]))),
        ("write_ticks", Json::from(millis(disk.ticks[1]))),
        ("in_queue", Json::from(millis(disk.in_queue))),
        ("util", Json::Real(entry::busy_percent(disk))),
        ("read_sectors", Json::from(disk.sectors[0])),
        ("write_sectors", Json::from(disk.sectors[1])),
    ])
}

/// Figures of one job that fio lacks: both latencies with all percentiles, how well the schedule
/// was kept, failures by kind.
fn added(entry: &Entry<'_>) -> Json {
    let outcome = &entry.outcome;
    let report = &entry.job.options.report;
    let mut found = Json::object([
        ("jobs", Json::from(entry.jobs as u64)),
        ("seed", Json::from(outcome.seed)),
        ("backend", Json::text(&outcome.backend)),
        ("start_ms", Json::from(millis(outcome.start))),
        ("interrupted", Json::Bool(outcome.interrupted)),
        ("error", outcome.error.as_ref().map_or(Json::Null, |error| Json::text(&error.text))),
        ("schedule", schedule(outcome)),
        ("errors", Json::object(outcome.errors.occurred().map(|(kind, count)| (kind.name(), Json::from(count))))),
    ]);
    for (name, figures) in entry.directions() {
        let both = Json::object([
            ("response_ns", latency(&figures.response, report, true, Bins::Left)),
            ("service_ns", latency(&figures.service, report, true, Bins::Left)),
            ("failed_ios", Json::from(figures.failed)),
            ("iops_confidence_95", figures.iops_confidence().map_or(Json::Null, |found| Json::Real(found.half_width))),
        ]);
        found.insert(name, both);
    }
    if let Some(verify) = &outcome.verify {
        let mismatches = verify.mismatches.iter().map(|wrong| {
            Json::object([
                ("file", Json::text(&wrong.file)),
                ("offset", Json::from(wrong.at)),
                ("length", Json::from(wrong.len)),
                ("expected", Json::text(&wrong.expected)),
                ("found", Json::text(&wrong.found)),
            ])
        });
        let mismatches = Json::List(mismatches.collect());
        let (blocks, wrong) = (Json::from(verify.blocks), Json::from(verify.wrong));
        found.insert("verify", Json::object([("blocks", blocks), ("wrong", wrong), ("mismatches", mismatches)]));
    }
    if let Some(steady) = &outcome.steady {
        found.insert("steady", steady_rule(steady));
    }
    if outcome.losses.any() {
        found.insert("connection_losses", connection_losses(&outcome.losses));
    }
    found.insert("notes", Json::List(outcome.notes.iter().map(Json::text).collect()));
    found
}

/// What was in flight when connections were lost, by kind, and what happened to it.
fn connection_losses(losses: &Losses) -> Json {
    let kinds = |counts: &KindCounts| Json::object(counts.occurred().map(|(kind, count)| (kind, Json::from(count))));
    let mut found = Json::object([
        ("lost", Json::from(losses.lost)),
        ("why", Json::object(losses.why.iter().map(|(why, count)| (why, Json::from(count))))),
        ("regained", Json::from(losses.regained)),
        ("away_ns", Json::from(losses.away.as_nanos())),
        ("under_way", kinds(&losses.under_way)),
        ("unsent", Json::from(losses.unsent)),
        ("repeated", kinds(&losses.repeated)),
        ("unknown", kinds(&losses.unknown)),
        ("not_flushed", Json::from(losses.not_flushed)),
    ]);
    if let Some(why) = &losses.given_up {
        found.insert("given_up", Json::text(why));
    }
    found
}

fn schedule(outcome: &JobOutcome) -> Json {
    let kept = &outcome.tape.punctuality;
    Json::object([
        ("open_loop", Json::Bool(kept.scheduled)),
        ("late", Json::from(kept.late)),
        ("late_max_ns", Json::from(kept.late_most.as_nanos())),
        ("held_by_depth", Json::from(kept.held)),
        ("never_sent", Json::from(kept.never_sent)),
    ])
}

fn steady_rule(steady: &SteadyReport) -> Json {
    Json::object([
        ("reached", Json::Bool(steady.reached)),
        ("at_ms", steady.at.map_or(Json::Null, |at| Json::from(millis(at)))),
        ("rule", Json::text(&steady.rule)),
        ("rounds", Json::List(steady.rounds.iter().map(|round| Json::Real(*round)).collect())),
        ("excursion_percent", Json::Real(steady.excursion_percent)),
        ("slope_percent", Json::Real(steady.slope_percent)),
        ("mean", steady.mean.map_or(Json::Null, |mean| Json::Real(mean.mean))),
        ("mean_confidence_95", steady.mean.map_or(Json::Null, |mean| Json::Real(mean.half_width))),
    ])
}
