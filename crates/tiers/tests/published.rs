//! The published comparison, as in the plan beside it: its table, its impossible cell, and its
//! conclusions.

use tiers::{Limiter, List, TierFigure, differences, impossible, limiter, readings};

const PLAN: &str = include_str!("../../../plans/tiers-published.toml");

/// As printed, in the order of its columns.
const PRINTED: &str = "\
test,storage,spindle_type,raid_level,virtualized,cache_gb,iops,mbps,max_tpm,max_tps,avg_tps,avg_resp,disk_busy_pct,cpu_pct
1,Clariion FC,FC,5,No,4,1403,117.46,69413,1294,1083,65,30,95
2,Clariion FC,FC,5,No,4,1403,117.46,102911,2182,1450,51,24,87
3,Clariion FC,FC,5,No,4,1403,117.46,73011,1368,1087,66,100,84
4,Clariion,FC,5,Yes,pass-thru,N/A,N/A,62895,1190,984,78,42,71.4
5,Clariion,FC,5,Yes,512,1207,120.28,72666,1319,1087,65,94,85
6,AMS,SATA,5,Yes,32,428,53.96,31853,963,476,149,100,85
7,Internal,FC,5,Yes,4,1396,133.12,64168,1155,954,75,35,69.1
8,Internal,FC,10,Yes,4,2077,179.77,66451,1185,979,73,45,70.6
9,Internal,SSD,10,Yes,4,5122,214.7,64044,1171,966,75,43,69.9
10,Internal,FC,10,Yes,512,9486,308.92,66277,1166,956,74,45,71.3
11,Internal,SSD,5,Yes,512,8060,252.61,58844,110,935,81,43,72.8
";

#[test]
fn the_published_table_comes_out_as_it_was_printed() {
    assert_eq!(tiers::csv(&List::read(PLAN).unwrap().table(), None), PRINTED);
}

/// One cell contradicts another: the best second of test 11 is below its mean.
#[test]
fn the_impossible_cell_is_named_and_no_other() {
    let found = impossible(&List::read(PLAN).unwrap().table());
    let told: Vec<(u32, &str)> = found.iter().map(|it| (it.row, it.because.as_str())).collect();
    assert_eq!(told, [(11, "Max TPS is below Avg TPS (110 < 935)")]);
}

#[test]
fn the_columns_say_that_iops_mislead() {
    let table = List::read(PLAN).unwrap().table();
    let said = readings(&table);
    let has = |part: &str| assert!(said.iter().any(|line| line.contains(part)), "{part}: {said:#?}");
    has("IOPS differ 22-fold (428 to 9,486), Max TPM 3.2-fold (31,853 to 102,911): transactions do not follow IOPS");
    has("With 512 GB of cache in place of 4 (tests 8 and 10) IOPS are 4.6 times as many, Max TPM 1.0 times");
    has("Avg TPS × Avg Resp is 70 to 77 in all rows: one closed load of about 72 busy users");
    has("Tests 2, 4, 7, 8, 9, 10, 11: neither disk nor processors were full");
    assert_eq!(limiter(&table.rows[5]), Some(Limiter::Disk), "SATA");
    assert_eq!(limiter(&table.rows[0]), Some(Limiter::Cpu));
}

/// The published argument: from test 2 to test 3 the best minute fell by 29 %. There is one run of
/// each, so the confidence is unknown.
#[test]
fn differences_from_a_baseline_are_those_of_the_published_argument() {
    let table = List::read(PLAN).unwrap().table();
    let found = differences(&table, 2).unwrap();
    let third = found.iter().find(|it| it.row == 3 && it.figure == TierFigure::MaxTpm).unwrap();
    assert_eq!((third.percent.round(), third.half_width), (-29.0, None));
}

/// Figures are figures and words are words; what is not known is empty.
#[test]
fn the_workbook_has_the_fourteen_columns_and_what_they_say() {
    use report::workbook::SheetValue;
    let book = tiers::workbook(&List::read(PLAN).unwrap().table(), None, 0);
    let [columns, says] = &book.sheets[..] else { panic!("two sheets") };
    assert_eq!((columns.heads.len(), columns.rows.len(), says.rows.len()), (14, 11, 7));
    assert_eq!(columns.rows[3][5..8], [SheetValue::from("pass-thru"), SheetValue::Empty, SheetValue::Empty]);
    assert_eq!(columns.rows[10][9], SheetValue::Number(110.0));
    assert!(book.render().is_ok());
    let against = tiers::workbook(&List::read(PLAN).unwrap().table(), Some(3), 0);
    assert_eq!(against.sheets[1].rows.len(), 7 + 10, "a line for each other test");
}

/// As it is seen on a terminal: no line of more than 80 columns, and all of it there.
#[test]
fn the_text_fits_a_terminal() {
    let text = tiers::text(&List::read(PLAN).unwrap().table(), Some(3));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["Clariion FC", "117.46", "pass-thru", "Impossible", "Against test 3", "102911"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let html = tiers::page(&List::read(PLAN).unwrap().table(), Some(3)).render();
    assert!(html.contains("Max TPS is below Avg TPS (110 &lt; 935)") && html.contains("pass-thru"));
}
