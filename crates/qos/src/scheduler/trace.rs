//! Dispatches by 10 ms of absolute time, so that any sliding second can be checked afterwards.

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

    /// Counts one dispatch in the bin of now.
    pub fn record(&mut self, at: u64, bytes: u64) {
        if let Some(bin) = self.bins.back_mut().filter(|b| b.at == at) {
            return bin.tally.add(bytes);
        }
        if self.bins.len() == Self::BINS_MAX {
            self.bins.pop_front();
        }
        let mut bin = Bin { at, ..Bin::default() };
        bin.tally.add(bytes);
        self.bins.push_back(bin);
    }

    /// Gives out all bins and starts anew. The bin of this moment may come once more, with what is dispatched later in
    /// it.
    pub fn take(&mut self) -> Vec<Bin> {
        self.bins.drain(..).collect()
    }
}
