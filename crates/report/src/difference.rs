//! The difference of a figure between two runs in words: for the terminal and for a page.

use crate::section::{Group, Table, TableCell, TableRow, Tables};
use crate::text;
use stats::run::{Class, Difference};

/// A difference as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferenceWords {
    /// The figure in the first run.
    pub before: String,
    /// The figure in the second run.
    pub after: String,
    /// The change in percent of the first, or from ten times on as a factor; `-` if that is zero.
    pub change: String,
    /// Half the width of its 95 % confidence interval; `-` if not known.
    pub half_width: String,
    /// Whether it is more than noise: `differs`, `noise` or `unknown`.
    pub verdict: &'static str,
}

impl DifferenceWords {
    /// The words for a difference.
    pub fn of(difference: &Difference) -> DifferenceWords {
        let base = difference.before;
        let width = difference.half_width.filter(|_| base != 0.0);
        DifferenceWords {
            before: figure(base),
            after: figure(difference.after),
            change: change(base, difference.after),
            half_width: width.map_or("-".to_owned(), |width| format!("{:.1} %", 100.0 * width / base.abs())),
            verdict: match difference.is_significant() {
                Some(true) => "differs",
                Some(false) => "noise",
                None => "unknown",
            },
        }
    }
}

/// What a difference is of: point, actor and class.
pub fn place_of(point: &str, actor: &str, class: &Class) -> String {
    text::printable(&format!("{point}, {actor}, {}", class.name()))
}

/// The differences of two runs as a section; `None` if they have nothing in common.
pub fn differences(names: [&str; 2], found: &[Difference]) -> Option<Tables> {
    let row = |difference: &Difference| {
        let DifferenceWords { before, after, change, half_width, verdict } = DifferenceWords::of(difference);
        let cells = [before, after, change, half_width, verdict.into()].map(TableCell::from).to_vec();
        TableRow { name: difference.figure.into(), remarks: Vec::new(), cells }
    };
    let same = |a: &Difference, b: &Difference| (&a.point, &a.actor, &a.class) == (&b.point, &b.actor, &b.class);
    let group = |of: &[Difference]| Group {
        name: place_of(&of[0].point, &of[0].actor, &of[0].class),
        remarks: Vec::new(),
        rows: of.iter().map(row).collect(),
    };
    let columns = ["Figure", names[0], names[1], "Change", "± (95 %)", "More than noise?"].map(String::from).to_vec();
    let groups = found.chunk_by(same).map(group).collect();
    (!found.is_empty()).then(|| Tables {
        heading: "The differences".into(),
        lead: format!("What both have: {} compared with {}.", names[1], names[0]),
        tables: vec![Table { columns, groups, ..Table::default() }],
        note: String::new(),
    })
}

/// From so many times the figure on a change is a factor.
const FACTOR_FROM: f64 = 10.0;

fn change(before: f64, after: f64) -> String {
    let part = after / before;
    let percent = 100.0 * (part - 1.0);
    match before {
        0.0 => "-".into(),
        _ if part >= FACTOR_FROM => format!("× {}", text::significant(part)),
        _ if percent.abs() < 0.05 => "0.0 %".into(),
        _ => format!("{percent:+.1} %"),
    }
}

fn figure(number: f64) -> String {
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_percentage_or_a_factor() {
        let told = [(100.0, 99.97), (100.0, 112.34), (2.0, 1.0), (0.5, 6173.0), (100.0, 1000.0), (0.0, 5.0)];
        let told = told.map(|(before, after)| change(before, after));
        assert_eq!(told, ["0.0 %", "+12.3 %", "-50.0 %", "× 12,346", "× 10.0", "-"]);
    }

    #[test]
    fn runs_side_by_side_have_their_differences_in_a_table() {
        let difference = |actor: &str, after| Difference {
            point: "run".into(),
            actor: actor.into(),
            class: Class::READ,
            figure: "IOPS",
            before: 2000.0,
            after,
            half_width: Some(20.0),
        };
        let found = [difference("a", 2010.0), difference("b", 3000.0)];
        let tables = differences(["one", "two"], &found).unwrap();
        let told: Vec<(&str, Vec<&str>)> = tables.tables[0]
            .groups
            .iter()
            .map(|group| (&*group.name, group.rows[0].cells.iter().map(|cell| &*cell.says).collect()))
            .collect();
        let expected = [
            ("run, a, read", vec!["2000", "2010", "+0.5 %", "1.0 %", "noise"]),
            ("run, b, read", vec!["2000", "3000", "+50.0 %", "1.0 %", "differs"]),
        ];
        assert_eq!(told, expected);
        assert!(differences(["one", "two"], &[]).is_none());
    }
}
