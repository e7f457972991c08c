//! Classes and bills as text: in 80 columns for the terminal, and as CSV.

use crate::bill::{Bill, Billed, sum};
use crate::class::{Class, Classes};
use report::text::{count, fit, thousands, width};

/// The classes, one line each.
pub fn list(classes: &Classes) -> String {
    let currency = &classes.currency;
    let mut text = format!(
        "{:<14}{:>10}{:>10}{:>8}{:>7}{:>10}{:>12}\n{:<14}{:>10}{:>10}{:>8}{:>7}{:>10}{:>12}\n",
        "class",
        "expected",
        "peak",
        "at",
        "block",
        "latency",
        currency,
        "",
        "IOPS/TB",
        "IOPS/TB",
        "least",
        "size",
        "ms",
        "a month",
    );
    for class in &classes.classes {
        let Class { name, expected_iops_per_tb, peak_iops_per_tb, .. } = class;
        let or_dash = |number: Option<String>| number.unwrap_or_else(|| "–".into());
        let minimum = or_dash(class.absolute_min_iops.map(thousands));
        let (block, latency) = (or_dash(class.block_size.clone()), or_dash(class.latency_ms.map(|ms| ms.to_string())));
        // A value that is wider than its column moves the following ones. A name that would be cut,
        // or a price that is too wide, gets a line of its own.
        let mut line = name.clone();
        if width(name) > 13 {
            text += &format!("{name}\n");
            line.clear();
        }
        let rates = [*expected_iops_per_tb, *peak_iops_per_tb].map(thousands);
        let cells = [(&rates[0], 24), (&rates[1], 34), (&minimum, 42), (&block, 49), (&latency, 59)];
        cells.into_iter().for_each(|(cell, end)| push_to(&mut line, cell, end));
        let mut prices = vec![format!("{}/TB", class.price_per_tb)];
        prices.extend((class.price_per_iops > 0.0).then(|| format!("{}/IOPS", class.price_per_iops)));
        for price in prices {
            if width(&line) + 1 + width(&price) > 80 {
                text += &format!("{line}\n");
                line.clear();
            }
            push_to(&mut line, &price, 71);
            text += &format!("{line}\n");
            line.clear();
        }
        let spaces = format!("expected of {}, peak of {}", class.expected_space, class.peak_space);
        let about = if class.about.is_empty() { spaces } else { format!("{}; {spaces}", class.about) };
        for line in report::text::wrap(&about, 76) {
            text += &format!("  {line}\n");
        }
    }
    text
}

/// Appends a cell that ends in column `end`, or after one blank if that is passed already.
fn push_to(line: &mut String, cell: &str, end: usize) {
    let room = end.saturating_sub(width(line) + width(cell)).max(1);
    *line += &" ".repeat(room);
    *line += cell;
}

/// The period, and how much of it was recorded.
pub(crate) fn period(bill: &Bill) -> String {
    let day = |seconds| block::date(seconds, "%Y-%m-%d %H:%M");
    format!(
        "{} to {} (UTC): {} of {:.1} hours were kept; a month is {} hours",
        day(bill.period.from),
        day(bill.period.to),
        kept(bill.covered_seconds),
        bill.period.length_hours(),
        bill.month_hours
    )
}

/// The recorded time in hours; less than a tenth of an hour in seconds.
fn kept(seconds: u64) -> String {
    if seconds < 360 { format!("{seconds} seconds") } else { format!("{:.1}", seconds as f64 / 3600.0) }
}

/// A fraction as percent: `0.4 %`.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// The same with two digits, for fractions that should be zero: `0.02 %`, `<0.01 %`.
pub(crate) fn percent_fine(part: f64) -> String {
    let percent = 100.0 * part;
    if percent > 0.0 && percent < 0.005 { "<0.01 %".into() } else { format!("{percent:.2} %") }
}

/// Milliseconds in words, below a minute in seconds: `24 min`, `5 s`, `<1 s`.
pub(crate) fn lasted(ms: u64) -> String {
    match ms {
        0 => "0".into(),
        1..1000 => "<1 s".into(),
        1000..60_000 => format!("{} s", ms / 1000),
        _ => format!("{:.0} min", ms as f64 / 60_000.0),
    }
}

/// Hundredths as money: `1,234.50`.
pub(crate) fn money(hundredths: u64) -> String {
    format!("{}.{:02}", thousands(hundredths / 100), hundredths % 100)
}

/// Width of the column for a line's name, of which the first two are blank.
const NAME: usize = 16;
/// Width of the column for a class's name.
const CLASS: usize = 8;

/// A line of the table: the volume, its class and the cells.
fn row(name: &str, class: &str, cells: [String; 6]) -> String {
    let [tb, promised, used, held, missed, price] = cells;
    let line = format!(
        "{:<17}{:<9}{tb:>8}{promised:>9}{used:>9}{held:>8}{missed:>8}{price:>12}",
        fit(name, NAME),
        fit(class, CLASS)
    );
    line.trim_end().to_owned() + "\n"
}

/// The bill in 80 columns.
pub fn table(bill: &Bill) -> String {
    let mut text = report::text::wrap(&period(bill), 80).join("\n") + "\n\n";
    let head = ["TB", "promised", "used", "held", "missed", &bill.currency].map(String::from);
    text += &row("volume", "class", head);
    text += &row("", "", ["", "IOPS", "IOPS", "back", "", ""].map(String::from));
    for (svm, lines) in bill.svms() {
        text += &format!("\n{}\n", fit(svm, 80));
        for billed in lines {
            text += &of_line(billed);
        }
        text += &together(&format!("  {} together", fit(svm, 15)), bill, lines);
    }
    if bill.lines.is_empty() {
        text += "\nNo hour of a volume was kept in this time.\n";
    } else if bill.svms().len() > 1 {
        text += &format!("\n{}", together("all together", bill, &bill.lines));
    }
    text
}

fn of_line(billed: &Billed) -> String {
    let line = &billed.line;
    let class = if billed.class.is_empty() { "–" } else { &billed.class };
    let promises = line.sums.floor_ops > 0;
    let or_dash = |text: String| if promises { text } else { "–".into() };
    let mut text = row(
        &format!("  {}", line.name()),
        class,
        [
            format!("{:.3}", line.allocated_tb()),
            or_dash(thousands(line.promised_iops().round() as u64)),
            thousands(line.used_iops().round() as u64),
            percent(line.held()),
            or_dash(percent_fine(line.missed())),
            if billed.has_price { money(billed.hundredths) } else { "–".into() },
        ],
    );
    for remark in remarks(billed) {
        for line in report::text::wrap(&remark, 74) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// Remarks on a line that must not be overlooked.
pub(crate) fn remarks(billed: &Billed) -> Vec<String> {
    let line = &billed.line;
    let mut remarks = Vec::new();
    if width(&line.name()) + 2 > NAME {
        remarks.push(format!("its name is {}", line.name()));
    }
    if width(&billed.class) > CLASS {
        remarks.push(format!("its class is {}", billed.class));
    }
    if let Some(policy) = billed.policy_of_no_class() {
        remarks.push(no_class(policy));
    }
    if line.sums.missed_ms > 0 {
        remarks.push(format!("the floor was missed for {}", lasted(line.sums.missed_ms)));
    }
    if let Some((goal, late)) = billed.late.filter(|(_, late)| *late > 0) {
        let hours = count(line.latencies_us.len(), "hour", "hours");
        remarks.push(format!("in {late} of {hours} the mean latency was above {goal} ms"));
    }
    remarks
}

/// Says why a line has no price.
pub(crate) fn no_class(policy: &str) -> String {
    format!("policy group {policy} is of no class and has no price")
}

/// Means and sums of several lines.
pub(crate) fn totals(bill: &Bill, lines: &[Billed]) -> [String; 6] {
    let all = bill.together(lines);
    [
        format!("{:.3}", all.allocated_tb()),
        thousands(all.promised_iops().round() as u64),
        thousands(all.used_iops().round() as u64),
        percent(all.held()),
        percent_fine(all.missed()),
        money(sum(lines)),
    ]
}

fn together(name: &str, bill: &Bill, lines: &[Billed]) -> String {
    let [tb, promised, used, held, missed, price] = totals(bill, lines);
    format!("{:<26}{tb:>8}{promised:>9}{used:>9}{held:>8}{missed:>8}{price:>12}\n", fit(name, 26))
}

/// The bill as CSV for spreadsheets: a row for each line, without thousands separators.
///
/// # Errors
/// Those of the writer.
pub fn csv(bill: &Bill, out: impl std::io::Write) -> csv::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for billed in &bill.lines {
        let line = &billed.line;
        let (goal, late) =
            billed.late.map_or_else(Default::default, |(goal, late)| (goal.to_string(), late.to_string()));
        writer.write_record([
            block::date(bill.period.from, "%Y-%m-%dT%H:%M:%SZ"),
            block::date(bill.period.to, "%Y-%m-%dT%H:%M:%SZ"),
            line.svm.clone(),
            line.volume.clone(),
            line.object.clone(),
            billed.class.clone(),
            line.policy.clone(),
            format!("{:.4}", line.seconds as f64 / 3600.0),
            format!("{:.6}", line.allocated_tb()),
            format!("{:.6}", line.used_tb()),
            format!("{:.3}", line.promised_iops()),
            format!("{:.3}", line.used_iops()),
            format!("{:.3}", line.busiest_iops),
            line.sums.bytes.to_string(),
            format!("{:.4}", line.latency_ms()),
            goal,
            late,
            format!("{:.4}", 100.0 * line.held()),
            format!("{:.4}", 100.0 * line.missed()),
            format!("{:.2}", line.sums.missed_ms as f64 / 60_000.0),
            // A line without a price is not free, so the cell is empty.
            if billed.has_price {
                format!("{}.{:02}", billed.hundredths / 100, billed.hundredths % 100)
            } else {
                String::new()
            },
            bill.currency.clone(),
        ])?;
    }
    writer.flush()?;
    Ok(())
}

/// The columns of the CSV.
const COLUMNS: [&str; 22] = [
    "from",
    "to",
    "svm",
    "volume",
    "object",
    "class",
    "policy",
    "hours",
    "allocated_tb",
    "used_tb",
    "promised_iops",
    "used_iops",
    "busiest_hour_iops",
    "bytes",
    "latency_ms",
    "latency_goal_ms",
    "late_hours",
    "held_back_percent",
    "missed_percent",
    "missed_minutes",
    "price",
    "currency",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::tests::{CLASSES, bill};

    #[test]
    fn classes_are_listed_in_80_columns() {
        let text = list(&Classes::read(CLASSES).unwrap());
        let expected = "\
class           expected      peak      at  block   latency         EUR
                 IOPS/TB   IOPS/TB   least   size        ms     a month
gold               2,000     4,000       –      –         2      100/TB
                                                              0.05/IOPS
  expected of allocated-space, peak of used-space
bronze               250       500       –      –         –       20/TB
  expected of used-space, peak of used-space
";
        assert_eq!(text, expected);
    }

    /// Values that are wider than their columns stay separate, and names that are cut in a table
    /// are also given in full.
    #[test]
    fn wide_values_stay_apart() {
        let text = "currency = \"EUR\"\n[[class]]\nname = \"platinum-for-databases\"\nexpected_iops_per_tb = 2000000000\n\
                    peak_iops_per_tb = 2147483647\nabsolute_min_iops = 2147483647\nlatency_ms = 0.25\n\
                    price_per_tb = 1234567.891\nprice_per_iops = 0.0123456789\n";
        let shown = list(&Classes::read(text).unwrap());
        let expected = "
platinum-for-databases
           2,000,000,000 2,147,483,647 2,147,483,647 – 0.25 1234567.891/TB
                                                      0.0123456789/IOPS
";
        assert!(shown.contains(&expected[1..]), "{shown}");
        assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
        let mut bill = bill(1);
        bill.lines[0].class = "platinum-for-databases".into();
        bill.lines[1].line.policy = "a-policy-of-another-day".into();
        bill.lines[2].line.volume = "a_volume_of_web_pages".into();
        for remark in [
            "its class is platinum-for-databases",
            "policy group a-policy-of-another-day is of no class and has no price",
            "its name is a_volume_of_web_pages",
        ] {
            assert!(table(&bill).contains(&format!("\n    {remark}\n")), "{}", table(&bill));
        }
    }

    /// A floor that was missed for 5 s of a month is not missed for "0 min" or "0.00 %".
    #[test]
    fn a_small_miss_is_told() {
        let told = [0, 400, 5_000, 59_999, 60_000, 1_440_000].map(lasted);
        assert_eq!(told, ["0", "<1 s", "5 s", "59 s", "1 min", "24 min"]);
        assert_eq!([0.0, 0.00002, 0.0002, 0.01].map(percent_fine), ["0.00 %", "<0.01 %", "0.02 %", "1.00 %"]);
        let mut bill = bill(1);
        (bill.lines[0].line.sums.missed_ms, bill.lines[0].line.sums.missed_ops) = (5_000, 100);
        assert!(table(&bill).contains("    the floor was missed for 5 s\n"), "{}", table(&bill));
        bill.lines[0].late = bill.lines[0].late.map(|(goal, _)| (goal, 1));
        assert!(table(&bill).contains("    in 1 of 1 hour the mean latency was above 2 ms\n"), "{}", table(&bill));
        let html = crate::page::page(&bill).render();
        assert!(html.contains(">5 s<") && html.contains("&lt;0.01 %"), "{html}");
    }

    #[test]
    fn the_first_minutes_of_a_pool_are_told_in_seconds() {
        assert_eq!((kept(0), kept(41), kept(359)), ("0 seconds".into(), "41 seconds".into(), "359 seconds".into()));
        assert_eq!((kept(360), kept(5400)), ("0.1".into(), "1.5".into()));
    }

    #[test]
    fn a_bill_is_this_table() {
        let text = table(&bill(730));
        let expected = "\
1970-01-05 04:00 to 1970-02-04 14:00 (UTC): 730.0 of 730.0 hours were kept; a
month is 730 hours

volume           class          TB promised     used    held  missed         EUR
                                       IOPS     IOPS    back

svm01
  erp            gold       10.000   20,000   12,000   5.7 %  1.00 %    2,000.00
    the floor was missed for 730 min
    in 365 of 730 hours the mean latency was above 2 ms
  svm01 together            10.000   20,000   12,000   5.7 %  1.00 %    2,000.00

svm02
  scratch        –          10.000        –        0   0.0 %       –           –
  web            bronze     10.000      250        0   0.0 %  0.00 %       20.00
  svm02 together            20.000      250        0   0.0 %  0.00 %       20.00

all together                30.000   20,250   12,000   5.7 %  0.99 %    2,020.00
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(table(&bill(0)).ends_with("No hour of a volume was kept in this time.\n"));
    }

    #[test]
    fn a_spreadsheet_gets_a_row_for_each_line() {
        let mut out = Vec::new();
        csv(&bill(730), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(
            rows[1],
            "1970-01-05T04:00:00Z,1970-02-04T14:00:00Z,svm01,erp,,gold,gold-svm01,730.0000,10.000000,8.000000,20000.000,\
             12000.000,12000.000,258342912000000,1.7500,2,365,5.7143,1.0000,730.00,2000.00,EUR"
        );
        assert!(rows[2].contains(",svm02,scratch,,,,") && rows[2].ends_with(",0.00,,EUR"), "{}", rows[2]);
    }
}
