//! `[cache]`: pages of the pool in the server's memory.

use super::Size;
use block::Bytes;
use serde::Deserialize;
use store::CacheSettings;

/// Below this a cache is not worth its index.
const MEMORY_MIN: u64 = 1 << 20;
/// A page of the cache is from a page of the maps to a block.
const PAGES: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 10;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CacheTable {
    memory: Option<Size>,
    page: Option<Size>,
}

impl CacheTable {
    /// The cache, where it and the buffers of clients' requests find room beside each other.
    pub(super) fn checked(self, buffers: Bytes) -> Result<Option<CacheSettings>, String> {
        let page = self.page.map_or(4 << 10, |page| page.0.0);
        if !page.is_power_of_two() || !PAGES.contains(&page) {
            return Err(format!("cache.page: must be 4, 8, 16, 32 or 64 KiB, got {page} bytes"));
        }
        let Some(memory) = self.memory.map(|memory| memory.0) else { return Ok(None) };
        if memory.0 < MEMORY_MIN {
            return Err(format!(
                "cache.memory: must be at least 1 MiB, got {} bytes; leave it out for no cache",
                memory.0
            ));
        }
        match crate::memory::most() {
            Some(most) if memory.0.saturating_add(buffers.0) > most => Err(format!(
                "cache.memory: must be at most the machine's {} MiB less the {} of limits.memory, got {} MiB",
                most >> 20,
                buffers.0 >> 20,
                memory.0 >> 20
            )),
            _ => Ok(Some(CacheSettings { memory, page: page as u32, policy: ::cache::Policy::default() })),
        }
    }
}
