//! A workbook as spreadsheets read it: its parts are unpacked and inspected.

use report::workbook::{Chart, ROWS_MAX, Sheet, SheetValue, Workbook, WorkbookError};
use std::io::{Cursor, Read as _};

/// A part of the file as text.
fn part(bytes: &[u8], name: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("it is a ZIP file");
    let mut text = String::new();
    archive.by_name(name).unwrap_or_else(|_| panic!("{name} is there")).read_to_string(&mut text).expect("text");
    text
}

fn book() -> Workbook {
    let row = |name: &str, number: f64| {
        vec![SheetValue::from(name), SheetValue::from(number), SheetValue::from(number / 10.0)]
    };
    let chart = Chart {
        title: "=1+1 <b>".into(),
        across_name: "processes & more".into(),
        columns: vec![1],
        columns_name: "IOPS".into(),
        lines: vec![2],
        lines_name: "ms".into(),
        ..Chart::default()
    };
    Workbook {
        title: "a book".into(),
        made_unix_s: 1_464_012_480,
        sheets: vec![Sheet {
            name: "It's a sheet".into(),
            heads: ["name", "=HEAD()", "x"].map(str::to_owned).to_vec(),
            rows: vec![row("=cmd|'/c calc'!A1", 5.0), row("<f>1</f> & https://x.y", f64::NAN), row("@sum", -7.5)],
            charts: vec![chart],
        }],
    }
}

/// No text becomes a formula or a link, whatever it looks like; NaN leaves a cell empty.
#[test]
fn words_are_words_and_figures_are_figures() {
    let bytes = book().render().unwrap();
    let (sheet, strings) = (part(&bytes, "xl/worksheets/sheet1.xml"), part(&bytes, "xl/sharedStrings.xml"));
    assert!(!sheet.contains("<f>") && !sheet.contains("hyperlink"), "{sheet}");
    for words in ["<t>=cmd|'/c calc'!A1</t>", "<t>&lt;f&gt;1&lt;/f&gt; &amp; https://x.y</t>", "<t>=HEAD()</t>"] {
        assert!(strings.contains(words), "{words}: {strings}");
    }
    assert!(sheet.contains("<c r=\"B2\"><v>5</v></c><c r=\"C2\"><v>0.5</v></c>"), "{sheet}");
    assert!(!sheet.contains("r=\"B3\"") && sheet.contains("<c r=\"B4\"><v>-7.5</v></c>"), "{sheet}");
}

/// One native chart over A: columns of B on an axis at the right, a line of C on one at the left;
/// and its text is text.
#[test]
fn a_chart_has_columns_on_the_right_and_a_line_on_the_left() {
    let bytes = book().render().unwrap();
    let chart = part(&bytes, "xl/charts/chart1.xml");
    let (lines, columns) = chart.split_once("<c:barChart>").expect("columns");
    assert!(columns.starts_with("<c:barDir val=\"col\"/>") && lines.contains("<c:lineChart>"), "{chart}");
    for (half, column) in [(columns, "B"), (lines, "C")] {
        assert!(half.contains(&format!("<c:f>'It''s a sheet'!${column}$2:${column}$4</c:f>")), "{half}");
        assert!(half.contains("<c:f>'It''s a sheet'!$A$2:$A$4</c:f>"), "{half}");
    }
    assert!(
        chart.contains("<a:t>=1+1 &lt;b&gt;</a:t>") && chart.contains("<a:t>processes &amp; more</a:t>"),
        "{chart}"
    );
    // The axis titled IOPS is at the right, the other at the left.
    let place_of = |title: &str| {
        let axis =
            chart.split("<c:valAx>").find(|axis| axis.contains(&format!("<a:t>{title}</a:t>"))).expect("an axis");
        axis.split_once("<c:axPos val=\"").and_then(|(_, rest)| rest.chars().next()).expect("a place")
    };
    assert_eq!((place_of("IOPS"), place_of("ms")), ('r', 'l'), "{chart}");
}

/// The file's date is that of its figures, so equal figures make equal files.
#[test]
fn the_same_figures_are_the_same_file() {
    let bytes = book().render().unwrap();
    assert!(part(&bytes, "docProps/core.xml").contains("2016-05-23T14:08:00Z"));
    assert_eq!(bytes, book().render().unwrap());
}

#[test]
fn what_a_sheet_has_no_room_for_is_refused() {
    let sheet = Sheet { name: "Seconds".into(), rows: vec![Vec::new(); ROWS_MAX], ..Sheet::default() };
    let error = Workbook { sheets: vec![sheet], ..Workbook::default() }.render().unwrap_err();
    assert!(matches!(error, WorkbookError::TooLong { .. }));
    let wanted =
        "Seconds: has 1048576 rows, and a sheet of a workbook has room for 1048575; export fewer runs, or as CSV";
    assert_eq!(error.to_string(), wanted);
}
