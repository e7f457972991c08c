//! Throughput as columns and latency as a line over increasing load: the knee is where throughput
//! stops growing and latency begins to.

use super::{Charts, Figure};
use crate::chart::{Axis, Band, Chart, Column, Look, Mark};
use crate::text;

/// A section with a knee; several runs are side by side at each load.
#[derive(Clone, Debug, Default)]
pub struct Knee {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The unit of load: `requests outstanding`.
    pub across: String,
    /// The loads, from left to right.
    pub loads: Vec<String>,
    /// The unit of the columns: `IOPS`.
    pub columns: String,
    /// The unit of the line: `ms, 99 %`.
    pub line: String,
    /// The runs.
    pub runs: Vec<KneeRun>,
    /// Index of the load at the knee, if one was found.
    pub knee: Option<usize>,
}

/// A run of a knee.
#[derive(Clone, Debug, Default)]
pub struct KneeRun {
    /// Its name; may be empty if there is only one.
    pub name: String,
    /// The columns, one for each load; `None` if not measured.
    pub columns: Vec<Option<f64>>,
    /// The line, one point for each load.
    pub line: Vec<Option<f64>>,
}

/// Fraction of a load's width that its columns take.
const FILLED: f64 = 0.7;

impl Knee {
    pub(super) fn charts(&self) -> Charts {
        let most = |of: fn(&KneeRun) -> &Vec<Option<f64>>| {
            self.runs.iter().flat_map(of).flatten().copied().fold(0.0, f64::max)
        };
        let x = Axis::places(self.loads.clone()).unit(&self.across);
        let y = Axis::from_zero(most(|run| &run.columns)).unit(&self.columns);
        let mut chart = Chart::new(format!("{} and {} by {}", self.columns, self.line, self.across), x, y);
        chart.right = Some(Axis::from_zero(most(|run| &run.line)).unit(&self.line));
        chart.description = self.describe();
        chart.height = 340.0;
        chart.bands.extend(self.knee.map(|place| Band {
            from: place as f64,
            to: place as f64 + 1.0,
            number: 0,
            name: "knee".into(),
            about: self.loads.get(place).cloned().unwrap_or_default(),
        }));
        for (index, run) in self.runs.iter().enumerate() {
            chart.marks.push(self.columns_of(index, run));
        }
        for (index, run) in self.runs.iter().enumerate() {
            let points = (0..).zip(&run.line).filter_map(|(place, figure)| Some((f64::from(place) + 0.5, (*figure)?)));
            let look = Look::Alone(index + self.runs.len());
            let name = named(&run.name, &self.line);
            chart.marks.push(Mark::Line { name, points: points.collect(), look, dots: true, on_right: true });
        }
        let figures = if self.loads.is_empty() { Vec::new() } else { vec![Figure::of(chart)] };
        Charts { heading: self.heading.clone(), lead: self.lead.clone(), figures, small: false }
    }

    fn columns_of(&self, index: usize, run: &KneeRun) -> Mark {
        let wide = FILLED / self.runs.len() as f64;
        let column = |(place, figure): (usize, &Option<f64>)| {
            let from = place as f64 + (1.0 - FILLED) / 2.0 + wide * index as f64;
            let title = format!("{}: {} {}", self.loads.get(place)?, text::significant((*figure)?), self.columns);
            Some(Column { from, to: from + wide, base: 0.0, top: (*figure)?, title })
        };
        let columns = run.columns.iter().enumerate().filter_map(column).collect();
        Mark::Columns { name: named(&run.name, &self.columns), columns, look: Look::Series(index) }
    }

    fn describe(&self) -> String {
        let figure = |figures: &[Option<f64>], place| {
            figures.get(place).copied().flatten().map_or("nothing".into(), text::significant)
        };
        let load = |(place, load): (usize, &String)| {
            let of = |run: &KneeRun| {
                let (columns, line) = (figure(&run.columns, place), figure(&run.line, place));
                format!("{}{columns} {}, {line} {}", prefix(&run.name), self.columns, self.line)
            };
            format!("{load}: {}.", self.runs.iter().map(of).collect::<Vec<_>>().join("; "))
        };
        self.loads.iter().enumerate().map(load).collect::<Vec<_>>().join(" ")
    }
}

fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name} ") }
}

fn named(run: &str, figure: &str) -> String {
    if run.is_empty() { figure.into() } else { format!("{run}, {figure}") }
}
