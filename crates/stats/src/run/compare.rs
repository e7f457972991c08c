//! The differences between two runs, and whether they are more than noise.
//!
//! Change, interval and verdict are of one estimate: the figure of the whole run, as `show` prints
//! it. Its interval comes from how the parts of the run vary, by sectioning (S. Asmussen and
//! P. Glynn, "Stochastic Simulation", 2007, III.5a), a relative of batch means (B. Schmeiser,
//! Operations Research 30, 1982). Consecutive seconds are correlated, so they do not count as
//! independent samples. They are joined into at most [`BATCHES`] batches, which are nearly
//! independent. Each deviates from the run's figure X by
//!
//! ```text
//!   d = sum over its seconds of weight × (figure of the second - X) / mean weight of a batch
//! ```
//! A rate is weighted by time, a response time by requests, so that a mean of requests has the
//! deviations of a ratio estimator. √(sum of d² / (n - 1)) is the deviation of a batch, and Welch's
//! t-test gives the 95 % interval of the difference.
//!
//! Deviations are from X and not from the mean of the batches. A percentile of the run is not the
//! mean of those of its seconds; the distance between the two widens the interval. That errs on the
//! side of noise, above all where a second has too few requests for the percentile.

use super::{Cell, Class, Kind, Run, Setting, Slice};
use crate::job::{Spread, welch};
use block::Span;

/// Maximum number of batches of a series. With more, batches get shorter and depend on each other;
/// with fewer, the interval gets wider but no more reliable. Schmeiser found 10 to 30 right for any
/// length.
const BATCHES: usize = 20;

/// Minimum number of batches; with fewer the interval would be too wide to tell anything.
const BATCHES_MIN: usize = 5;

/// Minimum seconds of a batch, except where that leaves fewer than [`BATCHES_MIN`].
const LENGTH_MIN: usize = 4;

/// A figure of a slice with its weight; `None` if not known.
type Of<'a> = &'a dyn Fn(&Slice) -> Option<Weighted>;

/// A figure of a slice.
#[derive(Clone, Copy, Debug)]
struct Weighted {
    figure: f64,
    /// What it counts for: seconds, or requests.
    weight: f64,
}

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
    /// Half the width of the 95 % confidence interval around the change; `None` if no series shows
    /// how the figure varies.
    pub half_width: Option<f64>,
}

impl Difference {
    /// The second value less the first.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// Whether it is more than noise; `None` if that is not known.
    pub fn is_significant(&self) -> Option<bool> {
        self.half_width.map(|half_width| self.change().abs() > half_width)
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
        let seconds = |run: &Run, cell: &Cell| counted(within(run, cell.point, cell.actor, &cell.class), cell.measured);
        let (a, b) = (seconds(before, cell), seconds(after, other));
        let mut add = |figure, before: Option<f64>, after: Option<f64>, of: Of<'_>| {
            let Some((before, after)) = before.zip(after) else { return };
            let half_width = half_width((&figures(&a, of), before), (&figures(&b, of), after));
            let (point, actor, class) = (point.name.clone(), actor.name.clone(), cell.class.clone());
            found.push(Difference { point, actor, class, figure, before, after, half_width });
        };
        let rate = |cell: &Cell, count: u64| {
            let seconds = cell.measured.as_secs_f64();
            (seconds > 0.0).then_some(count as f64 / seconds)
        };
        let rated = |slice: &Slice, done: f64| {
            let weight = slice.length.as_secs_f64();
            (weight > 0.0).then(|| Weighted { figure: done / weight, weight })
        };
        let iops = |slice: &Slice| rated(slice, slice.ops as f64);
        let mb = |slice: &Slice| rated(slice, slice.bytes? as f64 / 1e6);
        let timed = |slice: &Slice, of: fn(super::Times) -> Option<Span>| {
            let times = slice.response?;
            Some(Weighted { figure: of(times)?.as_millis_f64(), weight: times.count as f64 })
        };
        let mean = |slice: &Slice| timed(slice, |times| Some(times.mean));
        let p50 = |slice: &Slice| timed(slice, |times| Some(times.spread?.p50));
        let p99 = |slice: &Slice| timed(slice, |times| Some(times.spread?.p99));
        let p999 = |slice: &Slice| timed(slice, |times| Some(times.spread?.p999));
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

/// The slices without those at the beginning, in which queues settled: they are in no cell, and so
/// there are more of them than were measured.
fn counted(mut slices: Vec<Slice>, measured: Span) -> Vec<Slice> {
    let mut surplus = slices.iter().map(|slice| slice.length).sum::<Span>().saturating_sub(measured);
    let settling = slices.iter().take_while(|slice| {
        let settles = surplus > slice.length / 2;
        surplus = surplus.saturating_sub(slice.length);
        settles
    });
    slices.drain(..settling.count());
    slices
}

fn figures(slices: &[Slice], of: Of<'_>) -> Vec<Weighted> {
    slices.iter().filter_map(of).collect()
}

/// Half the width of the interval around the difference of two figures, each with the seconds of
/// its run; `None` if either has too few.
fn half_width(before: (&[Weighted], f64), after: (&[Weighted], f64)) -> Option<f64> {
    let deviations = |(seconds, whole)| batches(seconds, whole);
    welch(&deviations(before)?, &deviations(after)?).map(|difference| difference.half_width)
}

/// How batches of neighbours deviate from the figure of the whole.
fn batches(seconds: &[Weighted], whole: f64) -> Option<Spread> {
    if seconds.len() < SECONDS_MIN {
        return None;
    }
    let size = (seconds.len() / BATCHES_MIN).clamp(1, LENGTH_MIN).max(seconds.len().div_ceil(BATCHES));
    let batches = || seconds.chunks_exact(size);
    let samples = batches().count() as f64;
    let weight = batches().flatten().map(|second| second.weight).sum::<f64>() / samples;
    if weight <= 0.0 {
        return None;
    }
    let deviation = |batch: &[Weighted]| batch.iter().map(|it| it.weight * (it.figure - whole)).sum::<f64>() / weight;
    let squares = batches().map(|batch| deviation(batch).powi(2)).sum::<f64>();
    let spread = Spread::of(batches().map(|batch| whole + deviation(batch)));
    Some(Spread { deviation: (squares / (samples - 1.0)).sqrt(), ..spread })
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
        // 100 ± 10 in turns: the mean of 15 batches of four is within 4 of 100, so 130 is a
        // significant difference and 105 may not be.
        let around = |mean: u64| (0..60).map(|second| mean - 10 + second * 13 % 21).collect::<Vec<_>>();
        let told = |mean| {
            let found = differences(&run(&around(100)), &run(&around(mean)));
            assert_eq!((found.len(), found[0].figure, &found[0].class), (1, "IOPS", &Class::READ));
            assert!((found[0].change() - (mean as f64 - 100.0)).abs() < 1e-9, "{:?}", found[0]);
            assert!((0.1..6.0).contains(&found[0].half_width.unwrap()), "{:?}", found[0]);
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
            for (parts, requests) in [(1, 980), (2, 15), (3, 5)] {
                response.record_many(Span::from_micros(micros * parts), requests);
            }
            run.cells[1].latencies.push((Kind::Response, response));
            run
        };
        let found = differences(&with(100), &with(200));
        let told: Vec<_> = found.iter().map(|one| (one.figure, one.is_significant())).collect();
        let all = ["mean ms", "p50 ms", "p99 ms", "p99.9 ms"].map(|figure| (figure, Some(true)));
        assert_eq!((told[0], &told[1..]), (("IOPS", Some(false)), &all[..]));
    }

    /// A run of 20 s with about 120 requests each, whose times are log-normal and whose seconds
    /// depend on each other.
    fn sampled(seed: &mut u64, factor: f64) -> Run {
        // SplitMix64, and the sum of twelve uniform figures less six, which is close to a normal
        // one.
        let mut uniform = || {
            *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = (*seed ^ (*seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let (mut level, mut whole, mut seconds) = (0.0, crate::Histogram::new(), Vec::new());
        for _ in 0..20 {
            level = 0.5 * level + 0.15 * normal();
            let (mut second, requests) = (crate::Histogram::new(), (120.0 + 10.0 * normal()) as u64);
            for _ in 0..requests {
                second.record(Span::from_micros((10_000.0 * factor * (0.7 * normal() + level).exp()) as u64));
            }
            whole.merge(&second);
            seconds.push((requests, Times::of(&second.summary())));
        }
        let mut run = run(&seconds.iter().map(|(requests, _)| *requests).collect::<Vec<_>>());
        run.series[0].slices.iter_mut().zip(seconds).for_each(|(slice, (_, times))| slice.response = times);
        run.cells[1].latencies.push((Kind::Response, whole));
        run
    }

    /// Of 200 pairs of runs that differ by chance alone, about one in twenty is told apart by a
    /// figure (10 ± 6); where one takes twice as long, nearly all are by mean, median and 99 %.
    /// Change and verdict are of one figure: it is noise exactly where the interval has 0.
    #[test]
    fn chance_is_rarely_taken_for_a_difference() {
        let mut seed = 20_261_130;
        let mut told = |factor| {
            let mut counts = [0; 5];
            for _ in 0..200 {
                let (one, other) = (sampled(&mut seed, 1.0), sampled(&mut seed, factor));
                for (count, found) in counts.iter_mut().zip(differences(&one, &other)) {
                    let (change, half_width) = (found.after - found.before, found.half_width.unwrap());
                    assert_eq!(found.is_significant(), Some(change.abs() > half_width), "{found:?}");
                    *count += u32::from(change.abs() > half_width);
                }
            }
            counts
        };
        let (alike, twice) = (told(1.0), told(2.0));
        assert!(alike.iter().all(|count| *count <= 16), "{alike:?}");
        assert!(twice[1..4].iter().all(|count| *count >= 195) && twice[4] >= 100, "{twice:?}");
    }

    /// Seconds of 10 requests of 10 ms take turns with seconds of 1000 of 1 ms: the mean of all
    /// requests is 1.089 ms. Each batch of four seconds has that mean, so nothing varies.
    #[test]
    fn a_second_counts_for_its_requests() {
        let mut run = run(&[10, 1000].repeat(10));
        let mut whole = crate::Histogram::new();
        for slice in &mut run.series[0].slices {
            let each = Span::from_millis(if slice.ops == 10 { 10 } else { 1 });
            slice.response = Times::of_sum(slice.ops, each * slice.ops, None);
            whole.record_many(each, slice.ops);
        }
        run.cells[1].latencies.push((Kind::Response, whole));
        let found = differences(&run, &run);
        let mean = found.iter().find(|found| found.figure == "mean ms").unwrap();
        assert!((mean.before - 1.089).abs() < 0.001 && mean.half_width.unwrap() < 0.01, "{mean:?}");
    }

    /// Five seconds of a plan in which its queues settle are in no cell, and so not in the interval
    /// either.
    #[test]
    fn seconds_that_settle_are_left_out() {
        let mut run = run(&[vec![1; 5], vec![100; 20]].concat());
        for cell in &mut run.cells {
            (cell.ops, cell.measured) = (2000, Span::from_secs(20));
        }
        let found = differences(&run, &run);
        assert_eq!((found[0].before, found[0].half_width), (100.0, Some(0.0)));
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
        // interval is as wide as two halves differ: of 15 batches of 4 s, 7 are 10 below, 7 are 10
        // above, so the deviation is √(1400 / 14) = 10, and 2.048 × √(2 × 10² / 15) = 7.48.
        let halves = |a, b| [[a; 30], [b; 30]].concat();
        let found = differences(&run(&halves(90, 110)), &run(&halves(110, 90)));
        assert!((found[0].half_width.unwrap() - 7.48).abs() < 0.01, "{:?}", found[0]);
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
