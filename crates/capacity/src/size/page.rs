//! What was sized, as text and as a page.

use super::{Need, Sized, choice, highest, percent};
use report::Page;
use report::chart::{Axis, Chart, LevelKind, Look, Mark, Threshold};
use report::section::{Charts, Figure, Group, Notes, Table, TableRow, Tables};
use report::text::{count, fit, thousands, wrap};

const COLUMNS: usize = 80;

/// What is chosen, in sentences.
fn words(need: &Need, sized: &[Sized]) -> Vec<String> {
    let whole = need.iops * f64::from(need.instances);
    let mut lines = Vec::new();
    match choice(sized) {
        None => lines.push("No array of these carries it.".into()),
        Some(one) => {
            lines.push(format!(
                "{} carries it: {} gives out first, at {} IOPS, {:.1} times what is asked; with one of two controllers at {} \
                 IOPS ({}).",
                one.name,
                one.all.limit,
                thousands(one.all.full_at as u64),
                one.all.full_at / whole,
                thousands(one.one_down.full_at as u64),
                one.one_down.limit,
            ));
            let last =
                one.years.iter().take_while(|(all, down)| *all <= need.most && *down <= need.most_one_down).count();
            if need.growth > 0.0 {
                lines.push(match last > need.years as usize {
                    true => format!("It lasts for {} and more.", count(need.years as usize, "year", "years")),
                    false => format!("It lasts for less than {}.", count(last, "year", "years")),
                });
            }
        }
    }
    if need.instances > 1 {
        lines.push(silos(need, sized));
    }
    lines
}

/// An array for each instance against one for all.
fn silos(need: &Need, sized: &[Sized]) -> String {
    let silo = sized.iter().filter(|one| one.why_no_silo.is_none());
    let silo = silo.min_by(|one, other| one.silo.full_at.total_cmp(&other.silo.full_at));
    let n = u64::from(need.instances);
    match (silo, choice(sized)) {
        (Some(silo), Some(one)) => {
            let saved = |each: u64, all: u64| (n * each) as i64 - all as i64;
            format!(
                "An array for each instance: {n} × {}, {} controllers and {} media. One for all under floors: {}, 2 controllers and \
                 {} media: {} controllers and {} media fewer.",
                silo.name,
                2 * n,
                n * silo.media,
                one.name,
                one.media,
                saved(2, 2),
                saved(silo.media, one.media),
            )
        }
        (Some(silo), None) => format!("Only an array for each instance: {n} × {}.", silo.name),
        (None, _) => "No array of these carries one instance alone.".into(),
    }
}

/// As text of 80 columns.
pub fn size_text(need: &Need, sized: &[Sized]) -> String {
    let whole = need.iops * f64::from(need.instances);
    let mut out = format!(
        "{} IOPS in {}, bursts written within {}\n\n",
        thousands(whole.round() as u64),
        count(need.instances as usize, "instance", "instances"),
        need.constants.cycle_limit()
    );
    out += &format!(
        "{:<20} {:<17} {:>6} {:>9} {:>9} {:>6} {:>6}\n",
        "array", "gives out first", "used", "full at", "one down", "read", "write"
    );
    for one in sized {
        let [read, write] = one.all.response;
        // A name that has no room stands above its row.
        let name = if one.name.chars().count() > 20 { "" } else { &one.name };
        if name.is_empty() {
            out += &format!("{}\n", fit(&one.name, COLUMNS));
        }
        out += &format!(
            "{name:<20} {:<17} {:>6} {:>9} {:>9} {:>6} {:>6}\n",
            fit(&one.all.limit, 17),
            percent(highest(&one.all)),
            thousands(one.all.full_at as u64),
            percent(highest(&one.one_down)),
            milliseconds(read),
            milliseconds(write),
        );
        if let Some(why) = &one.why_not {
            out += &format!("  no: {why}\n");
        }
    }
    out += "\nfull at: IOPS at which it is used up; read, write: mean milliseconds\n\n";
    for line in words(need, sized) {
        wrap(&line, COLUMNS).iter().for_each(|line| out += &format!("{line}\n"));
    }
    if need.growth > 0.0 {
        out += "\nby year: percent used of the fullest resource, and with one controller of two\n";
        for one in sized.iter().filter(|one| one.why_not.is_none()) {
            // Six years of nine columns beside a name of twenty.
            for (block, years) in one.years.chunks(6).enumerate() {
                out += &format!("{:<20}", if block == 0 { fit(&one.name, 20) } else { String::new() });
                years.iter().for_each(|(all, down)| out += &format!(" {:>3.0}/{:>3.0}%", 100.0 * all, 100.0 * down));
                out += "\n";
            }
        }
    }
    out
}

fn milliseconds(seconds: f64) -> String {
    // Beyond capacity the wait grows for ever.
    if seconds >= 1.0 { "–".into() } else { format!("{:.2}", 1e3 * seconds) }
}

/// The page; its facts and version are for whoever knows them.
pub fn size_page(need: &Need, sized: &[Sized]) -> Page {
    let mut page = Page::new("What carries this load", "");
    page.about = words(need, sized).join(" ");
    page.banners.push(
        "Computed from models of arrays, many of whose figures are assumed: no statement about a product.".into(),
    );
    page.add(Charts {
        heading: "Utilisation against load".into(),
        lead: "Each resource of each array that carries one instance; where a line meets 100 % the resource gives out."
            .into(),
        figures: sized.iter().filter(|one| one.why_no_silo.is_none()).map(|one| figure(need, one)).collect(),
        small: false,
    });
    let row = |one: &Sized| TableRow {
        name: one.name.clone(),
        // Under the row: a column of sentences made the table wider than the page.
        remarks: one.why_not.iter().map(|why| format!("no: {why}")).collect(),
        cells: vec![
            one.all.limit.clone().into(),
            percent(highest(&one.all)).into(),
            thousands(one.all.full_at as u64).into(),
            percent(highest(&one.one_down)).into(),
            milliseconds(one.all.response[0]).into(),
            milliseconds(one.all.response[1]).into(),
            if one.why_not.is_none() { "yes" } else { "no" }.into(),
        ],
    };
    let columns = [
        "array",
        "gives out first",
        "used",
        "full at IOPS",
        "one controller down",
        "read ms",
        "write ms",
        "carries it",
    ];
    page.add(Tables {
        heading: "The arrays".into(),
        tables: vec![Table {
            columns: columns.map(String::from).to_vec(),
            groups: vec![Group { rows: sized.iter().map(row).collect(), ..Group::default() }],
            ..Table::default()
        }],
        ..Tables::default()
    });
    page.add(Notes {
        lines: vec![
            "Space is not sized: the files of arrays say how fast media are, and not how large.".into(),
            "One controller down: half of the cores and half of the ways.".into(),
        ],
    });
    page
}

/// Utilisation is in proportion to the load, so two points make a line.
fn figure(need: &Need, one: &Sized) -> Figure {
    let whole = need.iops * f64::from(need.instances);
    let most = whole.max(one.all.full_at).min(4.0 * whole) * 1.1;
    let x = Axis::around(0.0, most).unit("IOPS asked");
    let mut chart =
        Chart::new(format!("{}: utilisation by load", one.name), x.clone(), Axis::from_zero(110.0).unit("percent"));
    let words = one.all.used.iter().map(|(name, used)| format!("{name}: {:.0} % at {whole:.0} IOPS.", 100.0 * used));
    chart.description = words.collect::<Vec<_>>().join(" ");
    // What hardly shows would only crowd the names.
    for (index, (name, used)) in one.all.used.iter().filter(|(_, used)| *used > 0.01).enumerate() {
        let end = most.min(1.1 * whole / used);
        let points = vec![(0.0, 0.0), (end, 100.0 * used * end / whole)];
        chart.marks.push(Mark::Line {
            name: name.clone(),
            points,
            look: Look::Alone(index),
            dots: false,
            on_right: false,
        });
    }
    for (says, figure) in [("used up", 100.0), ("headroom", 100.0 * need.most)] {
        let level = Threshold { from: x.low(), to: x.high(), figure, says: vec![says.into()], kind: LevelKind::Limit };
        chart.marks.push(Mark::Level(level));
    }
    Figure::of(chart).headed(one.name.clone())
}
