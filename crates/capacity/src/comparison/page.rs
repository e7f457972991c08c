//! The comparison as a page: the targets, both curves, and the tables.

use super::{Comparison, Drawn, Given, Line, signed};
use report::Page;
use report::chart::{Axis, Chart, LevelKind, Look, Mark, Threshold};
use report::section::{Answer, Charts, Figure, Group, Notes, RunVerdict, Table, TableRow, Tables};
use stats::Outcome;

impl Comparison {
    /// The page; the caller adds facts and version.
    pub fn page(&self) -> Page {
        let mut page = Page::new(self.title.clone(), "");
        page.about.clone_from(&self.about);
        page.banners.push(format!(
            "A simulation beside {} figures: what was fitted is no evidence, and what is missed is marked.",
            self.given.word()
        ));
        if !self.targets.is_empty() {
            page.add(self.verdict());
        }
        if !self.notes.is_empty() {
            page.add(Notes { lines: self.notes.clone() });
        }
        page.add(Charts {
            heading: self.heading("and simulated"),
            lead: self.heading("figures are dots on a thick line, simulated ones a thin line of the same colour."),
            figures: self.drawn.iter().map(Drawn::figure).collect(),
            small: false,
        });
        self.lines.iter().for_each(|line| page.add(line.tables(self.given)));
        page.add(self.numbers());
        page
    }

    /// `Published …`
    fn heading(&self, rest: &str) -> String {
        let word = self.given.word();
        format!("{}{} {rest}", word[..1].to_uppercase(), &word[1..])
    }

    fn verdict(&self) -> RunVerdict {
        let missed = self.targets.iter().filter(|target| target.outcome != Outcome::Pass).count();
        let answer = |target: &super::Target| Answer {
            outcome: target.outcome,
            question: target.asked.clone(),
            because: target.reached.clone(),
        };
        RunVerdict {
            outcome: Some(if missed == 0 { Outcome::Pass } else { Outcome::Fail }),
            sentence: format!("{} of {} targets reached", self.targets.len() - missed, self.targets.len()),
            answers: self.targets.iter().map(answer).collect(),
            targets: true,
        }
    }

    fn numbers(&self) -> Tables {
        let row = |fitted: &super::Fitted| TableRow {
            name: fitted.name.clone(),
            cells: vec![fitted.value.clone().into(), fitted.to.clone().into()],
            ..TableRow::default()
        };
        let rows: Vec<TableRow> = self.fitted.iter().map(row).collect();
        Tables {
            heading: report::text::count(self.fitted.len(), "fitted number", "fitted numbers"),
            lead: if rows.is_empty() {
                "Every figure of the model comes from elsewhere.".into()
            } else {
                String::new()
            },
            tables: vec![Table {
                columns: ["Number", "Value", "Fitted to"].map(String::from).to_vec(),
                groups: vec![Group { rows, ..Group::default() }],
                words: true,
                ..Table::default()
            }],
            note: String::new(),
        }
    }
}

impl Line {
    fn tables(&self, given: Given) -> Tables {
        let table = |(index, column): (usize, &super::Column)| {
            let row = |row: &super::Row| {
                let (published, simulated) = &row.cells[index];
                let error = row.error(index, column.absolute);
                let dash = || "–".to_string();
                // A published cell is shown as printed.
                let published = match published.parse::<u64>() {
                    _ if published.is_empty() => dash(),
                    Ok(figure) if given == Given::Recorded => report::text::thousands(figure),
                    _ => published.clone(),
                };
                TableRow {
                    name: row.name.clone(),
                    remarks: row.left_out.iter().map(|_| "left out".into()).collect(),
                    cells: vec![
                        published.into(),
                        simulated.map_or_else(dash, |figure| column.shown(figure)).into(),
                        error
                            .map_or_else(dash, |error| match column.absolute {
                                true => signed(error, 3),
                                false => format!("{} %", signed(100.0 * error, 2)),
                            })
                            .into(),
                    ],
                }
            };
            let sum = self.mean_and_worst(index).map_or(String::new(), |(mean, worst)| {
                format!(", mean {}, worst {}", column.size(mean), column.size(worst))
            });
            Table {
                caption: format!("{} ({}{sum})", column.name, column.basis.words()),
                columns: ["", given.word(), "simulated", "error"].map(String::from).to_vec(),
                groups: vec![Group { rows: self.rows.iter().map(row).collect(), ..Group::default() }],
                words: false,
            }
        };
        let left_out = self.left_out().map(|line| format!("{line}."));
        Tables {
            heading: self.name.clone(),
            lead: String::new(),
            tables: self.columns.iter().enumerate().map(table).collect(),
            note: left_out.collect::<Vec<_>>().join(" "),
        }
    }
}

impl Drawn {
    fn figure(&self) -> Figure {
        let points = || self.curves.iter().flat_map(|(_, _, points)| points);
        let levels = || self.levels.iter().map(|(_, figure)| *figure);
        let least = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let most = points().map(|point| point.0).fold(0.0, f64::max);
        let top = points().map(|point| point.1).chain(levels()).fold(0.0, f64::max);
        let x = Axis::around(if least.is_finite() { least } else { 0.0 }, most).unit(self.axes[0].clone());
        let mut chart =
            Chart::new(self.title.clone(), x.clone(), Axis::from_zero(top * 1.05).unit(self.axes[1].clone()));
        let last = |points: &[(f64, f64)]| points.last().map_or(String::new(), |(x, y)| format!("{y:.3} at {x:.3}"));
        let words = self.curves.iter().map(|(name, _, points)| format!("{name}: ends with {}.", last(points)));
        chart.description = words.collect::<Vec<_>>().join(" ");
        let mut colour = 0;
        for (index, (name, published, points)) in self.curves.iter().enumerate() {
            // Related curves are adjacent: a published curve starts a new colour, and so does a
            // simulated one without a published partner.
            let goes_on = index > 0 && !published && self.curves[index - 1].1;
            colour += usize::from(index > 0 && !goes_on);
            chart.marks.push(Mark::Line {
                name: name.clone(),
                points: points.clone(),
                look: if *published { Look::Alone(colour) } else { Look::Thin(colour) },
                dots: *published,
                on_right: false,
            });
        }
        for (name, figure) in &self.levels {
            let says = vec![name.clone()];
            let level = Threshold { from: x.low(), to: x.high(), figure: *figure, says, kind: LevelKind::Limit };
            chart.marks.push(Mark::Level(level));
        }
        Figure::of(chart).headed(self.title.clone())
    }
}
