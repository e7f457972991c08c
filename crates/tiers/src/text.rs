//! The table as text of at most 80 columns, and as CSV.

use crate::column::{Column, TierFigure, TierWord};
use crate::difference::{Against, differences};
use crate::lint::impossible;
use crate::reading::readings;
use crate::table::{TierRow, TierTable};
use report::text;

/// Width of a line.
const WIDTH: usize = 80;
/// Heading for what the list does not say, or says differently.
pub(crate) const SEEN: &str = "Seen by this host or in an array's file, not said";
/// Heading for what is not in the table.
pub(crate) const LEFT_OUT: &str = "Left out";
/// Words are wrapped at no less than this length if the line would be too long.
const WORD_LEAST: usize = 8;

/// The table, impossible cells, conclusions, and the differences from a baseline if one is given
/// and exists.
pub fn text(table: &TierTable, baseline: Option<u32>) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&table.title);
    // Fourteen columns are too wide for a screen, so there are two tables: the storage and its own
    // results, then the results of the database.
    let (first, second) = (
        [Column::Number]
            .into_iter()
            .chain(TierWord::ALL.map(Column::Word))
            .chain([TierFigure::Iops, TierFigure::Mbps].map(Column::Figure)),
        [Column::Number].into_iter().chain(TierFigure::ALL[2..].iter().copied().map(Column::Figure)),
    );
    for columns in [first.collect::<Vec<_>>(), second.collect()] {
        line("");
        block(table, &columns).iter().for_each(|text| line(text));
    }
    let mut list = |heading: &str, lines: &[String]| {
        if lines.is_empty() {
            return;
        }
        line("");
        line(heading);
        for told in lines {
            for (at, text) in text::wrap(told, WIDTH - 4).iter().enumerate() {
                line(&format!("{}{text}", if at == 0 { "  " } else { "    " }));
            }
        }
    };
    list("Repeats", &repeats(table));
    list(SEEN, &seen(table));
    list(LEFT_OUT, &table.left_out.iter().map(|line| text::printable(line)).collect::<Vec<_>>());
    let wrong = impossible(table).iter().map(|it| format!("test {}: {}", it.row, it.because)).collect::<Vec<_>>();
    list("Impossible", &wrong);
    list("What the columns say", &readings(table));
    if let Some((number, against)) = baseline.and_then(|number| Some((number, differences(table, number)?))) {
        list(
            &format!("Against test {number} (± 95 % where both were measured twice)"),
            &by_row(table, number, &against),
        );
    }
    out
}

/// A line for each row, with its differences.
pub(crate) fn by_row(table: &TierTable, baseline: u32, against: &[Against]) -> Vec<String> {
    let rows = table.rows.iter().filter(|row| row.number != baseline);
    rows.map(|row| {
        let mut of: Vec<String> = against.iter().filter(|it| it.row == row.number).map(Against::words).collect();
        of.extend(without_share(table, baseline, row));
        match of.is_empty() {
            true => format!("test {}: no figure in common", row.number),
            false => format!("test {}: {}", row.number, of.join(", ")),
        }
    })
    .collect()
}

/// The figures that a row shares with the baseline, where those of the baseline are 0.
fn without_share(table: &TierTable, baseline: u32, row: &TierRow) -> impl Iterator<Item = String> {
    let base = table.rows.iter().find(move |base| base.number == baseline);
    TierFigure::ALL.into_iter().filter_map(move |figure| {
        base?.median(figure).filter(|was| *was == 0.0)?;
        row.median(figure)?;
        Some(format!("{} is 0 in test {baseline}, so no change in percent", Column::Figure(figure).name()))
    })
}

/// The spread of the repeats of each figure.
pub(crate) fn repeats(table: &TierTable) -> Vec<String> {
    let mut told = Vec::new();
    for row in &table.rows {
        let of = TierFigure::ALL.into_iter().filter(|figure| row.samples(*figure).len() > 1).map(|figure| {
            let spread = row.spread(figure);
            let shown = |value| crate::table::shown(value, figure.digits(value));
            let name = Column::Figure(figure).name();
            format!("{name} {} to {} in {}", shown(spread.least), shown(spread.most), spread.samples)
        });
        let of: Vec<String> = of.collect();
        if !of.is_empty() {
            told.push(format!("test {}: {}", row.number, of.join(", ")));
        }
    }
    told
}

/// Properties that only the host provided.
pub(crate) fn seen(table: &TierTable) -> Vec<String> {
    let mut told = Vec::new();
    for row in &table.rows {
        for word in TierWord::ALL {
            let name = Column::Word(word).name();
            match row.word(word) {
                crate::Told { said: None, seen: Some(seen) } => {
                    told.push(format!("test {}: {name} {}", row.number, text::printable(seen)));
                }
                crate::Told { said: Some(said), seen: Some(seen) } if !said.eq_ignore_ascii_case(seen) => {
                    told.push(format!(
                        "test {}: {name} {}, said to be {}",
                        row.number,
                        text::printable(seen),
                        text::printable(said)
                    ));
                }
                _ => {}
            }
        }
    }
    told
}

/// Some columns, with headings in two lines. A cell that is too wide goes on in the next lines.
fn block(table: &TierTable, columns: &[Column]) -> Vec<String> {
    let heads: Vec<[&str; 2]> = columns.iter().map(|column| halves(*column)).collect();
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| columns.iter().map(|column| text::printable(&row.cell(*column))).collect())
        .collect();
    let width = |at: usize| {
        let cells = cells.iter().map(|row| text::width(&row[at]));
        cells.chain(heads[at].iter().map(|half| text::width(half))).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns.len()).map(width).collect();
    while widths.iter().map(|width| width + 2).sum::<usize>() > WIDTH {
        let words = (0..columns.len()).filter(|at| matches!(columns[*at], Column::Word(_)) && widths[*at] > WORD_LEAST);
        let Some(widest) = words.max_by_key(|at| widths[*at]) else { break };
        widths[widest] -= 1;
    }
    let line = |cells: &[&str]| {
        let padded = cells.iter().enumerate().map(|(at, cell)| {
            let room = " ".repeat(widths[at].saturating_sub(text::width(cell)));
            if matches!(columns[at], Column::Word(_)) { format!("{cell}{room}") } else { format!("{room}{cell}") }
        });
        format!("  {}", padded.collect::<Vec<_>>().join("  "))
    };
    let wrapped = |row: &Vec<String>| {
        let parts: Vec<Vec<String>> = row.iter().zip(&widths).map(|(cell, width)| text::wrap(cell, *width)).collect();
        let part = |at: usize| parts.iter().map(|lines| lines.get(at).map_or("", String::as_str)).collect::<Vec<_>>();
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).map(|at| line(&part(at))).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> =
        [0, 1].iter().map(|&half| line(&heads.iter().map(|head| head[half]).collect::<Vec<_>>())).collect();
    lines.extend(cells.iter().flat_map(wrapped));
    lines
}

/// A heading in two lines; a long word is parted, as headings are never cut.
fn halves(column: Column) -> [&'static str; 2] {
    match column {
        Column::Word(TierWord::Virtualized) => ["Virtual-", "ized"],
        Column::Word(TierWord::Cache) => ["Cache", "(GB)"],
        _ => column.name().split_once(' ').map_or(["", column.name()], |(first, second)| [first, second]),
    }
}

/// The fourteen columns as CSV, with the keys of files as headings. With a baseline that exists,
/// each figure's change follows in percent of the baseline's; N/A where there is none.
pub fn csv(table: &TierTable, baseline: Option<u32>) -> String {
    // Prevents spreadsheets from taking a word for a formula.
    let plain = |cell: String| if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell };
    let against = baseline.and_then(|number| differences(table, number));
    let changes = |row: &TierRow| {
        let change = |against: &[Against], figure| {
            let found = against.iter().find(|it| it.row == row.number && it.figure == figure);
            found.map_or_else(|| "N/A".into(), |it| format!("{:.1}", it.percent))
        };
        let of = against.iter().flat_map(|against| TierFigure::ALL.map(|figure| change(against, figure)));
        of.collect::<Vec<_>>()
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let cells = |row: &TierRow| Column::all().map(|column| plain(row.cell(column))).chain(changes(row)).collect();
    let heads = Column::all().map(|column| column.key().to_owned());
    let more =
        against.iter().flat_map(|_| TierFigure::ALL).map(|of| format!("{}_change_pct", Column::Figure(of).key()));
    let head: Vec<String> = heads.chain(more).collect();
    for record in [head].into_iter().chain(table.rows.iter().map(cells)) {
        writer.write_record(&record).expect("memory takes all");
    }
    String::from_utf8(writer.into_inner().expect("memory takes all")).expect("made of strings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::differences;

    /// A baseline of 0 IOPS is in common, but nothing is a percentage of it.
    #[test]
    fn of_zero_there_is_no_percentage() {
        let row = |number, figure, value| {
            let mut row = TierRow { number, ..TierRow::default() };
            row.add(figure, value, "run");
            row
        };
        let rows = vec![row(1, TierFigure::Iops, 500.0), row(2, TierFigure::Iops, 0.0), row(3, TierFigure::Mbps, 7.0)];
        let table = TierTable { rows, ..TierTable::default() };
        assert_eq!(
            by_row(&table, 2, &differences(&table, 2).unwrap()),
            ["test 1: IOPS is 0 in test 2, so no change in percent", "test 3: no figure in common"]
        );
    }
    /// Eight words of 18 characters do not fit into 80 columns, but nothing is cut: they go on in
    /// the next lines.
    #[test]
    fn long_words_go_on_in_the_next_lines() {
        let mut row = TierRow { number: 1, ..TierRow::default() };
        for word in &mut row.words {
            word.said = Some("a quite long naming".into());
        }
        row.add(TierFigure::Iops, 1_234_567.0, "run");
        let shown = text(&TierTable { rows: vec![row], ..TierTable::default() }, None);
        assert!(shown.lines().all(|line| text::width(line) <= WIDTH) && !shown.contains('…'), "{shown}");
        for part in ["Virtual-", "ized", "(GB)"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(shown.matches("naming").count(), 5, "{shown}");
    }

    /// 500 is 25 % more than 400; the baseline itself, and a figure that only one has, have no
    /// change.
    #[test]
    fn the_baseline_is_in_the_csv() {
        let mut rows = [1, 2].map(|number| TierRow { number, ..TierRow::default() });
        rows[0].add(TierFigure::Iops, 400.0, "run");
        rows[1].add(TierFigure::Iops, 500.0, "run");
        rows[1].add(TierFigure::Mbps, 70.0, "run");
        let table = TierTable { rows: rows.into(), ..TierTable::default() };
        let csv = csv(&table, Some(1));
        let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(cells.iter().all(|row| row.len() == 22), "{csv}");
        assert_eq!([cells[0][14], cells[1][14], cells[2][14], cells[2][15]], ["iops_change_pct", "N/A", "25.0", "N/A"]);
    }
}
