//! What a volume was promised and got under a policy, computed from the hours of its objects.

use std::collections::BTreeMap;

/// What was done and promised, as sums that add up over objects and over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The floor, in IOPS times seconds.
    pub floor_ops: u64,
    /// The size, in MiB times seconds.
    pub allocated_mib_s: u64,
    /// The used part of it, in MiB times seconds.
    pub used_mib_s: u64,
    /// Operations.
    pub ops: u64,
    /// Bytes.
    pub bytes: u64,
    /// Completed requests, which the latencies are of.
    pub completed: u64,
    /// Their total time, in microseconds.
    pub latency_us: u64,
    /// The part of it in which ceilings held them back.
    pub held_us: u64,
    /// Operations missing to meet the floor.
    pub missed_ops: u64,
    /// Time in which the floor was missed, in milliseconds.
    pub missed_ms: u64,
}

/// What an object did and was promised in one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hour {
    /// The hour, counted from 1970.
    pub hour: u64,
    /// The object's number in its pool; 0 if unknown.
    pub object: u64,
    /// The object's path, as administrators write it.
    pub path: String,
    /// Its SVM.
    pub svm: String,
    /// The volume that contains it, or that it is.
    pub volume: String,
    /// Whether it is the volume itself.
    pub is_volume: bool,
    /// The policy group that it is in itself; empty if none.
    pub policy: String,
    /// Seconds that the record covers.
    pub seconds: u64,
    /// What it did and was promised.
    pub sums: Sums,
}

/// A volume under a policy over a period, as sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its SVM.
    pub svm: String,
    /// The volume.
    pub volume: String,
    /// The policy group; empty if none.
    pub policy: String,
    /// Hours in which it existed.
    pub hours: u64,
    /// Seconds that it covers.
    pub seconds: u64,
    /// What it did and was promised.
    pub sums: Sums,
    /// The highest hourly mean of operations per second.
    pub busiest_iops: f64,
    /// The mean latency of each hour with completed requests, in microseconds.
    pub latencies_us: Vec<u64>,
}

impl Sums {
    /// Adds other sums.
    fn add(&mut self, other: &Sums) {
        for (sum, more) in [
            (&mut self.floor_ops, other.floor_ops),
            (&mut self.allocated_mib_s, other.allocated_mib_s),
            (&mut self.used_mib_s, other.used_mib_s),
            (&mut self.ops, other.ops),
            (&mut self.bytes, other.bytes),
            (&mut self.completed, other.completed),
            (&mut self.latency_us, other.latency_us),
            (&mut self.held_us, other.held_us),
            (&mut self.missed_ops, other.missed_ops),
            (&mut self.missed_ms, other.missed_ms),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

const MIB: f64 = (1 << 20) as f64;

impl Line {
    /// The mean over time of a sum.
    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.seconds.max(1) as f64
    }

    /// The mean floor, in IOPS.
    pub fn promised_iops(&self) -> f64 {
        self.mean(self.sums.floor_ops)
    }

    /// The mean rate of operations, in IOPS.
    pub fn used_iops(&self) -> f64 {
        self.mean(self.sums.ops)
    }

    /// The mean size, in TB.
    pub fn allocated_tb(&self) -> f64 {
        self.mean(self.sums.allocated_mib_s) * MIB / crate::TB as f64
    }

    /// The mean used space, in TB.
    pub fn used_tb(&self) -> f64 {
        self.mean(self.sums.used_mib_s) * MIB / crate::TB as f64
    }

    /// The part of its requests' time in which ceilings held them back.
    pub fn held(&self) -> f64 {
        self.sums.held_us as f64 / self.sums.latency_us.max(1) as f64
    }

    /// The part of the promise that was missed.
    pub fn missed(&self) -> f64 {
        self.sums.missed_ops as f64 / self.sums.floor_ops.max(1) as f64
    }

    /// Mean latency, in milliseconds.
    pub fn latency_ms(&self) -> f64 {
        self.sums.latency_us as f64 / 1000.0 / self.sums.completed.max(1) as f64
    }

    /// Adds an hour of the same volume and policy.
    fn add_hour(&mut self, hour: &Line) {
        self.sums.add(&hour.sums);
        self.hours += 1;
        self.seconds += hour.seconds;
        self.busiest_iops = self.busiest_iops.max(hour.used_iops());
        self.latencies_us.extend(hour.sums.latency_us.checked_div(hour.sums.completed));
    }
}

/// Volumes by SVM and name, with a line for each policy that they had. Objects in a volume without
/// a policy of their own count for the volume's policy. The promises of a volume and of its
/// contents overlap, so the larger counts.
pub fn lines(hours: impl IntoIterator<Item = Hour>) -> Vec<Line> {
    let mut by_hour: BTreeMap<(String, String, u64), Vec<Hour>> = BTreeMap::new();
    for hour in hours.into_iter().filter(|hour| !hour.volume.is_empty()) {
        by_hour.entry((hour.svm.clone(), hour.volume.clone(), hour.hour)).or_default().push(hour);
    }
    let mut lines: BTreeMap<(String, String, String), Line> = BTreeMap::new();
    for ((svm, volume, _), objects) in by_hour {
        for (policy, hour) in of_one_hour(&objects) {
            let line = lines.entry((svm.clone(), volume.clone(), policy.clone())).or_insert_with(|| Line {
                svm: svm.clone(),
                volume: volume.clone(),
                policy,
                ..Line::default()
            });
            line.add_hour(&hour);
        }
    }
    lines.into_values().collect()
}

/// What the objects of one volume did in an hour, by policy.
fn of_one_hour(objects: &[Hour]) -> BTreeMap<String, Line> {
    // If the volume's policy changed within the hour, its contents count for the policy that it had
    // for longest.
    let volumes = || objects.iter().filter(|object| object.is_volume);
    let of_volume = volumes().max_by_key(|volume| volume.seconds).map_or("", |volume| volume.policy.as_str());
    let has_volume = volumes().next().is_some();
    let mut found: BTreeMap<String, Line> = BTreeMap::new();
    let mut within: BTreeMap<String, u64> = BTreeMap::new();
    for object in objects {
        let is_own = object.is_volume || !object.policy.is_empty();
        let policy = if is_own { object.policy.as_str() } else { of_volume };
        let line = found.entry(policy.to_owned()).or_default();
        line.seconds = line.seconds.max(object.seconds);
        // Space counts for the object with the policy; without a record of the volume, for its
        // contents.
        let has_space = is_own || !has_volume;
        let mut sums = object.sums;
        if !has_space {
            (sums.allocated_mib_s, sums.used_mib_s) = (0, 0);
        }
        if !object.is_volume {
            sums.floor_ops = 0;
        }
        line.sums.add(&sums);
        if !object.is_volume {
            *within.entry(policy.to_owned()).or_default() += object.sums.floor_ops;
        }
    }
    for (policy, floor) in within {
        if let Some(line) = found.get_mut(&policy) {
            line.sums.floor_ops = line.sums.floor_ops.max(floor);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(number: u64, policy: &str, is_volume: bool) -> Hour {
        let (svm, volume, policy) = ("s".into(), "v".into(), policy.into());
        Hour { hour: number, svm, volume, policy, is_volume, seconds: 3600, ..Hour::default() }
    }

    /// A volume of 1 TB in gold with a LUN that does the work: two hours with 100 and 300 IOPS have
    /// a mean of 200, and the latency of each hour is kept.
    #[test]
    fn what_is_in_a_volume_counts_for_it() {
        let volume = |number| Hour {
            sums: Sums { floor_ops: 3600 * 500, allocated_mib_s: 3600 * 1024, ..Sums::default() },
            ..hour(number, "gold", true)
        };
        let lun = |number, iops: u64, latency_ms: u64| Hour {
            sums: Sums {
                ops: 3600 * iops,
                completed: 3600 * iops,
                latency_us: 3600 * iops * latency_ms * 1000,
                held_us: 3600 * iops * 250,
                allocated_mib_s: 3600 * 512,
                missed_ops: 3600,
                ..Sums::default()
            },
            ..hour(number, "", false)
        };
        let found = lines([volume(7), lun(7, 100, 1), volume(8), lun(8, 300, 3)]);
        assert_eq!(found.len(), 1, "{found:?}");
        let line = &found[0];
        assert_eq!((line.policy.as_str(), line.hours, line.seconds), ("gold", 2, 7200));
        assert_eq!((line.promised_iops(), line.used_iops(), line.busiest_iops), (500.0, 200.0, 300.0));
        assert_eq!(line.latencies_us, [1000, 3000]);
        // 100 × 1 ms and 300 × 3 ms of 400: 2.5 ms, of which 0.25 ms are a tenth.
        assert_eq!((line.latency_ms(), line.held()), (2.5, 0.1));
        assert_eq!(line.missed(), 1.0 / 500.0);
        assert!((line.allocated_tb() - 1024.0 * 1_048_576.0 / 1e12).abs() < 1e-12, "the volume's and not the LUN's");
    }

    /// 100 000 operations in an hour are 27.8 per second, both in the mean and in the busiest hour.
    #[test]
    fn the_busiest_of_one_hour_is_that_hour() {
        let busy = Hour { sums: Sums { ops: 100_000, ..Sums::default() }, ..hour(7, "gold", true) };
        let line = &lines([busy])[0];
        assert_eq!((line.busiest_iops, line.used_iops()), (100_000.0 / 3600.0, 100_000.0 / 3600.0));
    }

    /// LUNs with policies of their own have lines of their own; a volume that changes its class has
    /// a line for each.
    #[test]
    fn each_policy_has_a_line() {
        let lun = Hour {
            sums: Sums { floor_ops: 3600, ops: 36, allocated_mib_s: 5, ..Sums::default() },
            ..hour(1, "bronze", false)
        };
        let found = lines([hour(1, "", true), lun.clone(), hour(2, "gold", true), hour(3, "gold", true)]);
        let told: Vec<_> =
            found.iter().map(|line| (line.policy.as_str(), line.hours, line.sums.floor_ops, line.sums.ops)).collect();
        assert_eq!(told, [("", 1, 0, 0), ("bronze", 1, 3600, 36), ("gold", 2, 0, 0)]);
        assert_eq!(found[1].sums.allocated_mib_s, 5);
        // A volume's floor of two hours' worth covers that of the LUN in it.
        let both = [Hour { sums: Sums { floor_ops: 7200, ..Sums::default() }, ..hour(1, "bronze", true) }, lun];
        assert_eq!(lines(both)[0].sums.floor_ops, 7200);
    }
}
