//! Impossible cells: each rule follows from the meaning of the columns.

use crate::column::{Column, TierFigure};
use crate::table::{TierRow, TierTable, shown};

/// A cell that contradicts another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The row's number.
    pub row: u32,
    /// The column of the wrong cell, or of one of the two.
    pub column: Column,
    /// The reason.
    pub because: String,
}

/// Tolerance for rounding, since figures are printed as whole numbers.
const ROUNDING: f64 = 1.0;

/// All impossible cells, by row.
pub fn impossible(table: &TierTable) -> Vec<Impossible> {
    table.rows.iter().flat_map(of_row).collect()
}

fn of_row(row: &TierRow) -> Vec<Impossible> {
    use TierFigure::{AvgResp, AvgTps, Cpu, DiskBusy, Iops, MaxTpm, MaxTps, Mbps};
    let mut found = Vec::new();
    let mut say = |figure: TierFigure, because: String| {
        found.push(Impossible { row: row.number, column: Column::Figure(figure), because });
    };
    let name = |figure| Column::Figure(figure).name();
    // A maximum must not be below the mean of the same quantity.
    for (most, times, mean) in [(MaxTps, 1.0, AvgTps), (MaxTpm, 60.0, AvgTps)] {
        if let (Some(a), Some(b)) = (row.median(most), row.median(mean))
            && a + ROUNDING < b * times - times * 0.5
        {
            let per =
                if times > 1.0 { format!("{} × 60 = {}", name(mean), shown(b * times, 0)) } else { name(mean).into() };
            say(most, format!("{} is below {per} ({} < {})", name(most), shown(a, 0), shown(b * times, 0)));
        }
    }
    if let (Some(minute), Some(second)) = (row.median(MaxTpm), row.median(MaxTps))
        && second * 60.0 + 30.0 + ROUNDING < minute
        // Not if it was reported already, for being below the mean of the whole test.
        && row.median(AvgTps).is_none_or(|mean| second + ROUNDING >= mean - 0.5)
    {
        let most = shown(second * 60.0, 0);
        say(MaxTps, format!("60 of the best second are below the best minute ({most} < {})", shown(minute, 0)));
    }
    for figure in [DiskBusy, Cpu] {
        if let Some(part) = row.median(figure).filter(|part| !(0.0..=100.5).contains(part)) {
            say(figure, format!("{} must be between 0 and 100, and is {}", name(figure), shown(part, 1)));
        }
    }
    for figure in [Iops, Mbps, MaxTpm, MaxTps, AvgTps, AvgResp] {
        if let Some(value) = row.median(figure).filter(|value| !(value.is_finite() && *value >= 0.0)) {
            say(figure, format!("{} cannot be {value}", name(figure)));
        }
    }
    if let (Some(mean), Some(resp)) = (row.median(AvgTps), row.median(AvgResp))
        && mean > 0.0
        && resp == 0.0
    {
        say(AvgResp, "transactions that take no time".into());
    }
    found
}
