//! What `volume snapshot show` lists.

use super::{Cell, Column, Row};

/// A snapshot.
#[derive(Clone, Debug, Default)]
pub struct SnapshotRow {
    /// The SVM that owns its volume.
    pub vserver: String,
    /// Its volume.
    pub volume: String,
    /// Its own name.
    pub snapshot: String,
    /// When it was made; see [`moment`].
    pub create_time: String,
    /// Bytes that would come free with it.
    pub size: u64,
    /// The same in percent of the volume's size.
    pub total_percent: u64,
}

impl Row for SnapshotRow {
    const COMMAND: &'static str = "volume snapshot show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 8),
        Column::left("volume", "Volume", 12),
        Column::left("snapshot", "Snapshot", 37),
        Column::right("size", "Size", 8),
        Column::right("total-percent", "Total%", 6),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("Volume", "volume"),
        ("Snapshot", "snapshot"),
        ("Creation Time", "create-time"),
        ("Snapshot Size", "size"),
        ("Percentage of Total Blocks", "total-percent"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "snapshot" => Cell::Text(self.snapshot.clone()),
            "create-time" => Cell::Text(self.create_time.clone()),
            "size" => Cell::Bytes(self.size),
            "total-percent" => Cell::Percent(self.total_percent),
            _ => return None,
        })
    }
}

/// A moment in UTC as ONTAP prints it, `Sun Nov 22 02:30:59 2026`, from seconds since the beginning of 1970.
pub fn moment(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let weekday = DAYS[(days % 7) as usize];
    format!("{weekday} {} {day:02} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month])
}

/// Year, month (from 0) and day of the Gregorian calendar. Years are counted from March, so that the day that leap years
/// have more comes last; 719 468 days lie between the first of March of year 0 and 1970, 146 097 in 400 years.
fn civil(days: u64) -> (u64, usize, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on have 31, 30, 31, 30, 31 days, again and again: 153 in five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    (year, ((month + 2) % 12) as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `date -u -d @SECONDS`.
    #[test]
    fn moments_read_as_date_prints_them() {
        let known = [
            (0, "Thu Jan 01 00:00:00 1970"),
            (951_782_399, "Mon Feb 28 23:59:59 2000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_709_251_199, "Thu Feb 29 23:59:59 2024"),
            (1_795_314_659, "Sun Nov 22 02:30:59 2026"),
            (4_107_542_400, "Mon Mar 01 00:00:00 2100"),
        ];
        for (seconds, text) in known {
            assert_eq!(moment(seconds), text);
        }
    }
}
