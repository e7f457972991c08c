//! The page: IOPS, MBPS and response times as matrices over small and large loads, throughput
//! against response time, and the proofs of every point.

use crate::best::Best;
use crate::ladder::LoadPoint;
use crate::matrix::whole;
use crate::point::{MeasuredPoint, lat, micros};
use crate::test::Test;
use block::Span;
use report::Page;
use report::chart::{Axis, Chart, Look, Mark};
use report::section::{
    Charts, Fact, Facts, Figure, Grid, Group, Matrix, RunVerdict, Table, TableCell, TableRow, Tables, Tone,
};
use report::text;
use stats::Outcome;

/// The page of a test. The caller sets its facts.
pub fn page(test: &Test, points: &[MeasuredPoint]) -> Page {
    let mut page = Page::new(format!("Orion: {}", test.settings.test_name), test.version.clone());
    page.about = format!(
        "Small random requests of {} and large ones of {} side by side, so many of each outstanding.",
        block::Bytes(test.settings.load.small.into()),
        block::Bytes(test.settings.load.large.into())
    );
    page.banners = test.stamps();
    if let Some(measured) = test.missing(points) {
        page.cut_short(&measured);
    }
    page.add(RunVerdict::of(&test.verdicts(points)));
    page.add(best(test, points));
    for (heading, caption, figure) in PICTURES {
        page.add(matrix(test, points, heading, caption, figure));
    }
    page.add(Charts {
        heading: "Throughput against response time".into(),
        lead: "Each dot is a point of one kind of load alone, from the lowest load on. Where a line turns upwards, \
               more load brings waiting and no more throughput."
            .into(),
        figures: curves(test, points),
        small: false,
    });
    page.add(table(test, points));
    page.add(facts(test));
    page
}

/// A figure of a point.
type Of = fn(&MeasuredPoint) -> Option<f64>;

const PICTURES: [(&str, &str, Of); 3] = [
    ("Small requests a second", "IOPS", MeasuredPoint::iops),
    ("Large throughput", "MBPS, of 2^20 bytes", MeasuredPoint::mbps),
    ("Small response times", "ms, mean", |point| Some(point.small_lat()?.mean().as_millis_f64())),
];

fn matrix(test: &Test, points: &[MeasuredPoint], heading: &str, caption: &str, figure: Of) -> Matrix {
    let row = |large: &u32| {
        let cell = |small: &u32| figure(whole(points, LoadPoint { small: *small, large: *large })?);
        test.grid.small.iter().map(cell).collect()
    };
    let names = |levels: &[u32]| levels.iter().map(u32::to_string).collect();
    let grid = Grid {
        caption: caption.into(),
        across: "small".into(),
        columns: names(&test.grid.small),
        down: "large".into(),
        rows: names(&test.grid.large),
        figures: test.grid.large.iter().map(row).collect(),
    };
    Matrix { heading: heading.into(), grids: vec![grid], ..Matrix::default() }
}

/// Small loads without large ones, and large loads without small ones.
fn curves(test: &Test, points: &[MeasuredPoint]) -> Vec<Figure> {
    let of = |name: &str, alone: fn(&LoadPoint) -> bool, rate: Of| -> Vec<(f64, f64)> {
        let own = test.grid.spots.iter().filter(|spot| alone(spot)).filter_map(|spot| whole(points, *spot));
        own.filter_map(|point| {
            let (_, work) = point.works().find(|(load, _)| *load == name)?;
            Some((rate(point)?, lat(work).mean().as_millis_f64()))
        })
        .collect()
    };
    let small = of("small", |spot| spot.large == 0, MeasuredPoint::iops);
    let large = of("large", |spot| spot.small == 0, MeasuredPoint::mbps);
    [("Small requests", "IOPS", small), ("Large requests", "MBPS", large)]
        .into_iter()
        .filter(|(_, _, points)| points.len() > 1)
        .map(|(name, unit, points)| curve(name, unit, points))
        .collect()
}

fn curve(name: &str, unit: &str, points: Vec<(f64, f64)>) -> Figure {
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let (x, y) =
        (Axis::from_zero(most(|point| point.0)).unit(unit), Axis::from_zero(most(|point| point.1)).unit("ms, mean"));
    let mut chart = Chart::new(format!("{name}: response time by {unit}"), x, y);
    let said =
        |(rate, ms): &(f64, f64)| format!("{} {unit} at {} ms", text::significant(*rate), text::significant(*ms));
    chart.description = points.iter().map(said).collect::<Vec<_>>().join("; ");
    chart.marks.push(Mark::Line { name: name.into(), points, look: Look::Alone(0), dots: true, on_right: false });
    Figure::of(chart).headed(name)
}

fn best(test: &Test, points: &[MeasuredPoint]) -> Tables {
    let limits = test.limits();
    let (all, within) = (Best::of(points), Best::within(points, limits));
    let place = |spot: LoadPoint| format!("small {}, large {}", spot.small, spot.large);
    let said = |found: Option<(String, LoadPoint)>| {
        let (figure, spot) = found.map_or(("none".into(), "–".into()), |(figure, spot)| (figure, place(spot)));
        vec![TableCell::from(figure), TableCell::from(spot)]
    };
    let row =
        |name: String, found: Option<(String, LoadPoint)>| TableRow { name, cells: said(found), ..TableRow::default() };
    let iops = |found: Option<(f64, LoadPoint)>| found.map(|(iops, spot)| (text::iops(iops), spot));
    let mbps = |found: Option<(f64, LoadPoint)>| found.map(|(mbps, spot)| (format!("{mbps:.2}"), spot));
    let ms = |limit: Span| text::short(limit.as_millis_f64());
    let mut rows = Vec::new();
    if all.iops.is_some() {
        rows.push(row("IOPS, small, without a limit".into(), iops(all.iops)));
        rows.push(row(format!("IOPS, small, 99 % within {} ms", ms(limits.small)), iops(within.iops)));
    }
    if all.mbps.is_some() {
        rows.push(row("MBPS, large, without a limit".into(), mbps(all.mbps)));
        rows.push(row(format!("MBPS, large, 99 % within {} ms", ms(limits.large)), mbps(within.mbps)));
    }
    if let Some((latency, spot)) = all.latency {
        rows.push(row("Least mean response time, small, µs".into(), Some((format!("{:.1}", micros(latency)), spot))));
    }
    let columns = ["the best", "figure", "at"].map(str::to_owned).to_vec();
    let table = Table { columns, groups: vec![Group { rows, ..Group::default() }], ..Table::default() };
    Tables { heading: "The best points".into(), tables: vec![table], ..Tables::default() }
}

fn table(test: &Test, points: &[MeasuredPoint]) -> Tables {
    let mut rows = Vec::new();
    for point in points {
        let proofs = test.proofs(std::slice::from_ref(point));
        for (name, work) in point.works() {
            let lat = lat(work);
            let [mean, p50, p99, p999, max] =
                [lat.mean(), lat.quantile(0.5), lat.quantile(0.99), lat.quantile(0.999), lat.max()].map(text::millis);
            let rate = if name == "small" {
                point.iops().map(text::iops)
            } else {
                point.mbps().map(|mbps| format!("{mbps:.2}"))
            };
            let own = proofs.iter().filter(|proof| proof.load == name || proof.load.is_empty());
            let worst = own.max_by_key(|proof| proof.outcome);
            let tone = match worst.map(|proof| proof.outcome) {
                Some(Outcome::Pass) => Tone::Good,
                Some(Outcome::Fail) => Tone::Bad,
                _ => Tone::Plain,
            };
            let proof = TableCell { says: worst.map_or(String::new(), |proof| proof.outcome.to_string()), tone };
            let cells = [rate.unwrap_or_default(), mean, p50, p99, p999, max].map(TableCell::from);
            rows.push(TableRow {
                name: format!("{} + {}, {name}", point.spot.small, point.spot.large),
                remarks: point.trouble().map(|trouble| format!("incomplete: {trouble}")).into_iter().collect(),
                cells: cells.into_iter().chain([proof]).collect(),
            });
        }
    }
    let columns = ["small + large", "IOPS or MBPS", "mean ms", "p50", "p99", "p99.9", "max", "proof"];
    let groups = vec![Group { rows, ..Group::default() }];
    let table = Table { columns: columns.map(str::to_owned).to_vec(), groups, ..Table::default() };
    Tables { heading: "All points".into(), tables: vec![table], ..Tables::default() }
}

fn facts(test: &Test) -> Facts {
    let names = test.volumes.iter().map(|volume| format!("{} ({})", volume.name, block::Bytes(volume.size)));
    let facts = vec![
        Fact::of("Test", test.stem()),
        Fact::of("Options", test.settings.words.join(" ")),
        Fact::of("Volumes", names.collect::<Vec<_>>().join(", ")),
        Fact::of("Duration of a point", format!("{} s", text::seconds(test.settings.load.duration))),
        Fact::of("Settles before", format!("{} s", text::seconds(test.settings.load.settle))),
    ];
    Facts { heading: "The test".into(), facts }
}
