//! The points of a run: the ladders of small and large loads for a number of disks, and their
//! order.

use crate::grammar::{Error, Matrix, RunKind, Settings};
use block::Span;

/// Maximum requests in flight: the capacity of the engine's rings.
pub(crate) const LEVEL_MOST: u32 = 4096;

/// Maximum number of points of a run: at a minute each, a week.
const POINTS_MOST: u64 = 10_000;

/// Maximum duration of a quick run, and the overhead of a point: opening the volumes and reporting.
const QUICK: Span = Span::from_secs(115);
const PAUSE: Span = Span::from_millis(200);
/// Maximum and minimum duration of a quick point.
const QUICK_MOST: Span = Span::from_secs(10);
const QUICK_LEAST: Span = Span::SECOND;

/// A point: the number of requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadPoint {
    /// Small ones.
    pub small: u32,
    /// Large ones, or streams.
    pub large: u32,
}

/// The points of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The small loads, ascending; 0 is among them if there are points without small requests.
    pub small: Vec<u32>,
    /// The large loads, ascending.
    pub large: Vec<u32>,
    /// The points, in order.
    pub spots: Vec<LoadPoint>,
    /// Each load is measured alone: the first row and then the first column.
    pub is_cross: bool,
    /// Levels were left out to save time.
    pub is_thinned: bool,
}

/// The requested points, for this number of disks. The number and length of a quick run's points
/// depend on its time limit, which changes the duration in the settings.
///
/// # Errors
/// There are no points, too many, or levels of a load that the run does not have.
pub fn grid(settings: &mut Settings, disks: u32) -> Result<Grid, Error> {
    let (small, large) = axes(settings, disks)?;
    let is_cross = matches!((settings.run, settings.matrix), (RunKind::Simple, _) | (RunKind::Advanced, Matrix::Basic));
    let mut grid = Grid::of(small, large, is_cross);
    let points = grid.spots.len() as u64;
    if settings.quick {
        grid = quick(&grid, settings);
    } else if points == 0 {
        return Err(Error("no point has any load; raise -num_small, -num_large or the levels".into()));
    } else if points > POINTS_MOST {
        let hours = points * settings.load.duration.as_nanos() / Span::from_secs(3600).as_nanos();
        let rule = format!("a run has at most {POINTS_MOST} points");
        let said = format!("{rule}, and this one {points}, which take {hours} hours");
        return Err(Error(format!("-num_disks: {said}; lower it, or name --small-levels and --large-levels")));
    }
    if let Some(most) = grid.small.iter().chain(&grid.large).max().filter(|most| **most > LEVEL_MOST) {
        let rule = format!("at most {LEVEL_MOST} requests are outstanding");
        return Err(Error(format!("-num_disks: {rule}, and this ladder goes to {most}; lower it, or name levels")));
    }
    Ok(grid)
}

/// The loads of both kinds.
fn axes(settings: &Settings, disks: u32) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let up_to = |most: u32| (0..=most.saturating_mul(disks)).collect::<Vec<u32>>();
    let steps = |most: u32| (0..=most).map(|step| step.saturating_mul(disks)).collect::<Vec<u32>>();
    let (small, large, free_small, free_large) = match (settings.run, settings.matrix) {
        (RunKind::Oltp, _) => (steps(20), vec![0], true, false),
        (RunKind::Dss, _) => (vec![0], steps(15), false, true),
        (RunKind::Simple | RunKind::Normal, _) | (RunKind::Advanced, Matrix::Basic | Matrix::Detailed) => {
            (up_to(5), up_to(2), true, true)
        }
        (RunKind::Advanced, Matrix::Point { small, large }) => (vec![small], vec![large], false, false),
        (RunKind::Advanced, Matrix::Col { small }) => (vec![small], up_to(2), false, true),
        (RunKind::Advanced, Matrix::Row { large }) => (up_to(5), vec![large], true, false),
        (RunKind::Advanced, Matrix::Max { small, large }) => {
            ((0..=small).collect(), (0..=large).collect(), false, false)
        }
    };
    let chosen = |name: &str, usual: Vec<u32>, given: &Option<Vec<u32>>, free: bool| match given {
        None => Ok(usual),
        Some(_) if !free => Err(Error(format!("{name}: the loads of this run are said otherwise; leave it out"))),
        // The corner is where the ladders begin, whatever their steps.
        Some(given) if given.first() == Some(&0) => Ok(given.clone()),
        Some(given) => Ok([&[0], &given[..]].concat()),
    };
    Ok((
        chosen("--small-levels", small, &settings.small_levels, free_small)?,
        chosen("--large-levels", large, &settings.large_levels, free_large)?,
    ))
}

/// As many points as fit into two minutes, and as long as possible.
fn quick(grid: &Grid, settings: &mut Settings) -> Grid {
    let most = (QUICK.as_nanos() / (QUICK_LEAST + QUICK_LEAST / 10 + PAUSE).as_nanos()) as usize;
    let mut quick = grid.clone();
    let mut factor = 2;
    while quick.spots.len() > most {
        let thinned = |levels: &[u32]| thinned(levels, factor);
        quick = Grid { is_thinned: true, ..Grid::of(thinned(&grid.small), thinned(&grid.large), grid.is_cross) };
        factor *= 2;
    }
    let each = (QUICK / quick.spots.len().max(1) as u64).saturating_sub(PAUSE);
    // A tenth of it is settling time; tenths of a second are printed without rounding.
    let tenths = each.as_nanos() * 10 / 11 / Span::from_millis(100).as_nanos();
    settings.load.duration = Span::from_millis(tenths * 100).clamp(QUICK_LEAST, QUICK_MOST);
    settings.load.settle = crate::grammar::settle(settings.load.duration);
    settings.load.warm = Some(0);
    quick
}

/// The first, the last, and each that is at least `factor` times the one before.
fn thinned(levels: &[u32], factor: u32) -> Vec<u32> {
    let mut kept: Vec<u32> = Vec::new();
    for (place, level) in levels.iter().enumerate() {
        let grown = kept.last().is_none_or(|last| *level >= last.saturating_mul(factor).max(1));
        if grown || place + 1 == levels.len() {
            kept.push(*level);
        }
    }
    kept
}

impl Grid {
    fn of(small: Vec<u32>, large: Vec<u32>, is_cross: bool) -> Grid {
        let row = |large: u32| small.iter().map(move |small| LoadPoint { small: *small, large });
        let all = large.iter().flat_map(|large| row(*large));
        let spots =
            all.filter(|spot| *spot != LoadPoint::default() && (!is_cross || spot.small == 0 || spot.large == 0));
        let spots = spots.collect();
        Grid { small, large, spots, is_cross, is_thinned: false }
    }

    /// The number of points that the original prints: the corner without load counts.
    pub fn total(&self) -> usize {
        let corner = self.small.first() == Some(&0) && self.large.first() == Some(&0);
        self.spots.len() + usize::from(corner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{OrionCommand, parse};

    fn settings(line: &str) -> Settings {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            Ok(OrionCommand::Run(settings)) => *settings,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn of(line: &str, disks: u32) -> Grid {
        grid(&mut settings(line), disks).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn spots(grid: &Grid) -> Vec<(u32, u32)> {
        grid.spots.iter().map(|spot| (spot.small, spot.large)).collect()
    }

    /// Published runs: with one disk 8 points of which 7 ran, 18 in a whole matrix, 21 with oltp;
    /// with six disks 43.
    #[test]
    fn ladders_are_the_published_ones() {
        let simple = of("-run simple", 1);
        assert_eq!(spots(&simple), [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (0, 2)]);
        assert_eq!((simple.total(), of("-run simple", 6).total(), of("-run normal", 1).total()), (8, 43, 18));
        let oltp = of("-run oltp", 4);
        assert_eq!((oltp.total(), oltp.small[17], oltp.small.last()), (21, 68, Some(&80)));
        assert_eq!(of("-run dss", 2).large.last(), Some(&30));
        assert_eq!(of("-run advanced -matrix basic", 3), of("-run simple", 3));
        assert_eq!(of("-run advanced -matrix detailed", 3), of("-run normal", 3));
    }

    #[test]
    fn an_advanced_run_has_its_row_column_or_point() {
        let of = |matrix: &str| spots(&of(&format!("-run advanced -matrix {matrix}"), 1));
        assert_eq!(of("point -num_small 3 -num_large 2"), [(3, 2)]);
        assert_eq!(of("col -num_small 3"), [(3, 0), (3, 1), (3, 2)]);
        assert_eq!(of("row -num_large 2"), [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2)]);
        assert_eq!(of("max -num_small 1 -num_large 1"), [(1, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn levels_take_the_ladders_place() {
        let flash = of("-run simple --small-levels 8,64 --large-levels 4", 1);
        assert_eq!((spots(&flash), flash.total()), (vec![(8, 0), (64, 0), (0, 4)], 4));
        let oltp = settings("-run oltp --large-levels 4");
        assert!(grid(&mut oltp.clone(), 1).unwrap_err().0.starts_with("--large-levels: the loads of this run"));
    }

    /// For any ladder: at most two minutes including settling and pauses, and at least a second for
    /// each point.
    #[test]
    fn a_quick_run_keeps_two_minutes() {
        for (line, disks) in [("simple", 1), ("simple", 20), ("normal", 1), ("normal", 30), ("oltp", 200), ("dss", 1)] {
            let mut settings = settings(&format!("-run {line} --quick"));
            let grid = grid(&mut settings, disks).unwrap();
            let each = settings.load.duration + settings.load.settle + PAUSE;
            let whole = each * grid.spots.len() as u64;
            assert!(whole <= Span::from_secs(120) && settings.load.duration >= Span::SECOND, "{line} {disks}: {whole}");
            assert!(grid.spots.len() > 6, "{line} {disks}: {:?}", grid.spots);
        }
        assert_eq!(thinned(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 2), [0, 1, 2, 4, 8, 10]);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let refused = |line: &str, disks| grid(&mut settings(line), disks).unwrap_err().0;
        assert!(refused("-run normal", 100).contains("this one 100700, which take 1678 hours"));
        assert!(refused("-run simple", 1000).contains("at most 4096 requests are outstanding"));
        assert!(
            refused("-run advanced -matrix point -num_small 0 -num_large 0", 1).starts_with("no point has any load")
        );
    }
}
