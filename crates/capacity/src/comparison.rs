//! A published table beside a simulated one: every cell has an error, and every error the number of
//! fitted numbers behind it.

mod page;
mod text;

use stats::Outcome;

/// The origin of a column of simulated figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// This many numbers were fitted to these very cells. The error is the quality of the fit and
    /// no evidence.
    Fitted(u32),
    /// No number was fitted to these cells; this many that the simulation uses were fitted to
    /// others.
    Predicted(u32),
}

impl Basis {
    /// As text.
    pub fn words(self) -> String {
        let numbers = |n: u32| report::text::count(n as usize, "fitted number", "fitted numbers");
        match self {
            Basis::Fitted(n) => format!("fitted: {}", numbers(n)),
            Basis::Predicted(0) => "predicted: no fitted number".into(),
            Basis::Predicted(n) => format!("predicted: {}, none to this column", numbers(n)),
        }
    }
}

/// The figures that simulated ones are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Given {
    /// Published figures.
    #[default]
    Published,
    /// The user's own recordings.
    Recorded,
}

impl Given {
    /// As a word.
    pub const fn word(self) -> &'static str {
        match self {
            Given::Published => "published",
            Given::Recorded => "recorded",
        }
    }
}

/// A number that was fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// What it is, and the file that has it.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// The cells that it was fitted to.
    pub to: String,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name with its unit.
    pub name: String,
    /// The origin of its simulated figures.
    pub basis: Basis,
    /// Number of decimals of simulated figures.
    pub digits: usize,
    /// Whether errors are shown as differences and not relative to the figure.
    pub absolute: bool,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// For each column the cell as printed, which may be empty, and the simulated figure.
    pub cells: Vec<(String, Option<f64>)>,
    /// Why it does not count in errors, if it does not.
    pub left_out: Option<String>,
}

/// A table of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A target of the comparison, and whether it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The target.
    pub asked: String,
    /// The result.
    pub reached: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// A curve: its name, whether it is published, and its points.
pub type Curve = (String, bool, Vec<(f64, f64)>);

/// Curves to draw: published and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// What is drawn.
    pub title: String,
    /// Titles of the horizontal and the vertical axis.
    pub axes: [String; 2],
    /// The curves.
    pub curves: Vec<Curve>,
    /// Horizontal lines: a name and a figure.
    pub levels: Vec<(String, f64)>,
}

/// A published table beside a simulated one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The name by which users call it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What is compared, in a sentence or two.
    pub about: String,
    /// The figures that simulated ones are compared with.
    pub given: Given,
    /// The fitted numbers.
    pub fitted: Vec<Fitted>,
    /// The tables.
    pub lines: Vec<Line>,
    /// The targets.
    pub targets: Vec<Target>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Curves.
    pub drawn: Vec<Drawn>,
}

/// Lower and upper bound of a printed figure: `44.68`, `~59k`, `600-625 (~5 Gbps)`.
pub(crate) fn range(printed: &str) -> Option<(f64, f64)> {
    let text = printed.split(" (").next()?.trim_start_matches('~');
    let number = |text: &str| {
        let (digits, thousands) = match text.strip_suffix(['K', 'k']) {
            Some(digits) => (digits, 1000.0),
            None => (text, 1.0),
        };
        digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * thousands)
    };
    match text.split_once('-').filter(|(low, _)| !low.is_empty()) {
        Some((low, high)) => Some((number(low)?, number(high)?)),
        None => number(text).map(|number| (number, number)),
    }
}

impl Target {
    /// A target for a percentage with an upper limit.
    pub fn percent(asked: &str, reached: f64, limit: f64) -> Target {
        Target {
            asked: asked.into(),
            reached: format!("{:.2} %", 100.0 * reached),
            outcome: if reached <= limit { Outcome::Pass } else { Outcome::Fail },
        }
    }

    /// A target that is reached or not.
    pub fn of(asked: &str, reached: String, is: bool) -> Target {
        Target { asked: asked.into(), reached, outcome: if is { Outcome::Pass } else { Outcome::Fail } }
    }
}

impl Row {
    /// The error of a cell: simulated divided by published, minus one, or their difference; `None`
    /// if one is missing or the published one is not a number.
    pub fn error(&self, column: usize, absolute: bool) -> Option<f64> {
        let (published, simulated) = &self.cells[column];
        let ((low, high), simulated) = (range(published)?, (*simulated)?);
        // Within a printed range the error is zero.
        let published = simulated.clamp(low, high);
        Some(if absolute { simulated - published } else { simulated / published - 1.0 })
    }
}

impl Line {
    /// The errors of a column, without rows that are left out.
    pub fn errors(&self, column: usize) -> impl Iterator<Item = f64> {
        let absolute = self.columns[column].absolute;
        self.rows.iter().filter(|row| row.left_out.is_none()).filter_map(move |row| row.error(column, absolute))
    }

    /// The mean and the maximum of a column's absolute errors; `None` if there are none.
    pub fn mean_and_worst(&self, column: usize) -> Option<(f64, f64)> {
        let errors: Vec<f64> = self.errors(column).map(f64::abs).collect();
        let worst = errors.iter().copied().fold(0.0, f64::max);
        (!errors.is_empty()).then(|| (errors.iter().sum::<f64>() / errors.len() as f64, worst))
    }
}

impl Comparison {
    /// Whether all targets were reached.
    pub fn holds(&self) -> bool {
        self.targets.iter().all(|target| target.outcome == Outcome::Pass)
    }

    /// The number of fitted numbers.
    pub fn parameters(&self) -> u32 {
        self.fitted.len() as u32
    }

    /// Whether every column states at most as many fitted numbers as are listed, and a fitted
    /// column at least one.
    pub fn is_honest(&self) -> bool {
        let named = self.parameters();
        self.lines.iter().flat_map(|line| &line.columns).all(|column| match column.basis {
            Basis::Fitted(n) => (1..=named).contains(&n),
            Basis::Predicted(n) => n == named,
        })
    }
}

/// A difference with its sign; one that rounds to zero has none.
fn signed(error: f64, digits: usize) -> String {
    let scale = 10_f64.powi(digits as i32);
    // Turns -0 into 0.
    let rounded = (error * scale).round() / scale + 0.0;
    if rounded == 0.0 { format!("{rounded:.digits$}") } else { format!("{rounded:+.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_figures_are_read_as_they_stand() {
        for (text, figures) in [
            ("44.68", Some((44.68, 44.68))),
            ("~59k", Some((59_000.0, 59_000.0))),
            ("600-625 (~5 Gbps)", Some((600.0, 625.0))),
            ("", None),
            ("above 128 until burst credits end", None),
            ("N/A", None),
        ] {
            assert_eq!(range(text), figures, "{text}");
        }
    }

    fn comparison(bases: &[Basis], fitted: usize) -> Comparison {
        let column = |basis: &Basis| Column { name: "x".into(), basis: *basis, digits: 0, absolute: false };
        let number = Fitted { name: "n".into(), value: "1".into(), to: "x".into() };
        let line = Line { name: "t".into(), columns: bases.iter().map(column).collect(), rows: Vec::new() };
        Comparison { fitted: vec![number; fitted], lines: vec![line], ..Comparison::default() }
    }

    /// A column cannot state more numbers than are listed, nor be free of numbers that the
    /// simulation uses.
    #[test]
    fn a_column_cannot_use_more_numbers_than_are_named() {
        assert!(comparison(&[Basis::Fitted(2), Basis::Predicted(2)], 2).is_honest());
        assert!(!comparison(&[Basis::Fitted(3)], 2).is_honest() && !comparison(&[Basis::Predicted(0)], 2).is_honest());
        assert!(!comparison(&[Basis::Fitted(0)], 0).is_honest() && comparison(&[Basis::Predicted(0)], 0).is_honest());
    }

    /// Errors computed by hand: 110 for 100 is +10 %, 610 within 600 to 625 is zero, and a row that
    /// is left out is in no sum.
    #[test]
    fn errors_and_their_sums_are_by_hand() {
        let row = |printed: &str, simulated, left_out: Option<&str>| Row {
            name: "r".into(),
            cells: vec![(printed.into(), simulated)],
            left_out: left_out.map(String::from),
        };
        let mut shown = comparison(&[Basis::Predicted(0)], 0);
        shown.lines[0].rows = vec![
            row("100", Some(110.0), None),
            row("600-625", Some(610.0), None),
            row("1", Some(9.0), Some("suspect")),
            row("", Some(9.0), None),
        ];
        // A row without figures says nothing.
        shown.lines[0].rows.push(Row { name: "silent".into(), ..row("", None, None) });
        let (mean, worst) = shown.lines[0].mean_and_worst(0).expect("two errors");
        assert!((mean - 0.05).abs() < 1e-12 && (worst - 0.1).abs() < 1e-12);
        let text = shown.text();
        assert!(text.contains("predicted: no fitted number") && text.contains("+10.0%") && text.contains("suspect"));
        assert!(!text.contains("silent"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = shown.page().render();
        assert!(page.contains("+10.00 %") && page.contains("r is in no sum of errors: suspect."), "{page}");
        assert_eq!((signed(-0.04, 1), signed(-0.06, 1), signed(0.04, 1)), ("0.0".into(), "-0.1".into(), "0.0".into()));
    }

    /// Three columns of figures of seven characters, rows that are left out, and names of all
    /// lengths: at most 80 columns.
    #[test]
    fn wide_figures_stay_within_80_columns() {
        for length in 1..60 {
            let column =
                |name: &str| Column { name: name.into(), basis: Basis::Predicted(0), digits: 0, absolute: false };
            let row = Row {
                name: "n".repeat(length),
                cells: vec![("188929".into(), Some(188_835.0)); 3],
                left_out: Some("suspect".into()),
            };
            let columns = ["IOPS", "reads", "writes"].map(column).into();
            let lines = vec![Line { name: "table".into(), columns, rows: vec![row] }];
            let text = Comparison { lines, ..Comparison::default() }.text();
            assert!(text.contains("188,929 188,835   0.0%"), "{text}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{widest:?}: {text}");
        }
    }
}
