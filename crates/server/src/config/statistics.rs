//! `[statistics]`: the memory for statistics.

use super::Size;
use block::Bytes;
use history::HistorySettings;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StatisticsTable {
    memory: Option<Size>,
}

impl StatisticsTable {
    /// If nothing is configured: the default, but at most a sixteenth of the machine's memory.
    pub(super) fn checked(self, whole: Option<Bytes>) -> Result<HistorySettings, String> {
        let default = HistorySettings::default().memory;
        let most = whole.map_or(default, |whole| Bytes(whole.0 / 16).max(HistorySettings::MEMORY_MIN));
        let memory = self.memory.map_or(default.min(most), |memory| memory.0);
        if memory < HistorySettings::MEMORY_MIN {
            let least = HistorySettings::MEMORY_MIN.0 >> 20;
            return Err(format!("statistics.memory: must be at least {least} MiB, got {} bytes", memory.0));
        }
        Ok(HistorySettings { memory })
    }
}
