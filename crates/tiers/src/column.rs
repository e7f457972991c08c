//! The fourteen columns: their names as published, their keys in files, and where each comes from.

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Which test it is.
    Number,
    /// What the storage is.
    Word(Word),
    /// What came of it.
    Figure(Figure),
}

/// What storage is, in words: seen by the host, or said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Word {
    /// The array or the device's model.
    Storage,
    /// How it is built: FC, SATA, SSD, NVMe.
    Spindle,
    /// The RAID level.
    Raid,
    /// Whether another array stands before it.
    Virtualized,
    /// Gigabytes of its cache.
    Cache,
}

/// What came of a test, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Figure {
    /// The most small random requests a second.
    Iops,
    /// The most megabytes a second of large requests.
    Mbps,
    /// The most transactions in 60 seconds.
    MaxTpm,
    /// The most transactions in a second.
    MaxTps,
    /// Transactions a second over the whole window.
    AvgTps,
    /// The mean response time of a transaction, in milliseconds.
    AvgResp,
    /// The part of the time in which the busiest device had requests, in percent.
    DiskBusy,
    /// The part of all processors' time that was used, in percent.
    Cpu,
}

impl Word {
    /// All of them, in order.
    pub const ALL: [Word; 5] = [Word::Storage, Word::Spindle, Word::Raid, Word::Virtualized, Word::Cache];
}

impl Figure {
    /// All of them, in order.
    pub const ALL: [Figure; 8] = [
        Figure::Iops,
        Figure::Mbps,
        Figure::MaxTpm,
        Figure::MaxTps,
        Figure::AvgTps,
        Figure::AvgResp,
        Figure::DiskBusy,
        Figure::Cpu,
    ];

    /// Digits behind the point, as published.
    pub(crate) const fn digits(self) -> usize {
        match self {
            Figure::Mbps => 2,
            Figure::DiskBusy | Figure::Cpu => 1,
            _ => 0,
        }
    }
}

impl Column {
    /// All fourteen, in the published order.
    pub fn all() -> impl Iterator<Item = Column> {
        let words = Word::ALL.into_iter().map(Column::Word);
        [Column::Number].into_iter().chain(words).chain(Figure::ALL.into_iter().map(Column::Figure))
    }

    /// Its heading, as published.
    pub const fn name(self) -> &'static str {
        match self {
            Column::Number => "Test Number",
            Column::Word(Word::Storage) => "Storage",
            Column::Word(Word::Spindle) => "Spindle Type",
            Column::Word(Word::Raid) => "Raid Level",
            Column::Word(Word::Virtualized) => "Virtualized",
            Column::Word(Word::Cache) => "Cache(GB)",
            Column::Figure(Figure::Iops) => "IOPS",
            Column::Figure(Figure::Mbps) => "MBPS",
            Column::Figure(Figure::MaxTpm) => "Max TPM",
            Column::Figure(Figure::MaxTps) => "Max TPS",
            Column::Figure(Figure::AvgTps) => "Avg TPS",
            Column::Figure(Figure::AvgResp) => "Avg Resp",
            Column::Figure(Figure::DiskBusy) => "Disk Busy %",
            Column::Figure(Figure::Cpu) => "CPU%",
        }
    }

    /// Its name in files.
    pub const fn key(self) -> &'static str {
        match self {
            Column::Number => "test",
            Column::Word(Word::Storage) => "storage",
            Column::Word(Word::Spindle) => "spindle_type",
            Column::Word(Word::Raid) => "raid_level",
            Column::Word(Word::Virtualized) => "virtualized",
            Column::Word(Word::Cache) => "cache_gb",
            Column::Figure(Figure::Iops) => "iops",
            Column::Figure(Figure::Mbps) => "mbps",
            Column::Figure(Figure::MaxTpm) => "max_tpm",
            Column::Figure(Figure::MaxTps) => "max_tps",
            Column::Figure(Figure::AvgTps) => "avg_tps",
            Column::Figure(Figure::AvgResp) => "avg_resp",
            Column::Figure(Figure::DiskBusy) => "disk_busy_pct",
            Column::Figure(Figure::Cpu) => "cpu_pct",
        }
    }

    /// What it says, what it does not, and where it comes from.
    pub const fn about(self) -> &'static str {
        match self {
            Column::Number => "rows with the same storage differ in the host: its processors, the database's memory",
            Column::Word(Word::Storage) => {
                "seen: vendor and model of the device under a path; an array's name must be said"
            }
            Column::Word(Word::Spindle) => {
                "seen: rotating or not, by what the device reports; virtual disks and LUNs of arrays may lie"
            }
            Column::Word(Word::Raid) => "seen: the level of Linux md; what an array does inside must be said",
            Column::Word(Word::Virtualized) => {
                "an array behind another one must be said; seen: that this host is a guest"
            }
            Column::Word(Word::Cache) => {
                "the array's, which must be said; a test set that fits in it measures it alone"
            }
            Column::Figure(Figure::Iops) => {
                "the most of all points with requests of up to 32 KiB, whatever response time they had"
            }
            Column::Figure(Figure::Mbps) => {
                "the most of all points with requests from 128 KiB on; MB is 2^20 bytes, as there"
            }
            Column::Figure(Figure::MaxTpm) => "the most transactions in 60 s; a test of less than that tells too few",
            Column::Figure(Figure::MaxTps) => "the most transactions in one second",
            Column::Figure(Figure::AvgTps) => "completed transactions over the measured time, failed ones left out",
            Column::Figure(Figure::AvgResp) => "mean milliseconds of a transaction, thinking left out",
            Column::Figure(Figure::DiskBusy) => {
                "time in which the busiest device had requests; 100 says that one more never waits alone, not that it is full"
            }
            Column::Figure(Figure::Cpu) => "of all processors, waiting for storage left out",
        }
    }
}
