//! `[cache]`: pages of the pool in the server's memory.

use super::Size;
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
    pub(super) fn checked(self) -> Result<Option<CacheSettings>, String> {
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
        match machine() {
            Some(most) if memory.0 > most => Err(format!(
                "cache.memory: must be at most the machine's {} MiB, got {} MiB",
                most >> 20,
                memory.0 >> 20
            )),
            _ => Ok(Some(CacheSettings { memory, page: page as u32, policy: ::cache::Policy::default() })),
        }
    }
}

/// The machine's memory in bytes, where the system tells it.
fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}
