//! The location of a block's bytes, as runs: parts that were never written are zeroes, and adjacent
//! parts form one run.

use crate::command::Run;
use crate::entry::{BLOCK, Entry, PAGE, PAGES};

/// Appends the runs of bytes `from..to` of a block.
pub(super) fn runs_of(entry: Entry, from: u64, to: u64, segment: u64, out: &mut Vec<Run>) {
    let mut here = from;
    while here < to {
        let page = (here / PAGE) as u32;
        let rest = entry.mask() >> page;
        let valid = rest & 1 == 1;
        let differs = if valid { !rest } else { rest };
        let last = (page + differs.trailing_zeros()).min(PAGES);
        let end = to.min(u64::from(last) * PAGE);
        let at = entry.place().filter(|_| valid).map(|place| place * BLOCK + here);
        push_run(out, Run { at, len: end - here }, segment);
        here = end;
    }
}

/// Appends a run, or extends the last one, unless that ends with its segment.
fn push_run(out: &mut Vec<Run>, run: Run, segment: u64) {
    let goes_on = run.at.is_none_or(|at| at & (segment - 1) != 0);
    match out.last_mut() {
        Some(last) if goes_on && last.at.map(|at| at + last.len) == run.at => last.len += run.len,
        _ => out.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_the_mask_and_join() {
        let entry = Entry::new(2, 0b1000_0000_0000_0110);
        let mut out = Vec::new();
        let segment = 16 * BLOCK;
        runs_of(entry, 512, BLOCK, segment, &mut out);
        let at = |page: u64| Some(2 * BLOCK + page * PAGE);
        let expected = [(None, 3584), (at(1), 8192), (None, 12 * 4096), (at(15), 4096)];
        assert_eq!(out, expected.map(|(at, len)| Run { at, len }));
        // The next block on the disk continues it.
        runs_of(Entry::new(3, 1), 0, 100, segment, &mut out);
        assert_eq!(out.last(), Some(&Run { at: at(15), len: 4196 }));
        out.clear();
        runs_of(Entry::HOLE, 0, BLOCK, segment, &mut out);
        runs_of(Entry::new(9, 0), 0, BLOCK, segment, &mut out);
        assert_eq!(out, [Run { at: None, len: 2 * BLOCK }]);
        out.clear();
        runs_of(Entry::new(0, 0xffff), 65535, BLOCK, segment, &mut out);
        assert_eq!(out, [Run { at: Some(65535), len: 1 }]);
        // Blocks 15 and 16 are adjacent, and in different segments.
        out.clear();
        runs_of(Entry::new(15, 0xffff), 0, BLOCK, segment, &mut out);
        runs_of(Entry::new(16, 0xffff), 0, BLOCK, segment, &mut out);
        assert_eq!(out, [15, 16].map(|block| Run { at: Some(block * BLOCK), len: BLOCK }));
    }
}
