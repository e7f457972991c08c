//! The table as a page: a chart with IOPS as columns and transactions as a line, all cells, the
//! conclusions, and the sources.

use crate::column::{Column, TierFigure, TierWord};
use crate::difference::differences;
use crate::lint::impossible;
use crate::reading::readings;
use crate::table::{TierRow, TierTable};
use report::Page;
use report::section::{Fact, Facts, Group, Knee, KneeRun, Notes, TableCell, TableRow as Line, Tables, Tone};

/// The page. The caller fills in its facts and version.
pub fn page(table: &TierTable, baseline: Option<u32>) -> Page {
    let mut page = Page::new(if table.title.is_empty() { "Storage tiers" } else { &table.title }, "");
    page.about = "Storage tiers by what they do alone and by what a database makes of them.".into();
    page.add(Notes { lines: readings(table) });
    if table.rows.iter().any(|row| row.median(TierFigure::Iops).is_some()) {
        page.add(chart(table));
    }
    let storage =
        TierWord::ALL.map(Column::Word).into_iter().chain([TierFigure::Iops, TierFigure::Mbps].map(Column::Figure));
    page.add(cells(table, "The storage", &storage.collect::<Vec<_>>()));
    page.add(cells(
        table,
        "What a database makes of it",
        &TierFigure::ALL[2..].iter().copied().map(Column::Figure).collect::<Vec<_>>(),
    ));
    let against = baseline.and_then(|number| Some((number, differences(table, number)?)));
    let lists = [
        ("Repeats", crate::text::repeats(table)),
        (crate::text::SEEN, crate::text::seen(table)),
        (crate::text::LEFT_OUT, table.left_out.clone()),
        (
            "Against the baseline",
            against.map_or(Vec::new(), |(number, against)| {
                let mut lines = crate::text::by_row(table, number, &against);
                lines.insert(
                    0,
                    format!("Test {number} is the baseline; ± is 95 % confidence where both were measured twice."),
                );
                lines
            }),
        ),
    ];
    for (heading, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        page.add(list(heading, &lines));
    }
    page.add(Facts {
        heading: "What the columns say, and where they come from".into(),
        facts: Column::all().map(|column| Fact::of(column.name(), column.about())).collect(),
    });
    page.add(Facts { heading: "Sources".into(), facts: sources(table) });
    page
}

fn list(heading: &str, lines: &[String]) -> Facts {
    let fact = |line: &String| match line.split_once(": ") {
        Some((name, rest)) => Fact::of(name, rest),
        None => Fact::of("", line),
    };
    Facts { heading: heading.into(), facts: lines.iter().map(fact).collect() }
}

fn chart(table: &TierTable) -> Knee {
    let of = |figure| table.rows.iter().map(|row| row.median(figure)).collect::<Vec<_>>();
    let has_tpm = table.rows.iter().any(|row| row.median(TierFigure::MaxTpm).is_some());
    let (line, name) = match has_tpm {
        true => (of(TierFigure::MaxTpm), "Max TPM"),
        false => (of(TierFigure::Mbps), "MBPS"),
    };
    Knee {
        heading: format!("IOPS and {name}"),
        lead: format!("Columns are IOPS, the line is {name}; tests without a figure have a gap."),
        across: "test".into(),
        loads: table.rows.iter().map(|row| row.number.to_string()).collect(),
        columns: "IOPS".into(),
        line: name.into(),
        runs: vec![KneeRun { name: String::new(), columns: of(TierFigure::Iops), line }],
        knee: None,
    }
}

/// Some columns of all rows; impossible cells are marked, and explained below.
fn cells(table: &TierTable, heading: &str, columns: &[Column]) -> Tables {
    let wrong: Vec<_> = impossible(table).into_iter().filter(|it| columns.contains(&it.column)).collect();
    let line = |row: &TierRow| {
        let of = |column: &Column| {
            let is_wrong = wrong.iter().any(|it| it.row == row.number && it.column == *column);
            TableCell { says: row.cell(*column), tone: if is_wrong { Tone::Bad } else { Tone::Plain } }
        };
        Line { name: row.cell(Column::Number), remarks: Vec::new(), cells: columns.iter().map(of).collect() }
    };
    let group = Group { rows: table.rows.iter().map(line).collect(), ..Group::default() };
    let names = [Column::Number].iter().chain(columns).map(|column| column.name().to_owned()).collect();
    let told: Vec<String> = wrong.iter().map(|it| format!("Test {}: {}.", it.row, it.because)).collect();
    let note = if told.is_empty() { String::new() } else { format!("Impossible: {}", told.join(" ")) };
    let table = report::section::Table { columns: names, groups: vec![group], ..report::section::Table::default() };
    Tables { heading: heading.into(), tables: vec![table], note, ..Tables::default() }
}

fn sources(table: &TierTable) -> Vec<Fact> {
    let mut facts = Vec::new();
    for row in &table.rows {
        for figure in TierFigure::ALL {
            let mut sources: Vec<&str> = row.samples(figure).iter().map(|sample| sample.source.as_str()).collect();
            sources.dedup();
            if !sources.is_empty() && sources != ["printed"] {
                facts.push(Fact::of(format!("{}, {}", row.number, Column::Figure(figure).name()), sources.join(", ")));
            }
        }
    }
    if facts.is_empty() {
        facts.push(Fact::of("all figures", "printed"));
    }
    facts
}
