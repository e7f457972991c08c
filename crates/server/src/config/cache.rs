//! `[cache]`: the cache of the pool's pages in memory, and its second level on a device.

use super::Size;
use block::Bytes;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use store::{CacheSettings, SecondPlace};

/// A smaller cache is not worth its index.
const MEMORY_MIN: u64 = 1 << 20;
/// A page of the cache is at least a page of the maps and at most a block.
const PAGES: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 10;
/// Slot numbers have 32 bits, of which the index uses 31.
const SECOND_PAGES_MAX: u64 = 1 << 30;
/// With fewer bytes a day, half a day's bound would be less than a segment that is worth writing.
const WRITES_MIN: u64 = 64 << 20;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CacheTable {
    memory: Option<Size>,
    page: Option<Size>,
    second_level: Option<PathBuf>,
    second_level_size: Option<Size>,
    second_level_writes_per_day: Option<Size>,
}

impl CacheTable {
    /// Checks both levels.
    pub(super) fn checked(self, folder: &Path) -> Result<(Option<CacheSettings>, Option<SecondPlace>), String> {
        let page = self.page.as_ref().map_or(4 << 10, |page| page.0.0);
        if !page.is_power_of_two() || !PAGES.contains(&page) {
            return Err(format!("cache.page: must be 4, 8, 16, 32 or 64 KiB, got {page} bytes"));
        }
        let (memory, has_page) = (self.memory.as_ref().map(|memory| memory.0), self.page.is_some());
        let second = self.second(folder, page)?;
        let Some(memory) = memory else {
            return match second {
                Some(_) => Err("cache.second_level: is for what cache.memory evicts; give that too".into()),
                None if has_page => Err("cache.page: is a page of cache.memory; give that too".into()),
                None => Ok((None, None)),
            };
        };
        if memory.0 < MEMORY_MIN {
            return Err(format!(
                "cache.memory: must be at least 1 MiB, got {} bytes; leave it out for no cache",
                memory.0
            ));
        }
        Ok((Some(CacheSettings { memory, page: page as u32, policy: ::cache::Eviction::default() }), second))
    }

    fn second(self, folder: &Path, page: u64) -> Result<Option<SecondPlace>, String> {
        let Some(path) = self.second_level else {
            let lone = [("size", self.second_level_size), ("writes_per_day", self.second_level_writes_per_day)];
            return match lone.into_iter().find(|(_, given)| given.is_some()) {
                Some((key, _)) => {
                    Err(format!("cache.second_level_{key}: give cache.second_level, a file or device, too"))
                }
                None => Ok(None),
            };
        };
        let Some(Size(size)) = self.second_level_size else {
            return Err("cache.second_level: give cache.second_level_size, what it may hold, too".into());
        };
        let least = SecondPlace::SIZE_MIN.0;
        if size.0 < least || size.0 / page > SECOND_PAGES_MAX {
            let most = SECOND_PAGES_MAX * page;
            return Err(format!(
                "cache.second_level_size: must be from {least} to {most} bytes with pages of {page}, got {} bytes",
                size.0
            ));
        }
        let writes_per_day =
            self.second_level_writes_per_day.map_or(Bytes(size.0.max(WRITES_MIN)), |Size(bytes)| bytes);
        if writes_per_day.0 < WRITES_MIN {
            return Err(format!(
                "cache.second_level_writes_per_day: must be at least {WRITES_MIN} bytes, got {}",
                writes_per_day.0
            ));
        }
        Ok(Some(SecondPlace { path: folder.join(path), size, writes_per_day }))
    }
}
