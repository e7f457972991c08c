//! How long tasks stood still for memory, as the kernel counts it (pressure stall information,
//! PSI).
//!
//! ```text
//!   /proc/self/cgroup ─► memory.pressure of our own control group, where there is one: it rises too when `memory.high` or
//!                        `memory.max` of the service is met, and the machine has plenty
//!   else /proc/pressure/memory: the whole machine
//! ```

use crate::order::Order;
use crate::shard::{Shard, ShardGone};
use block::{Bytes, Span, Time};
use cache::Pressure;
use std::path::{Path, PathBuf};
use uring::usage::own_group;

/// A file of the kernel that counts stalls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalls {
    path: PathBuf,
}

impl Stalls {
    /// Our own control group's, or the machine's; `None` where the kernel counts none.
    pub fn of_this_process() -> Option<Stalls> {
        let paths = own_group("")
            .map(|group| group.join("memory.pressure"))
            .into_iter()
            .chain([PathBuf::from("/proc/pressure/memory")]);
        paths.map(|path| Stalls { path }).find(|stalls| stalls.total().is_some())
    }

    /// Those that a file of that form counts.
    pub fn at(path: &Path) -> Stalls {
        Stalls { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long some task stood still, since the machine started.
    pub fn total(&self) -> Option<Span> {
        total_of(&std::fs::read_to_string(&self.path).ok()?)
    }
}

/// What has the cache keep less and unused buffers go back at once while tasks stand still for
/// memory.
#[derive(Debug)]
pub(crate) struct Relief {
    stalls: Stalls,
    pressure: Pressure,
    /// When it was looked last, and the stalls until then.
    last: Option<(Time, Span)>,
}

impl Relief {
    /// With the cache's size, where there is one; else it tells no more than whether memory is
    /// short.
    pub(crate) fn new(stalls: Stalls, cache: Option<Bytes>) -> Relief {
        Relief { stalls, pressure: Pressure::new(cache.unwrap_or(Bytes::gib(1))), last: None }
    }

    /// Looks, and orders of the shard what follows; what a cache keeps from now on, where that
    /// changes.
    pub(crate) fn look(&mut self, now: Time, shard: &Shard) -> Result<Option<Bytes>, ShardGone> {
        let Some(total) = self.stalls.total() else { return Ok(None) };
        let Some((at, before)) = self.last.replace((now, total)) else { return Ok(None) };
        match self.pressure.look(total.saturating_sub(before), now.since(at)) {
            None => Ok(None),
            Some(cache) => {
                let is_short = self.pressure.is_short();
                shard.order(Order::Limit { cache, is_short }).map(|()| Some(cache))
            }
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, in microseconds.
fn total_of(text: &str) -> Option<Span> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Span::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_stalls_of_some_is_read() {
        let text =
            "some avg10=0.12 avg60=0.00 avg300=0.00 total=4711\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        assert_eq!(total_of(text), Some(Span::from_micros(4711)));
        assert_eq!(total_of("full avg10=0.00 total=9\n"), None);
        assert_eq!(total_of(""), None);
    }
}
