//! Figures from stored runs of any tool, and the tiers that they belong to.

use crate::column::{Column, TierFigure};
use crate::table::{Limit, TierTable};
use block::Span;
use stats::run::{Cell, Class, Run, Setting, State, Value};

/// Requests up to the first size are small, from the second on large, as in Orion's help; in bytes.
const SMALL_MOST: f64 = 32.0 * 1024.0;
const LARGE_LEAST: f64 = 128.0 * 1024.0;
/// A megabyte, as Orion counts it.
const MEGABYTE: f64 = 1_048_576.0;
/// The time of which Max TPM counts the transactions.
const MINUTE: Span = Span::from_secs(60);
/// Where several tools measured a figure, the first of these counts; then any other tool.
const TOOLS: [&str; 3] = ["oltp", "orion", "ranread"];
/// Its batches are fixed loads, in which the number of processes decides the rate.
const RANREAD: &str = "ranread";

/// A kept run with the label of a list, and what it gives to the table.
#[derive(Clone, Debug)]
pub struct TierRun {
    name: String,
    tool: String,
    /// The label `tier`, as given.
    tier: Option<String>,
    figures: Vec<(TierFigure, f64)>,
    limits: Vec<Limit>,
}

impl TierRun {
    /// What the run numbered `id` in the results database gives.
    pub fn of(id: i64, run: &Run) -> TierRun {
        let tool = run.identity.tool.clone();
        let tier = run.labels.iter().find(|(key, _)| key == "tier").map(|(_, word)| word.clone());
        TierRun { name: format!("run {id} ({tool})"), tool, tier, figures: figures_of(run), limits: limits_of(run) }
    }
}

impl TierTable {
    /// Adds the figures of runs to their tiers; those that add none are left out with the reason.
    pub fn add_runs(&mut self, runs: &[TierRun]) {
        let of = |number: u32| move |run: &TierRun| run.tier.as_deref() == Some(&number.to_string());
        for run in runs.iter().filter(|run| self.rows.iter().all(|row| !of(row.number)(run))) {
            let because = match &run.tier {
                Some(tier) => format!("the list has no test {tier}"),
                None => "it has no label tier".into(),
            };
            self.left_out.push(format!("{}: {because}", run.name));
        }
        for row in &mut self.rows {
            let mut own: Vec<TierRun> = runs.iter().filter(|run| of(row.number)(run)).cloned().collect();
            let nothing: Vec<bool> = own.iter().map(|run| run.figures.is_empty()).collect();
            of_one_tool(&mut own);
            for (run, nothing) in own.into_iter().zip(nothing) {
                // It is known of RanRead's batches that they have no column.
                if run.figures.is_empty() && run.limits.is_empty() && run.tool != RANREAD {
                    let because = match nothing {
                        true => "no complete point with direct requests, random of up to 32 KiB or any from 128 KiB on",
                        false => "order entry or Orion measured its figures here",
                    };
                    self.left_out.push(format!("{} of test {}: {because}", run.name, row.number));
                }
                run.figures.into_iter().for_each(|(figure, value)| row.add(figure, value, &run.name));
                row.limits.extend(run.limits);
            }
        }
    }
}

/// The figures of a tier from a run: the highest rate of small random requests and the highest
/// throughput of large ones over its points, and figures that it was given by name, as settings or
/// labels (`max_tpm` and the other keys of the columns).
fn figures_of(run: &Run) -> Vec<(TierFigure, f64)> {
    let mut found = measured(run);
    for figure in TierFigure::ALL {
        let key = Column::Figure(figure).key();
        let given = run.settings.iter().filter(|setting| setting.key == key);
        // Of less than a minute the best minute is mostly warm-up.
        let known = given.filter(|setting| figure != TierFigure::MaxTpm || has_minute(run, setting.point));
        let before = found.len();
        found.extend(known.filter_map(|setting| match setting.value {
            Value::Number(number) => Some((figure, number)),
            Value::Word(_) => None,
        }));
        // What the run says of itself is not counted once more as what was seen beside it.
        let labels = run.labels.iter().filter(|(name, _)| name == key && found.len() == before);
        let labelled: Vec<_> = labels.filter_map(|(_, word)| Some((figure, word.trim().parse().ok()?))).collect();
        found.extend(labelled);
    }
    found
}

/// The best rates of small and of large requests in a run's points.
fn measured(run: &Run) -> Vec<(TierFigure, f64)> {
    // What a job did until it was stopped may be no steady rate.
    let is_cut = run.identity.tool == "fio" && run.identity.state == State::CutShort;
    if is_cut || run.identity.tool == RANREAD {
        return Vec::new();
    }
    let (mut iops, mut mbps) = (None::<f64>, None::<f64>);
    // A point that was cut may have a rate that the tier does not hold.
    for point in (0..run.points.len() as u32).filter(|point| run.incomplete(*point).is_none()) {
        // Jobs that run at the same time are one load.
        let (mut small, mut large) = (None::<f64>, None::<f64>);
        for cell in run.cells.iter().filter(|cell| cell.point == point && cell.class == Class::ALL) {
            let (seconds, bytes) = (cell.measured.as_secs_f64(), cell.bytes.unwrap_or(0) as f64);
            if seconds <= 0.0 || cell.ops == 0 || has(run, cell, "direct", "no") {
                continue;
            }
            let blocks = blocks_of(run, cell);
            let is_small = blocks.iter().all(|block| *block <= SMALL_MOST) && !has(run, cell, "order", "sequential");
            // Of a range of sizes the largest is known, and the mean.
            let is_large = bytes >= LARGE_LEAST * cell.ops as f64;
            match blocks.is_empty() {
                false if is_small => small = Some(small.unwrap_or(0.0) + cell.ops as f64 / seconds),
                false if is_large => large = Some(large.unwrap_or(0.0) + bytes / seconds / MEGABYTE),
                _ => {}
            }
        }
        let greater = |best: Option<f64>, next: Option<f64>| best.into_iter().chain(next).reduce(f64::max);
        (iops, mbps) = (greater(iops, small), greater(mbps, large));
    }
    let best = [(TierFigure::Iops, iops), (TierFigure::Mbps, mbps)];
    best.into_iter().filter_map(|(figure, value)| Some((figure, value?))).collect()
}

/// Whether a point was measured for a minute or more, as far as known.
fn has_minute(run: &Run, point: Option<u32>) -> bool {
    let mut cells = run.cells.iter().filter(|cell| Some(cell.point) == point && cell.class == Class::ALL);
    cells.all(|cell| cell.measured >= MINUTE)
}

/// Leaves each figure to the runs of one tool: the rates, processors and disks of different loads
/// are no repeats of one another.
fn of_one_tool(runs: &mut [TierRun]) {
    let rank = |tool: &str| TOOLS.iter().position(|known| *known == tool).unwrap_or(TOOLS.len());
    for figure in TierFigure::ALL {
        let known = runs.iter().filter(|run| run.figures.iter().any(|(of, _)| *of == figure));
        let Some((_, first)) = known.map(|run| (rank(&run.tool), run.tool.clone())).min() else { continue };
        for run in runs.iter_mut().filter(|run| run.tool != first) {
            run.figures.retain(|(of, _)| *of != figure);
        }
    }
}

/// What limited an order-entry run, as judged when it was made.
pub(crate) fn limits_of(run: &Run) -> Vec<Limit> {
    let words = |wanted: &'static str| {
        run.settings.iter().filter_map(move |setting| match &setting.value {
            Value::Word(word) if setting.key == wanted => Some(word.clone()),
            _ => None,
        })
    };
    words("limiter").zip(words("limiter_grounds")).map(|(name, grounds)| Limit { name, grounds }).collect()
}

/// The sizes of a cell's requests in bytes, of each direction that has its own.
fn blocks_of(run: &Run, cell: &Cell) -> Vec<f64> {
    let size = |key| match setting(run, cell, key)? {
        Value::Number(bytes) => Some(*bytes),
        Value::Word(_) => None,
    };
    ["block_bytes", "read_block_bytes", "write_block_bytes"].into_iter().filter_map(size).collect()
}

/// Whether a setting of a cell has this word.
fn has(run: &Run, cell: &Cell, key: &str, word: &str) -> bool {
    matches!(setting(run, cell, key), Some(Value::Word(said)) if said == word)
}

/// A setting of a cell: one of its point takes precedence over one of the run.
fn setting<'r>(run: &'r Run, cell: &Cell, key: &str) -> Option<&'r Value> {
    let said = |of: Option<u32>| {
        let fits = |setting: &&Setting| setting.point == of && setting.actor.is_none_or(|of| of == cell.actor);
        run.settings.iter().find(|setting| fits(setting) && setting.key == key).map(|setting| &setting.value)
    };
    said(Some(cell.point)).or_else(|| said(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::run::{Cell, Point};

    /// Two points with small requests, one with large ones: the best of each counts, and concurrent
    /// jobs are one load.
    #[test]
    fn the_best_point_of_each_size_counts() {
        let mut run = Run { points: vec![Point::default(); 3], ..Run::default() };
        for name in ["small", "large", "small too"] {
            run.add_actor(name, None);
        }
        for (actor, block) in [(0, 8192.0), (1, 1_048_576.0), (2, 4096.0)] {
            run.set(Some(actor), "block_bytes", block);
        }
        let mut add = |point, actor, ops, bytes| {
            let cell = Cell::new(point, actor, Class::ALL, Span::from_secs(2));
            run.cells.push(Cell { ops, bytes: Some(bytes), ..cell });
        };
        add(0, 0, 2000, 2000 * 8192);
        add(1, 0, 5000, 5000 * 8192);
        add(1, 2, 1000, 1000 * 4096);
        add(2, 1, 200, 200 << 20);
        assert_eq!(figures_of(&run), [(TierFigure::Iops, 3000.0), (TierFigure::Mbps, 100.0)]);
        run.set(None, "max_tpm", 61_000.0);
        run.labels = vec![("cpu_pct".into(), "43.5".into()), ("note".into(), "7".into())];
        assert_eq!(figures_of(&run)[2..], [(TierFigure::MaxTpm, 61_000.0), (TierFigure::Cpu, 43.5)]);
        run.set(None, "cpu_pct", 44.0);
        assert_eq!(figures_of(&run)[2..], [(TierFigure::MaxTpm, 61_000.0), (TierFigure::Cpu, 44.0)], "one run, once");
    }

    /// A best minute of a test of 6 s is mostly warm-up, and would be below 60 of its mean.
    #[test]
    fn a_best_minute_needs_a_minute() {
        let of = |seconds| {
            let mut run = Run { points: vec![Point::default()], ..Run::default() };
            run.cells.push(Cell { ops: 9, ..Cell::new(0, 0, Class::ALL, Span::from_secs(seconds)) });
            for (key, number) in [("max_tpm", 15_828.0), ("avg_tps", 375.7)] {
                let value = Value::Number(number);
                run.settings.push(Setting { point: Some(0), actor: None, key: key.into(), value });
            }
            figures_of(&run)
        };
        assert_eq!(of(6), [(TierFigure::AvgTps, 375.7)]);
        assert_eq!(of(60), [(TierFigure::MaxTpm, 15_828.0), (TierFigure::AvgTps, 375.7)]);
    }

    /// Three jobs at once as fio keeps them: 1000 random reads of 8 KiB and 100 of 1 MiB a second.
    fn jobs(tool: &str, label: &str) -> Run {
        let mut run = Run { points: vec![Point::default()], ..Run::default() };
        run.identity.tool = tool.into();
        run.labels = vec![("tier".into(), label.into())];
        for (actor, (block, ops)) in (0..).zip([(8192, 1000), (1 << 20, 100)]) {
            run.add_actor("job", None);
            run.set(Some(actor), "read_block_bytes", block as f64);
            run.set(Some(actor), "order", "random");
            run.set(Some(actor), "direct", "yes");
            let cell = Cell::new(0, actor, Class::ALL, Span::SECOND);
            run.cells.push(Cell { ops, bytes: Some(ops * block), ..cell });
        }
        run
    }

    fn table() -> TierTable {
        let rows = [1, 2].map(|number| crate::TierRow { number, ..crate::TierRow::default() });
        TierTable { rows: rows.into(), ..TierTable::default() }
    }

    /// What fio's jobs did counts, unless it was the page cache, small requests in order, or an end
    /// that came too early.
    #[test]
    fn jobs_count_by_their_sizes_in_each_direction() {
        let all = [(TierFigure::Iops, 1000.0), (TierFigure::Mbps, 100.0)];
        assert_eq!(figures_of(&jobs("fio", "1")), all);
        let changed = |key: &str, value: &str| {
            let mut run = jobs("fio", "1");
            run.settings.retain(|setting| setting.key != key);
            run.set(None, key, value);
            figures_of(&run)
        };
        assert_eq!(changed("direct", "no"), []);
        assert_eq!(changed("order", "sequential"), all[1..]);
        let mut run = jobs("fio", "1");
        run.identity.state = State::CutShort;
        assert_eq!(figures_of(&run), []);
        // Reads of 8 KiB with writes of 1 MiB are neither small nor large: 1000 of 8 KiB in mean.
        let mut run = jobs("fio", "1");
        run.set(Some(0), "write_block_bytes", 1_048_576.0);
        assert_eq!(figures_of(&run), all[1..]);
    }

    /// A run that gives nothing is named with the reason; RanRead's batches are known to.
    #[test]
    fn a_run_that_is_left_out_is_said_to_be() {
        let mut buffered = jobs("fio", "2");
        buffered.set(None, "direct", "no");
        buffered.settings.retain(|setting| setting.actor.is_none());
        let mut nameless = jobs("fio", "1");
        nameless.labels.clear();
        let runs = [jobs("orion", "1"), jobs("fio", "1"), jobs("fio", "77"), nameless, buffered, jobs("ranread", "2")];
        let mut table = table();
        table.add_runs(&(1..).zip(&runs).map(|(id, run)| TierRun::of(id, run)).collect::<Vec<_>>());
        assert_eq!(
            table.left_out,
            [
                "run 3 (fio): the list has no test 77",
                "run 4 (fio): it has no label tier",
                "run 2 (fio) of test 1: order entry or Orion measured its figures here",
                "run 5 (fio) of test 2: no complete point with direct requests, random of up to 32 KiB or any from 128 KiB on",
            ]
        );
        assert_eq!(table.rows[0].samples(TierFigure::Iops).len(), 1);
        assert_eq!(table.rows[0].samples(TierFigure::Iops)[0].source, "run 1 (orion)");
    }

    /// Order entry says how busy the processors were, and Orion only where there is no order entry.
    #[test]
    fn loads_of_different_kinds_are_no_repeats() {
        let of = |tool: &str, busy: f64| {
            let mut run = jobs(tool, "1");
            run.labels.push(("cpu_pct".into(), busy.to_string()));
            TierRun::of(1, &run)
        };
        let busy = |runs: &[TierRun]| {
            let mut table = table();
            table.add_runs(runs);
            table.rows[0].samples(TierFigure::Cpu).iter().map(|sample| sample.value).collect::<Vec<_>>()
        };
        assert_eq!(busy(&[of("orion", 5.0), of("oltp", 60.0), of("oltp", 70.0)]), [60.0, 70.0]);
        assert_eq!(busy(&[of("ranread", 4.0), of("orion", 5.0)]), [5.0]);
        assert_eq!(busy(&[of("fio", 9.0), of("ranread", 4.0)]), [4.0]);
    }
}
