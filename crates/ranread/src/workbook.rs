//! The original's spreadsheet: the specification of the storage on one sheet, and on the other the
//! seven columns with their chart: IOPS as columns on the right axis and response time as a line on
//! the left, over processes.

use crate::batch::Batch;
use crate::export::{CLASSIC, day_and_time};
use crate::grammar::Effort;
use report::text;
use report::workbook::{Chart, Sheet, SheetValue, Workbook};

/// Lines that the specification sheet always has; unknown ones are empty.
const SPECIFIED: [&str; 5] = ["Array", "Server", "Database", "Virtual machine", "Memory"];

/// The columns of the chart.
const PROCESSES: usize = 4;
const RESPONSE: usize = 5;
const IOPS: usize = 6;

/// The workbook of these batches, with the given specification of the storage. Batches of the same
/// load are one row with their mean figures and the time of the first; rows are in order of
/// processes.
pub fn workbook(batches: &[Batch], told: &[(String, String)]) -> Workbook {
    let loads = loads(batches);
    let iterations: Vec<String> = loads.iter().map(|load| effort(load)).collect();
    let each = match &iterations[..] {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => format!(" ({first} each)"),
        _ => String::new(),
    };
    let chart = Chart {
        title: "Random Read IO Performance Results".into(),
        across: PROCESSES,
        across_name: format!("Processes{each}"),
        columns: vec![IOPS],
        columns_name: "IOPS".into(),
        lines: vec![RESPONSE],
        lines_name: "Response time (ms)".into(),
    };
    Workbook {
        title: "Random Read IO Performance Results".into(),
        made_unix_s: batches.iter().map(|batch| batch.any().started_unix_s).max().unwrap_or(0),
        sheets: vec![
            Sheet { name: "Storage".into(), rows: storage(told), ..Sheet::default() },
            Sheet {
                name: "Chart".into(),
                heads: CLASSIC.map(str::to_owned).to_vec(),
                rows: loads.iter().map(|load| row(load)).collect(),
                charts: vec![chart],
            },
        ],
    }
}

/// The given lines, and the empty ones.
fn storage(told: &[(String, String)]) -> Vec<Vec<SheetValue>> {
    let line =
        |(name, words): &(String, String)| vec![SheetValue::from(name.as_str()), SheetValue::from(words.as_str())];
    let is_told = |name: &&str| told.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let open =
        SPECIFIED.iter().filter(|name| !is_told(name)).map(|name| vec![SheetValue::from(*name), SheetValue::Empty]);
    told.iter().map(line).chain(open).collect()
}

/// Batches by load, in the order of processes.
fn loads(batches: &[Batch]) -> Vec<Vec<&Batch>> {
    let same = |one: &Batch, other: &Batch| {
        let key = |batch: &Batch| {
            let any = batch.any();
            (any.processes, any.effort, any.block, any.read_percent, any.database.clone())
        };
        key(one) == key(other)
    };
    let mut loads: Vec<Vec<&Batch>> = Vec::new();
    for batch in batches {
        match loads.iter_mut().find(|load| same(load[0], batch)) {
            Some(load) => load.push(batch),
            None => loads.push(vec![batch]),
        }
    }
    loads.sort_by_key(|load| load[0].any().processes);
    loads
}

fn row(load: &[&Batch]) -> Vec<SheetValue> {
    let any = load[0].any();
    let (day, time) = day_and_time(any.started_unix_s);
    let mean = |figures: Vec<f64>| figures.iter().sum::<f64>() / figures.len() as f64;
    let response: Vec<f64> = load.iter().filter_map(|batch| batch.response_ms()).collect();
    vec![
        SheetValue::Words(day),
        SheetValue::Words(time),
        SheetValue::Words(any.database.clone()),
        SheetValue::from(mean(load.iter().map(|batch| batch.iterations() as f64).collect()).round()),
        SheetValue::from(f64::from(any.processes)),
        // Batches that did nothing have neither; the mean of none is not a number.
        SheetValue::from((mean(response) * 100.0).round() / 100.0),
        SheetValue::from(mean(load.iter().filter_map(|batch| batch.export_iops()).collect()).round()),
    ]
}

fn effort(load: &[&Batch]) -> String {
    match load[0].any().effort {
        Effort::Iterations(iterations) => text::count(iterations as usize, "iteration", "iterations"),
        Effort::Seconds(seconds) => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::batch;

    /// Twice 20 processes, 7 and 8 ms, and 1 of 4 ms: two rows, that of one process first; 7.5 ms,
    /// and IOPS of the mean of 20 × 1000 / 7 and / 8, 2857.14 and 2500, which is 2678.57.
    #[test]
    fn rows_stand_by_processes_and_repeats_are_one() {
        let book =
            workbook(&[batch(&[7000; 20]), batch(&[4000]), batch(&[8000; 20])], &[("array".into(), "=1+1".into())]);
        let chart = &book.sheets[1];
        let figures: Vec<_> = chart.rows.iter().map(|row| row[3..].to_vec()).collect();
        let wanted = [[1000.0, 1.0, 4.0, 250.0], [1000.0, 20.0, 7.5, 2679.0]];
        assert_eq!(figures, wanted.map(|row| row.map(SheetValue::Number).to_vec()));
        assert_eq!(chart.rows[0][0], SheetValue::from("2016-05-23"));
        assert_eq!(chart.charts[0].across_name, "Processes (1,000 iterations each)");
        let storage = &book.sheets[0].rows;
        assert_eq!(storage[0], [SheetValue::from("array"), SheetValue::from("=1+1")]);
        let names: Vec<_> = storage.iter().map(|row| row[0].clone()).collect();
        let wanted = ["array", "Server", "Database", "Virtual machine", "Memory"].map(SheetValue::from);
        assert_eq!(names, wanted);
        assert!(book.render().is_ok());
    }
}
