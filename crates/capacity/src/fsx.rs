//! The limits of a file system of Amazon FSx for NetApp ONTAP according to its documentation: those
//! of its throughput capacity and those of its disks, of which the lower applies.
//!
//! ```text
//!   network, memory, NVMe    by throughput capacity alone
//!   disk throughput          the lower of the row's and 768 MB/s for each TiB of SSD
//!   disk IOPS                the lower of the row's and what is provisioned, 3 for each GiB unless more is paid for
//! ```
//! Network, disk throughput and disk IOPS have burst credits, each as a [`CreditLimit`], the type
//! that also limits simulated volumes and the server's own link. MB/s are 10^6 bytes a second.

mod array_file;
mod beside;

pub use array_file::FLOWS;
pub use beside::{PhaseDone, Used, compare, phases, seconds};

use block::Bytes;
use qos::CreditLimit;

/// Deployment of the file servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// In one availability zone.
    SingleAz,
    /// In two availability zones.
    MultiAz,
}

/// A file system to look up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileSystem {
    /// 1 or 2.
    pub generation: u8,
    /// Throughput capacity of one pair of file servers in MB/s.
    pub throughput: u64,
    /// SSD storage.
    pub ssd: Bytes,
    /// Provisioned IOPS; `None` for the automatic 3 for each GiB.
    pub iops: Option<u64>,
    /// Its deployment.
    pub deployment: Deployment,
    /// Number of pairs of file servers.
    pub pairs: u64,
}

/// A row of the documentation's tables; throughput in bytes a second.
struct Row {
    throughput: u64,
    network: CreditLimit,
    memory_gb: u64,
    /// 0 for none.
    nvme_gb: u64,
    disk: CreditLimit,
    iops: CreditLimit,
    source: &'static str,
}

/// How long a full credit lasts at the peak, in seconds. 27.2 minutes were measured once, on a
/// second-generation file server of 1536 MB/s; for the others this is assumed.
const BURST_S: u64 = 1630;
const MB: u64 = 1_000_000;

/// A baseline and a burst rate, both in `unit`; a burst rate of 0 means no bursts.
const fn limit((base, burst): (u64, u64), unit: u64) -> CreditLimit {
    let peak = if burst > base { burst } else { base };
    CreditLimit { base: base * unit, peak: peak * unit, credit: (peak - base) * unit * BURST_S }
}

/// The sum of the limits of `pairs` pairs of file servers.
const fn times(limit: CreditLimit, pairs: u64) -> CreditLimit {
    CreditLimit { base: limit.base * pairs, peak: limit.peak * pairs, credit: limit.credit * pairs }
}

const FIRST: &str = "published: AWS FSx for ONTAP guide, performance, state of October 2022";
const LATER: &str = "recalled: the row came later; its disk figures are published limits";
const SECOND: &str = "published: the same guide's table of second-generation file systems, as quoted in 2026";

/// The first generation in most regions. The four main regions have higher limits for small
/// capacities, which none of our sources has.
const GENERATION_1: [Row; 6] = [
    row(128, (150, 1250), 16, 150, (128, 600), (6000, 18_750), FIRST),
    row(256, (300, 1250), 32, 300, (256, 600), (12_000, 18_750), FIRST),
    row(512, (625, 1250), 32, 600, (512, 600), (18_750, 0), FIRST),
    row(1024, (1500, 0), 64, 1200, (1024, 0), (40_000, 0), FIRST),
    row(2048, (3125, 0), 128, 2400, (2048, 0), (80_000, 0), FIRST),
    row(4096, (6250, 0), 256, 4800, (4096, 0), (160_000, 0), LATER),
];

const GENERATION_2: [Row; 5] = [
    row(384, (781, 6250), 16, 0, (384, 3125), (12_500, 65_000), SECOND),
    row(768, (1563, 6250), 32, 0, (768, 3125), (25_000, 65_000), SECOND),
    row(1536, (3125, 6250), 64, 0, (1536, 3125), (50_000, 65_000), SECOND),
    row(3072, (6250, 0), 128, 0, (3072, 0), (100_000, 0), SECOND),
    row(6144, (12_500, 0), 256, 1900, (6144, 0), (200_000, 0), SECOND),
];

const fn row(
    throughput: u64,
    network: (u64, u64),
    memory_gb: u64,
    nvme_gb: u64,
    disk: (u64, u64),
    iops: (u64, u64),
    source: &'static str,
) -> Row {
    let (network, disk, iops) = (limit(network, MB), limit(disk, MB), limit(iops, 1));
    Row { throughput, network, memory_gb, nvme_gb, disk, iops, source }
}

/// The limits of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The sustained limit.
    pub base: f64,
    /// The limit while credit lasts, if it is higher.
    pub burst: Option<f64>,
    /// The source of the figures, and which of two limits applies.
    pub source: String,
}

/// The limits of a file system, each with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governed {
    /// Bytes a second to and from clients.
    pub network: (CreditLimit, String),
    /// Bytes a second to and from disks.
    pub disk: (CreditLimit, String),
    /// Operations a second of disks.
    pub iops: (CreditLimit, String),
}

/// Maximum SSD of a pair in TiB, by generation.
const SSD_MAX_TIB: [u64; 2] = [192, 512];
/// Maximum SSD of all pairs in TiB.
const SSD_ALL_TIB: u64 = 1024;
/// Maximum IOPS of a pair, by generation.
const IOPS_MAX: [u64; 2] = [160_000, 200_000];

impl FileSystem {
    /// One file system of each throughput capacity, with its name in the catalogue of arrays: with
    /// the least SSD, in two zones, and automatic IOPS.
    pub fn smallest() -> impl Iterator<Item = (String, FileSystem)> {
        let one = |generation: u8, row: &Row| {
            // The largest of the first generation has higher minimums of both.
            let (gib, iops) = match (generation, row.throughput) {
                (1, 4096) => (5120, Some(160_000)),
                _ => (1024, None),
            };
            let name = if generation == 1 { "fsx" } else { "fsx2" };
            let (throughput, ssd, deployment) = (row.throughput, Bytes::gib(gib), Deployment::MultiAz);
            let of = FileSystem { generation, throughput, ssd, iops, deployment, pairs: 1 };
            (format!("{name}-{throughput}"), of)
        };
        let first = GENERATION_1.iter().map(move |row| one(1, row));
        first.chain(GENERATION_2.iter().map(move |row| one(2, row)))
    }

    /// The limits of each resource.
    ///
    /// # Errors
    /// There is no such file system: the option, the rule and the value given.
    pub fn resources(&self) -> Result<Vec<Resource>, String> {
        let limits = self.limits()?;
        let (row, pairs) = (self.row()?, self.pairs as f64);
        let one = |name, unit, base, burst, source: &str| Resource { name, unit, base, burst, source: source.into() };
        let governed = |name, unit, per: u64, (limit, source): &(CreditLimit, String)| {
            let burst = (limit.peak > limit.base).then(|| limit.peak as f64 / per as f64);
            one(name, unit, limit.base as f64 / per as f64, burst, source)
        };
        let mut found = vec![
            one("throughput capacity", "MB/s", self.throughput as f64 * pairs, None, "asked for"),
            governed("network", "MB/s", MB, &limits.network),
            one("memory cache", "GB", row.memory_gb as f64 * pairs, None, memory_source(self, row)),
            one("NVMe cache", "GB", self.nvme_gb(row) as f64 * pairs, None, nvme_source(self, row)),
            governed("disk throughput", "MB/s", MB, &limits.disk),
            governed("disk IOPS", "IOPS", 1, &limits.iops),
            one("one flow of a client", "MB/s", 625.0, None, "published: 5 Gb/s outside a cluster placement group"),
            one("flows of a mount", "nconnect", 16.0, None, "published: NFS with nconnect, kernel 5.3 and later"),
        ];
        found.extend(self.writes().map(|(most, source)| one("writes, peak in all", "MB/s", most, None, &source)));
        Ok(found)
    }

    /// Maximum write throughput in MB/s and its source, if documented.
    fn writes(&self) -> Option<(f64, String)> {
        const OF_ALL: &str = "published for the generation, and not by throughput capacity";
        const OF_LATER: &str = "published later, for the main regions";
        let (pair, source) = match (self.generation, self.throughput, self.deployment) {
            (1, 4096, Deployment::MultiAz) => (1800.0, OF_LATER),
            (1, 4096, Deployment::SingleAz) => (1000.0, OF_LATER),
            (1, _, Deployment::MultiAz) => (1000.0, OF_ALL),
            (1, _, Deployment::SingleAz) => (750.0, OF_ALL),
            (2, 6144, Deployment::MultiAz) => (2048.0, "published"),
            (2, 6144, Deployment::SingleAz) => (1024.0, "published; 2097 were measured once"),
            _ => return None,
        };
        let each = if self.pairs > 1 { "; that each pair has as much is assumed" } else { "" };
        Some((pair * self.pairs as f64, format!("{source}{each}")))
    }

    /// NVMe of a pair; Single-AZ of the first generation has it from 2048 MB/s on.
    fn nvme_gb(&self, row: &Row) -> u64 {
        let without = self.generation == 1 && self.deployment == Deployment::SingleAz && self.throughput < 2048;
        if without { 0 } else { row.nvme_gb }
    }

    /// The limits with burst credits: network and disks in bytes a second, and disk operations,
    /// each with its source; of two limits the lower.
    ///
    /// # Errors
    /// Those of [`FileSystem::resources`].
    pub fn limits(&self) -> Result<Governed, String> {
        let row = self.row()?;
        self.check()?;
        // 768 MB/s for each TiB.
        let by_ssd = (self.ssd.0 >> 30) * 750_000;
        let provisioned = match self.iops {
            Some(_) => "IOPS: provisioned",
            None => "IOPS: 3 for each GiB of SSD",
        };
        let given = self.iops.unwrap_or_else(|| self.automatic());
        let (disk, iops) = (times(row.disk, self.pairs), times(row.iops, self.pairs));
        Ok(Governed {
            network: (times(row.network, self.pairs), row.source.into()),
            disk: lower(disk, (by_ssd, MB), "MB/s: 768 for each TiB of SSD", row.source),
            iops: lower(iops, (given, 1), provisioned, row.source),
        })
    }

    /// What is known about how long a full burst credit lasts, which is not published.
    pub const CREDIT: &'static str = "Credit for bursts is saved while less than the baseline is used, apart for network and \
disks. How much can be saved is not published: bursts of 27.2 minutes were measured once, on a second-generation file server of \
1536 MB/s, and about 30 minutes of idleness filled it again.";

    fn automatic(&self) -> u64 {
        3 * (self.ssd.0 >> 30)
    }

    fn row(&self) -> Result<&'static Row, String> {
        let rows: &'static [Row] = match self.generation {
            1 => &GENERATION_1,
            2 => &GENERATION_2,
            other => return Err(format!("--generation: must be 1 or 2, got {other}")),
        };
        rows.iter().find(|row| row.throughput == self.throughput).ok_or_else(|| {
            let known: Vec<String> = rows.iter().map(|row| row.throughput.to_string()).collect();
            let got = self.throughput;
            format!("--throughput: generation {} has {} MB/s, got {got}", self.generation, known.join(", "))
        })
    }

    fn check(&self) -> Result<(), String> {
        let index = usize::from(self.generation - 1);
        let multi = self.deployment == Deployment::MultiAz || self.generation == 1;
        if self.pairs == 0 || self.pairs > if multi { 1 } else { 12 } {
            let most = if multi { "1 (Multi-AZ and the first generation have one)" } else { "from 1 to 12" };
            return Err(format!("--pairs: must be {most}, got {}", self.pairs));
        }
        if self.pairs > 1 && self.throughput < 1536 {
            return Err(format!(
                "--throughput: with several pairs 1536, 3072 or 6144 MB/s each, got {}",
                self.throughput
            ));
        }
        let (least, most) = (1024 * self.pairs, 1024 * SSD_ALL_TIB.min(SSD_MAX_TIB[index] * self.pairs));
        let gib = self.ssd.0 >> 30;
        if !(least..=most).contains(&gib) {
            return Err(format!("--ssd: must be from {least} to {most} GiB, got {}", self.ssd));
        }
        let (automatic, most) = (self.automatic(), IOPS_MAX[index] * self.pairs);
        if let Some(iops) = self.iops.filter(|iops| *iops < automatic || *iops > most.max(automatic)) {
            return Err(format!(
                "--iops: must be from {automatic} (3 for each GiB) to {}, got {iops}",
                most.max(automatic)
            ));
        }
        if self.throughput == 4096 && (gib < 5120 || self.iops.unwrap_or(automatic) < 160_000) {
            return Err(format!(
                "--throughput 4096: needs --ssd 5120GiB and --iops 160000 at least, got {gib} GiB and {} \
                                IOPS",
                self.iops.unwrap_or(automatic)
            ));
        }
        Ok(())
    }
}

/// The lower of the limits of the row and of the disks; `unit` is the unit for people.
fn lower(row: CreditLimit, (disks, unit): (u64, u64), what: &str, source: &str) -> (CreditLimit, String) {
    let said = |figure: u64| format!("{:.0}", figure as f64 / unit as f64);
    if disks <= row.base {
        let source = format!("derived: the disks rule, {} {what}, below the row's {}", said(disks), said(row.base));
        return (CreditLimit { base: disks, peak: disks, credit: 0 }, source);
    }
    if disks < row.peak {
        let credit = (disks - row.base) * BURST_S;
        let source = format!("{source}; bursts are bounded by the disks, {} {what}", said(disks));
        return (CreditLimit { peak: disks, credit, ..row }, source);
    }
    (row, source.into())
}

fn memory_source(of: &FileSystem, row: &'static Row) -> &'static str {
    match (of.generation, of.throughput) {
        (1, 512) => "published as 32; 64 would fit the other rows",
        (1, 4096) => "recalled: 256 to 512",
        _ => row.source,
    }
}

fn nvme_source(of: &FileSystem, row: &'static Row) -> &'static str {
    match (of.generation, of.deployment, of.throughput) {
        (1, _, 4096) => "recalled",
        _ if of.nvme_gb(row) < row.nvme_gb => "published: Single-AZ of this size has none, Multi-AZ has it",
        (1, Deployment::SingleAz, _) => "published: Single-AZ made after 28 November 2022 has it from 2048 MB/s on",
        _ => row.source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn workshop() -> FileSystem {
        FileSystem {
            generation: 1,
            throughput: 128,
            ssd: Bytes::gib(1024),
            iops: Some(3072),
            deployment: Deployment::MultiAz,
            pairs: 1,
        }
    }

    fn figure(of: &FileSystem, name: &str) -> (f64, Option<f64>) {
        let all = of.resources().expect("there is such a one");
        all.iter().find(|resource| resource.name == name).map(|found| (found.base, found.burst)).expect("it is there")
    }

    /// The workshop's file system: the row of 128 MB/s, whose disks allow 768 MB/s and 3072 IOPS,
    /// so that the disks limit the IOPS.
    #[test]
    fn of_two_limits_the_lower_rules() {
        let of = workshop();
        assert_eq!(figure(&of, "network"), (150.0, Some(1250.0)));
        assert_eq!(figure(&of, "disk throughput"), (128.0, Some(600.0)));
        assert_eq!(figure(&of, "disk IOPS"), (3072.0, None));
        // 10 000 provisioned IOPS are above the baseline of 6000 and below the burst.
        assert_eq!(figure(&FileSystem { iops: Some(10_000), ..of }, "disk IOPS"), (6000.0, Some(10_000.0)));
        assert_eq!(figure(&FileSystem { iops: Some(40_000), ..of }, "disk IOPS"), (6000.0, Some(18_750.0)));
    }

    /// In one zone the first generation has no NVMe cache below 2048 MB/s, and writes less.
    #[test]
    fn a_zone_less_is_a_cache_less() {
        let single = FileSystem { deployment: Deployment::SingleAz, ..workshop() };
        let large = FileSystem { throughput: 2048, ..single };
        let figures =
            [workshop(), single, large].map(|of| [figure(&of, "NVMe cache").0, figure(&of, "writes, peak in all").0]);
        assert_eq!(figures, [[150.0, 1000.0], [0.0, 750.0], [2400.0, 750.0]]);
        assert!(workshop().array_file(16).expect("an array").contains("\nsecond = 150"));
        let file = single.array_file(4).expect("an array");
        assert!(!file.contains("\nsecond = ") && file.contains("\nbandwidth = 750000000\n"), "{file}");
        assert!(file.contains("\nflows = 4\n"), "{file}");
    }

    #[test]
    fn what_there_is_not_is_refused_by_option() {
        for (of, words) in [
            (FileSystem { throughput: 100, ..workshop() }, "--throughput: generation 1 has 128"),
            (FileSystem { generation: 3, ..workshop() }, "--generation: must be 1 or 2, got 3"),
            (FileSystem { iops: Some(3000), ..workshop() }, "--iops: must be from 3072"),
            (FileSystem { ssd: Bytes::gib(10), ..workshop() }, "--ssd: must be from 1024"),
            (FileSystem { pairs: 2, ..workshop() }, "--pairs: must be 1"),
            (
                FileSystem { ssd: Bytes::gib(192 << 10), iops: Some(1), ..workshop() },
                "--iops: must be from 589824 (3 for each GiB) to 589824",
            ),
            (
                FileSystem {
                    generation: 2,
                    throughput: 6144,
                    deployment: Deployment::SingleAz,
                    pairs: 12,
                    iops: None,
                    ssd: Bytes::gib(1100 << 10),
                },
                "--ssd: must be from 12288 to 1048576 GiB",
            ),
            (FileSystem { throughput: 4096, ..workshop() }, "--throughput 4096: needs --ssd 5120GiB"),
        ] {
            let said = of.resources().expect_err(words);
            assert!(said.starts_with(words), "{said}");
        }
    }
}
