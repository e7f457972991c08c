//! Dispatches in bins of 10 ms of absolute time, so that any sliding second can be checked
//! afterwards.

use std::collections::VecDeque;

use crate::account::Bin;

/// The latest bins with dispatches in them.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    bins: VecDeque<Bin>,
}

impl Trace {
    /// 2.56 s, more than two accounts a second apart need; 6 KiB.
    const BINS_MAX: usize = 256;

    /// Keeps a bin that is over.
    pub fn record(&mut self, bin: Bin) {
        if self.bins.len() == Self::BINS_MAX {
            self.bins.pop_front();
        }
        self.bins.push_back(bin);
    }

    /// Gives out all bins and starts anew.
    pub fn take(&mut self) -> Vec<Bin> {
        self.bins.drain(..).collect()
    }
}
