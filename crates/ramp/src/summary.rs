//! The summary: one row per run, with the published columns first.
//!
//! Rates are truncated to whole IOPS, and so is the total of the untruncated rates, so that a total
//! can be one more than its parts, as in the published tables, and never less. Times have two
//! decimals.

use crate::cycle::Cycle;
use crate::machine::RampOutcome;
use crate::settings::RampSettings;
use block::Span;
use stats::Tape;
use stats::run::Class;

/// The first line of `summary.csv`.
pub const HEADER: &str = "Run,Read IOPS,Write IOPS,Total IOPS,Longest WIJ Time (sec),Longest Write Cycle (sec),\
Effective Write Latency (ms),Randread Average (ms),Target IOPS,Write Cycle p90 (sec),Read p99 (ms),Read p99.9 (ms),\
Read p99.99 (ms),Read Service Average (ms),Write Average (ms),Reads,Cycles,Cycles Missed,Overruns,Reads Missed,\
Schedule Error p99 (us),Elapsed (sec),System,Comment,Verdict,Comparable,Journal (MB/s),Journal Sync p99 (ms)\n";

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RampRow {
    /// Its number, which continues the numbers in the summary.
    pub run: u64,
    /// Reads divided by elapsed time.
    pub read_iops: f64,
    /// Blocks written to the database divided by elapsed time, without the journal's.
    pub write_iops: f64,
    /// The longest journal phase.
    pub longest_wij: Span,
    /// The longest write cycle.
    pub longest_cycle: Span,
    /// `writers · Σ (cycle − WIJ) / Σ blocks`: a writer's time for a block, in milliseconds. `None`
    /// without a cycle.
    pub effective_write_ms: Option<f64>,
    /// Mean response time of a read, from when it was due.
    pub read_mean: Span,
    /// Target in total IOPS.
    pub target: u64,
    /// 90 % of the cycles took this long or less.
    pub cycle_p90: Span,
    /// 99 % of the reads took this long or less.
    pub read_p99: Span,
    /// 99.9 % of the reads.
    pub read_p999: Span,
    /// 99.99 % of the reads.
    pub read_p9999: Span,
    /// Mean time of a read from submission on, as a system call would see it.
    pub read_service: Span,
    /// Mean time of a single write to the database.
    pub write_mean: Span,
    /// Completed reads.
    pub reads: u64,
    /// Completed cycles.
    pub cycles: u64,
    /// Cycles that were due but did not begin within the run.
    pub cycles_missed: u64,
    /// Cycles that were not finished when the next was due.
    pub overruns: u64,
    /// Reads that were due and never made.
    pub reads_missed: u64,
    /// Whether the storage, and not this host, kept them from being made; not in the table.
    pub storage_held: bool,
    /// 99 % of the reads were submitted this long or less after they were due.
    pub lateness_p99: Span,
    /// The divisor of counts.
    pub elapsed: Span,
    /// The host's label.
    pub system: String,
    /// Free text.
    pub comment: String,
    /// `pass`, `fail` or `cannot say`; set by the caller.
    pub verdict: String,
    /// Whether it can be compared with published figures.
    pub comparable: bool,
    /// Bytes of the transaction journal divided by elapsed time, in millions; `None` without one.
    pub journal_mb_s: Option<f64>,
    /// 99 % of its syncs took this long or less, from when they were due.
    pub journal_sync_p99: Option<Span>,
}

impl RampRow {
    /// The figures of a run of a ramp.
    pub fn of(run: u64, outcome: &RampOutcome, settings: &RampSettings) -> RampRow {
        let elapsed = settings.accounting.elapsed(outcome.elapsed, outcome.runtime);
        let rate = |count: u64| if elapsed == Span::ZERO { 0.0 } else { count as f64 / elapsed.as_secs_f64() };
        let longest = |of: fn(&Cycle) -> Span| outcome.cycles.iter().map(of).max().unwrap_or(Span::ZERO);
        let [reads, writes] = [Tape::READ, Tape::WRITE].map(|class| &outcome.tape[class]);
        let log = outcome.tape.track(&Class::LOG);
        RampRow {
            run,
            read_iops: rate(reads.ops),
            write_iops: rate(writes.ops),
            longest_wij: longest(|cycle| cycle.wij),
            longest_cycle: longest(|cycle| cycle.cycle),
            effective_write_ms: effective_write(&outcome.cycles, outcome.writers),
            read_mean: reads.response.mean(),
            target: outcome.target,
            cycle_p90: percentile_90(&outcome.cycles),
            read_p99: reads.response.quantile(0.99),
            read_p999: reads.response.quantile(0.999),
            read_p9999: reads.response.quantile(0.9999),
            read_service: reads.service.mean(),
            write_mean: writes.response.mean(),
            reads: reads.ops,
            cycles: outcome.cycles.len() as u64,
            cycles_missed: outcome.cycles_missed,
            overruns: outcome.cycles.iter().filter(|cycle| cycle.overran(settings.constants.cycle)).count() as u64,
            reads_missed: outcome.tape.punctuality.never_sent,
            storage_held: outcome.storage_held(),
            lateness_p99: reads.lateness.quantile(0.99),
            elapsed,
            system: settings.system.clone(),
            comment: settings.comment.clone(),
            verdict: String::new(),
            comparable: settings.differences().is_empty(),
            journal_mb_s: log.map(|log| rate(log.bytes) / 1e6),
            journal_sync_p99: log.map(|_| outcome.tape[Tape::FLUSH].response.quantile(0.99)),
        }
    }

    /// Reads and writes, before truncation.
    pub fn total_iops(&self) -> f64 {
        self.read_iops + self.write_iops
    }

    /// A latency of the reads; `None` if there were none.
    pub fn of_reads(&self, latency: Span) -> Option<Span> {
        (self.reads > 0).then_some(latency)
    }

    /// A length of the cycles; `None` if there were none.
    pub fn of_cycles(&self, length: Span) -> Option<Span> {
        (self.cycles > 0).then_some(length)
    }

    /// The fraction of reads that were due and never made, from 0 to 1.
    pub fn never_made(&self) -> f64 {
        self.reads_missed as f64 / (self.reads + self.reads_missed).max(1) as f64
    }

    /// The row as a line of `summary.csv`.
    pub fn line(&self) -> String {
        let whole = |rate: f64| (rate.trunc() as u64).to_string();
        let seconds = |span: Span| format!("{:.2}", span.as_secs_f64());
        let ms = |span: Span| format!("{:.2}", span.as_millis_f64());
        let fields = [
            self.run.to_string(),
            whole(self.read_iops),
            whole(self.write_iops),
            whole(self.total_iops()),
            seconds(self.longest_wij),
            seconds(self.longest_cycle),
            self.effective_write_ms.map_or(String::new(), |ms| format!("{ms:.2}")),
            ms(self.read_mean),
            self.target.to_string(),
            seconds(self.cycle_p90),
            ms(self.read_p99),
            ms(self.read_p999),
            ms(self.read_p9999),
            ms(self.read_service),
            ms(self.write_mean),
            self.reads.to_string(),
            self.cycles.to_string(),
            self.cycles_missed.to_string(),
            self.overruns.to_string(),
            self.reads_missed.to_string(),
            format!("{:.1}", self.lateness_p99.as_micros_f64()),
            seconds(self.elapsed),
            quoted(&self.system),
            quoted(&self.comment),
            quoted(&self.verdict),
            if self.comparable { "yes".into() } else { "not comparable".into() },
            self.journal_mb_s.map_or(String::new(), |rate| format!("{rate:.2}")),
            self.journal_sync_p99.map_or(String::new(), ms),
        ];
        fields.join(",") + "\n"
    }
}

/// The whole summary of some rows.
pub fn summary_csv(rows: &[RampRow]) -> String {
    rows.iter().map(RampRow::line).fold(HEADER.to_owned(), |text, line| text + &line)
}

/// The number of the next run after the rows of an existing summary; 0 for an empty one.
///
/// # Errors
/// The first line, if it is not a summary of ours.
pub fn next_number(summary: &str) -> Result<u64, String> {
    if summary.is_empty() {
        return Ok(0);
    }
    let Some(rows) = summary.strip_prefix(HEADER) else {
        return Err(summary.lines().next().unwrap_or_default().chars().take(60).collect());
    };
    let numbers = rows.lines().filter_map(|row| row.split(',').next()?.parse::<u64>().ok());
    Ok(numbers.max().map_or(0, |last| last + 1))
}

/// `writers · Σ (cycle − WIJ) · 1000 / Σ blocks`. The published tables fit it with 8 writers, the
/// number of the database's write daemons.
pub(crate) fn effective_write(cycles: &[Cycle], writers: u32) -> Option<f64> {
    let blocks: u64 = cycles.iter().map(|cycle| cycle.blocks).sum();
    let time: Span = cycles.iter().map(|cycle| cycle.cycle.saturating_sub(cycle.wij)).sum();
    (blocks > 0).then(|| f64::from(writers) * time.as_millis_f64() / blocks as f64)
}

/// The shortest time that at least 90 % of the cycles did not exceed.
pub(crate) fn percentile_90(cycles: &[Cycle]) -> Span {
    let mut times: Vec<Span> = cycles.iter().map(|cycle| cycle.cycle).collect();
    times.sort_unstable();
    match times.len() {
        0 => Span::ZERO,
        count => times[(count * 9).div_ceil(10) - 1],
    }
}

/// A field by RFC 4180: in quotes if it contains a comma, a quote or a line break.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(wij_ms: u64, cycle_ms: u64) -> Cycle {
        Cycle {
            wij: Span::from_millis(wij_ms),
            cycle: Span::from_millis(cycle_ms),
            blocks: 1_500_000,
            ..Cycle::default()
        }
    }

    #[test]
    fn a_row_is_these_bytes() {
        let row = RampRow {
            run: 10,
            read_iops: 55_655.9,
            write_iops: 18_176.4,
            longest_wij: Span::from_millis(15_254),
            longest_cycle: Span::from_millis(32_660),
            effective_write_ms: Some(0.1157),
            read_mean: Span::from_micros(657),
            target: 75_000,
            cycle_p90: Span::from_millis(31_000),
            read_p99: Span::from_micros(2_100),
            read_p999: Span::from_millis(4),
            read_p9999: Span::from_millis(9),
            read_service: Span::from_micros(640),
            write_mean: Span::from_micros(110),
            reads: 101_293_738,
            cycles: 22,
            lateness_p99: Span::from_nanos(12_340),
            elapsed: Span::from_secs(1820),
            system: "epic-rhel1".into(),
            comment: "constant, 75k".into(),
            verdict: "pass".into(),
            comparable: true,
            ..RampRow::default()
        };
        // 55 655.9 + 18 176.4 = 73 832.3: one more than the sum of the truncated parts, as the
        // published row has it.
        assert_eq!(
            row.line(),
            "10,55655,18176,73832,15.25,32.66,0.12,0.66,75000,31.00,2.10,4.00,9.00,0.64,0.11,101293738,22,0,0,0,12.3,\
             1820.00,epic-rhel1,\"constant, 75k\",pass,yes,,\n"
        );
        assert_eq!(HEADER.matches(',').count(), 27);
        assert!(HEADER.starts_with(
            "Run,Read IOPS,Write IOPS,Total IOPS,Longest WIJ Time (sec),Longest Write Cycle (sec),Effective Write \
             Latency (ms),Randread Average (ms),"
        ));
        assert_eq!(next_number(&summary_csv(&[row])), Ok(11));
    }

    #[test]
    fn numbers_go_on_and_other_files_are_left_alone() {
        assert_eq!(next_number(""), Ok(0));
        assert_eq!(next_number(HEADER), Ok(0));
        assert_eq!(next_number("a,b\n1,2\n"), Err("a,b".into()));
    }

    #[test]
    fn effective_latency_leaves_the_journal_out() {
        // 8 writers, (34 − 15.25) s and (33 − 15) s for 3 million blocks: 8 · 36.75 / 3 M =
        // 0.098 ms.
        let found = effective_write(&[cycle(15_250, 34_000), cycle(15_000, 33_000)], 8).unwrap();
        assert!((found - 0.098).abs() < 1e-9, "{found}");
        assert_eq!(effective_write(&[], 8), None);
    }

    #[test]
    fn nine_of_ten_cycles_are_within_the_percentile() {
        let cycles: Vec<Cycle> = (1..=22).map(|i| cycle(0, i * 1000)).collect();
        // 90 % of 22 are 19.8: the 20th.
        assert_eq!(percentile_90(&cycles), Span::from_secs(20));
        assert_eq!(percentile_90(&cycles[..1]), Span::from_secs(1));
        assert_eq!(percentile_90(&[]), Span::ZERO);
    }
}
