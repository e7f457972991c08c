//! The criteria of a run, and its results.
//!
//! Limits differ over time and between sites, so they are configurable: two presets, or a file.

use crate::settings::Constants;
use crate::summary::RampRow;
use block::Span;
use report::text::{count, thousands};
use serde::Deserialize;
use stats::{Measured, Outcome};

/// A figure of a row that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The longest write cycle, in seconds; the limit scales with the period.
    LongestWriteCycle,
    /// The write cycle that nine of ten did not exceed, in seconds; the limit scales with the
    /// period.
    WriteCycleP90,
    /// Effective write latency, in milliseconds.
    EffectiveWriteLatency,
    /// Mean response time of a read, in milliseconds.
    RandreadAverage,
    /// 99 % of the reads, in milliseconds.
    ReadP99,
    /// 99.9 % of the reads, in milliseconds.
    ReadP999,
    /// 99.99 % of the reads, in milliseconds.
    ReadP9999,
    /// Mean time of a single write to the database, in milliseconds.
    WriteAverage,
}

/// A kind of limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Less than this.
    Below(f64),
    /// This or less.
    AtMost(f64),
}

/// A criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// The figure.
    pub figure: Figure,
    /// The limit.
    pub limit: Limit,
}

/// A set of criteria.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The preset's name or the file's.
    pub name: String,
    /// The criteria.
    pub all: Vec<Criterion>,
}

/// The result of a run for one criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The figure.
    pub name: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// The measured value and the limit, in one line.
    pub because: String,
    /// The same as figures; `None` if nothing could be measured.
    pub measured: Option<Measured>,
}

/// What is wrong with a file of criteria.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriteriaError {
    /// It is not TOML, or has unknown keys.
    #[error("{file}: {what}")]
    Form {
        /// The file.
        file: String,
        /// The first line of the parser's message.
        what: String,
    },
    /// A criterion has no limit, or two.
    #[error("{file}: criterion {number} ({figure}): must have either `below` or `at-most`")]
    Limit {
        /// The file.
        file: String,
        /// Its number, from 1.
        number: usize,
        /// Its figure.
        figure: &'static str,
    },
    /// A limit is not a positive number.
    #[error("{file}: criterion {number} ({figure}): the limit must be above 0, got {given}")]
    Positive {
        /// The file.
        file: String,
        /// Its number, from 1.
        number: usize,
        /// Its figure.
        figure: &'static str,
        /// The limit.
        given: String,
    },
    /// There are no criteria.
    #[error("{0}: has no criterion; write at least one [[criterion]]")]
    Empty(String),
}

impl Figure {
    /// Its name in files of criteria.
    pub const fn name(self) -> &'static str {
        match self {
            Figure::LongestWriteCycle => "longest-write-cycle",
            Figure::WriteCycleP90 => "write-cycle-p90",
            Figure::EffectiveWriteLatency => "effective-write-latency",
            Figure::RandreadAverage => "randread-average",
            Figure::ReadP99 => "read-p99",
            Figure::ReadP999 => "read-p999",
            Figure::ReadP9999 => "read-p9999",
            Figure::WriteAverage => "write-average",
        }
    }

    const fn is_cycle(self) -> bool {
        matches!(self, Figure::LongestWriteCycle | Figure::WriteCycleP90)
    }

    const fn unit(self) -> &'static str {
        if self.is_cycle() { "s" } else { "ms" }
    }

    /// The value in a row, or why there is too little data for it.
    fn of(self, row: &RampRow) -> Result<f64, String> {
        let cycles = |value: f64| if row.cycles > 0 { Ok(value) } else { Err("no write cycle was seen".to_owned()) };
        // A percentile needs at least one value beyond it.
        let reads = |span: Span, least: u64| match row.reads >= least {
            true => Ok(span.as_millis_f64()),
            false => Err(format!(
                "{} too few, it takes {}",
                count(row.reads as usize, "read is", "reads are"),
                thousands(least)
            )),
        };
        match self {
            Figure::LongestWriteCycle => cycles(row.longest_cycle.as_secs_f64()),
            Figure::WriteCycleP90 => cycles(row.cycle_p90.as_secs_f64()),
            Figure::EffectiveWriteLatency => cycles(row.effective_write_ms.unwrap_or_default()),
            Figure::WriteAverage => cycles(row.write_mean.as_millis_f64()),
            Figure::RandreadAverage => reads(row.read_mean, 1),
            Figure::ReadP99 => reads(row.read_p99, 100),
            Figure::ReadP999 => reads(row.read_p999, 1_000),
            Figure::ReadP9999 => reads(row.read_p9999, 10_000),
        }
    }
}

impl Limit {
    /// The limit.
    pub const fn value(self) -> f64 {
        match self {
            Limit::Below(value) | Limit::AtMost(value) => value,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Limit::Below(limit) => value < limit,
            Limit::AtMost(limit) => value <= limit,
        }
    }

    fn times(self, factor: f64) -> Limit {
        match self {
            Limit::Below(limit) => Limit::Below(limit * factor),
            Limit::AtMost(limit) => Limit::AtMost(limit * factor),
        }
    }
}

impl Criteria {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 2] = ["2021", "read-percentile"];

    /// A preset: `2021` bounds the longest write cycle (below 45 s) and the effective write latency
    /// (below 1 ms); `read-percentile` the random read (2 ms on average, 99 % below 60 ms, 99.9 %
    /// below 200 ms, 99.99 % below 600 ms), the random write (1 ms on average) and the longest
    /// write cycle.
    pub fn preset(name: &str) -> Option<Criteria> {
        use Figure::{
            EffectiveWriteLatency, LongestWriteCycle, RandreadAverage, ReadP99, ReadP999, ReadP9999, WriteAverage,
        };
        let below = |figure, limit| Criterion { figure, limit: Limit::Below(limit) };
        let at_most = |figure, limit| Criterion { figure, limit: Limit::AtMost(limit) };
        let cycle = below(LongestWriteCycle, 45.0);
        let all = match name {
            "2021" => vec![cycle, below(EffectiveWriteLatency, 1.0)],
            "read-percentile" => vec![
                cycle,
                at_most(RandreadAverage, 2.0),
                below(ReadP99, 60.0),
                below(ReadP999, 200.0),
                below(ReadP9999, 600.0),
                at_most(WriteAverage, 1.0),
            ],
            _ => return None,
        };
        Some(Criteria { name: name.into(), all })
    }

    /// Reads a file of criteria:
    ///
    /// ```toml
    /// [[criterion]]
    /// figure = "longest-write-cycle"
    /// below = 45.0        # or at-most
    /// ```
    ///
    /// # Errors
    /// What is wrong with the file, which is called `file`.
    pub fn read(text: &str, file: &str) -> Result<Criteria, CriteriaError> {
        let form = |error: toml::de::Error| {
            let (line, what) = nearest::toml::wrong(text, error.span(), error.message());
            CriteriaError::Form { file: file.into(), what: format!("line {line}: {what}") }
        };
        let typed: Typed = toml::from_str(text).map_err(form)?;
        let mut all = Vec::new();
        for (index, TypedCriterion { figure, below, at_most }) in typed.criterion.into_iter().enumerate() {
            let (number, name) = (index + 1, figure.name());
            let limit = match (below, at_most) {
                (Some(limit), None) => Limit::Below(limit),
                (None, Some(limit)) => Limit::AtMost(limit),
                _ => return Err(CriteriaError::Limit { file: file.into(), number, figure: name }),
            };
            if !(limit.value() > 0.0 && limit.value().is_finite()) {
                let given = limit.value().to_string();
                return Err(CriteriaError::Positive { file: file.into(), number, figure: name, given });
            }
            all.push(Criterion { figure, limit });
        }
        match all.is_empty() {
            true => Err(CriteriaError::Empty(file.into())),
            false => Ok(Criteria { name: file.into(), all }),
        }
    }

    /// The fraction of due reads that may be missing: with more of them missing, the measured load
    /// is not the requested one.
    pub const NEVER_MADE_MOST: f64 = 0.01;

    /// The results of a row for each criterion and for the load itself, and the overall outcome.
    /// Limits of cycles scale with the period: 45 s at 80 s.
    pub fn judge(&self, row: &RampRow, constants: &Constants) -> (Outcome, Vec<Judgement>) {
        let factor = constants.cycle.as_secs_f64() / Constants::CYCLE.as_secs_f64();
        let mut judgements: Vec<Judgement> = self.all.iter().map(|criterion| criterion.judge(row, factor)).collect();
        let load = load(row);
        if load.outcome == Outcome::CannotSay {
            // A failure may then be caused by this host alone.
            judgements.iter_mut().for_each(|judgement| judgement.outcome = Outcome::CannotSay);
        }
        judgements.push(load);
        let worst = judgements.iter().map(|judgement| judgement.outcome).max();
        (worst.unwrap_or(Outcome::CannotSay), judgements)
    }
}

/// Whether the requested load was reached. If not, the other figures are those of another load:
/// that is the storage's failure if it delayed the reads; otherwise it is unknown what the storage
/// would have done.
fn load(row: &RampRow) -> Judgement {
    let (missed, percent, most) = (row.reads_missed, 100.0 * row.never_made(), 100.0 * Criteria::NEVER_MADE_MOST);
    let figures = match missed {
        1 => format!("1 read ({percent:.1} %) was due and never made"),
        missed => format!("{missed} reads ({percent:.1} %) were due and never made"),
    };
    let (outcome, because) = if row.never_made() <= Criteria::NEVER_MADE_MOST {
        (Outcome::Pass, format!("{figures}, at most {most} %"))
    } else if row.storage_held {
        (Outcome::Fail, format!("{figures}, must be at most {most} %: all readers waited for the storage"))
    } else {
        (Outcome::CannotSay, format!("{figures}, more than {most} %: this host did not keep up, not the storage alone"))
    };
    let measured = Some(Measured { value: percent, bound: most, unit: "%".into() });
    Judgement { name: "reads-never-made", outcome, because, measured }
}

impl Criterion {
    fn judge(&self, row: &RampRow, factor: f64) -> Judgement {
        let limit = if self.figure.is_cycle() { self.limit.times(factor) } else { self.limit };
        let (name, unit, bound) = (self.figure.name(), self.figure.unit(), limit.value());
        let word = if matches!(limit, Limit::Below(_)) { "below" } else { "at most" };
        let figure = self.figure.of(row);
        let measured = figure.as_ref().ok().map(|value| Measured { value: *value, bound, unit: unit.into() });
        let (outcome, because) = match figure {
            Ok(value) if limit.holds(value) => {
                (Outcome::Pass, format!("{name} {value:.2} {unit}, {word} {bound} {unit}"))
            }
            Ok(value) => (Outcome::Fail, format!("{name} {value:.2} {unit}, must be {word} {bound} {unit}")),
            Err(why) => (Outcome::CannotSay, format!("{name}: {why}")),
        };
        Judgement { name, outcome, because, measured }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(default)]
    criterion: Vec<TypedCriterion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TypedCriterion {
    figure: Figure,
    below: Option<f64>,
    at_most: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: fn() -> Constants = Constants::default;

    /// The rows of a published table: (run, longest cycle, effective latency).
    fn rows(csv: &str) -> Vec<RampRow> {
        let mut lines = csv.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let column = |name| header.iter().position(|column| *column == name).unwrap();
        let [run, cycle, latency] = ["run", "longest_write_cycle_s", "effective_write_latency_ms"].map(column);
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            RampRow {
                run: fields[run].parse().unwrap(),
                longest_cycle: Span::from_secs_f64(fields[cycle].parse().unwrap()),
                effective_write_ms: Some(fields[latency].parse().unwrap()),
                cycles: 22,
                ..RampRow::default()
            }
        };
        lines.map(row).collect()
    }

    #[test]
    fn the_published_hosts_pass_and_the_bully_fails_from_its_second_run_on() {
        let criteria = Criteria::preset("2021").unwrap();
        let passed = |csv| {
            let rows = rows(csv);
            assert_eq!(rows.len(), 10);
            let passes = |row: &&RampRow| criteria.judge(row, &USUAL()).0 == Outcome::Pass;
            rows.iter().filter(passes).map(|row| row.run).collect::<Vec<_>>()
        };
        assert_eq!(passed(include_str!("../tests/published/aqos_rhel1.csv")), (10..20).collect::<Vec<_>>());
        assert_eq!(passed(include_str!("../tests/published/aqos_rhel2.csv")), (10..20).collect::<Vec<_>>());
        assert_eq!(passed(include_str!("../tests/published/aqos_rhel3_bully.csv")), [10]);
    }

    #[test]
    fn without_a_cycle_there_is_nothing_to_say() {
        let (outcome, judgements) = Criteria::preset("2021").unwrap().judge(&RampRow::default(), &USUAL());
        assert_eq!(outcome, Outcome::CannotSay);
        assert_eq!(judgements[0].because, "longest-write-cycle: no write cycle was seen");
    }

    #[test]
    fn a_limit_is_strict_where_it_says_below_and_scales_with_the_period() {
        let row = |ms| RampRow {
            longest_cycle: Span::from_millis(ms),
            effective_write_ms: Some(0.5),
            cycles: 1,
            ..RampRow::default()
        };
        let criteria = Criteria::preset("2021").unwrap();
        assert_eq!(criteria.judge(&row(44_999), &USUAL()).0, Outcome::Pass);
        let (outcome, judgements) = criteria.judge(&row(45_000), &USUAL());
        assert_eq!(
            (outcome, judgements[0].because.as_str()),
            (Outcome::Fail, "longest-write-cycle 45.00 s, must be below 45 s")
        );
        let short = Constants { cycle: Span::from_secs(8), ..USUAL() };
        assert_eq!(criteria.judge(&row(4_499), &short).0, Outcome::Pass);
        assert_eq!(criteria.judge(&row(4_500), &short).0, Outcome::Fail);
    }

    #[test]
    fn percentiles_need_their_reads() {
        let row = RampRow { cycles: 1, reads: 9_999, ..RampRow::default() };
        let (outcome, judgements) = Criteria::preset("read-percentile").unwrap().judge(&row, &USUAL());
        assert_eq!(outcome, Outcome::CannotSay);
        assert_eq!(judgements[4].because, "read-p9999: 9,999 reads are too few, it takes 10,000");
        let one = RampRow { reads: 1, reads_missed: 1, ..row.clone() };
        let judgements = Criteria::preset("read-percentile").unwrap().judge(&one, &USUAL()).1;
        let says = |text: &str| judgements.iter().any(|judgement| judgement.because.contains(text));
        assert!(
            says("1 read is too few, it takes 100") && says("1 read (50.0 %) was due and never made"),
            "{judgements:?}"
        );
        let slow = RampRow { read_mean: Span::from_micros(2_001), ..RampRow { reads: 10_000, ..row } };
        assert_eq!(Criteria::preset("read-percentile").unwrap().judge(&slow, &USUAL()).0, Outcome::Fail);
    }

    /// One percent may be missing, and not more.
    #[test]
    fn a_load_that_was_not_put_on_is_no_pass() {
        let row =
            RampRow { cycles: 1, effective_write_ms: Some(0.5), reads: 990, reads_missed: 10, ..RampRow::default() };
        let judged = |row: &RampRow| {
            let (outcome, judgements) = Criteria::preset("2021").unwrap().judge(row, &USUAL());
            (outcome, judgements[2].because.clone())
        };
        let said = "10 reads (1.0 %) were due and never made, at most 1 %";
        assert_eq!(judged(&row), (Outcome::Pass, said.into()));
        let short = RampRow { reads: 989, reads_missed: 11, ..row };
        let said = "11 reads (1.1 %) were due and never made, more than 1 %: this host did not keep up, not the storage \
                    alone";
        assert_eq!(judged(&short), (Outcome::CannotSay, said.into()));
        // A cycle that took too long is then not the storage's failure.
        let slow = RampRow { longest_cycle: Span::from_secs(100), ..short.clone() };
        assert_eq!(judged(&slow), (Outcome::CannotSay, said.into()));
        let said = "11 reads (1.1 %) were due and never made, must be at most 1 %: all readers waited for the storage";
        assert_eq!(judged(&RampRow { storage_held: true, ..short }), (Outcome::Fail, said.into()));
    }

    #[test]
    fn a_file_of_criteria_is_read_or_says_what_is_wrong() {
        let text = "[[criterion]]\nfigure = \"read-p99\"\nat-most = 5.0\n";
        let criteria = Criteria::read(text, "c.toml").unwrap();
        assert_eq!(criteria.all, [Criterion { figure: Figure::ReadP99, limit: Limit::AtMost(5.0) }]);
        let error = |text: &str| Criteria::read(text, "c.toml").unwrap_err().to_string();
        assert_eq!(error(""), "c.toml: has no criterion; write at least one [[criterion]]");
        let none = error("[[criterion]]\nfigure = \"read-p99\"\n");
        assert_eq!(none, "c.toml: criterion 1 (read-p99): must have either `below` or `at-most`");
        let negative = error("[[criterion]]\nfigure = \"read-p99\"\nbelow = -1\n");
        assert_eq!(negative, "c.toml: criterion 1 (read-p99): the limit must be above 0, got -1");
        assert!(error("[[criterion]]\nfigure = \"speed\"\nbelow = 1\n").contains("longest-write-cycle"));
    }
}
