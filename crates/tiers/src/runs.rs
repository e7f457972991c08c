//! Figures from stored runs of any tool.

use crate::column::TierFigure;
use crate::table::Limit;
use stats::run::{Class, Run, Value};

/// Requests up to the first size are small, from the second on large, as in Orion's help; in bytes.
const SMALL_MOST: f64 = 32.0 * 1024.0;
const LARGE_LEAST: f64 = 128.0 * 1024.0;
/// A megabyte, as Orion counts it.
const MEGABYTE: f64 = 1_048_576.0;

/// The figures of a tier from a run: the highest rate of small requests and the highest throughput
/// of large ones over its points, and figures that it was given by name, as settings or labels
/// (`max_tpm` and the other keys of the columns).
pub fn figures_of(run: &Run) -> Vec<(TierFigure, f64)> {
    let (mut iops, mut mbps) = (None::<f64>, None::<f64>);
    // A point that was cut may have a rate that the tier does not hold.
    for point in (0..run.points.len() as u32).filter(|point| run.incomplete(*point).is_none()) {
        // Jobs that run at the same time are one load.
        let (mut small, mut large) = (None::<f64>, None::<f64>);
        for cell in run.cells.iter().filter(|cell| cell.point == point && cell.class == Class::ALL) {
            let seconds = cell.measured.as_secs_f64();
            if seconds <= 0.0 || cell.ops == 0 {
                continue;
            }
            match block_of(run, point, cell.actor) {
                Some(block) if block <= SMALL_MOST => {
                    small = Some(small.unwrap_or(0.0) + cell.ops as f64 / seconds);
                }
                Some(block) if block >= LARGE_LEAST => {
                    let bytes = cell.bytes.unwrap_or(0) as f64;
                    large = Some(large.unwrap_or(0.0) + bytes / seconds / MEGABYTE);
                }
                _ => {}
            }
        }
        let greater = |best: Option<f64>, next: Option<f64>| best.into_iter().chain(next).reduce(f64::max);
        (iops, mbps) = (greater(iops, small), greater(mbps, large));
    }
    let measured = [(TierFigure::Iops, iops), (TierFigure::Mbps, mbps)];
    let mut found: Vec<(TierFigure, f64)> =
        measured.into_iter().filter_map(|(figure, value)| Some((figure, value?))).collect();
    for figure in TierFigure::ALL {
        let key = crate::Column::Figure(figure).key();
        let given = run.settings.iter().filter(|setting| setting.key == key);
        let before = found.len();
        found.extend(given.filter_map(|setting| match setting.value {
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

/// Leaves the figures of utilisation to the runs of one tool, order entry first: the processors and
/// disks of different loads are no repeats of one another. `runs` are pairs of a tool and its
/// run's figures.
pub fn of_one_load(runs: &mut [(String, Vec<(TierFigure, f64)>)]) {
    let is_utilisation = |figure: TierFigure| matches!(figure, TierFigure::DiskBusy | TierFigure::Cpu);
    let rank = |tool: &str| ["oltp", "orion", "ranread"].iter().position(|known| *known == tool).unwrap_or(3);
    let known = runs.iter().filter(|(_, figures)| figures.iter().any(|(figure, _)| is_utilisation(*figure)));
    let Some(first) = known.map(|(tool, _)| (rank(tool), tool.clone())).min() else { return };
    for (_, figures) in runs.iter_mut().filter(|(tool, _)| *tool != first.1) {
        figures.retain(|(figure, _)| !is_utilisation(*figure));
    }
}

/// What limited an order-entry run, as judged when it was made.
pub fn limits_of(run: &Run) -> Vec<Limit> {
    let words = |wanted: &'static str| {
        run.settings.iter().filter_map(move |setting| match &setting.value {
            Value::Word(word) if setting.key == wanted => Some(word.clone()),
            _ => None,
        })
    };
    words("limiter").zip(words("limiter_grounds")).map(|(name, grounds)| Limit { name, grounds }).collect()
}

/// The size of an actor's requests in a point, in bytes: a setting of the point takes precedence
/// over one of the run.
fn block_of(run: &Run, point: u32, actor: u32) -> Option<f64> {
    let said = |of: Option<u32>| {
        run.settings.iter().find_map(|setting| {
            let fits = setting.point == of && setting.actor.is_none_or(|of| of == actor);
            match setting.value {
                Value::Number(bytes) if fits && setting.key == "block_bytes" => Some(bytes),
                _ => None,
            }
        })
    };
    said(Some(point)).or_else(|| said(None))
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

    /// Order entry says how busy the processors were, and Orion only where there is no order entry.
    #[test]
    fn loads_of_different_kinds_are_no_repeats() {
        let of = |tool: &str, busy| (tool.to_owned(), vec![(TierFigure::Iops, 900.0), (TierFigure::Cpu, busy)]);
        let mut runs = [of("orion", 5.0), of("oltp", 60.0), of("oltp", 70.0)];
        of_one_load(&mut runs);
        assert_eq!(runs.clone().map(|(_, figures)| figures.len()), [1, 2, 2]);
        let mut runs = [of("ranread", 4.0), of("orion", 5.0)];
        of_one_load(&mut runs);
        assert_eq!(runs.map(|(_, figures)| figures.len()), [1, 2]);
    }
}
