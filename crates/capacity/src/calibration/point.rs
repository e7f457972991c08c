//! What a recording says about storage: requests of some kind and size kept outstanding, and the
//! resulting rate.
//!
//! Only closed loops are used: where a schedule, a rate or a policy limited the load, the storage
//! did not. Points with equal loads are merged, even from different runs. If one were fitted to and
//! its twin held out, the twin would prove nothing.

use stats::run::{Class, Kind, Run, Value};

/// Requests of one kind that were kept outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalibrationLane {
    /// Percentage of reads.
    pub read_percent: u32,
    /// Whether offsets are sequential.
    pub sequential: bool,
    /// Mean size of a read in bytes; 0 without reads.
    pub read_len: u64,
    /// Mean size of a write in bytes.
    pub write_len: u64,
    /// Number of requests outstanding.
    pub depth: u32,
}

/// The result of lanes that ran side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationPoint {
    /// The lanes, in order.
    pub lanes: Vec<CalibrationLane>,
    /// Requests a second over all lanes.
    pub rate: f64,
    /// The lowest and the highest rate of its recordings.
    pub rates: [f64; 2],
    /// Mean response times of reads and of writes in seconds, if there were both.
    pub responses: Option<[f64; 2]>,
    /// Number of recordings merged in it.
    pub recordings: u32,
}

/// A part of a run that says nothing about storage, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: &'static str,
}

/// If more than this fraction of the response time was spent waiting for a policy, the policy was
/// measured.
const HELD: f64 = 0.02;

/// The points of a run, and the parts that are left out.
///
/// # Errors
/// The run measured memory in front of the storage: one line, without the run's name.
pub fn calibration_points(run: &Run) -> Result<(Vec<CalibrationPoint>, Vec<LeftOut>), String> {
    let word = |key: &str| run.settings.iter().find(|setting| setting.key == key).map(|setting| &setting.value);
    let says = |key: &str, wanted: &str| word(key).is_some_and(|value| *value == Value::Word(wanted.into()));
    if says("direct", "no") || says("page_cache", "yes") {
        return Err("went through the page cache, so that its figures are the memory's; record with direct I/O".into());
    }
    if run.gates.iter().flat_map(|gate| &gate.rows).any(|row| row.cached.found > 0) {
        return Err("was answered from its server's cache in part; record with a plan whose server keeps none".into());
    }
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for number in 0..run.points.len() as u32 {
        match point(run, number) {
            Ok(point) => points.extend(point),
            Err(why) => left_out.push(LeftOut { name: run.points[number as usize].name.clone(), why }),
        }
    }
    Ok((points, left_out))
}

/// A point of the run; `None` if nothing was done in it.
fn point(run: &Run, number: u32) -> Result<Option<CalibrationPoint>, &'static str> {
    let (mut lanes, mut rate) = (Vec::new(), 0.0);
    let mut times = [(0.0, 0); 2];
    for cell in run.cells.iter().filter(|cell| cell.point == number && cell.class == Class::ALL && cell.ops > 0) {
        lanes.push(lane(run, number, cell.actor)?);
        rate += cell.ops as f64 / cell.measured.as_secs_f64().max(1e-9);
        for (class, sum) in [Class::READ, Class::WRITE].iter().zip(&mut times) {
            let part = run.cell(number, cell.actor, class);
            let latency = part.and_then(|part| part.latency(Kind::Service).or_else(|| part.latency(Kind::Response)));
            if let Some(latency) = latency {
                *sum = (sum.0 + latency.mean().as_secs_f64() * latency.count() as f64, sum.1 + latency.count());
            }
        }
    }
    if lanes.is_empty() {
        return Ok(None);
    }
    lanes.sort_unstable();
    let [reads, writes] = times;
    let both = reads.1 > 0 && writes.1 > 0;
    let responses = both.then(|| [reads, writes].map(|(sum, count)| sum / count as f64));
    Ok(Some(CalibrationPoint { lanes, rate, rates: [rate; 2], responses, recordings: 1 }))
}

/// Percentage points by which a mix may differ from what was asked for by chance.
const MIX_CHANCE: f64 = 5.0;

fn lane(run: &Run, point: u32, actor: u32) -> Result<CalibrationLane, &'static str> {
    let of = |class: &Class| run.cell(point, actor, class).map_or((0, 0), |cell| (cell.ops, cell.bytes.unwrap_or(0)));
    let ((reads, read_bytes), (writes, write_bytes)) = (of(&Class::READ), of(&Class::WRITE));
    let all = run.cell(point, actor, &Class::ALL);
    if all.is_some_and(|all| all.late.is_some()) || is_paced(run, actor) {
        return Err("a rate or a schedule decided how much was asked");
    }
    if all.is_some_and(|all| all.failed.is_some_and(|failed| failed > 0)) {
        return Err("requests failed in it");
    }
    if reads + writes == 0 || all.is_some_and(|all| all.ops != reads + writes) {
        return Err("it did other things than read and write");
    }
    let mean = |kind| all.and_then(|all| all.latency(kind)).map_or(0.0, |times| times.mean().as_secs_f64());
    if mean(Kind::Gate) > HELD * mean(Kind::Response) {
        return Err("a policy held requests back");
    }
    let depth = match setting(run, point, actor, "depth") {
        Some(Value::Number(depth)) if *depth >= 1.0 => *depth as u32,
        _ => return Err("how many requests were outstanding is not recorded"),
    };
    let did = 100.0 * reads as f64 / (reads + writes) as f64;
    // What was asked for, so that points of one mix are of one work whatever chance made of it.
    let read_percent = match setting(run, point, actor, "read_percent") {
        Some(Value::Number(asked)) if (asked - did).abs() < MIX_CHANCE => asked.round() as u32,
        _ => did.round() as u32,
    };
    let length = |ops: u64, bytes: u64| (bytes + ops / 2).checked_div(ops).unwrap_or(0);
    Ok(CalibrationLane {
        read_percent,
        sequential: setting(run, point, actor, "order") == Some(&Value::Word("sequential".into())),
        read_len: length(reads, read_bytes),
        write_len: length(writes, write_bytes),
        depth,
    })
}

fn is_paced(run: &Run, actor: u32) -> bool {
    let of_actor = |of: &Option<u32>| of.is_none_or(|of| of == actor);
    run.settings.iter().any(|setting| of_actor(&setting.actor) && setting.key.contains("_rate_"))
}

/// The value of a setting for this actor in this point; a specific value takes precedence over a
/// general one.
pub(crate) fn setting<'r>(run: &'r Run, point: u32, actor: u32, key: &str) -> Option<&'r Value> {
    let fits = |of: Option<u32>, is: u32| of.is_none_or(|of| of == is);
    let all = run.settings.iter().filter(|setting| setting.key == key);
    let mine = all.filter(|setting| fits(setting.point, point) && fits(setting.actor, actor));
    let closest = mine.max_by_key(|setting| (setting.actor.is_some(), setting.point.is_some()));
    closest.map(|setting| &setting.value)
}

/// Recordings of one storage in equal loads differ by less than this factor, whoever else used it.
const APART: f64 = 2.0;

/// Two of several runs, given by their points, that are not of one storage, and by what factor
/// their rates in the same loads differ on average; of several such pairs the first.
pub fn calibration_apart(runs: &[Vec<CalibrationPoint>]) -> Option<(usize, usize, f64)> {
    let pairs = (0..runs.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    let apart = |(one, other): (usize, usize)| {
        let [one_by_load, other_by_load] = [one, other].map(|run| together(runs[run].clone()));
        let factors = one_by_load.iter().filter_map(|point| {
            let same = other_by_load.iter().find(|same| same.lanes == point.lanes)?;
            Some((same.rate / point.rate).ln()).filter(|factor| factor.is_finite())
        });
        let factors: Vec<f64> = factors.collect();
        let mean = factors.iter().map(|factor| factor.abs()).sum::<f64>() / factors.len().max(1) as f64;
        Some((one, other, mean.exp())).filter(|(_, _, times)| *times > APART)
    };
    pairs.into_iter().find_map(apart)
}

/// Sorts points by load and replaces those of equal load by their median, which is not affected by
/// one recording that was disturbed.
pub(super) fn together(mut points: Vec<CalibrationPoint>) -> Vec<CalibrationPoint> {
    points.sort_by(|one, other| one.lanes.cmp(&other.lanes).then(one.rate.total_cmp(&other.rate)));
    points.chunk_by(|one, other| one.lanes == other.lanes).map(CalibrationPoint::median).collect()
}

impl CalibrationPoint {
    /// Of recordings of one load, the one with the median rate; the mean of both in the middle if
    /// their number is even.
    fn median(all: &[CalibrationPoint]) -> CalibrationPoint {
        let [low, high] = [&all[(all.len() - 1) / 2], &all[all.len() / 2]];
        let mean = f64::midpoint;
        CalibrationPoint {
            lanes: low.lanes.clone(),
            rate: mean(low.rate, high.rate),
            rates: [all[0].rates[0], all[all.len() - 1].rates[1]],
            responses: low.responses.zip(high.responses).map(|([a, b], [c, d])| [mean(a, c), mean(b, d)]),
            recordings: all.iter().map(|one| one.recordings).sum(),
        }
    }

    /// The spread of its recordings, relative to their median; `None` for a single one.
    pub(super) fn spread(&self) -> Option<f64> {
        (self.recordings > 1).then(|| (self.rates[1] - self.rates[0]) / self.rate)
    }

    /// Total number of requests outstanding.
    pub fn depth(&self) -> u32 {
        self.lanes.iter().map(|lane| lane.depth).sum()
    }

    /// The sizes of its requests.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.lanes.iter().flat_map(|lane| [lane.read_len, lane.write_len]).filter(|len| *len > 0)
    }

    /// Whether it has reads, and whether it has writes.
    pub(super) fn kinds(&self) -> [bool; 2] {
        let any = |does: fn(&CalibrationLane) -> bool| self.lanes.iter().any(does);
        [any(|lane| lane.read_len > 0), any(|lane| lane.write_len > 0)]
    }

    /// The work of its lanes without their depths, by which points are joined to curves.
    pub fn work(&self) -> String {
        let mut words: Vec<String> = self.lanes.iter().map(CalibrationLane::work).collect();
        words.dedup();
        words.join(" and ")
    }

    /// Its name in tables.
    pub fn name(&self) -> String {
        let depths = |lanes: &[CalibrationLane]| match lanes {
            [one] => one.depth.to_string(),
            [one, ..] if lanes.iter().all(|lane| lane == one) => format!("{} × {}", lanes.len(), one.depth),
            _ => self.depth().to_string(),
        };
        format!("{}, depth {}", self.work(), depths(&self.lanes))
    }
}

impl CalibrationLane {
    fn work(&self) -> String {
        let size = |len: u64| block::Bytes(len).to_string();
        let what = match (self.read_len, self.write_len) {
            (read, 0) => format!("read {}", size(read)),
            (0, write) => format!("write {}", size(write)),
            (read, write) if read == write => format!("{} % read {}", self.read_percent, size(read)),
            (read, write) => format!("{} % read {}/{}", self.read_percent, size(read), size(write)),
        };
        if self.sequential { format!("seq. {what}") } else { what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::run::{Cell, Point};

    /// Of the same two loads, run 2 did about as much as run 0, and run 1 twenty times as much: it
    /// is of other storage. Runs without a load in common cannot be told apart.
    #[test]
    fn recordings_of_several_arrays_are_found() {
        let point = |depth, rate: f64| {
            let lane = CalibrationLane { read_percent: 100, sequential: false, read_len: 4096, write_len: 0, depth };
            CalibrationPoint { lanes: vec![lane], rate, rates: [rate; 2], responses: None, recordings: 1 }
        };
        let run = |rates: [f64; 2]| vec![point(1, rates[0]), point(8, rates[1])];
        let runs = [run([100.0, 600.0]), run([2000.0, 12_000.0]), run([130.0, 700.0])];
        let (one, other, times) = calibration_apart(&runs).expect("two differ");
        assert!((one, other) == (0, 1) && (times - 20.0).abs() < 1e-9, "{one} {other} {times}");
        assert_eq!(calibration_apart(&[runs[0].clone(), runs[2].clone()]), None);
        assert_eq!(calibration_apart(&[runs[0].clone(), vec![point(4, 9000.0)]]), None);
    }

    /// Two stages: 100 reads of 4 KiB a second with 8 outstanding, then the same by a rate.
    fn run() -> Run {
        let mut run = Run::default();
        for (number, ops) in [(0, 200), (1, 50)] {
            run.points.push(Point { name: format!("stage {number}"), ..Point::default() });
            let actor = run.add_actor("j", None);
            let whole =
                Cell { ops, bytes: Some(4096 * ops), ..Cell::new(number, actor, Class::ALL, Span::from_secs(2)) };
            run.cells.push(Cell { class: Class::READ, ..whole.clone() });
            run.cells.push(whole);
            run.set(Some(actor), "depth", 8.0);
        }
        run.set(Some(1), "read_rate_iops", 25.0);
        run
    }

    #[test]
    fn closed_loops_are_points_and_paced_ones_are_left_out() {
        let (points, left_out) = calibration_points(&run()).expect("no cache");
        assert_eq!((points.len(), points[0].rate, points[0].name().as_str()), (1, 100.0, "read 4 KiB, depth 8"));
        assert_eq!((left_out.len(), left_out[0].name.as_str()), (1, "stage 1"));
        assert!(left_out[0].why.contains("a rate or a schedule"), "{left_out:?}");
    }

    /// 49 % of 200 requests were reads where 50 % were asked for: that is the same mix.
    #[test]
    fn a_mix_is_the_one_that_was_asked_for() {
        let mut run = run();
        let measured = Span::from_secs(2);
        let cell = |class, ops| Cell { ops, bytes: Some(4096 * ops), ..Cell::new(0, 0, class, measured) };
        run.cells.retain(|cell| cell.point == 0 && cell.class == Class::ALL);
        run.cells.extend([cell(Class::READ, 98), cell(Class::WRITE, 102)]);
        let name = |run: &Run| calibration_points(run).expect("no cache").0[0].name();
        assert_eq!(name(&run), "49 % read 4 KiB, depth 8");
        run.set(Some(0), "read_percent", 50.0);
        assert_eq!(name(&run), "50 % read 4 KiB, depth 8");
    }

    #[test]
    fn a_run_through_the_page_cache_is_none_of_storage() {
        let mut run = run();
        run.set(Some(0), "direct", "no");
        assert!(calibration_points(&run).expect_err("a cache").contains("page cache"));
    }

    #[test]
    fn points_of_one_load_are_one_with_their_median() {
        let one = calibration_points(&run()).expect("no cache").0.remove(0);
        let other = CalibrationPoint { rate: 130.0, rates: [130.0; 2], ..one.clone() };
        let third = CalibrationPoint { rate: 104.0, rates: [104.0; 2], ..one.clone() };
        let all = together(vec![one.clone(), other.clone(), third]);
        assert_eq!((all.len(), all[0].rate, all[0].recordings), (1, 104.0, 3));
        assert!((all[0].spread().expect("three") - 30.0 / 104.0).abs() < 1e-12, "{all:?}");
        assert_eq!(together(vec![other, one])[0].rate, 115.0);
    }
}
