//! Which bytes of a read were never written.

use block::Extent;
use map::Run;

/// Which of `len` bytes, from byte `skip` of `runs` on, are holes; adjacent ones of a kind are
/// joined. Empty if all are data, so that a read of scattered data pays nothing.
pub(super) fn extents(runs: &[Run], skip: u64, len: u64) -> Vec<Extent> {
    if runs.iter().all(|run| run.at.is_some()) {
        return Vec::new();
    }
    let mut found: Vec<Extent> = Vec::new();
    let mut at = 0;
    for run in runs {
        // The part of the run that was asked for.
        let (from, to) = (at.max(skip), (at + run.len).min(skip + len));
        at += run.len;
        if from >= to {
            continue;
        }
        let hole = run.at.is_none();
        match found.last_mut() {
            Some(last) if last.hole == hole => last.len += to - from,
            _ => found.push(Extent { len: to - from, hole, zero: hole, shared: false }),
        }
    }
    if found.iter().any(|extent| extent.hole) { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_told_where_there_are_some() {
        let run = |at: Option<u64>, len| Run { at, len };
        let told = |runs: &[Run], skip, len| {
            extents(runs, skip, len).iter().map(|extent| (extent.len, extent.hole)).collect::<Vec<_>>()
        };
        let mixed = [run(None, 4096), run(None, 8192), run(Some(0), 4096), run(Some(65_536), 4096), run(None, 4096)];
        assert_eq!(told(&mixed, 0, 24_576), [(12_288, true), (8192, false), (4096, true)]);
        // What was read only to complete a block is not reported.
        assert_eq!(told(&mixed, 12_000, 1000), [(288, true), (712, false)]);
        assert_eq!(told(&mixed, 12_288, 8192), []);
        assert_eq!(told(&mixed[2..4], 0, 8192), []);
        assert_eq!(told(&mixed[..2], 100, 200), [(200, true)]);
    }
}
