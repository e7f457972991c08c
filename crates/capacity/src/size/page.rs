//! The result of sizing, as text and as a page.

use super::{Need, Sized, Standing, WRITE_CYCLE, Year, choice, percent, seconds, silo_choice, whole_percent};
use report::Page;
use report::chart::{Axis, Chart, LevelKind, Look, Mark, Threshold};
use report::section::{Charts, Figure, Group, Notes, Table, TableRow, Tables};
use report::text::{count, fit, thousands, wrap};

const COLUMNS: usize = 80;
/// Width of an array's name; the longest in the catalogue has 19 characters.
const NAME: usize = 20;

/// What headroom refers to.
const HEADROOM: &str = "Headroom is of resources and not of bursts: what bounds a burst is its time.";

/// The choice, in sentences.
fn words(need: &Need, sized: &[Sized]) -> Vec<String> {
    let whole = need.iops * f64::from(need.instances);
    let mut lines = Vec::new();
    match choice(sized) {
        None => lines.push("No array of these carries it.".into()),
        Some(one) => {
            lines.push(format!(
                "{} carries it{}: {} gives out first, at {} IOPS, {:.1} times what is asked; with one of two controllers at {} \
                 IOPS ({}).",
                one.name,
                one.price.map_or(String::new(), |price| format!(" for {}", money(price))),
                one.all.limit,
                at(one.all.full_at),
                one.all.full_at / whole,
                at(one.one_down.full_at),
                one.one_down.limit,
            ));
            let [cycle, longest] = [one.all.cycle, need.constants.cycle_limit().as_secs_f64()];
            lines.push(format!(
                "Its bursts take {} s of {longest:.0}, and {longest:.0} s at {} IOPS.",
                seconds(cycle),
                at(one.all.cycle_at)
            ));
            if need.most < 1.0 && one.all.cycle / longest > need.most {
                lines.push(HEADROOM.into());
            }
            let last = one.years.iter().take_while(|year| year.carries).count();
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

fn money(price: f64) -> String {
    thousands(price.round() as u64)
}

/// Compares an array for each instance with one for all.
fn silos(need: &Need, sized: &[Sized]) -> String {
    let n = u64::from(need.instances);
    match (silo_choice(sized), choice(sized)) {
        (Some(silo), Some(one)) => {
            let each = silo.price.map(|price| n as f64 * price);
            let cost = |price: Option<f64>| price.map_or(String::new(), |price| format!(", for {}", money(price)));
            let paid = match (each, one.price) {
                (Some(each), Some(all)) if each >= all => format!(", and {} less to pay", money(each - all)),
                (Some(each), Some(all)) => format!(", and {} more to pay", money(all - each)),
                _ => String::new(),
            };
            let (media, all) = (n * silo.media, one.media);
            let media_saved = format!("{} media {}", media.abs_diff(all), if all <= media { "fewer" } else { "more" });
            format!(
                "An array for each instance: {n} × {}, {} controllers and {media} media{}. One for all under floors: {}, 2 \
                 controllers and {all} media{}: {} controllers and {media_saved}{paid}.",
                silo.name,
                2 * n,
                cost(each),
                one.name,
                cost(one.price),
                2 * n - 2,
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
        "{:<NAME$} {:<16} {:>6} {:>9} {:>6} {:>5} {:>5} {:>5}\n",
        "array", "gives out first", "used", "full at", "1 down", "read", "write", "burst"
    );
    for one in sized {
        let [read, write] = one.all.response();
        // A name that does not fit is above its row.
        let name = if one.name.chars().count() > NAME { "" } else { &one.name };
        if name.is_empty() {
            out += &format!("{}\n", fit(&one.name, COLUMNS));
        }
        out += &format!(
            "{name:<NAME$} {:<16} {:>6} {:>9} {:>6} {:>5} {:>5} {:>5}\n",
            fit(&one.all.limit, 16),
            percent(one.all.limit_used),
            at(one.all.full_at),
            percent(one.one_down.limit_used),
            milliseconds(read),
            milliseconds(write),
            burst(&one.all),
        );
        if let Some(why) = &one.why_not {
            out += &format!("  no: {why}\n");
        }
    }
    out += "\nfull at: IOPS at which it is used up; 1 down: used with one controller of two;\n\
            read, write: mean milliseconds; burst: seconds until it is written\n\n";
    for line in words(need, sized) {
        wrap(&line, COLUMNS).iter().for_each(|line| out += &format!("{line}\n"));
    }
    if need.growth > 0.0 {
        out += "\nby year: percent used of what gives out first, and with one controller of two\n";
        for one in sized.iter().filter(|one| one.why_not.is_none()) {
            // Six years of ten columns each beside the name.
            for (block, years) in one.years.chunks(6).enumerate() {
                let name = if block == 0 { fit(&one.name, NAME) } else { String::new() };
                let year =
                    |year: &Year| format!(" {:>4}/{:<4}", whole_percent(year.used), whole_percent(year.one_down));
                let line = format!("{name:<NAME$}{}", years.iter().map(year).collect::<String>());
                out += &format!("{}\n", line.trim_end());
            }
        }
    }
    out
}

/// Time of a burst; if a resource is overloaded, no burst ends.
fn burst(standing: &Standing) -> String {
    if standing.fullest().1 > 1.0 { "–".into() } else { seconds(standing.cycle) }
}

/// A load as text.
fn at(iops: f64) -> String {
    if iops.is_finite() { thousands(iops as u64) } else { "any".into() }
}

fn milliseconds(seconds: f64) -> String {
    // Beyond capacity the wait grows without bound.
    if seconds >= 1.0 { "–".into() } else { format!("{:.2}", 1e3 * seconds) }
}

/// The page; the caller adds facts and version.
pub fn size_page(need: &Need, sized: &[Sized]) -> Page {
    let mut page = Page::new("What carries this load", "");
    page.about = words(need, sized).join(" ");
    page.banners.push(
        "Computed from models of arrays, many of whose figures are assumed: no statement about a product.".into(),
    );
    page.add(Charts {
        heading: "Utilisation against load".into(),
        lead: format!(
            "The {LINES_MAX} resources of which most is used, of each array that carries one instance; where a line meets 100 % \
             the resource gives out. {HEADROOM}"
        ),
        figures: sized.iter().filter(|one| one.why_no_silo.is_none()).map(|one| figure(need, one)).collect(),
        small: false,
    });
    let row = |one: &Sized| TableRow {
        name: one.name.clone(),
        // In a row of its own, because a column of sentences would make the table wider than the
        // page.
        remarks: one.why_not.iter().map(|why| format!("no: {why}")).collect(),
        cells: vec![
            one.all.limit.clone().into(),
            percent(one.all.limit_used).into(),
            at(one.all.full_at).into(),
            percent(one.one_down.limit_used).into(),
            milliseconds(one.all.response()[0]).into(),
            milliseconds(one.all.response()[1]).into(),
            burst(&one.all).into(),
            if one.why_not.is_none() { "yes" } else { "no" }.into(),
        ],
    };
    let columns = [
        "array",
        "gives out first",
        "used",
        "full at IOPS",
        "one down",
        "read ms",
        "write ms",
        "burst s",
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
    page.add(notes());
    page
}

fn notes() -> Notes {
    Notes {
        lines: vec![
            "Space is not sized: the files of arrays say how fast media are, and not how large.".into(),
            "One controller down: half of the cores and half of the ways; a file server under credits has another one \
             standing by."
                .into(),
            "A burst is written by one stream to the journal and by eight writers to its places, in all instances at the \
             same time."
                .into(),
        ],
    }
}

/// Maximum number of lines, as many as there are clearly different colours; lines of lower
/// utilisation would only crowd the names.
const LINES_MAX: usize = 4;

/// Utilisation is proportional to the load, so two points make a line; the time of a burst is not.
fn figure(need: &Need, one: &Sized) -> Figure {
    let whole = need.iops * f64::from(need.instances);
    let most = whole.max(one.all.full_at).min(4.0 * whole) * 1.1;
    let x = Axis::around(0.0, most).unit("IOPS asked");
    let mut chart =
        Chart::new(format!("{}: utilisation by load", one.name), x.clone(), Axis::from_zero(110.0).unit("percent"));
    let words =
        one.all.means.used.iter().map(|(name, used)| format!("{name}: {:.0} % at {whole:.0} IOPS.", 100.0 * used));
    chart.description = words.collect::<Vec<_>>().join(" ");
    let mut fullest: Vec<_> = one.all.means.used.iter().filter(|(_, used)| *used > 0.01).collect();
    fullest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (index, (name, used)) in fullest.into_iter().take(LINES_MAX).enumerate() {
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
    let mut points = vec![(0.0, 0.0), (whole, one.all.cycle / need.constants.cycle_limit().as_secs_f64())];
    points.push((one.all.cycle_at, 1.0));
    points.retain(|(iops, _)| iops.is_finite());
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let points = clipped(&points, most).into_iter().map(|(iops, used)| (iops, 100.0 * used)).collect();
    chart.marks.push(Mark::Line { name: WRITE_CYCLE.into(), points, look: Look::Sum, dots: false, on_right: false });
    // From the top, so that its name is beside its lower end.
    let (name, points) = (format!("asked: {}", thousands(whole.round() as u64)), vec![(whole, 110.0), (whole, 0.0)]);
    chart.marks.push(Mark::Line { name, points, look: Look::Gate, dots: false, on_right: false });
    for (says, figure) in [("used up", 100.0), ("headroom of resources", 100.0 * need.most)] {
        let level = Threshold { from: x.low(), to: x.high(), figure, says: vec![says.into()], kind: LevelKind::Limit };
        chart.marks.push(Mark::Level(level));
    }
    Figure::of(chart).headed(one.name.clone())
}

/// A line clipped at `most` to the right and 1.1 upwards.
fn clipped(points: &[(f64, f64)], most: f64) -> Vec<(f64, f64)> {
    let end = |(from, to): ((f64, f64), (f64, f64))| {
        let [x, y] = [(most - from.0) / (to.0 - from.0), (1.1 - from.1) / (to.1 - from.1)];
        let part = x.min(y).clamp(0.0, 1.0);
        (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1))
    };
    let pairs = points.iter().copied().zip(points.iter().copied().skip(1));
    let ends = pairs.filter(|(from, _)| from.0 < most && from.1 < 1.1).map(end);
    points.first().copied().into_iter().chain(ends).collect()
}
