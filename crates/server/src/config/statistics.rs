//! `[statistics]`: how much of what was done is kept in memory.

use super::Size;
use history::HistorySettings;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StatisticsTable {
    memory: Option<Size>,
}

impl StatisticsTable {
    pub(super) fn checked(self) -> Result<HistorySettings, String> {
        let default = HistorySettings::default();
        let memory = self.memory.map_or(default.memory, |memory| memory.0);
        if memory < HistorySettings::MEMORY_MIN {
            let least = HistorySettings::MEMORY_MIN.0 >> 20;
            return Err(format!("statistics.memory: must be at least {least} MiB, got {} bytes", memory.0));
        }
        Ok(HistorySettings { memory })
    }
}
