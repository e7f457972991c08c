//! Write cycles as columns: the time of the journal, with that of the writes on top; and the limit
//! of a cycle.

use super::{Charts, Figure};
use crate::chart::{Axis, Band, Chart, Column, LevelKind, Look, Mark, Threshold};

/// A section of write cycles; all charts have the same scale.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The limit in seconds; `None` if cycles are not judged.
    pub limit: Option<f64>,
    /// One chart for each host, or for each half of an experiment.
    pub charts: Vec<CycleChart>,
}

/// The cycles of one host.
#[derive(Clone, Debug, Default)]
pub struct CycleChart {
    /// Their owner; may be empty if there is only one.
    pub name: String,
    /// The runs or phases, in order.
    pub runs: Vec<CycleRun>,
}

/// The cycles of a run.
#[derive(Clone, Debug, Default)]
pub struct CycleRun {
    /// Its name.
    pub name: String,
    /// Its number, from 1; 0 if its name is short and suffices.
    pub number: usize,
    /// Its cycles, in order.
    pub cycles: Vec<CycleParts>,
}

/// Times of a cycle in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CycleParts {
    /// Writing the journal durably.
    pub journal: f64,
    /// The whole cycle.
    pub whole: f64,
}

/// Maximum number of columns in a chart; of more cycles the longest of each group is shown.
const COLUMNS_MOST: usize = 300;

impl Cycles {
    pub(super) fn charts(&self) -> Charts {
        let all = || self.charts.iter().flat_map(|chart| &chart.runs).flat_map(|run| &run.cycles);
        let most = all().map(|cycle| cycle.whole).chain(self.limit).fold(0.0, f64::max);
        let drawn = self.charts.iter().filter(|chart| chart.runs.iter().any(|run| !run.cycles.is_empty()));
        Charts {
            heading: self.heading.clone(),
            lead: self.lead.clone(),
            figures: drawn.map(|chart| self.figure(chart, most)).collect(),
            small: false,
        }
    }

    fn figure(&self, chart: &CycleChart, most: f64) -> Figure {
        let count: usize = chart.runs.iter().map(|run| run.cycles.len()).sum();
        let step = count.div_ceil(COLUMNS_MOST).max(1);
        let (mut bands, mut journal, mut writes, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for run in &chart.runs {
            let start = journal.len() as f64;
            for (number, several) in run.cycles.chunks(step).enumerate() {
                let longest = several.iter().max_by(|a, b| a.whole.total_cmp(&b.whole)).copied().unwrap_or_default();
                let at = journal.len() as f64;
                let title = format!(
                    "{}, cycle {}: {:.2} s, journal {:.2} s",
                    run.name,
                    number * step + 1,
                    longest.whole,
                    longest.journal
                );
                let column = |base, top| Column { from: at + 0.1, to: at + 0.9, base, top, title: title.clone() };
                journal.push(column(0.0, longest.journal));
                writes.push(column(longest.journal, longest.whole.max(longest.journal)));
                // In several runs the numbers would start over again and again.
                let said = chart.runs.len() == 1;
                names.push(if said { (number * step + 1).to_string() } else { String::new() });
            }
            let (to, name) = (journal.len() as f64, run.name.clone());
            bands.push(Band { from: start, to, number: run.number, name, about: String::new() });
        }
        let title = format!("Write cycles {}", of(&chart.name));
        let columns = names.len() as f64;
        let mut drawn = Chart::new(
            title.trim_end(),
            Axis::places(names).unit("write cycle"),
            Axis::from_zero(most * 1.05).unit("seconds"),
        );
        drawn.description = describe(chart);
        // A single run needs no name.
        drawn.bands = if bands.len() > 1 { bands } else { Vec::new() };
        drawn.marks = vec![
            Mark::Columns { name: "journal".into(), columns: journal, look: Look::Series(1) },
            Mark::Columns { name: "writes".into(), columns: writes, look: Look::Series(4) },
        ];
        drawn.marks.extend(self.limit.map(|limit| {
            let says = vec![format!("limit {} s", crate::text::short(limit))];
            Mark::Level(Threshold { from: 0.0, to: columns, figure: limit, says, kind: LevelKind::Limit })
        }));
        let several = format!("Each column is the longest of {step} cycles.");
        Figure::of(drawn).headed(&chart.name).captioned(if step > 1 { several } else { String::new() })
    }
}

fn of(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("of {name}") }
}

/// The longest cycle of each run.
fn describe(chart: &CycleChart) -> String {
    let run = |run: &CycleRun| {
        let longest = run.cycles.iter().map(|cycle| cycle.whole).reduce(f64::max)?;
        Some(format!("{}: {} cycles, the longest {longest:.2} s.", run.name, run.cycles.len()))
    };
    chart.runs.iter().filter_map(run).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Drawing;

    /// 700 cycles in at most 300 columns: groups of three, and the longest of all is shown.
    #[test]
    fn of_many_cycles_the_longest_are_shown() {
        let cycle = |n: usize| CycleParts { journal: 1.0, whole: if n == 500 { 99.0 } else { 2.0 } };
        let run = CycleRun { name: "run 0".into(), number: 0, cycles: (0..700).map(cycle).collect() };
        let cycles =
            Cycles { charts: vec![CycleChart { runs: vec![run], ..CycleChart::default() }], ..Cycles::default() };
        let figure = &cycles.charts().figures[0];
        let Drawing::Chart(chart) = &figure.drawing else { panic!("a chart") };
        let Mark::Columns { columns, .. } = &chart.marks[1] else { panic!("columns") };
        assert_eq!((columns.len(), figure.caption.as_str()), (234, "Each column is the longest of 3 cycles."));
        assert!(columns.iter().any(|column| column.top == 99.0));
    }
}
