//! A row of a table: a load, the bounds on our figures, and the results of the runs.

use super::fio::{Done, Load};
use super::median;
use super::served::Served;
use anyhow::Result;
use std::path::Path;

/// A load, and the bounds on ours.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) load: Load,
    pub(super) bounds: [Option<Bound>; 2],
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// The server's processor time per request.
    Cpu,
    Iops,
    /// The median response time.
    P50,
}

/// A bound on our figure, as a part of the competitor's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    figure: Figure,
    ratio: f64,
    /// Whether it is a maximum.
    most: bool,
    /// Whether the disk's own limit suffices.
    or_disk: bool,
}

impl Bound {
    pub(super) const fn most(figure: Figure, ratio: f64) -> Bound {
        Bound { figure, ratio, most: true, or_disk: false }
    }

    pub(super) const fn least(figure: Figure, ratio: f64) -> Bound {
        Bound { figure, ratio, most: false, or_disk: false }
    }

    pub(super) const fn or_disk(self) -> Bound {
        Bound { or_disk: true, ..self }
    }

    fn words(&self) -> String {
        format!("{} {}", if self.most { "≤" } else { "≥" }, self.ratio)
    }

    fn holds(&self, ratio: f64, of_disk: Option<f64>) -> bool {
        let is_kept = if self.most { ratio <= self.ratio } else { ratio >= self.ratio };
        is_kept || (self.or_disk && of_disk.is_some_and(|part| part >= DISKS_OWN))
    }
}

/// A load that repeats blocks.
pub(super) const fn load(pattern: &'static str, block: &'static str, depth: u32) -> Load {
    Load { pattern, block, depth, once: false }
}

/// Bounds, of which there are at most two.
pub(super) const fn bounds<const N: usize>(bounds: [Bound; N]) -> [Option<Bound>; 2] {
    let first = if N > 0 { Some(bounds[0]) } else { None };
    let second = if N > 1 { Some(bounds[N - 1]) } else { None };
    [first, second]
}

/// From this part of the disk's rate without a server on, the disk is the limit; the rest is noise.
const DISKS_OWN: f64 = 0.95;

/// The figures of one run of one server.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The server's processor time per request, in microseconds.
    cpu_us: f64,
    done: Done,
}

/// Neighbouring runs.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) ours: Sample,
    pub(super) theirs: Sample,
    /// The same load without a server.
    pub(super) disk: Option<Done>,
}

impl Sample {
    /// Runs a load and reads the server's processor time before and after.
    pub(super) fn take(served: &Served, load: &Load, uri: &str, seconds: u64, folder: &Path) -> Result<Sample> {
        let before = served.cpu_seconds()?;
        let done = load.run(uri, seconds, folder)?;
        Ok(Sample::of(served.cpu_seconds()? - before, done))
    }

    /// A sample with this processor time.
    pub(super) fn of(cpu_seconds: f64, done: Done) -> Sample {
        Sample { cpu_us: cpu_seconds * 1e6 / done.operations as f64, done }
    }

    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Cpu => self.cpu_us,
            Figure::Iops => self.done.iops(),
            Figure::P50 => self.done.p50_us,
        }
    }
}

impl Row {
    /// The row as text with these column names, and the numbers of bounds met and missed.
    pub(super) fn report(&self, names: [&str; 2], runs: &[Run]) -> (String, (u32, u32)) {
        let mut text = format!("\n  {:<46} {:>9} {:>9} {:>6}\n", self.name, names[0], names[1], "ratio");
        let (mut met, mut missed) = (0, 0);
        let is_large = self.load.block == "1m";
        let figures = [
            (Figure::Cpu, if is_large { "CPU µs per MiB" } else { "CPU µs per I/O" }),
            (Figure::Iops, if is_large { "MiB/s" } else { "IOPS" }),
            (Figure::P50, "p50 µs"),
        ];
        let disk_iops = median(runs.iter().filter_map(|run| Some(run.disk?.iops())));
        for (figure, name) in figures {
            let ours = median(runs.iter().map(|run| run.ours.figure(figure)));
            let theirs = median(runs.iter().map(|run| run.theirs.figure(figure)));
            let ratio = median(runs.iter().map(|run| run.ours.figure(figure) / run.theirs.figure(figure)));
            // Not every server reports every figure.
            if !ratio.is_finite() {
                continue;
            }
            text += &format!("    {name:<44} {:>9} {:>9} {ratio:>6.2}", short(ours), short(theirs));
            if let Some(bound) = self.bounds.iter().flatten().find(|bound| bound.figure == figure) {
                let of_disk = (figure == Figure::Iops && disk_iops > 0.0).then(|| ours / disk_iops);
                let held = bound.holds(ratio, of_disk);
                text += &format!("  {} {}", bound.words(), if held { "met" } else { "MISSED" });
                if held { met += 1 } else { missed += 1 }
            }
            text.push('\n');
        }
        if disk_iops > 0.0 {
            let p50 = median(runs.iter().filter_map(|run| Some(run.disk?.p50_us)));
            let unit = if is_large { "MiB/s" } else { "IOPS" };
            text += &format!("    without a server: {} {unit}, p50 {} µs\n", short(disk_iops), short(p50));
        }
        (text, (met, missed))
    }
}

/// Three significant digits, with at most one after the point.
fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu_us: f64, iops: u64, p50_us: f64) -> Sample {
        Sample { cpu_us, done: Done { operations: iops, seconds: 1.0, p50_us } }
    }

    #[test]
    fn a_row_says_what_was_met_and_what_was_missed() {
        let load = Load { pattern: "randread", block: "4k", depth: 32, once: false };
        let bounds = [Some(Bound::most(Figure::Cpu, 0.5)), Some(Bound::least(Figure::Iops, 1.3).or_disk())];
        let row = Row { name: "reads", load, bounds };
        let disk = Some(Done { operations: 1040, seconds: 1.0, p50_us: 900.0 });
        // The median of the ratios 0.4, 0.6 and 0.8 is above 0.5; 1000 is not 1.3 times 900, but
        // 0.96 of what the disk does.
        let run = |cpu| Run { ours: sample(cpu, 1000, 5.0), theirs: sample(10.0, 900, 10.0), disk };
        let (text, counts) = row.report(["us", "them"], &[run(4.0), run(8.0), run(6.0)]);
        assert_eq!(counts, (1, 1), "{text}");
        assert!(text.contains("6.0      10.0   0.60  ≤ 0.5 MISSED"), "{text}");
        assert!(text.contains("1.11  ≥ 1.3 met") && text.contains("without a server: 1040 IOPS"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 92), "{text}");
    }
}
