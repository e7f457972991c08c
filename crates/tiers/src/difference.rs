//! Compares each row with a baseline row, with confidence.

use crate::column::{Column, TierFigure};
use crate::table::TierTable;
use stats::job::welch;

/// A figure of a row, compared with that of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// The row's number.
    pub row: u32,
    /// The figure.
    pub figure: TierFigure,
    /// The difference, in percent of the baseline.
    pub percent: f64,
    /// Half-width of the 95 % confidence interval of the difference of means, in percent of the
    /// baseline's mean; `None` if either was measured less than twice.
    pub half_width: Option<f64>,
}

impl Against {
    /// Whether the difference is more than noise; `None` if that is unknown.
    pub fn is_real(&self) -> Option<bool> {
        self.half_width.map(|width| self.percent.abs() > width)
    }

    /// The comparison in words.
    pub fn words(&self) -> String {
        let name = Column::Figure(self.figure).name();
        match self.half_width {
            None => format!("{name} {:+.1} %", self.percent),
            Some(width) if self.is_real() == Some(true) => format!("{name} {:+.1} % (± {width:.1})", self.percent),
            Some(width) => format!("{name} {:+.1} % (± {width:.1}: no more than noise)", self.percent),
        }
    }
}

/// Compares every row with the baseline, for each figure that both have. `None` if no row has that
/// number.
pub fn differences(table: &TierTable, baseline: u32) -> Option<Vec<Against>> {
    let base = table.rows.iter().find(|row| row.number == baseline)?;
    let mut all = Vec::new();
    for row in table.rows.iter().filter(|row| row.number != baseline) {
        for figure in TierFigure::ALL {
            let (Some(was), Some(is)) = (base.median(figure), row.median(figure)) else { continue };
            if was == 0.0 {
                continue;
            }
            let sure = welch(&base.spread(figure), &row.spread(figure));
            let (percent, half_width) = match sure {
                Some(sure) => {
                    let mean = base.spread(figure).mean;
                    (100.0 * sure.mean / mean, Some(100.0 * sure.half_width / mean))
                }
                None => (100.0 * (is - was) / was, None),
            };
            all.push(Against { row: row.number, figure, percent, half_width });
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TierRow;

    fn table(rows: &[&[f64]]) -> TierTable {
        let row = |(number, values): (u32, &&[f64])| {
            let mut row = TierRow { number, ..TierRow::default() };
            values.iter().for_each(|value| row.add(TierFigure::Iops, *value, "run"));
            row
        };
        TierTable { rows: (1..).zip(rows).map(row).collect(), ..TierTable::default() }
    }

    /// 100 ± 1 against 200 ± 1 is a difference, against 101 ± 5 it is not, and for a single run it
    /// is unknown.
    #[test]
    fn a_difference_is_told_with_its_confidence() {
        let table = table(&[&[99.0, 100.0, 101.0], &[199.0, 200.0, 201.0], &[96.0, 101.0, 106.0], &[150.0]]);
        let found = differences(&table, 1).unwrap();
        let real: Vec<Option<bool>> = found.iter().map(Against::is_real).collect();
        assert_eq!(real, [Some(true), Some(false), None]);
        assert_eq!((found[0].percent.round(), found[2].percent.round()), (100.0, 50.0));
        assert_eq!(found[2].words(), "IOPS +50.0 %");
        assert!(found[1].words().ends_with("no more than noise)"), "{}", found[1].words());
        assert_eq!(differences(&table, 9), None);
    }
}
