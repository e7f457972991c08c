//! The table as a workbook: the fourteen columns with their chart, and on a second sheet what they
//! say.

use crate::column::{Column, Figure};
use crate::lint::impossible;
use crate::reading::readings;
use crate::table::{Row, Table};
use report::workbook::{Cell, Chart, Sheet, Workbook};

/// The workbook; `made_unix_s` is when it was asked for, in seconds since 1970.
pub fn workbook(table: &Table, made_unix_s: u64) -> Workbook {
    let place = |figure| Column::all().position(|column| column == Column::Figure(figure)).unwrap_or_default();
    let has_tpm = table.rows.iter().any(|row| row.median(Figure::MaxTpm).is_some());
    let line = if has_tpm { Figure::MaxTpm } else { Figure::Mbps };
    let chart = Chart {
        title: table.title.clone(),
        across: 0,
        across_name: "Test Number".into(),
        columns: vec![place(Figure::Iops)],
        columns_name: "IOPS".into(),
        lines: vec![place(line)],
        lines_name: Column::Figure(line).name().into(),
    };
    let wrong = impossible(table).into_iter().map(|it| format!("Impossible: test {}: {}", it.row, it.because));
    let says = readings(table).into_iter().chain(wrong).map(|line| vec![Cell::Words(line)]);
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

fn row_of(row: &Row) -> Vec<Cell> {
    let cell = |column| match column {
        Column::Number => Cell::from(f64::from(row.number)),
        Column::Word(word) => row.word(word).shown().map_or(Cell::Empty, Cell::from),
        Column::Figure(figure) => row.median(figure).map_or(Cell::Empty, Cell::from),
    };
    Column::all().map(cell).collect()
}
