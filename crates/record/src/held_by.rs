//! The names under which the database and the CSV keep what held a workload back. They are part of both formats:
//! unlike the words people read, they never change.

use stats::HeldBy;

const ALL: [HeldBy; 9] = [
    HeldBy::Nothing,
    HeldBy::CeilingIops,
    HeldBy::CeilingThroughput,
    HeldBy::SharedIops,
    HeldBy::SharedThroughput,
    HeldBy::Floors,
    HeldBy::Disk,
    HeldBy::Cpu,
    HeldBy::Depth,
];

/// Its name.
pub(crate) fn name(held_by: HeldBy) -> &'static str {
    match held_by {
        HeldBy::Nothing => "nothing",
        HeldBy::CeilingIops => "ceiling_iops",
        HeldBy::CeilingThroughput => "ceiling_throughput",
        HeldBy::SharedIops => "shared_iops",
        HeldBy::SharedThroughput => "shared_throughput",
        HeldBy::Floors => "floors",
        HeldBy::Disk => "disk",
        HeldBy::Cpu => "cpu",
        HeldBy::Depth => "depth",
    }
}

/// What has that name.
pub(crate) fn from_name(wanted: &str) -> Option<HeldBy> {
    ALL.into_iter().find(|&held_by| name(held_by) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for held_by in ALL {
            assert_eq!(from_name(name(held_by)), Some(held_by));
        }
        assert_eq!(from_name("the moon"), None);
    }
}
