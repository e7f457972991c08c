//! fio's terse output, version 3: one line per entry, with fields separated by semicolons.
//!
//! Fields of reads, then of writes (or of all directions combined, after both or in their place):
//! amounts; submission, service and response times in microseconds; bandwidth over time. Then
//! processor time, depths, coarse latencies and devices, and failures if the job was to continue
//! after them. Version 3 has no trims.

use super::entry::{self, Entry};
use super::shares::{self, LatencyShares};
use super::{Report, VERSION};
use crate::options::ReportOptions;
use crate::percentile::{PERCENTILES_MAX, PercentileList};
use stats::Histogram;
use stats::{Direction, Track};

impl Report<'_> {
    /// `--output-format=terse`.
    pub fn terse(&self) -> String {
        let entries = Entry::all(self);
        let disks = entry::disks(self);
        let line = |entry: &Entry<'_>| {
            let mut fields = vec!["3".into(), VERSION.into(), entry.job.name.clone(), entry.job.group.to_string()];
            fields.push(entry.error().to_string());
            let report = &entry.job.options.report;
            for (name, figures) in entry.directions().into_iter().filter(|(name, _)| *name != Direction::Trim.name()) {
                direction(&mut fields, figures, report, entry::group_bw(&entries, entry.job.group, name));
            }
            course(&mut fields, entry);
            for disk in &disks {
                fields.push(disk.name.clone());
                let ticks = disk.ticks.map(|ticks| ticks.as_nanos() / 1_000_000);
                let queue = disk.in_queue.as_nanos() / 1_000_000;
                let counts = [disk.ios, disk.merges, ticks].concat();
                fields.extend(counts.into_iter().chain([queue]).map(|count| count.to_string()));
                fields.push(format!("{:.2}%", entry::busy_percent(disk)));
            }
            if let Some((total, first)) = entry.failures() {
                fields.extend([total.to_string(), first.to_string()]);
            }
            fields.extend(entry.job.options.description.clone());
            fields.join(";") + "\n"
        };
        entries.iter().map(line).collect()
    }
}

fn direction(fields: &mut Vec<String>, figures: &Track, report: &ReportOptions, group_bw: f64) {
    let bytes_per_second = figures.bytes_per_second();
    let amounts = [
        figures.bytes >> 10,
        (bytes_per_second / 1024.0) as u64,
        figures.iops() as u64,
        entry::run_millis(figures.measured),
    ];
    fields.extend(amounts.map(|amount| amount.to_string()));
    latency(fields, &figures.submission);
    latency(fields, &figures.service);
    percentiles(fields, &figures.service, &report.percentiles);
    latency(fields, &figures.response);
    let bw = figures.throughput_spread();
    let percent = if group_bw > 0.0 { (bw.mean / group_bw * 100.0).min(100.0) } else { 0.0 };
    fields.push(((bw.least / 1024.0) as u64).to_string());
    fields.push(((bw.most / 1024.0) as u64).to_string());
    fields.push(format!("{percent:.6}%"));
    fields.push(format!("{:.6}", bw.mean / 1024.0));
    fields.push(format!("{:.6}", bw.deviation / 1024.0));
}

fn latency(fields: &mut Vec<String>, latencies: &Histogram) {
    let mean = match latencies.count() {
        0 => 0.0,
        count => latencies.sum().as_nanos() as f64 / count as f64,
    };
    fields.push((latencies.min().as_nanos() / 1000).to_string());
    fields.push((latencies.max().as_nanos() / 1000).to_string());
    fields.push(format!("{:.6}", mean / 1000.0));
    fields.push(format!("{:.6}", latencies.deviation() / 1000.0));
}

/// Always as many as fio has fields for.
fn percentiles(fields: &mut Vec<String>, latencies: &Histogram, list: &PercentileList) {
    let each =
        list.iter().map(|percent| format!("{percent:.6}%={}", latencies.quantile(percent / 100.0).as_nanos() / 1000));
    fields.extend(each.chain(std::iter::repeat_n("0%=0".to_owned(), PERCENTILES_MAX)).take(PERCENTILES_MAX));
}

fn course(fields: &mut Vec<String>, entry: &Entry<'_>) {
    let outcome = &entry.outcome;
    let whole = entry.run_time.as_secs_f64();
    for part in [outcome.usage.user, outcome.usage.system] {
        let percent = if whole > 0.0 { part.as_secs_f64() / whole * 100.0 } else { 0.0 };
        fields.push(format!("{percent:.6}%"));
    }
    let usage = &outcome.usage;
    fields.extend([usage.switches, usage.faults_major, usage.faults_minor].map(|count| count.to_string()));
    fields.extend(shares::depths(&outcome.depth).map(|share| format!("{share:3.1}%")));
    let latencies = LatencyShares::of(&entry.service());
    let coarse = latencies.us_with_ns().into_iter().chain(latencies.ms);
    fields.extend(coarse.map(|share| format!("{share:3.2}%")));
}
