//! Dispatches in bins of 10 ms, and the fullest sliding second among them.
//!
//! A limiter that is exact on average can still let a burst through; so a ceiling is judged by every window of one
//! second that starts at a multiple of 10 ms.

use block::{Span, Time};

/// Bins in a second: each is 10 ms long and starts at a multiple of it.
pub const BINS_A_SECOND: usize = 100;
const BIN_NS: u64 = 1_000_000_000 / BINS_A_SECOND as u64;

/// What was dispatched to the device, by bins of 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchTrace {
    first: u64,
    bins: Vec<Bin>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    ops: u32,
    bytes: u64,
}

/// The fullest sliding second and the mean of a stretch of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// Operations in the fullest second.
    pub ops: u64,
    /// Bytes in the fullest second (not necessarily the same one).
    pub bytes: u64,
    /// Operations per second over the whole stretch.
    pub mean_ops: f64,
    /// Bytes per second over the whole stretch.
    pub mean_bytes: f64,
}

impl DispatchTrace {
    /// Counts `ops` dispatches of `bytes` together at `at`. Times must not run backwards by more than the trace is long.
    pub fn add(&mut self, at: Time, ops: u32, bytes: u64) {
        self.add_bin(at.as_nanos() / BIN_NS, ops, bytes);
    }

    /// Counts into the bin of that absolute number (time in units of 10 ms).
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

    /// Adds another trace bin by bin: the dispatches of a shared group are the sum of its members'.
    pub fn merge(&mut self, other: &DispatchTrace) {
        let (from, to) = (self.first.min(other.first), self.end().max(other.end()));
        if other.bins.is_empty() {
            return;
        }
        let mut sum = DispatchTrace { first: if self.bins.is_empty() { other.first } else { from }, bins: Vec::new() };
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

    /// Every bin as (its absolute number, operations, bytes).
    pub fn bins(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.bins.iter().enumerate().map(|(i, bin)| (self.first + i as u64, bin.ops, bin.bytes))
    }

    /// The fullest second among the windows that lie wholly in `from..to`, which is first narrowed to whole bins.
    /// `None` when that is shorter than a second.
    pub fn peak(&self, from: Time, to: Time) -> Option<Peak> {
        let first = from.as_nanos().div_ceil(BIN_NS);
        let last = to.as_nanos() / BIN_NS;
        let length = usize::try_from(last.checked_sub(first)?).ok()?;
        if length < BINS_A_SECOND {
            return None;
        }
        let bins: Vec<Bin> = (first..last).map(|number| self.bin(number)).collect();
        let (mut ops, mut bytes, mut peak) = (0, 0, Peak::default());
        let (mut total_ops, mut total_bytes) = (0u64, 0u64);
        for (i, bin) in bins.iter().enumerate() {
            ops += u64::from(bin.ops);
            bytes += bin.bytes;
            total_ops += u64::from(bin.ops);
            total_bytes += bin.bytes;
            if let Some(gone) = i.checked_sub(BINS_A_SECOND) {
                ops -= u64::from(bins[gone].ops);
                bytes -= bins[gone].bytes;
            }
            if i + 1 >= BINS_A_SECOND {
                peak.ops = peak.ops.max(ops);
                peak.bytes = peak.bytes.max(bytes);
            }
        }
        let seconds = Span::from_nanos(length as u64 * BIN_NS).as_secs_f64();
        peak.mean_ops = total_ops as f64 / seconds;
        peak.mean_bytes = total_bytes as f64 / seconds;
        Some(peak)
    }

    fn end(&self) -> u64 {
        self.first + self.bins.len() as u64
    }

    fn bin(&self, number: u64) -> Bin {
        number.checked_sub(self.first).and_then(|i| self.bins.get(i as usize)).copied().unwrap_or_default()
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

    #[test]
    fn a_stretch_keeps_to_whole_bins_within_it() {
        // The bins at 0.50 and 1.99 s are cut by the stretch 0.505 s to 1.995 s and must not count.
        let mut trace = DispatchTrace::default();
        trace.add(at(500), 7, 0);
        trace.add(at(1000), 1, 0);
        trace.add(at(1990), 9, 0);
        assert_eq!(trace.peak(at(505), at(1995)).unwrap().ops, 1);
        assert_eq!(trace.peak(at(0), at(999)), None, "shorter than a second");
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
