//! Dispatches in bins of 10 ms, and the fullest sliding second among them.
//!
//! A limiter that is exact on average can still let a burst through. So a ceiling is judged by
//! every window of one second that starts at a multiple of 10 ms, and a ceiling with a burst also
//! by every longer one. The middle of a long section is folded while it is being recorded: its
//! windows are evaluated and its bins discarded.
//!
//! ```text
//!   bins ║ folded: sums, and the fullest of the windows that begin in it ║ bins of the last minute
//! ```

use block::{Span, Time};

/// Bins in a second: each is 10 ms long and starts at a multiple of it.
pub const BINS_A_SECOND: usize = 100;
const BIN_NS: u64 = 1_000_000_000 / BINS_A_SECOND as u64;

/// Dispatches to the device in bins of 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchTrace {
    first: u64,
    bins: Vec<Bin>,
    /// Folded sections before the first bin, in order of time.
    folded: Vec<Folded>,
}

/// A section whose bins were discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Folded {
    /// The bins between the section before it and this one, from number `before_first` on.
    before: Vec<Bin>,
    before_first: u64,
    /// Its first bins, for the windows that begin before it and reach into it.
    head: Vec<Bin>,
    first: u64,
    /// Number of the first bin after it.
    end: u64,
    ops: u64,
    bytes: u64,
    /// Maximum over the windows that begin in it.
    fullest_ops: u64,
    fullest_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    ops: u32,
    bytes: u64,
}

/// The fullest sliding second and the mean of a section of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// Operations in the fullest second.
    pub ops: u64,
    /// Bytes in the fullest second (not necessarily the same one).
    pub bytes: u64,
    /// Operations per second over the whole section.
    pub mean_ops: f64,
    /// Bytes per second over the whole section.
    pub mean_bytes: f64,
}

/// What was dispatched in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Operations or bytes.
    pub amount: u64,
    /// Length of the window.
    pub length: Span,
}

impl DispatchTrace {
    /// Counts `ops` dispatches with a sum of `bytes` at `at`. Times must not go back by more than
    /// the length of the trace.
    pub fn add(&mut self, at: Time, ops: u32, bytes: u64) {
        self.add_bin(at.as_nanos() / BIN_NS, ops, bytes);
    }

    /// Counts in the bin with this absolute number (time in units of 10 ms).
    pub fn add_bin(&mut self, number: u64, ops: u32, bytes: u64) {
        if self.bins.is_empty() {
            self.first = number;
        }
        let index = number.saturating_sub(self.first) as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins[index].ops += ops;
        self.bins[index].bytes += bytes;
    }

    /// Evaluates the windows that begin in `from..until`, and discards the bins there. Afterwards
    /// peaks are known only for sections that begin at least a second before `from` or end at least
    /// a second after `until`, so it is meant for the middle of a section that is judged as a
    /// whole. Sections are folded in order of time; a call may continue the last fold.
    pub fn fold(&mut self, from: Time, until: Time) {
        let goes_on = self.folded.last().is_some_and(|last| last.end == self.first);
        let from = (from.as_nanos().div_ceil(BIN_NS)).max(self.first);
        let start = if goes_on && from <= self.first { self.first } else { from };
        let end = (until.as_nanos() / BIN_NS).min(self.end().saturating_sub(BINS_A_SECOND as u64 - 1));
        if end < start.saturating_add(BINS_A_SECOND as u64) {
            return;
        }
        let (at, to) = ((start - self.first) as usize, (end - self.first) as usize);
        if start != self.first || !goes_on {
            let head = self.bins[at..at + BINS_A_SECOND - 1].to_vec();
            let before = self.bins[..at].to_vec();
            self.folded.push(Folded { before, before_first: self.first, head, first: start, ..Folded::default() });
        }
        let Some(stretch) = self.folded.last_mut() else { return };
        let (mut ops, mut bytes) = (0u64, 0u64);
        for (i, bin) in self.bins[at..to + BINS_A_SECOND - 1].iter().enumerate() {
            (ops, bytes) = (ops + u64::from(bin.ops), bytes + bin.bytes);
            if i + 1 >= BINS_A_SECOND {
                stretch.fullest_ops = stretch.fullest_ops.max(ops);
                stretch.fullest_bytes = stretch.fullest_bytes.max(bytes);
                let first = self.bins[at + i + 1 - BINS_A_SECOND];
                (ops, bytes) = (ops - u64::from(first.ops), bytes - first.bytes);
                (stretch.ops, stretch.bytes) = (stretch.ops + u64::from(first.ops), stretch.bytes + first.bytes);
            }
        }
        stretch.end = end;
        self.bins.drain(..to);
        self.first = end;
    }

    /// Number of bins in memory.
    pub fn len(&self) -> usize {
        self.bins.len() + self.folded.iter().map(|folded| folded.before.len() + folded.head.len()).sum::<usize>()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty() && self.folded.is_empty()
    }

    /// Adds another trace bin by bin: the dispatches of a shared group are the sum of its members'.
    /// Neither may be folded.
    pub fn merge(&mut self, other: &DispatchTrace) {
        let (from, to) = (self.first.min(other.first), self.end().max(other.end()));
        if other.bins.is_empty() {
            return;
        }
        let first = if self.bins.is_empty() { other.first } else { from };
        let mut sum = DispatchTrace { first, ..DispatchTrace::default() };
        sum.bins.resize((to - sum.first) as usize, Bin::default());
        for trace in [&*self, other] {
            for (offset, bin) in trace.bins.iter().enumerate() {
                let into = &mut sum.bins[(trace.first - sum.first) as usize + offset];
                into.ops += bin.ops;
                into.bytes += bin.bytes;
            }
        }
        *self = sum;
    }

    /// All bins as (absolute number, operations, bytes); only those after the last fold.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.bins.iter().enumerate().map(|(i, bin)| (self.first + i as u64, bin.ops, bin.bytes))
    }

    /// The fullest second among the windows entirely within `from..to`, which is first narrowed to
    /// whole bins. `None` if that is shorter than a second.
    pub fn peak(&self, from: Time, to: Time) -> Option<Peak> {
        let first = from.as_nanos().div_ceil(BIN_NS);
        let last = to.as_nanos() / BIN_NS;
        let length = usize::try_from(last.checked_sub(first)?).ok()?;
        if length < BINS_A_SECOND {
            return None;
        }
        let (mut ops, mut bytes, mut peak) = (0, 0, Peak::default());
        let (mut total_ops, mut total_bytes) = (0u64, 0u64);
        // `begun` is the start of the current window, which has its bins up to `at`.
        let (mut begun, mut at) = (first, first);
        while at < last {
            let folded = self.folded.iter().find(|folded| begun == folded.first && folded.end <= last);
            if let Some(folded) = folded {
                peak.ops = peak.ops.max(folded.fullest_ops);
                peak.bytes = peak.bytes.max(folded.fullest_bytes);
                // Bins of its head that earlier windows have already added are included in its
                // sums.
                let taken = folded.head.iter().take((at - folded.first) as usize);
                let (taken_ops, taken_bytes) =
                    taken.fold((0, 0), |sum, bin| (sum.0 + u64::from(bin.ops), sum.1 + bin.bytes));
                (total_ops, total_bytes) =
                    (total_ops + folded.ops - taken_ops, total_bytes + folded.bytes - taken_bytes);
                (begun, at, ops, bytes) = (folded.end, folded.end, 0, 0);
                continue;
            }
            let bin = self.bin(at);
            at += 1;
            (ops, bytes) = (ops + u64::from(bin.ops), bytes + bin.bytes);
            (total_ops, total_bytes) = (total_ops + u64::from(bin.ops), total_bytes + bin.bytes);
            if at - begun == BINS_A_SECOND as u64 {
                peak.ops = peak.ops.max(ops);
                peak.bytes = peak.bytes.max(bytes);
                let gone = self.bin(begun);
                (ops, bytes) = (ops - u64::from(gone.ops), bytes - gone.bytes);
                begun += 1;
            }
        }
        let seconds = Span::from_nanos(length as u64 * BIN_NS).as_secs_f64();
        peak.mean_ops = total_ops as f64 / seconds;
        peak.mean_bytes = total_bytes as f64 / seconds;
        Some(peak)
    }

    /// Of the windows of a second or more within `from..to` the one that has most beyond `rate` a
    /// second, in operations or bytes as `amount` picks them. `None` if `from..to` is shorter than
    /// a second. A folded section is one step, so a window that begins or ends in it is not found.
    pub fn furthest_beyond(&self, from: Time, to: Time, rate: f64, amount: impl Fn(u64, u64) -> u64) -> Option<Window> {
        let (first, last) = (from.as_nanos().div_ceil(BIN_NS), to.as_nanos() / BIN_NS);
        // The sums up to each step's end.
        let mut sums = vec![(first, 0u64)];
        let (mut at, mut sum) = (first, 0);
        while at < last {
            match self.folded.iter().find(|folded| folded.first == at && folded.end <= last) {
                Some(folded) => (at, sum) = (folded.end, sum + amount(folded.ops, folded.bytes)),
                None => {
                    let bin = self.bin(at);
                    (at, sum) = (at + 1, sum + amount(bin.ops.into(), bin.bytes));
                }
            }
            sums.push((at, sum));
        }
        let beyond = |(at, sum): (u64, u64)| sum as f64 - rate * (at - first) as f64 / BINS_A_SECOND as f64;
        let mut starts = sums.iter().copied().peekable();
        let (mut lowest, mut furthest) = ((first, 0), None);
        for &end in &sums {
            while let Some(start) = starts.next_if(|start| start.0 + BINS_A_SECOND as u64 <= end.0) {
                lowest = if beyond(start) < beyond(lowest) { start } else { lowest };
            }
            let length = Span::from_nanos((end.0 - lowest.0) * BIN_NS);
            let far = beyond(end) - beyond(lowest);
            if length >= Span::SECOND && furthest.is_none_or(|(most, _)| far > most) {
                furthest = Some((far, Window { amount: end.1 - lowest.1, length }));
            }
        }
        furthest.map(|(_, window)| window)
    }

    fn end(&self) -> u64 {
        self.first + self.bins.len() as u64
    }

    fn bin(&self, number: u64) -> Bin {
        let within = |first: u64, bins: &[Bin]| {
            number.checked_sub(first).and_then(|i| bins.get(usize::try_from(i).ok()?)).copied()
        };
        let recent = within(self.first, &self.bins);
        let older = || {
            let mut folded = self.folded.iter();
            folded.find_map(|of| within(of.before_first, &of.before).or_else(|| within(of.first, &of.head)))
        };
        recent.or_else(older).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_fullest_second_straddles_whole_seconds() {
        // 10 dispatches at 0.9 s and 10 at 1.1 s: each calendar second holds 10, a sliding one 20.
        let mut trace = DispatchTrace::default();
        trace.add(at(900), 10, 40_960);
        trace.add(at(1100), 10, 40_960);
        let peak = trace.peak(at(0), at(2000)).unwrap();
        assert_eq!((peak.ops, peak.bytes), (20, 81_920));
        assert_eq!(peak.mean_ops, 10.0);
    }

    /// 3 a bin for 1.5 s, then 1 a bin: beyond 200 a second are 150 operations in the 1.5 s, more
    /// than the 100 of any second. Beyond 50 a second the whole 4 s have most.
    #[test]
    fn the_window_furthest_beyond_a_rate_is_as_long_as_it_lasts() {
        let mut trace = DispatchTrace::default();
        (0..400).for_each(|bin| trace.add_bin(bin, if (100..250).contains(&bin) { 3 } else { 1 }, 0));
        let furthest = |rate| trace.furthest_beyond(at(0), at(4000), rate, |ops, _| ops);
        assert_eq!(furthest(200.0), Some(Window { amount: 450, length: Span::from_millis(1500) }));
        assert_eq!(furthest(50.0), Some(Window { amount: 700, length: Span::from_secs(4) }));
        // None is beyond it; the nearest is a second of the burst.
        assert_eq!(furthest(400.0), Some(Window { amount: 300, length: Span::SECOND }));
        assert_eq!(trace.furthest_beyond(at(0), at(990), 1.0, |ops, _| ops), None);
    }

    #[test]
    fn a_stretch_keeps_to_whole_bins_within_it() {
        // The bins at 0.50 and 1.99 s are cut by the section from 0.505 s to 1.995 s and must not
        // count.
        let mut trace = DispatchTrace::default();
        trace.add(at(500), 7, 0);
        trace.add(at(1000), 1, 0);
        trace.add(at(1990), 9, 0);
        assert_eq!(trace.peak(at(505), at(1995)).unwrap().ops, 1);
        assert_eq!(trace.peak(at(0), at(999)), None, "shorter than a second");
    }

    /// Three phases of 100, 200 and 30 s with random dispatches. The long ones are folded from time
    /// to time up to two seconds from their ends: the peaks of each equal those of the whole trace,
    /// and few bins are left.
    #[test]
    fn a_folded_stretch_has_the_same_peaks() {
        let (mut whole, mut chance) = (DispatchTrace::default(), 7u64);
        let phases = [(at(0), at(100_030)), (at(100_030), at(300_000)), (at(300_000), at(330_000))];
        let mut folded = DispatchTrace::default();
        for (start, end) in phases {
            for bin in start.as_nanos() / BIN_NS..end.as_nanos() / BIN_NS {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let ops = (chance >> 60) as u32;
                whole.add_bin(bin, ops, u64::from(ops) * (chance >> 40 & 4095));
                folded.add_bin(bin, ops, u64::from(ops) * (chance >> 40 & 4095));
                let now = Time::from_nanos((bin + 1) * BIN_NS);
                if bin % 1700 == 0 && end.since(start) > Span::from_secs(50) && now.since(start) > Span::from_secs(20) {
                    folded.fold(start + Span::from_secs(2), now - Span::from_secs(2));
                }
            }
        }
        assert!(whole.len() == 33_000 && folded.len() < 8_000, "{}", folded.len());
        for (start, end) in phases {
            for from in [start, start + Span::SECOND] {
                assert_eq!(folded.peak(from, end), whole.peak(from, end), "{start:?}");
            }
        }
    }

    #[test]
    fn merging_adds_bin_by_bin_whatever_starts_first() {
        let (mut a, mut b) = (DispatchTrace::default(), DispatchTrace::default());
        a.add(at(500), 2, 8);
        b.add(at(100), 3, 12);
        b.add(at(500), 1, 4);
        let mut ab = a.clone();
        ab.merge(&b);
        b.merge(&a);
        assert_eq!(ab, b);
        assert_eq!(ab.bins().filter(|bin| bin.1 > 0).collect::<Vec<_>>(), [(10, 3, 12), (50, 3, 12)]);
    }
}
