//! The fourteen columns: their published names, their keys in files, and their sources.

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The number of the test.
    Number,
    /// A property of the storage.
    Word(TierWord),
    /// A result.
    Figure(TierFigure),
}

/// Properties of the storage, in words: given in the list, or found by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TierWord {
    /// The array or the device's model.
    Storage,
    /// How it is built: FC, SATA, SSD, NVMe.
    Spindle,
    /// The RAID level.
    Raid,
    /// Whether another array is in front of it.
    Virtualized,
    /// The size of its cache, in gigabytes.
    Cache,
}

/// The results of a test, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TierFigure {
    /// The highest rate of small random requests per second.
    Iops,
    /// The highest rate of large requests, in megabytes per second.
    Mbps,
    /// The most transactions in 60 seconds.
    MaxTpm,
    /// The most transactions in one second.
    MaxTps,
    /// Mean transactions per second over the whole window.
    AvgTps,
    /// The mean response time of a transaction, in milliseconds.
    AvgResp,
    /// The part of the time in which the busiest device had requests, in percent.
    DiskBusy,
    /// The part of all processors' time that was used, in percent.
    Cpu,
}

impl TierWord {
    /// All of them, in order.
    pub const ALL: [TierWord; 5] =
        [TierWord::Storage, TierWord::Spindle, TierWord::Raid, TierWord::Virtualized, TierWord::Cache];
}

impl TierFigure {
    /// All of them, in order.
    pub const ALL: [TierFigure; 8] = [
        TierFigure::Iops,
        TierFigure::Mbps,
        TierFigure::MaxTpm,
        TierFigure::MaxTps,
        TierFigure::AvgTps,
        TierFigure::AvgResp,
        TierFigure::DiskBusy,
        TierFigure::Cpu,
    ];

    /// Digits behind the point of a figure: as published, and more where three significant digits
    /// need them, as a fast store's response is a part of a millisecond.
    pub(crate) fn digits(self, value: f64) -> usize {
        const SIGNIFICANT: f64 = 3.0;
        /// Less than a billionth is not told apart from nothing.
        const MOST: f64 = 9.0;
        let published = match self {
            TierFigure::Mbps => 2,
            TierFigure::DiskBusy | TierFigure::Cpu => 1,
            _ => 0,
        };
        if !value.is_normal() {
            return published;
        }
        // The place of the first digit: 0 of 1 to 10, -1 of 0.1 to 1.
        let first = value.abs().log10().floor();
        published.max((SIGNIFICANT - 1.0 - first).clamp(0.0, MOST) as usize)
    }
}

impl Column {
    /// All fourteen, in the published order.
    pub fn all() -> impl Iterator<Item = Column> {
        let words = TierWord::ALL.into_iter().map(Column::Word);
        [Column::Number].into_iter().chain(words).chain(TierFigure::ALL.into_iter().map(Column::Figure))
    }

    /// Its heading, as published.
    pub const fn name(self) -> &'static str {
        match self {
            Column::Number => "Test Number",
            Column::Word(TierWord::Storage) => "Storage",
            Column::Word(TierWord::Spindle) => "Spindle Type",
            Column::Word(TierWord::Raid) => "Raid Level",
            Column::Word(TierWord::Virtualized) => "Virtualized",
            Column::Word(TierWord::Cache) => "Cache(GB)",
            Column::Figure(TierFigure::Iops) => "IOPS",
            Column::Figure(TierFigure::Mbps) => "MBPS",
            Column::Figure(TierFigure::MaxTpm) => "Max TPM",
            Column::Figure(TierFigure::MaxTps) => "Max TPS",
            Column::Figure(TierFigure::AvgTps) => "Avg TPS",
            Column::Figure(TierFigure::AvgResp) => "Avg Resp",
            Column::Figure(TierFigure::DiskBusy) => "Disk Busy %",
            Column::Figure(TierFigure::Cpu) => "CPU%",
        }
    }

    /// Its key in files.
    pub const fn key(self) -> &'static str {
        match self {
            Column::Number => "test",
            Column::Word(TierWord::Storage) => "storage",
            Column::Word(TierWord::Spindle) => "spindle_type",
            Column::Word(TierWord::Raid) => "raid_level",
            Column::Word(TierWord::Virtualized) => "virtualized",
            Column::Word(TierWord::Cache) => "cache_gb",
            Column::Figure(TierFigure::Iops) => "iops",
            Column::Figure(TierFigure::Mbps) => "mbps",
            Column::Figure(TierFigure::MaxTpm) => "max_tpm",
            Column::Figure(TierFigure::MaxTps) => "max_tps",
            Column::Figure(TierFigure::AvgTps) => "avg_tps",
            Column::Figure(TierFigure::AvgResp) => "avg_resp",
            Column::Figure(TierFigure::DiskBusy) => "disk_busy_pct",
            Column::Figure(TierFigure::Cpu) => "cpu_pct",
        }
    }

    /// Its meaning, its limits and its sources.
    pub const fn about(self) -> &'static str {
        match self {
            Column::Number => "rows with the same storage differ in the host: its processors, the database's memory",
            Column::Word(TierWord::Storage) => {
                "seen: vendor and model of the device under a path; an array's name must be said"
            }
            Column::Word(TierWord::Spindle) => {
                "seen: rotating or not, by what the device reports; virtual disks and LUNs of arrays may lie"
            }
            Column::Word(TierWord::Raid) => "seen: the level of Linux md; what an array does inside must be said",
            Column::Word(TierWord::Virtualized) => {
                "an array behind another one must be said; seen: that this host is a guest"
            }
            Column::Word(TierWord::Cache) => {
                "the array's, which must be said; a test set that fits in it measures it alone"
            }
            Column::Figure(TierFigure::Iops) => {
                "the most of all points with random requests of up to 32 KiB, whatever response time they had"
            }
            Column::Figure(TierFigure::Mbps) => {
                "the most of all points with requests from 128 KiB on; MB is 2^20 bytes, as there"
            }
            Column::Figure(TierFigure::MaxTpm) => {
                "the most transactions in 60 s; a test that was measured for less has none"
            }
            Column::Figure(TierFigure::MaxTps) => "the most transactions in one second",
            Column::Figure(TierFigure::AvgTps) => "completed transactions over the measured time, failed ones left out",
            Column::Figure(TierFigure::AvgResp) => "mean milliseconds of a transaction, thinking left out",
            Column::Figure(TierFigure::DiskBusy) => {
                "time in which the busiest device had requests; 100 says that one more never waits alone, not that it is full"
            }
            Column::Figure(TierFigure::Cpu) => "of all processors, waiting for storage left out",
        }
    }
}
