//! The table as a workbook: the fourteen columns with their chart, and the conclusions on a second
//! sheet.

use crate::column::{Column, TierFigure};
use crate::difference::differences;
use crate::lint::impossible;
use crate::reading::readings;
use crate::table::{TierRow, TierTable};
use crate::text::{LEFT_OUT, by_row};
use report::workbook::{Chart, Sheet, SheetValue, Workbook};

/// The workbook, with the differences from a baseline if one is given and exists; `made_unix_s` is
/// the present time, in seconds since 1970.
pub fn workbook(table: &TierTable, baseline: Option<u32>, made_unix_s: u64) -> Workbook {
    let place = |figure| Column::all().position(|column| column == Column::Figure(figure)).unwrap_or_default();
    let has_tpm = table.rows.iter().any(|row| row.median(TierFigure::MaxTpm).is_some());
    let line = if has_tpm { TierFigure::MaxTpm } else { TierFigure::Mbps };
    let chart = Chart {
        title: table.title.clone(),
        across: 0,
        across_name: "Test Number".into(),
        columns: vec![place(TierFigure::Iops)],
        columns_name: "IOPS".into(),
        lines: vec![place(line)],
        lines_name: Column::Figure(line).name().into(),
    };
    let wrong = impossible(table).into_iter().map(|it| format!("Impossible: test {}: {}", it.row, it.because));
    let against = baseline.and_then(|number| {
        let lines = by_row(table, number, &differences(table, number)?);
        Some(lines.into_iter().map(move |line| format!("Against test {number}: {line}")))
    });
    let left_out = table.left_out.iter().map(|line| format!("{LEFT_OUT}: {line}"));
    let said = readings(table).into_iter().chain(wrong).chain(against.into_iter().flatten()).chain(left_out);
    let says = said.map(|line| vec![SheetValue::Words(line)]);
    Workbook {
        title: table.title.clone(),
        made_unix_s,
        sheets: vec![
            Sheet {
                name: "Tiers".into(),
                heads: Column::all().map(|column| column.name().to_owned()).collect(),
                rows: table.rows.iter().map(row_of).collect(),
                charts: vec![chart],
            },
            Sheet { name: "What it says".into(), rows: says.collect(), ..Sheet::default() },
        ],
    }
}

fn row_of(row: &TierRow) -> Vec<SheetValue> {
    let cell = |column| match column {
        Column::Number => SheetValue::from(f64::from(row.number)),
        Column::Word(word) => row.word(word).shown().map_or(SheetValue::Empty, SheetValue::from),
        Column::Figure(figure) => row.median(figure).map_or(SheetValue::Empty, SheetValue::from),
    };
    Column::all().map(cell).collect()
}
