//! A file system as an array for simulations, with stages from its documentation.
//!
//! ```text
//!   ──► link: flows of 5 Gb/s ──► credits: network ──► cache: memory, NVMe ──► log ──► credits: disks ──► media
//! ```
//! So data in a cache uses only the network, and disks are used on misses. Small writes are
//! acknowledged by the log and go to the disks together, as in WAFL: they use the disks' bandwidth
//! and hardly any of their operations. The processor time of an operation on a file server is not
//! published and not modelled, so rates of small operations that hit a cache are too high.

use super::{FileSystem, memory_source, nvme_source};
use qos::CreditLimit;

/// Maximum number of pages in a cache, so that simulating the largest takes some tens of MB.
const PAGES: u64 = 1 << 20;

/// Maximum number of flows of a mount (`nconnect`).
pub const FLOWS: u32 = 16;

/// A stage of the file: its kind, its description, and its figures with their sources.
struct Stage<'s> {
    kind: &'s str,
    about: &'s str,
    figures: Vec<(&'s str, String, String)>,
}

impl FileSystem {
    /// The content of the file, in the format of the catalogue, for clients with this many flows in
    /// all; one mount has at most [`FLOWS`].
    ///
    /// # Errors
    /// Those of [`FileSystem::resources`].
    pub fn array_file(&self, flows: u32) -> Result<String, String> {
        let limits = self.limits()?;
        let row = self.row()?;
        let about = format!(
            "FSx for ONTAP, generation {}, {} MB/s, {} SSD, {} IOPS",
            self.generation,
            self.throughput * self.pairs,
            self.ssd,
            limits.iops.0.base
        );
        let gb = |gb: u64| gb * self.pairs * 1_000_000_000;
        let (network, disk, iops) = (&limits.network, &limits.disk, &limits.iops);
        let no_limit = ("iops", "1_000_000_000".into(), "assumed: no limit of operations is printed".into());
        let mut stages = vec![
            Stage { kind: "link", about: "", figures: link(network.0.peak, &network.1, flows) },
            Stage {
                kind: "credits",
                about: "network",
                figures: [vec![no_limit], limited(network, ["bytes", "bytes_peak", "bytes_credit"])].concat(),
            },
        ];
        let (memory, nvme) = (gb(row.memory_gb), gb(self.nvme_gb(row)));
        let page = (memory.max(nvme) / PAGES).max(65_536).next_power_of_two();
        let mut cache = vec![
            ("size", memory.to_string(), format!("{}; that all of it caches is assumed", memory_source(self, row))),
            ("page", page.to_string(), "assumed: large, so that a simulation has room for it".into()),
            ("latency", "\"20us\"".into(), "assumed: published as lower than that of SSD".into()),
        ];
        if nvme > 0 {
            cache.push(("second", nvme.to_string(), nvme_source(self, row).into()));
            cache.push(("second_latency", "\"100us\"".into(), "assumed: published as lower than that of SSD".into()));
        }
        stages.push(Stage { kind: "cache", about: "memory and NVMe", figures: cache });
        stages.push(Stage { kind: "write-log", about: "NVRAM", figures: self.log() });
        let operations = limited(iops, ["iops", "iops_peak", "iops_credit"]);
        let bytes = limited(disk, ["bytes", "bytes_peak", "bytes_credit"]);
        stages.push(Stage { kind: "credits", about: "disks", figures: [operations, bytes].concat() });
        stages.push(Stage { kind: "parallel-servers", about: "SSD", figures: media() });
        let head = format!("# Made by `seawall spec fsx --toml`.\n\n[device]\nkind = \"array\"\nabout = \"{about}\"\n");
        Ok(head + &stages.iter().map(Stage::text).collect::<String>())
    }

    /// The log, whose bandwidth is the maximum write throughput.
    fn log(&self) -> Vec<(&'static str, String, String)> {
        let most = self.writes().map(|(mb, source)| ("bandwidth", (mb as u64 * 1_000_000).to_string(), source));
        let others = [
            ("half", "\"512MiB\"".into(), "assumed: printed nowhere".into()),
            ("latency", "\"100us\"".into(), "assumed".into()),
            ("every", "\"10s\"".into(), "published: Hitz, Lau, Malcolm, 10 s".into()),
            ("depth", "64".into(), "assumed".into()),
            ("unit", "\"1MiB\"".into(), "assumed: so many full stripes".into()),
            ("anywhere", "true".into(), "published: WAFL writes anywhere".into()),
        ];
        most.into_iter().chain(others).collect()
    }
}

fn link(bandwidth: u64, source: &str, flows: u32) -> Vec<(&'static str, String, String)> {
    vec![
        ("bandwidth", bandwidth.to_string(), source.into()),
        ("latency", "\"150us\"".into(), "assumed".into()),
        ("flow", "625_000_000".into(), "published: 5 Gb/s a flow outside a cluster placement group".into()),
        ("flows", flows.to_string(), "assumed: of all clients; published: nconnect of up to 16 a mount".into()),
    ]
}

/// A limit under the keys for its base, peak and credit; without bursts only the base.
fn limited<'k>((limit, source): &(CreditLimit, String), keys: [&'k str; 3]) -> Vec<(&'k str, String, String)> {
    let [base, peak, credit] = keys;
    let mut figures = vec![(base, limit.base.to_string(), source.clone())];
    if limit.peak > limit.base {
        figures.push((peak, limit.peak.to_string(), source.clone()));
        let assumed = "assumed: 27.2 min of burst, as was measured once at 1536 MB/s; the size is not published";
        figures.push((credit, limit.credit.to_string(), assumed.into()));
    }
    figures
}

fn media() -> Vec<(&'static str, String, String)> {
    vec![
        ("servers", "1024".into(), "assumed: so many that the credits of the disks rule".into()),
        ("service", "\"500us\"".into(), "assumed: published as below 1 ms".into()),
    ]
}

impl Stage<'_> {
    fn text(&self) -> String {
        let mut out = format!("\n[[device.stage]]\nkind = \"{}\"\n", self.kind);
        if !self.about.is_empty() {
            out += &format!("about = \"{}\"\n", self.about);
        }
        for (key, value, _) in &self.figures {
            out += &format!("{key} = {value}\n");
        }
        let sources: Vec<String> =
            self.figures.iter().map(|(key, _, source)| format!("{key} = \"{source}\"")).collect();
        out + &format!("source = {{ {} }}\n", sources.join(", "))
    }
}
