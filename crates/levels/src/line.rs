//! What a volume, or an object in it with a policy of its own, was promised and got under a policy,
//! computed from the hours of its objects.

use std::collections::{BTreeMap, BTreeSet};

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
    /// All of it, as administrators write it: `svm01:/vol/db/lun1`.
    pub path: String,
    /// Its SVM.
    pub svm: String,
    /// The volume that contains it, or that it is.
    pub volume: String,
    /// Whether it is the volume itself.
    pub is_volume: bool,
    /// The policy group that it is in, itself or with what holds it in its volume; empty without.
    pub policy: String,
    /// Seconds that the record covers.
    pub seconds: u64,
    /// What it did and was promised.
    pub sums: Sums,
}

/// A volume, or an object in one with a policy of its own, under a policy over a period, as sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its SVM.
    pub svm: String,
    /// The volume.
    pub volume: String,
    /// The LUN, file or qtree in it, as a path below the volume; empty for the volume itself.
    pub object: String,
    /// The policy group; empty if none.
    pub policy: String,
    /// Hours in which it existed.
    pub hours: u64,
    /// Seconds that it covers.
    pub seconds: u64,
    /// What it did and was promised.
    pub sums: Sums,
    /// The part of its space that another line has too, as that of the volume or qtree that
    /// contains it.
    pub(crate) contained: Contained,
    /// The highest hourly mean of operations per second.
    pub busiest_iops: f64,
    /// The mean latency of each hour with completed requests, in microseconds.
    pub latencies_us: Vec<u64>,
}

/// Space over time, allocated and used, in MiB times seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contained {
    allocated_mib_s: u64,
    used_mib_s: u64,
}

impl Sums {
    /// Adds a line to others, whose space may have its own in it.
    pub(crate) fn add_line(&mut self, line: &Line) {
        let Contained { allocated_mib_s, used_mib_s } = line.contained;
        let mut own = line.sums;
        own.allocated_mib_s = own.allocated_mib_s.saturating_sub(allocated_mib_s);
        own.used_mib_s = own.used_mib_s.saturating_sub(used_mib_s);
        self.add(&own);
    }

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
    /// The volume's name, or with it that of the object in it: `db/lun1`.
    pub fn name(&self) -> String {
        if self.object.is_empty() { self.volume.clone() } else { format!("{}/{}", self.volume, self.object) }
    }

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

    /// Adds an hour of the same object and policy.
    fn add_hour(&mut self, hour: &Line) {
        self.sums.add(&hour.sums);
        self.contained.allocated_mib_s += hour.contained.allocated_mib_s;
        self.contained.used_mib_s += hour.contained.used_mib_s;
        self.hours += 1;
        self.seconds += hour.seconds;
        self.busiest_iops = self.busiest_iops.max(hour.used_iops());
        self.latencies_us.extend(hour.sums.latency_us.checked_div(hour.sums.completed));
    }
}

/// The volumes by SVM and name, and what is in them with a policy of its own, under each policy
/// that they had. The promise of a volume and of what is in it under the same policy are one, of
/// which the larger counts.
pub fn lines(hours: impl IntoIterator<Item = Hour>) -> Vec<Line> {
    let mut by_hour: BTreeMap<(String, String, u64), Vec<Hour>> = BTreeMap::new();
    for hour in hours.into_iter().filter(|hour| !hour.volume.is_empty()) {
        by_hour.entry((hour.svm.clone(), hour.volume.clone(), hour.hour)).or_default().push(hour);
    }
    let mut lines: BTreeMap<[String; 4], Line> = BTreeMap::new();
    for ((svm, volume, _), rows) in by_hour {
        let paths: BTreeSet<&str> = rows.iter().map(|row| row.path.as_str()).collect();
        for ((object, policy), rows) in by_owner(&rows) {
            let whose = [&svm, &volume, object, policy].map(str::to_owned);
            let line = lines.entry(whose).or_insert_with_key(|[svm, volume, object, policy]| Line {
                svm: svm.clone(),
                volume: volume.clone(),
                object: object.clone(),
                policy: policy.clone(),
                ..Line::default()
            });
            // The outermost object is the one that the line is of.
            let outermost = rows.iter().min_by_key(|row| row.path.len());
            let mut around = outermost.into_iter().flat_map(|row| containers(row));
            let is_contained = !object.is_empty() && around.any(|path| paths.contains(path));
            line.add_hour(&of_one_hour(&rows, is_contained));
        }
    }
    lines.into_values().collect()
}

/// Seconds in which a server ran: of each hour those of the volume that was there longest, whatever
/// policies it had.
pub fn covered_seconds(hours: &[Hour]) -> u64 {
    let mut by_hour: BTreeMap<u64, BTreeMap<(&str, &str), Vec<&Hour>>> = BTreeMap::new();
    for hour in hours.iter().filter(|hour| !hour.volume.is_empty()) {
        by_hour.entry(hour.hour).or_default().entry((&hour.svm, &hour.volume)).or_default().push(hour);
    }
    by_hour.values().filter_map(|volumes| volumes.values().map(|rows| seconds(rows)).max()).sum()
}

/// The rows of a volume in an hour by the object and the policy that they count for. One that names
/// no policy counts for what its volume was under, of several policies for the one that the volume
/// had longest. One under a policy that its volume had counts for the volume; of any other the
/// outermost object under that policy is the one that has it.
fn by_owner(rows: &[Hour]) -> BTreeMap<(&str, &str), Vec<&Hour>> {
    let volumes = || rows.iter().filter(|row| row.is_volume);
    let longest = volumes().max_by_key(|volume| volume.seconds).map_or("", |volume| &volume.policy);
    let of_none = if volumes().any(|volume| volume.policy.is_empty()) { "" } else { longest };
    let mut found: BTreeMap<(&str, &str), Vec<&Hour>> = BTreeMap::new();
    for row in rows {
        let policy = if row.policy.is_empty() { of_none } else { &row.policy };
        let is_of_volume = row.is_volume || row.policy.is_empty() || volumes().any(|volume| volume.policy == policy);
        let object = if is_of_volume { "" } else { below_volume(row, owner(row, rows)) };
        found.entry((object, policy)).or_default().push(row);
    }
    found
}

/// The path of the outermost object that contains a row's, or is it, under the same policy.
fn owner<'a>(row: &'a Hour, rows: &'a [Hour]) -> &'a str {
    let has_policy = |path: &str| rows.iter().any(|other| other.policy == row.policy && other.path == path);
    containers(row).find(|path| has_policy(path)).unwrap_or(&row.path)
}

/// The paths of what may contain a row's object, the outermost first.
fn containers(row: &Hour) -> impl Iterator<Item = &str> {
    row.path.match_indices('/').map(|(at, _)| &row.path[..at])
}

/// The part of a path below the row's volume; all of another one.
fn below_volume<'a>(row: &Hour, path: &'a str) -> &'a str {
    path.strip_prefix(&format!("{}:/vol/{}/", row.svm, row.volume)).unwrap_or(path)
}

/// What the objects of one line did in an hour. Their space `is_contained` if that of what contains
/// them is in another line.
fn of_one_hour(rows: &[&Hour], is_contained: bool) -> Line {
    let has_volume = rows.iter().any(|row| row.is_volume);
    let paths: BTreeSet<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    let (mut sums, mut floor_within) = (Sums::default(), 0);
    for row in rows {
        let mut own = row.sums;
        // Space is that of who carries the policy: what is in it is a part of it.
        if !row.is_volume && (has_volume || containers(row).any(|path| paths.contains(path))) {
            (own.allocated_mib_s, own.used_mib_s) = (0, 0);
        }
        if !row.is_volume {
            floor_within += std::mem::take(&mut own.floor_ops);
        }
        sums.add(&own);
    }
    sums.floor_ops = sums.floor_ops.max(floor_within);
    let Sums { allocated_mib_s, used_mib_s, .. } = sums;
    let contained = if is_contained { Contained { allocated_mib_s, used_mib_s } } else { Contained::default() };
    Line { seconds: seconds(rows), sums, contained, ..Line::default() }
}

/// Seconds that rows of a volume and of what is in it are of: those of the volume, which has one
/// policy after the other, or without it of the object that was there longest.
fn seconds(rows: &[&Hour]) -> u64 {
    if rows.iter().any(|row| row.is_volume) {
        return rows.iter().filter(|row| row.is_volume).map(|row| row.seconds).sum();
    }
    let mut by_object: BTreeMap<(u64, &str), u64> = BTreeMap::new();
    for row in rows {
        // A number is the same under another name; without a number the name has to do.
        let name = if row.object == 0 { row.path.as_str() } else { "" };
        *by_object.entry((row.object, name)).or_default() += row.seconds;
    }
    by_object.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(number: u64, policy: &str, is_volume: bool) -> Hour {
        let (svm, volume, policy) = ("s".into(), "v".into(), policy.into());
        let path = if is_volume { "s:/vol/v" } else { "s:/vol/v/l" };
        Hour { hour: number, svm, volume, path: path.into(), policy, is_volume, seconds: 3600, ..Hour::default() }
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
            found.iter().map(|line| (line.name(), line.policy.as_str(), line.hours, line.sums.floor_ops)).collect();
        let [volume, own] = ["v", "v/l"].map(str::to_owned);
        assert_eq!(told, [(volume.clone(), "", 1, 0), (volume, "gold", 2, 0), (own, "bronze", 1, 3600)]);
        assert_eq!((found[2].sums.allocated_mib_s, found[2].sums.ops), (5, 36));
        // A volume's floor of two hours' worth covers that of the LUN in it.
        let both = [Hour { sums: Sums { floor_ops: 7200, ..Sums::default() }, ..hour(1, "bronze", true) }, lun];
        let both = lines(both)[0].sums;
        assert_eq!((both.floor_ops, both.allocated_mib_s), (7200, 0), "the LUN's space is the volume's");
    }

    /// A volume that comes under gold after 1 600 s without a policy, with a LUN that did 10 IOPS
    /// before and 100 after: each line has its own time, what was done in it, and the size.
    #[test]
    fn an_hour_in_which_the_policy_changed_is_parted() {
        let row = |policy: &str, is_volume, seconds: u64, iops: u64| Hour {
            path: if is_volume { "s:/vol/v".into() } else { "s:/vol/v/l".into() },
            object: if is_volume { 1 } else { 2 },
            seconds,
            sums: Sums {
                allocated_mib_s: 1000 * seconds,
                floor_ops: if is_volume && policy == "gold" { 2000 * seconds } else { 0 },
                ops: iops * seconds,
                ..Sums::default()
            },
            ..hour(5, policy, is_volume)
        };
        let told = |rows: &[Hour]| {
            let found = lines(rows.to_vec());
            let told = |line: &Line| {
                (
                    line.policy.clone(),
                    line.seconds,
                    line.used_iops(),
                    line.promised_iops(),
                    line.mean(line.sums.allocated_mib_s),
                )
            };
            (found.iter().map(told).collect::<Vec<_>>(), covered_seconds(rows))
        };
        let volume = [row("", true, 1600, 0), row("gold", true, 2000, 0)];
        let [before, after] = [row("", false, 1600, 10), row("gold", false, 2000, 100)];
        let rows = [&volume[..], &[before, after]].concat();
        let expected = vec![("".to_owned(), 1600, 10.0, 0.0, 1000.0), ("gold".to_owned(), 2000, 100.0, 2000.0, 1000.0)];
        assert_eq!(told(&rows), (expected, 3600));
        // A LUN that is called otherwise from 600 s on has a line under each name, and was there
        // all the time; one that was there for less does not shorten it. What names no policy is of
        // the longer of the volume's.
        let bronze =
            |object, path: &str, seconds| Hour { object, path: path.into(), ..row("bronze", false, seconds, 0) };
        let luns = [bronze(3, "s:/vol/v/a", 600), bronze(3, "s:/vol/v/b", 3000), bronze(4, "s:/vol/v/c", 60)];
        let (each, covered) = told(&luns);
        assert_eq!((each.iter().map(|line| line.1).collect::<Vec<_>>(), covered), (vec![600, 3000, 60], 3600));
        let unnamed = [row("iron", true, 1600, 0), row("gold", true, 2000, 0), row("", false, 3600, 50)];
        let found = lines(unnamed);
        assert_eq!(
            (found[0].seconds, found[0].used_iops(), found[0].allocated_tb()),
            (2000, 90.0, 1000.0 * MIB / 1e12)
        );
        assert_eq!((found[1].policy.as_str(), found[1].seconds, found[1].sums.ops), ("iron", 1600, 0));
    }

    /// A LUN in a qtree that has a policy is of the qtree's line, and its space is not counted
    /// beside the qtree's. Another one has a line of its own, as has each of two LUNs.
    #[test]
    fn what_is_in_a_qtree_counts_for_its_policy() {
        let row = |path: &str, mib| Hour {
            path: path.into(),
            sums: Sums { allocated_mib_s: mib, ops: 36, ..Sums::default() },
            ..hour(1, "bronze", false)
        };
        let found = lines([row("s:/vol/v/q/l", 5), row("s:/vol/v/q", 7), row("s:/vol/v/q1/l", 11)]);
        let told = |line: &Line| (line.name(), line.sums.allocated_mib_s, line.sums.ops);
        let told: Vec<_> = found.iter().map(told).collect();
        assert_eq!(told, [("v/q".to_owned(), 7, 2 * 36), ("v/q1/l".to_owned(), 11, 36)]);
    }
}
