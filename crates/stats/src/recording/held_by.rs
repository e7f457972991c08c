//! Keys and words for what held a workload back. The keys are part of the formats of the database
//! and of CSV, and never change.

use super::HeldBy;

impl HeldBy {
    /// All causes. The database stores their positions, so new causes are appended.
    pub const ALL: [HeldBy; 14] = [
        HeldBy::Nothing,
        HeldBy::CeilingIops,
        HeldBy::CeilingThroughput,
        HeldBy::SharedIops,
        HeldBy::SharedThroughput,
        HeldBy::Floors,
        HeldBy::Disk,
        HeldBy::Cpu,
        HeldBy::Depth,
        HeldBy::Pace,
        HeldBy::Stalled,
        HeldBy::Link,
        HeldBy::Flow,
        HeldBy::Burst,
    ];

    /// Its key in files.
    pub fn key(self) -> &'static str {
        match self {
            HeldBy::Nothing => "nothing",
            HeldBy::CeilingIops => "ceiling_iops",
            HeldBy::CeilingThroughput => "ceiling_throughput",
            HeldBy::SharedIops => "shared_iops",
            HeldBy::SharedThroughput => "shared_throughput",
            HeldBy::Floors => "floors",
            HeldBy::Disk => "disk",
            HeldBy::Cpu => "cpu",
            HeldBy::Depth => "depth",
            HeldBy::Pace => "pace",
            HeldBy::Stalled => "stalled",
            HeldBy::Link => "link",
            HeldBy::Flow => "flow",
            HeldBy::Burst => "burst",
        }
    }

    /// The cause with this key.
    pub fn from_key(wanted: &str) -> Option<HeldBy> {
        HeldBy::ALL.into_iter().find(|held_by| held_by.key() == wanted)
    }
}

impl std::fmt::Display for HeldBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            HeldBy::Nothing => "nothing",
            HeldBy::CeilingIops => "ceiling (IOPS)",
            HeldBy::CeilingThroughput => "ceiling (MB/s)",
            HeldBy::SharedIops => "shared (IOPS)",
            HeldBy::SharedThroughput => "shared (MB/s)",
            HeldBy::Floors => "others' floors",
            HeldBy::Disk => "the disk",
            HeldBy::Cpu => "the CPU",
            HeldBy::Depth => "its depth",
            HeldBy::Pace => "its own pace",
            HeldBy::Stalled => "server stalled",
            HeldBy::Link => "the network",
            HeldBy::Flow => "its connection",
            HeldBy::Burst => "network burst",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for held_by in HeldBy::ALL {
            assert_eq!(HeldBy::from_key(held_by.key()), Some(held_by));
        }
        assert_eq!(HeldBy::from_key("the moon"), None);
    }
}
