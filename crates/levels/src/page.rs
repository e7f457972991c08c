//! A bill as a page: the totals, promised beside used, and every line.

use crate::bill::{Bill, Billed};
use crate::text::{lasted, money, no_class, percent, percent_fine, period, totals};
use report::Page;
use report::chart::{Axis, Chart, Column, Look, Mark};
use report::section::{Charts, Figure, Group, Table, TableCell, TableRow, Tables, Tone};
use report::text::{megabytes, thousands};

/// A line's figure, in IOPS.
type Rate = fn(&Billed) -> f64;

/// Most volumes in the chart: there is no room for more names.
const CHARTED: usize = 16;

/// The page. The caller fills in its version.
pub fn page(bill: &Bill) -> Page {
    let mut page = Page::new("Service levels", "");
    page.about = "What was promised to each volume, what it used, what ceilings held back, and what was missed.".into();
    page.facts = period(bill);
    if let Some(charts) = charts(bill) {
        page.add(charts);
    }
    page.add(prices(bill));
    page.add(served(bill));
    page
}

/// The volumes with the largest promises or the most work.
fn charts(bill: &Bill) -> Option<Charts> {
    let mut lines: Vec<&Billed> = bill.lines.iter().collect();
    let size = |billed: &Billed| billed.line.promised_iops().max(billed.line.used_iops());
    lines.sort_by(|one, other| size(other).total_cmp(&size(one)));
    lines.truncate(CHARTED);
    let most = lines.iter().map(|billed| size(billed)).fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    // A volume that changed its class has several lines.
    let is_one_of_several = |billed: &Billed| {
        let same = |other: &&Billed| (&other.line.svm, other.line.name()) == (&billed.line.svm, billed.line.name());
        bill.lines.iter().filter(same).count() > 1
    };
    let name = |billed: &&Billed| {
        let name = format!("{}:{}", billed.line.svm, billed.line.name());
        if is_one_of_several(billed) { format!("{name} ({})", under(billed)) } else { name }
    };
    let names: Vec<String> = lines.iter().map(name).collect();
    let mut chart = Chart::new("Promised and used", Axis::places(names.clone()), Axis::from_zero(most).unit("IOPS"));
    chart.room = 10;
    let parts: [(&str, Rate); 2] =
        [("promised", |billed| billed.line.promised_iops()), ("used", |billed| billed.line.used_iops())];
    for (index, (what, of)) in parts.into_iter().enumerate() {
        let column = |(place, billed): (usize, &&Billed)| {
            let from = place as f64 + 0.15 + 0.35 * index as f64;
            let title = format!("{}: {what} {} IOPS", names[place], thousands(of(billed).round() as u64));
            Column { from, to: from + 0.35, base: 0.0, top: of(billed), title }
        };
        let columns = lines.iter().enumerate().map(column).collect();
        chart.marks.push(Mark::Columns { name: what.into(), columns, look: Look::Series(index) });
    }
    let said = lines.iter().map(|billed| {
        let [promised, used] = parts.map(|(_, of)| thousands(of(billed).round() as u64));
        format!("{}: promised {promised}, used {used} IOPS.", name(billed))
    });
    chart.description = said.collect::<Vec<_>>().join(" ");
    let rest = bill.lines.len() - lines.len();
    let caption = if rest > 0 { format!("Of {} the largest.", rest + lines.len()) } else { String::new() };
    Some(Charts {
        heading: "Promised and used".into(),
        lead: "Means over the time that was kept.".into(),
        figures: vec![Figure::of(chart).captioned(caption)],
        small: false,
    })
}

/// The prices, line by line.
fn prices(bill: &Bill) -> Tables {
    let columns = ["Volume", "Class", "TB", "Promised IOPS", "Used IOPS", "Held back", "Missed", &bill.currency];
    let row = |billed: &Billed| {
        let line = &billed.line;
        let promises = line.sums.floor_ops > 0;
        let cells = vec![
            TableCell::from(or_dash(!billed.class.is_empty(), || billed.class.clone())),
            TableCell::from(format!("{:.3}", line.allocated_tb())),
            TableCell::from(or_dash(promises, || thousands(line.promised_iops().round() as u64))),
            TableCell::from(thousands(line.used_iops().round() as u64)),
            TableCell::from(percent(line.held())),
            toned(or_dash(promises, || percent_fine(line.missed())), promises && line.sums.missed_ops > 0),
            TableCell::from(or_dash(billed.has_price, || money(billed.hundredths))),
        ];
        let remark = billed.policy_of_no_class().map(no_class);
        TableRow { name: line.name(), remarks: remark.into_iter().collect(), cells }
    };
    let group = |(svm, lines): (&str, &[Billed])| {
        let rows = lines.iter().map(row).chain([together(bill, lines)]);
        Group { name: svm.into(), rows: rows.collect(), remarks: Vec::new() }
    };
    let mut groups: Vec<Group> = bill.svms().into_iter().map(group).collect();
    if groups.len() > 1 {
        groups.push(Group { name: "All".into(), rows: vec![together(bill, &bill.lines)], remarks: Vec::new() });
    }
    Tables {
        heading: "The bill".into(),
        tables: vec![Table { columns: columns.map(String::from).into(), groups, ..Table::default() }],
        note: "Held back is the part of requests' time in which ceilings held them. Missed is the part of what was promised that \
               a volume asked for and did not get. Prices are for the means of TB and promised IOPS over the hours in which \
               the volume was kept; means of several volumes together are over all hours that were kept."
            .into(),
        ..Tables::default()
    }
}

fn together(bill: &Bill, lines: &[Billed]) -> TableRow {
    let cells = [String::new()].into_iter().chain(totals(bill, lines)).map(TableCell::from);
    TableRow { name: "together".into(), remarks: Vec::new(), cells: cells.collect() }
}

/// How each volume was served.
fn served(bill: &Bill) -> Tables {
    let columns = [
        "Volume",
        "Policy group",
        "Hours",
        "Busiest hour, IOPS",
        "MB/s",
        "Latency, ms",
        "Hours above its goal",
        "Floor missed",
    ];
    let row = |billed: &Billed| {
        let line = &billed.line;
        let late = billed
            .late
            .map_or("–".to_owned(), |(goal, late)| format!("{late} of {} above {goal} ms", line.latencies_us.len()));
        let cells = vec![
            TableCell::from(or_dash(!line.policy.is_empty(), || line.policy.clone())),
            TableCell::from(format!("{:.1}", line.seconds as f64 / 3600.0)),
            TableCell::from(thousands(line.busiest_iops.round() as u64)),
            TableCell::from(megabytes(line.sums.bytes as f64 / line.seconds.max(1) as f64)),
            TableCell::from(or_dash(line.sums.completed > 0, || format!("{:.2}", line.latency_ms()))),
            toned(late, billed.late.is_some_and(|(_, late)| late > 0)),
            toned(lasted(line.sums.missed_ms), line.sums.missed_ms > 0),
        ];
        TableRow { name: line.name(), remarks: Vec::new(), cells }
    };
    let group = |(svm, lines): (&str, &[Billed])| Group {
        name: svm.into(),
        rows: lines.iter().map(row).collect(),
        remarks: Vec::new(),
    };
    let groups = bill.svms().into_iter().map(group).collect();
    Tables {
        heading: "How each was served".into(),
        tables: vec![Table { columns: columns.map(String::from).into(), groups, ..Table::default() }],
        ..Tables::default()
    }
}

/// The class of a line, or its policy group without one.
fn under(billed: &Billed) -> &str {
    let class = [&*billed.class, &billed.line.policy].into_iter().find(|name| !name.is_empty());
    class.unwrap_or("no policy")
}

fn toned(says: String, is_bad: bool) -> TableCell {
    TableCell { says, tone: if is_bad { Tone::Bad } else { Tone::Plain } }
}

fn or_dash(there: bool, says: impl Fn() -> String) -> String {
    if there { says() } else { "–".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::tests::bill;

    #[test]
    fn a_page_has_every_volume_and_the_sums() {
        let html = page(&bill(730)).render();
        for words in ["erp", "web", "scratch", "2,000.00", "2,020.00", "365 of 730 above 2 ms"] {
            assert!(html.contains(words), "{words}");
        }
        // The one chart, wide and narrow.
        assert_eq!(html.matches("<svg").count(), 2);
        assert!(!html.contains("NaN"));
        assert!(!page(&bill(0)).render().contains("<svg"), "nothing was done, and nothing is drawn");
    }

    /// A volume that changed its class has two lines, which the chart and both tables tell apart.
    #[test]
    fn lines_of_one_volume_are_told_apart() {
        let mut bill = bill(1);
        let mut before = bill.lines[0].clone();
        (before.class, before.line.policy) = ("bronze".into(), "bronze-svm01".into());
        bill.lines.insert(0, before);
        let html = page(&bill).render();
        for words in ["svm01:erp (bronze)", "svm01:erp (gold)", ">bronze-svm01<", ">gold-svm01<"] {
            assert!(html.contains(words), "{words}");
        }
    }
}
