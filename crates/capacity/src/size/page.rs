//! The result of sizing, as text and as a page.

use super::played::ENDLESS;
use super::{
    Need, Played, Sized, Standing, WRITE_CYCLE, Year, choice, milliseconds_of, money, percent, seconds, silo_choice,
    whole_percent,
};
use ramp::{Advice, PolicyNeed, space};
use report::Page;
use report::chart::{Axis, Chart, LevelKind, Look, Mark, Threshold};
use report::section::{Charts, Figure, Group, Notes, Table, TableCell, TableRow, Tables};
use report::text::{count, fit, thousands, wrap};

const COLUMNS: usize = 80;
/// Width of an array's name; the longest in the catalogue has 19 characters.
const NAME: usize = 20;

/// What headroom refers to.
const HEADROOM: &str =
    "Headroom is of resources while a burst is written in the time it may take; the time itself has none.";

/// The choice, in sentences.
fn words(need: &Need, sized: &[Sized]) -> Vec<String> {
    let mut lines = Vec::new();
    match choice(need, sized).map(|index| &sized[index]) {
        None => lines.push(format!("No array of these carries {} IOPS.", thousands(whole(need).round() as u64))),
        Some(one) => {
            lines.extend(chosen(need, one));
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

/// Operations a second of all instances.
fn whole(need: &Need) -> f64 {
    need.iops * f64::from(need.instances)
}

fn chosen(need: &Need, one: &Sized) -> Vec<String> {
    let whole = whole(need);
    let cost = one.price.map_or(String::new(), |price| format!(" for {}", money(price)));
    let mut lines = Vec::new();
    if one.by_play {
        lines.push(format!("{} carries it{cost}, as played; means do not say how much more.", one.name));
    } else {
        lines.push(format!(
            "{} carries it{cost}. By means, what is used up first is: {}, at {} IOPS, {} what is asked; {}.",
            one.name,
            one.all.limit,
            at(one.all.full_at),
            times(one.all.full_at / whole),
            match one.single {
                true => "with one core it has no second controller".into(),
                false => {
                    format!("with one of two controllers: {}, at {} IOPS", one.one_down.limit, at(one.one_down.full_at))
                }
            },
        ));
    }
    let longest = need.constants.cycle_limit().as_secs_f64();
    lines.extend(one.played.map(|played| {
        let [burst, read, write] = as_text(&played);
        format!("As played, a burst takes {burst} s of {longest:.0}, a read {read} ms and a small write {write} ms.")
    }));
    if !one.by_play {
        lines.push(format!("By means bursts take {longest:.0} s at {} IOPS.", at(one.all.cycle_at)));
        if need.most < 1.0 && whole / one.all.cycle_at > need.most {
            lines.push(HEADROOM.into());
        }
    }
    lines
}

/// `2.3 times`
fn times(of: f64) -> String {
    match of {
        of if !of.is_finite() => "any number of times".into(),
        of if of >= 100.0 => format!("{} times", thousands(of as u64)),
        of => format!("{} times", stats::told(of, &[1.0], 1)),
    }
}

/// Compares an array for each instance with one for all.
fn silos(need: &Need, sized: &[Sized]) -> String {
    let n = u64::from(need.instances);
    match [silo_choice(need, sized), choice(need, sized)].map(|index| Some(&sized[index?])) {
        [Some(silo), Some(one)] => {
            let each = silo.price.map(|price| n as f64 * price);
            let cost = |price: Option<f64>| price.map_or(String::new(), |price| format!(", for {}", money(price)));
            let paid = match (each, one.price) {
                (Some(each), Some(all)) if each >= all => format!(", and {} less to pay", money(each - all)),
                (Some(each), Some(all)) => format!(", and {} more to pay", money(all - each)),
                _ => String::new(),
            };
            let saved = |each: u64, all: u64, what: &str| {
                format!("{} {what} {}", each.abs_diff(all), if all <= each { "fewer" } else { "more" })
            };
            let (cores, media) = (n * silo.cores, n * silo.media);
            format!(
                "An array for each instance: {n} × {}, {cores} cores and {media} media{}. One for all under floors: {}, {} \
                 cores and {} media{}: {} and {}{paid}.",
                silo.name,
                cost(each),
                one.name,
                one.cores,
                one.media,
                cost(one.price),
                saved(cores, one.cores, "cores"),
                saved(media, one.media, "media"),
            )
        }
        [Some(silo), None] => format!("Only an array for each instance: {n} × {}.", silo.name),
        [None, _] => "No array of these carries one instance alone.".into(),
    }
}

/// Burst, read and write of what was played. A burst that did not end has no time, and one that did
/// not come to its small writes has none of these.
fn as_text(played: &Played) -> [String; 3] {
    let write = if played.write > 0.0 { milliseconds_of(played.write) } else { "–".into() };
    let read = if played.read < ENDLESS { milliseconds_of(played.read) } else { "–".into() };
    [played.burst.map_or("–".into(), seconds), read, write]
}

/// The remarks on an array: what was played, and why it does not carry the load.
fn remarks(one: &Sized) -> Vec<String> {
    let played = one.played.map(|played| {
        let [burst, read, write] = as_text(&played);
        format!("played: burst {burst} s, read {read} ms, write {write} ms")
    });
    played.into_iter().chain(one.why_not.iter().map(|why| format!("no: {why}"))).collect()
}

/// The cells of an array behind its name; what means do not decide has none of theirs.
fn cells(one: &Sized) -> [String; 7] {
    if one.by_play {
        return ["–"; 7].map(String::from);
    }
    [
        one.all.limit.clone(),
        percent(one.all.limit_used),
        at(one.all.full_at),
        if one.single { "–".into() } else { percent(one.one_down.limit_used) },
        milliseconds(&one.all, 0),
        milliseconds(&one.all, 1),
        burst(&one.all),
    ]
}

/// As text of 80 columns.
pub fn size_text(need: &Need, sized: &[Sized]) -> String {
    let mut out = format!(
        "{} IOPS in {}, bursts written within {}\n\n",
        thousands(whole(need).round() as u64),
        count(need.instances as usize, "instance", "instances"),
        need.constants.cycle_limit()
    );
    out += &format!(
        "{:<NAME$} {:<16} {:>6} {:>9} {:>6} {:>5} {:>5} {:>5}\n",
        "array", "used up first", "used", "full at", "1 down", "read", "write", "burst"
    );
    for one in sized {
        let [limit, used, full_at, down, read, write, burst] = cells(one);
        // A name that does not fit is above its row.
        let name = if one.name.chars().count() > NAME { "" } else { &one.name };
        if name.is_empty() {
            out += &format!("{}\n", fit(&one.name, COLUMNS));
        }
        out += &format!(
            "{name:<NAME$} {:<16} {used:>6} {full_at:>9} {down:>6} {read:>5} {write:>5} {burst:>5}\n",
            fit(&limit, 16),
        );
        for remark in remarks(one) {
            wrap(&remark, COLUMNS - 2).iter().for_each(|line| out += &format!("  {line}\n"));
        }
    }
    out += "\nfull at: IOPS at which it is used up; used: the load as percent of these;\n\
            1 down: with one controller of two; read, write: mean milliseconds while a\n\
            burst is written; burst: seconds until it is written. All of this is by means;\n\
            what is marked as played is a write cycle, request by request. Arrays that\n\
            are not marked were not played\n\n";
    for line in words(need, sized) {
        wrap(&line, COLUMNS).iter().for_each(|line| out += &format!("{line}\n"));
    }
    if need.growth > 0.0 && by_year(sized).next().is_some() {
        out += "\nby year: percent used of what is used up first, and with one controller of two\n";
        out += &year_rows(need, sized);
    }
    if let Some(floor) = floor(need) {
        out += &format!("\nfloor     {floor}\n");
    }
    out
}

/// The rows by year under their years, of which six fit beside the name.
fn year_rows(need: &Need, sized: &[Sized]) -> String {
    const ABREAST: usize = 6;
    let mut out = String::new();
    let mut line = |name: &str, cells: String| {
        out += &format!("{}\n", format!("{:<NAME$}{cells}", fit(name, NAME)).trim_end());
    };
    for from in (0..=need.years as usize).step_by(ABREAST) {
        let label = |number: usize| if number == 0 { "now".into() } else { format!("year {number}") };
        let until = (from + ABREAST).min(need.years as usize + 1);
        line("array", (from..until).map(|number| format!(" {:^9}", label(number))).collect());
        for one in by_year(sized) {
            let cell = |year: &Year| {
                let [used, down] = year_cells(one, year);
                format!(" {used:>4}/{down:<4}")
            };
            line(&one.name, one.years[from..until].iter().map(cell).collect());
        }
    }
    out
}

/// The arrays with a row by year.
fn by_year(sized: &[Sized]) -> impl Iterator<Item = &Sized> {
    sized.iter().filter(|one| one.why_not.is_none() && !one.by_play)
}

/// Percent used in a year, with both controllers and with one of two.
fn year_cells(one: &Sized, year: &Year) -> [String; 2] {
    [whole_percent(year.used), if one.single { "–".into() } else { whole_percent(year.one_down) }]
}

/// Time of a burst; if a resource is overloaded, no burst ends.
fn burst(standing: &Standing) -> String {
    if standing.fullest().1 > 1.0 { "–".into() } else { seconds(standing.cycle) }
}

/// A load as text.
fn at(iops: f64) -> String {
    if iops.is_finite() { thousands(iops as u64) } else { "any".into() }
}

/// Mean time of a read (0) or small write (1); beyond the capacity of a resource the wait grows
/// without bound.
fn milliseconds(standing: &Standing, flow: usize) -> String {
    let seconds = standing.response()[flow];
    if standing.fullest().1 > 1.0 || seconds >= ENDLESS { "–".into() } else { format!("{:.2}", 1e3 * seconds) }
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
            "The {LINES_MAX} resources of which most is used, by means, of each array that carries one instance; where a line \
             meets 100 % the resource is used up. {HEADROOM}"
        ),
        figures: sized.iter().filter(|one| one.why_no_silo.is_none() && !one.by_play).map(|one| figure(need, one)).collect(),
        small: false,
    });
    let priced = sized.iter().any(|one| one.price.is_some());
    let row = |one: &Sized| TableRow {
        name: one.name.clone(),
        // In a row of its own, because a column of sentences would make the table wider than the
        // page.
        remarks: one.why_not.iter().map(|why| format!("no: {why}")).collect(),
        cells: [if one.why_not.is_none() { "yes" } else { "no" }.to_string()]
            .into_iter()
            .chain(priced.then(|| one.price.map_or("–".into(), money)))
            .chain(cells(one))
            .map(TableCell::from)
            .collect(),
    };
    let heads = ["used up first", "used", "full at IOPS", "one down", "read ms", "write ms", "burst s"];
    let columns = ["array", "carries it"].into_iter().chain(priced.then_some("price")).chain(heads);
    page.add(Tables {
        heading: "The arrays".into(),
        tables: vec![Table {
            columns: columns.map(String::from).collect(),
            groups: vec![Group { rows: sized.iter().map(row).collect(), ..Group::default() }],
            ..Table::default()
        }],
        ..Tables::default()
    });
    if let Some(as_played) = as_played(sized) {
        page.add(as_played);
    }
    page.add(load(need));
    if let Some(years) = years(need, sized) {
        page.add(years);
    }
    page.add(notes());
    page
}

/// The arrays on which write cycles were played.
fn as_played(sized: &[Sized]) -> Option<Tables> {
    let row = |one: &Sized| {
        let cells = as_text(&one.played?).map(TableCell::from).to_vec();
        Some(TableRow { name: one.name.clone(), cells, ..TableRow::default() })
    };
    let rows: Vec<TableRow> = sized.iter().filter_map(row).collect();
    let columns = ["array", "burst s", "read ms", "write ms"].map(String::from).to_vec();
    (!rows.is_empty()).then(|| Tables {
        heading: "As played".into(),
        lead:
            "Write cycles of all instances, request by request. The other arrays were not played: whether they carry the load, \
             and at which it is full, is by means only."
                .into(),
        tables: vec![Table { columns, groups: vec![Group { rows, ..Group::default() }], ..Table::default() }],
        ..Tables::default()
    })
}

/// What was asked for.
fn load(need: &Need) -> Tables {
    let ms = |seconds: f64| format!("at most {} ms", milliseconds_of(seconds));
    let row =
        |name: &str, says: String| TableRow { name: name.into(), cells: vec![says.into()], ..TableRow::default() };
    let mut rows = vec![
        row("IOPS of one instance", thousands(need.iops.round() as u64)),
        row("instances", need.instances.to_string()),
        row("IOPS together", thousands(whole(need).round() as u64)),
        row("used space of one", need.spread.map_or("not given".into(), space)),
        row("a burst", format!("written within {}", need.constants.cycle_limit())),
        row("headroom of resources", format!("{:.0} %", 100.0 * (1.0 - need.most))),
        row("a read", ms(need.response[0])),
        row("a small write", ms(need.response[1])),
    ];
    rows.extend(floor(need).map(|floor| row("floor of one", floor)));
    rows.extend((need.growth > 0.0).then(|| row("growth in a year", format!("{:.0} %", 100.0 * need.growth))));
    Tables {
        heading: "What is asked for".into(),
        tables: vec![Table {
            columns: ["", ""].map(String::from).to_vec(),
            groups: vec![Group { rows, ..Group::default() }],
            words: true,
            ..Table::default()
        }],
        ..Tables::default()
    }
}

/// The floor by TB that leaves every burst its time, as `seawall advise` has it.
fn floor(need: &Need) -> Option<String> {
    let used = need.spread?;
    let (iops, cycle_limit) = (need.iops.round() as u64, need.constants.cycle_limit());
    let advice = Advice::on(PolicyNeed { iops, used, cycle_limit, volumes: 1 }).ok()?;
    Some(format!("{} IOPS/TB on {} used, for bursts within {cycle_limit}", advice.safe.expected, space(used)))
}

/// By year what is used of what is used up first; nothing without growth.
fn years(need: &Need, sized: &[Sized]) -> Option<Tables> {
    let rows: Vec<TableRow> = by_year(sized)
        .map(|one| TableRow {
            name: one.name.clone(),
            cells: one.years.iter().map(|year| year_cells(one, year).join("/").into()).collect(),
            ..TableRow::default()
        })
        .collect();
    (need.growth > 0.0 && !rows.is_empty()).then(|| Tables {
        heading: "By year".into(),
        lead: "Percent used of what is used up first, and with one controller of two, by means.".into(),
        tables: vec![Table {
            columns: ["array", "now"]
                .map(String::from)
                .into_iter()
                .chain((1..=need.years).map(|year| format!("year {year}")))
                .collect(),
            groups: vec![Group { rows, ..Group::default() }],
            ..Table::default()
        }],
        ..Tables::default()
    })
}

fn notes() -> Notes {
    Notes {
        lines: vec![
            "Space is not sized: the files of arrays say how fast media are, and not how large.".into(),
            "One controller down: half of the cores and half of the ways; a file server under credits has another one \
             standing by."
                .into(),
            "What is played is one write cycle of all instances, request by request: the best of the arrays that carry the load \
             by means, until one holds; arrays of disks and with logs that write in place always, two cycles."
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

/// Utilisation is proportional to the load, and of the write cycle the part of its limit is drawn:
/// two points make a line.
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
    // A load without bursts meets this limit nowhere.
    let end = most.min(1.1 * one.all.cycle_at);
    let points = vec![(0.0, 0.0), (end, 100.0 * end / one.all.cycle_at)];
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
