//! The differences between two runs, and whether they are more than noise.
//!
//! The method is that of batch means (B. Schmeiser, "Batch size effects in the analysis of
//! simulation output", Operations Research 30, 1982). Consecutive seconds are correlated, so they
//! do not count as independent samples. They are joined into at most [`BATCHES`] batches, whose
//! means are nearly independent. The difference of two means then has the 95 % confidence interval
//! of Welch's t-test over the batches.

use super::{Cell, Class, Kind, Run, Setting, Slice};
use crate::job::{Confidence, Spread, welch};
use block::Span;

/// Maximum number of batches of a series. With more, batches get shorter and depend on each other;
/// with fewer, the interval gets wider but no more reliable. Schmeiser found 10 to 30 right for any
/// length.
const BATCHES: usize = 20;

/// A figure of a slice; `None` if not known.
type Of<'a> = &'a dyn Fn(&Slice) -> Option<f64>;

/// Fewer seconds do not show how they vary.
const SECONDS_MIN: usize = 10;

/// Settings in which two runs must not differ. Depths and rates may, because runs are compared to
/// see their effect.
const SAME: [&str; 7] =
    ["mix", "read_percent", "order", "block_bytes", "read_block_bytes", "write_block_bytes", "cycle_s"];

/// Tools that name points after what was asked in them, so that equal names are equal questions.
/// For all other tools the plan has that.
const SELF_EVIDENT: [&str; 5] = ["fio", "ramp", "ranread", "orion", "oltp"];

/// The write cycle of a database in seconds; runs with shorter cycles are not comparable with
/// anything.
const CYCLE_S: f64 = 80.0;

/// A figure of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The point's name.
    pub point: String,
    /// The actor's name.
    pub actor: String,
    /// The class.
    pub class: Class,
    /// The figure, with its unit.
    pub figure: &'static str,
    /// Its value in the first run.
    pub before: f64,
    /// Its value in the second run.
    pub after: f64,
    /// The difference with its 95 % confidence interval; `None` if no series shows how the figure
    /// varies.
    pub interval: Option<Confidence>,
}

impl Difference {
    /// Whether it is more than noise; `None` if that is not known.
    pub fn is_significant(&self) -> Option<bool> {
        self.interval.map(|interval| interval.mean.abs() > interval.half_width)
    }
}

/// All figures that both runs have, matched by the names of points and actors.
pub fn differences(before: &Run, after: &Run) -> Vec<Difference> {
    let mut found = Vec::new();
    for cell in &before.cells {
        let (Some(point), Some(actor)) =
            (before.points.get(cell.point as usize), before.actors.get(cell.actor as usize))
        else {
            continue;
        };
        let Some(other) = counterpart(before, cell, after).filter(|_| !is_said_twice(before, cell)) else { continue };
        let seconds = |run: &Run, cell: &Cell| within(run, cell.point, cell.actor, &cell.class);
        let (a, b) = (seconds(before, cell), seconds(after, other));
        let mut add = |figure, before: Option<f64>, after: Option<f64>, of: Of<'_>| {
            let Some((before, after)) = before.zip(after) else { return };
            let interval = difference(&figures(&a, of), &figures(&b, of));
            let (point, actor, class) = (point.name.clone(), actor.name.clone(), cell.class.clone());
            found.push(Difference { point, actor, class, figure, before, after, interval });
        };
        let rate = |cell: &Cell, count: u64| {
            let seconds = cell.measured.as_secs_f64();
            (seconds > 0.0).then_some(count as f64 / seconds)
        };
        let second = |slice: &Slice| Some(slice.length.as_secs_f64()).filter(|seconds| *seconds > 0.0);
        let iops = |slice: &Slice| Some(slice.ops as f64 / second(slice)?);
        let mb = |slice: &Slice| Some(slice.bytes? as f64 / 1e6 / second(slice)?);
        let mean = |slice: &Slice| Some(slice.response?.mean.as_millis_f64());
        let part = |slice: &Slice, of: fn(super::Spread) -> Span| Some(of(slice.response?.spread?).as_millis_f64());
        let p50 = |slice: &Slice| part(slice, |spread| spread.p50);
        let p99 = |slice: &Slice| part(slice, |spread| spread.p99);
        let p999 = |slice: &Slice| part(slice, |spread| spread.p999);
        add(before.identity.rate_unit(), rate(cell, cell.ops), rate(other, other.ops), &iops);
        let bytes = |cell: &Cell| rate(cell, cell.bytes?).map(|rate| rate / 1e6);
        add("MB/s", bytes(cell), bytes(other), &mb);
        let response = |of: fn(&crate::Histogram) -> Span| {
            let figure = |cell: &Cell| cell.latency(Kind::Response).map(|times| of(times).as_millis_f64());
            (figure(cell), figure(other))
        };
        let (x, y) = response(|times| times.mean());
        add("mean ms", x, y, &mean);
        let (x, y) = response(|times| times.quantile(0.5));
        add("p50 ms", x, y, &p50);
        let (x, y) = response(|times| times.quantile(0.99));
        add("p99 ms", x, y, &p99);
        let (x, y) = response(|times| times.quantile(0.999));
        add("p99.9 ms", x, y, &p999);
    }
    found
}

/// Cells of a run without a counterpart in the other one: the names of point and actor, and the
/// class.
pub fn alone<'a>(run: &'a Run, other: &Run) -> Vec<(&'a str, &'a str, &'a Class)> {
    let of = |cell: &'a Cell| {
        let (point, actor) = names(run, cell)?;
        let is_alone = counterpart(run, cell, other).is_none() && !is_said_twice(run, cell);
        is_alone.then_some((point, actor, &cell.class))
    };
    run.cells.iter().filter_map(of).collect()
}

/// The names of a cell's point and actor.
fn names<'a>(run: &'a Run, cell: &Cell) -> Option<(&'a str, &'a str)> {
    let (point, actor) = (run.points.get(cell.point as usize)?, run.actors.get(cell.actor as usize)?);
    Some((&point.name, &actor.name))
}

/// The cell with the same names in another run.
fn counterpart<'a>(run: &Run, cell: &Cell, other: &'a Run) -> Option<&'a Cell> {
    let called = names(run, cell)?;
    other.cells.iter().find(|there| there.class == cell.class && names(other, there) == Some(called))
}

/// Whether a cell is the whole of only one class, and so repeats it.
fn is_said_twice(run: &Run, cell: &Cell) -> bool {
    let parts = || run.cells.iter().filter(|part| (part.point, part.actor) == (cell.point, cell.actor));
    cell.class == Class::ALL && parts().count() == 2
}

/// Why two runs may not be compared; empty if they may.
pub fn obstacles(before: &Run, after: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let (a, b) = (&before.identity, &after.identity);
    let is_plan = |tool: &str| !SELF_EVIDENT.contains(&tool);
    if is_plan(&a.tool) != is_plan(&b.tool) || !is_plan(&a.tool) && a.tool != b.tool {
        found.push(format!("one is of {}, the other of {}", a.tool, b.tool));
    } else if is_plan(&a.tool) && a.text != b.text {
        found.push("they are of different plans".into());
    }
    if a.simulated != b.simulated {
        found.push("one is simulated, the other is not".into());
    }
    let value = |run: &Run, setting: &Setting| {
        let name = |run: &Run, actor: Option<u32>| {
            actor.and_then(|actor| run.actors.get(actor as usize)).map(|actor| actor.name.clone())
        };
        let of = name(before, setting.actor);
        let same = |other: &&Setting| other.key == setting.key && name(run, other.actor) == of;
        run.settings.iter().find(same).map(|setting| setting.value.clone())
    };
    for setting in before.settings.iter().filter(|setting| SAME.contains(&setting.key.as_str())) {
        if let Some(other) = value(after, setting).filter(|other| *other != setting.value) {
            let told = format!("{} is {} in one, {} in the other", setting.key, words(&setting.value), words(&other));
            if !found.contains(&told) {
                found.push(told);
            }
        }
    }
    let short = |setting: &&Setting| {
        setting.key == "cycle_s" && matches!(setting.value, super::Value::Number(seconds) if seconds != CYCLE_S)
    };
    if before.settings.iter().chain(&after.settings).any(|setting| short(&setting)) {
        found.push(format!("a write cycle is not {CYCLE_S} s long"));
    }
    found
}

fn words(value: &super::Value) -> String {
    match value {
        super::Value::Number(number) => number.to_string(),
        super::Value::Word(word) => word.clone(),
    }
}

/// The slices of a class within a point.
fn within(run: &Run, point: u32, actor: u32, class: &Class) -> Vec<Slice> {
    let Some(point) = run.points.get(point as usize) else { return Vec::new() };
    let slices = match class {
        class if *class == Class::ALL => run.whole(actor, Span::ZERO),
        class => run.series(actor, class).map_or(&[][..], |series| &series.slices),
    };
    // Slices that began in an earlier point are excluded, and so is a last one that is mostly
    // beyond this point.
    let full = |slice: &Slice| slice.start >= point.start && slice.start + slice.length / 2 <= point.end;
    slices.iter().filter(|slice| full(slice)).copied().collect()
}

fn figures(slices: &[Slice], of: Of<'_>) -> Vec<f64> {
    slices.iter().filter_map(of).collect()
}

/// The difference of two means with its interval; `None` if either has too few seconds.
fn difference(before: &[f64], after: &[f64]) -> Option<Confidence> {
    welch(&batches(before)?, &batches(after)?)
}

/// The spread of the means of batches of neighbours.
fn batches(figures: &[f64]) -> Option<Spread> {
    if figures.len() < SECONDS_MIN {
        return None;
    }
    let size = figures.len().div_ceil(BATCHES);
    let means = figures.chunks(size).filter(|batch| batch.len() == size);
    Some(Spread::of(means.map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)))
}

#[cfg(test)]
mod tests {
    use super::super::{Point, RunActor, Series, Spread as Percentiles, Times};
    use super::*;
    use block::Span;

    /// A run with these operations in each second.
    fn run(ops: &[u64]) -> Run {
        let slice = |(second, ops): (usize, &u64)| Slice {
            start: Span::from_secs(second as u64),
            length: Span::SECOND,
            ops: *ops,
            ..Slice::default()
        };
        let length = Span::from_secs(ops.len() as u64);
        let cell = |class| Cell { ops: ops.iter().sum(), ..Cell::new(0, 0, class, length) };
        let mut run = Run {
            actors: vec![RunActor { name: "j".into(), ..RunActor::default() }],
            points: vec![Point { name: "run".into(), end: length, ..Point::default() }],
            cells: vec![cell(Class::ALL), cell(Class::READ)],
            series: vec![Series {
                actor: 0,
                class: Class::READ,
                slices: ops.iter().enumerate().map(slice).collect(),
                minutes: Vec::new(),
            }],
            ..Run::default()
        };
        run.identity.tool = "fio".into();
        run
    }

    #[test]
    fn a_difference_larger_than_the_noise_is_one() {
        // 100 ± 10 in turns: the mean of 20 batches of three is within 3.4 of 100, so 130 is a
        // significant difference and 105 may not be.
        let around = |mean: u64| (0..60).map(|second| mean - 10 + second * 13 % 21).collect::<Vec<_>>();
        let told = |mean| {
            let found = differences(&run(&around(100)), &run(&around(mean)));
            assert_eq!((found.len(), found[0].figure, &found[0].class), (1, "IOPS", &Class::READ));
            let interval = found[0].interval.unwrap();
            assert!((interval.mean - (mean as f64 - 100.0)).abs() < 1e-9, "{interval:?}");
            assert!((0.1..6.0).contains(&interval.half_width), "{interval:?}");
            found[0].is_significant()
        };
        assert_eq!((told(100), told(130)), (Some(false), Some(true)));
    }

    /// A figure with a series has an interval.
    #[test]
    fn percentiles_vary_as_the_seconds_have_them() {
        let with = |micros: u64| {
            let mut run = run(&[100; 20]);
            for (second, slice) in run.series[0].slices.iter_mut().enumerate() {
                let at = |parts: u64| Span::from_micros(micros * parts + second as u64 % 3);
                let spread = Some(Percentiles { p50: at(1), p99: at(2), p999: at(3) });
                slice.response = Some(Times { count: 100, mean: at(1), spread, max: None });
            }
            let mut response = crate::Histogram::new();
            response.record(Span::from_micros(micros));
            run.cells[1].latencies.push((Kind::Response, response));
            run
        };
        let found = differences(&with(100), &with(200));
        let told: Vec<_> = found.iter().map(|one| (one.figure, one.is_significant())).collect();
        let all = ["mean ms", "p50 ms", "p99 ms", "p99.9 ms"].map(|figure| (figure, Some(true)));
        assert_eq!((told[0], &told[1..]), (("IOPS", Some(false)), &all[..]));
    }

    /// Whatever only one of two runs has is named.
    #[test]
    fn what_one_run_has_alone_is_told() {
        let (reads, mut both) = (run(&[100; 10]), run(&[100; 10]));
        assert_eq!(alone(&reads, &both), []);
        both.cells.push(Cell::new(0, 0, Class::WRITE, Span::SECOND));
        assert_eq!((alone(&both, &reads), alone(&reads, &both)), (vec![("run", "j", &Class::WRITE)], vec![]));
    }

    #[test]
    fn transactions_are_compared_as_such_and_with_nothing_else() {
        let mut shop = run(&[100; 60]);
        shop.identity.tool = "oltp".into();
        assert_eq!(differences(&shop, &shop)[0].figure, "TPS");
        assert_eq!(obstacles(&shop, &shop), Vec::<String>::new());
        assert_eq!(obstacles(&shop, &run(&[100; 60])), ["one is of oltp, the other of fio"]);
    }

    #[test]
    fn seconds_that_are_alike_do_not_count_as_many() {
        // 30 s of 90 and 30 s of 110, and the other way round: the means are equal, and the
        // interval is as wide as two halves differ: the deviation of 20 batches is 10.26, so 1.96 ×
        // √(2 × 10.26² / 20) = 6.36.
        let halves = |a, b| [[a; 30], [b; 30]].concat();
        let found = differences(&run(&halves(90, 110)), &run(&halves(110, 90)));
        let interval = found[0].interval.unwrap();
        assert!((interval.half_width - 6.36).abs() < 0.01, "{interval:?}");
        assert_eq!(found[0].is_significant(), Some(false));
    }

    #[test]
    fn few_seconds_say_nothing() {
        let found = differences(&run(&[100; 9]), &run(&[200; 9]));
        assert_eq!(found[0].is_significant(), None);
    }

    #[test]
    fn what_is_not_comparable_is_said() {
        let with = |block: f64, cycle: Option<f64>| {
            let mut run = run(&[1]);
            run.set(Some(0), "read_block_bytes", block);
            cycle.into_iter().for_each(|cycle| run.set(None, "cycle_s", cycle));
            run
        };
        assert_eq!(obstacles(&with(4096.0, None), &with(4096.0, None)), Vec::<String>::new());
        let told = obstacles(&with(4096.0, None), &with(8192.0, None));
        assert_eq!(told, ["read_block_bytes is 4096 in one, 8192 in the other"]);
        assert_eq!(obstacles(&with(1.0, Some(8.0)), &with(1.0, Some(8.0))), ["a write cycle is not 80 s long"]);
        let mut plan = run(&[1]);
        plan.identity.tool = "demo".into();
        assert_eq!(obstacles(&run(&[1]), &plan), ["one is of fio, the other of demo"]);
        let mut other = plan.clone();
        (other.identity.tool, other.identity.text) = ("run".into(), "title = 'x'".into());
        assert_eq!(obstacles(&plan, &other), ["they are of different plans"]);
        // Cells of a matrix are named after what was asked; a plan and a matrix are never the same.
        let matrix = |block: f64| {
            let mut run = run(&[1]);
            run.identity.tool = "orion".into();
            run.set(Some(0), "block_bytes", block);
            run
        };
        assert_eq!(obstacles(&plan, &matrix(8192.0)), ["one is of demo, the other of orion"]);
        let told = obstacles(&matrix(8192.0), &matrix(16384.0));
        assert_eq!(told, ["block_bytes is 8192 in one, 16384 in the other"]);
    }
}
