//! How short memory is: how long tasks were stalled for it, as counted by the kernel (pressure
//! stall information, PSI), and how much is left.
//!
//! ```text
//!   /proc/self/cgroup ─► memory.pressure of our own control group, where there is one: it rises too when `memory.high` or
//!                        `memory.max` of the service is met, and the machine has plenty
//!   else /proc/pressure/memory: the whole machine
//!
//!   what the machine has left, and each control group with a limit that we are in: the least of them
//! ```

use crate::order::Order;
use crate::shard::{Shard, ShardGone};
use block::{Bytes, Span, Time};
use cache::Pressure;
use std::path::{Path, PathBuf};
use uring::{groups, memory};

/// Where a shortage of memory is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySigns {
    /// The file with the stall times, if the kernel counts them.
    stalls: Option<PathBuf>,
    /// Control groups that may have a limit.
    groups: Vec<PathBuf>,
    /// They are those of this process, which may be moved to another group.
    are_own: bool,
}

impl MemorySigns {
    /// Our own control group and those above it, and the machine.
    pub fn of_this_process() -> MemorySigns {
        let own = groups::own_group("").map(|group| group.join("memory.pressure"));
        let mut stalls = own.into_iter().chain([PathBuf::from("/proc/pressure/memory")]);
        MemorySigns { stalls: stalls.find(|path| stalled(path).is_some()), groups: memory::groups(), are_own: true }
    }

    /// Where to look from now on, if this process is in another control group than before.
    fn moved(&self) -> Option<MemorySigns> {
        let found = self.are_own.then(MemorySigns::of_this_process)?;
        (found != *self).then_some(found)
    }

    /// The control group of that folder, and the machine.
    pub fn of_group(folder: &Path) -> MemorySigns {
        MemorySigns { stalls: Some(folder.join("memory.pressure")), groups: vec![folder.into()], are_own: false }
    }

    /// How long some task was stalled since the machine started; zero if the kernel does not count
    /// it.
    fn stalled(&self) -> Span {
        self.stalls.as_deref().and_then(stalled).unwrap_or_default()
    }

    /// How much a cache that holds `kept` now could hold.
    fn room(&self, kept: Bytes) -> Bytes {
        let groups = self.groups.iter().filter_map(|folder| memory::of_group(folder));
        let rooms = groups.chain(memory::machine()).map(|bound| cache::room(kept, bound.all, bound.left));
        rooms.min().unwrap_or(Bytes(u64::MAX))
    }
}

/// Shrinks the cache and returns unused buffers while memory is short.
#[derive(Debug)]
pub(crate) struct Relief {
    signs: MemorySigns,
    pressure: Pressure,
    /// When it looked last, and the stall time up to then.
    last: Option<(Time, Span)>,
}

impl Relief {
    /// `cache` is the cache's size, if there is one. Without a cache it only reports whether memory
    /// is short.
    pub(crate) fn new(signs: MemorySigns, cache: Option<Bytes>) -> Relief {
        Relief { signs, pressure: Pressure::new(cache.unwrap_or(Bytes::gib(1))), last: None }
    }

    /// Measures, and sends the resulting order to the shard. Returns the new limit of the cache if
    /// it changes.
    pub(crate) fn look(&mut self, now: Time, shard: &Shard) -> Result<Option<Bytes>, ShardGone> {
        if let Some(moved) = self.signs.moved() {
            // The stalls of another group began at another time.
            (self.signs, self.last) = (moved, None);
        }
        let total = self.signs.stalled();
        let Some((at, before)) = self.last.replace((now, total)) else { return Ok(None) };
        // Without a cache only buffers can be returned, once the reserve is used up.
        let kept = match shard.cache() {
            Some(_) => Bytes(shard.cached()?.values().map(|seen| seen.resident.0).sum()),
            None => self.pressure.limit(),
        };
        match self.pressure.look(total.saturating_sub(before), now.since(at), self.signs.room(kept)) {
            None => Ok(None),
            Some(cache) => {
                let is_short = self.pressure.is_short();
                shard.order(Order::Limit { cache, is_short }).map(|()| Some(cache))
            }
        }
    }
}

/// The stall time in a pressure file.
fn stalled(path: &Path) -> Option<Span> {
    stalled_in(&std::fs::read_to_string(path).ok()?)
}

/// How long some task was stalled, by the text of such a file.
fn stalled_in(text: &str) -> Option<Span> {
    stats::kernel::stall(text).map(|stall| stall.some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_stalls_of_some_is_read() {
        let text =
            "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        assert_eq!(stalled_in(text), Some(Span::from_micros(4711)));
        assert_eq!(stalled_in("full avg10=0.00 total=9\n"), None);
        assert_eq!(stalled_in(""), None);
    }

    #[test]
    fn a_process_that_is_moved_looks_at_its_new_group() {
        let here = MemorySigns::of_this_process();
        assert_eq!(here.moved(), None);
        let gone = PathBuf::from("/sys/fs/cgroup/gone");
        let before = MemorySigns { stalls: Some(gone.join("memory.pressure")), groups: vec![gone], are_own: true };
        assert_eq!(before.moved(), Some(here));
        assert_eq!(MemorySigns::of_group(Path::new("/sys/fs/cgroup/gone")).moved(), None, "it was named");
    }
}
