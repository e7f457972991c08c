//! Presents a calibration as a comparison: recorded beside simulated figures, with points that were
//! fitted to apart from those held out.

use super::{Calibrated, Compared};
use crate::comparison::{Basis, Column, Comparison, Curve, Drawn, Fitted, Given, Line, Row, Target};

impl Calibrated {
    /// The comparison. `runs` says where the points come from; the mean error of those held out
    /// must be at most `within`.
    pub fn comparison(&self, runs: &str, within: f64) -> Comparison {
        let found = &self.found;
        let numbers = found.numbers.len() as u32;
        let fitted = found.numbers.iter().zip(&found.values).map(|(number, value)| Fitted {
            name: format!("{}, {}", found.shape.name(), number.key),
            value: number.shown(*value),
            to: format!("the points of {runs} that are not held out"),
        });
        let line = |name: &str, held_out: bool, basis: Basis| Line {
            name: name.into(),
            columns: self.columns(basis),
            rows: self.points.iter().filter(|one| one.held_out == held_out).map(|one| self.row(one)).collect(),
        };
        Comparison {
            name: "calibrate".into(),
            title: format!("{} calibrated from {runs}", found.shape.name()),
            about: "A simulated device with figures that were fitted to recordings. Every third point was held out \
                    before anything was fitted: its error is the one that counts."
                .into(),
            given: Given::Recorded,
            fitted: fitted.collect(),
            lines: vec![
                line("Points fitted to", false, Basis::Fitted(numbers)),
                line("Points held out", true, Basis::Predicted(numbers)),
            ],
            targets: vec![self.target(within)],
            notes: self.notes(),
            drawn: vec![self.drawn()],
        }
    }

    fn target(&self, within: f64) -> Target {
        let asked = format!(
            "mean error of IOPS on {} held out, at most {:.0} %, with {}",
            report::text::count(self.held_out(), "point", "points"),
            100.0 * within,
            report::text::count(self.parameters(), "fitted number", "fitted numbers")
        );
        Target::percent(&asked, self.held_out_error(), within)
    }

    fn is_mixed(&self) -> bool {
        self.points.iter().any(|one| one.point.responses.is_some())
    }

    fn columns(&self, basis: Basis) -> Vec<Column> {
        let column = |name: &str, digits| Column { name: name.into(), basis, digits, absolute: false };
        let mut columns = vec![column("IOPS", 0)];
        if self.is_mixed() {
            columns.extend([column("read ms, of a mix", 3), column("write ms, of a mix", 3)]);
        }
        columns
    }

    fn row(&self, one: &Compared) -> Row {
        let rate = one.point.rate;
        let recorded = if rate < 1000.0 { format!("{rate:.1}") } else { format!("{rate:.0}") };
        let mut cells = vec![(recorded, Some(one.simulated.rate))];
        if self.is_mixed() {
            let times = [0, 1].map(|side| match one.point.responses {
                Some(recorded) => (format!("{:.3}", 1e3 * recorded[side]), Some(1e3 * one.simulated.responses[side])),
                None => (String::new(), None),
            });
            cells.extend(times);
        }
        Row { name: one.point.name(), cells, left_out: None }
    }

    fn notes(&self) -> Vec<String> {
        let tried = self.tried.iter().map(|(name, tried)| match tried {
            Ok((numbers, error)) => format!(
                "{name}: {:.1} % mean error on the points fitted to, with {}",
                100.0 * error,
                report::text::count(*numbers, "fitted number", "fitted numbers")
            ),
            Err(why) => format!("{name} was not fitted: {why}"),
        });
        let mut notes: Vec<String> = tried.collect();
        if notes.len() > 1 {
            notes
                .push("The kind of model with the least of these errors was taken; points held out had no say.".into());
        }
        notes.push(self.repeats());
        notes.push(
            "Closed loops were fitted. What the storage does beyond the depths, sizes and mixes above is extrapolated."
                .into(),
        );
        notes
    }

    /// The spread of recordings of the same load; a model's error below it is meaningless.
    fn repeats(&self) -> String {
        let spreads: Vec<f64> = self.points.iter().filter_map(|one| one.point.spread()).collect();
        if spreads.is_empty() {
            return "Each load was recorded once, so how far recordings of one lie apart is not known; another run tells."
                .into();
        }
        let mean = spreads.iter().sum::<f64>() / spreads.len() as f64;
        let loads = report::text::count(spreads.len(), "load has", "loads have");
        let apart = 100.0 * mean;
        format!("{loads} several recordings and their median; those of one lie {apart:.1} % apart on average.")
    }

    /// Rate against depth: two curves for each kind of work with at least two points.
    fn drawn(&self) -> Drawn {
        let mut works: Vec<String> = self.points.iter().map(|one| one.point.work()).collect();
        works.dedup();
        let mut curves: Vec<Curve> = Vec::new();
        for work in works {
            let of = || self.points.iter().filter(|one| one.point.work() == work);
            let depth = |one: &Compared| f64::from(one.point.depth());
            if of().count() > 1 {
                curves.push((
                    format!("{work}, recorded"),
                    true,
                    of().map(|one| (depth(one), one.point.rate)).collect(),
                ));
                curves.push((
                    format!("{work}, simulated"),
                    false,
                    of().map(|one| (depth(one), one.simulated.rate)).collect(),
                ));
            }
        }
        Drawn {
            title: "Operations a second against depth".into(),
            axes: ["requests outstanding".into(), "IOPS".into()],
            curves,
            levels: Vec::new(),
        }
    }
}
