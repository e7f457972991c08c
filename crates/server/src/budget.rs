//! The memory budget of the server. Every large user of memory is a part of it, with a name and a
//! limit, as `memory show` lists them.
//!
//! ```text
//!   whole ─┬─ cache, and what its second level takes
//!          ├─ buffers of clients' requests
//!          ├─ statistics of the last day
//!          └─ maps: what the others leave
//! ```

use block::Bytes;
use store::MAPS_MEMORY_MIN;

/// How the memory of the process is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBudget {
    /// The whole; `None` if it is not known how much there is.
    pub whole: Option<Bytes>,
    /// The cache of the pool's pages.
    pub cache: Bytes,
    /// Index and buffers of the cache's second level.
    pub second_level: Bytes,
    /// The buffers of clients' requests.
    pub buffers: Bytes,
    /// The statistics of the last day.
    pub statistics: Bytes,
}

impl MemoryBudget {
    /// What the other parts leave for the maps; `None` if the whole is not known.
    pub fn maps(&self) -> Option<Bytes> {
        self.whole.map(|whole| Bytes(whole.0.saturating_sub(self.others().0)))
    }

    /// Checks that all parts fit together.
    ///
    /// # Errors
    /// They do not; one line with all of them.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Some(whole) = self.whole.filter(|whole| self.others().0.saturating_add(MAPS_MEMORY_MIN.0) > whole.0) else {
            return Ok(());
        };
        let mib = |bytes: Bytes| bytes.0 >> 20;
        let second_level = match self.second_level {
            Bytes(0) => String::new(),
            taken => format!("second level {} (less with larger pages), ", mib(taken)),
        };
        Err(format!(
            "server.memory: its parts need more than {} MiB: cache.memory {}, {second_level}limits.memory {}, \
             statistics.memory {}, maps {} at least; make one of them smaller, or server.memory larger",
            mib(whole),
            mib(self.cache),
            mib(self.buffers),
            mib(self.statistics),
            mib(MAPS_MEMORY_MIN),
        ))
    }

    /// The sum of all parts but the maps.
    fn others(&self) -> Bytes {
        let parts = [self.cache, self.second_level, self.buffers, self.statistics];
        Bytes(parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_what_the_others_leave() {
        let gib = |n: u64| Bytes(n << 30);
        let budget = MemoryBudget { whole: Some(gib(16)), buffers: gib(1), statistics: gib(1), ..Default::default() };
        assert_eq!((budget.maps(), budget.check()), (Some(gib(14)), Ok(())));
        let with_cache = MemoryBudget { cache: gib(10), second_level: gib(1), ..budget };
        assert_eq!((with_cache.maps(), with_cache.check()), (Some(gib(3)), Ok(())));
        assert_eq!(MemoryBudget { whole: None, ..with_cache }.maps(), None);
        let too_much = MemoryBudget { cache: gib(13), ..with_cache };
        assert_eq!(too_much.maps(), Some(Bytes(0)));
        let error = too_much.check().unwrap_err();
        assert_eq!(
            error,
            "server.memory: its parts need more than 16384 MiB: cache.memory 13312, second level 1024 (less with larger \
             pages), limits.memory 1024, statistics.memory 1024, maps 1 at least; make one of them smaller, or \
             server.memory larger"
        );
    }
}
