//! The table `[server]` of a plan: the SVM that owns its volumes, and how its server applies sizes
//! and policies. The keys are those of the table `[qos]` of a pool.

use super::read::owned;
use super::space::PlanUnits;
use super::table::Table;
use block::{Bytes, BytesPerSecond, Span};

/// The SVM of a simulated plan that has no server table.
const SVM: &str = "svm1";

/// How a plan's server applies policies. The defaults are those of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanSettings {
    /// How it counts a GB, in sizes and in rates per size.
    pub units: PlanUnits,
    /// The levels that may have a policy at the same time.
    pub nesting: PlanNesting,
    /// Default burst of policies.
    pub burst: Burst,
    /// How adaptive policies reach their peak by default.
    pub peak: Peak,
    /// Whether SVMs take turns even if no limit binds.
    pub fair: bool,
    /// Memory of its cache, in pages of 4 KiB; `None` for no cache.
    pub cache: Option<Bytes>,
    /// Size of the cache's second level on a faster device, which takes what memory evicts. On real
    /// storage that is a file beside the pool.
    pub second_level: Option<Bytes>,
    /// Bandwidth limits of its connections.
    pub link: PlanLink,
    /// The protocol between hosts and server.
    pub protocol: PlanProtocol,
    /// Its processors in a simulation; `None` means that they take no time.
    pub processors: Option<PlanProcessors>,
}

/// The protocol between hosts and a plan's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanProtocol {
    /// NBD, over a Unix socket.
    #[default]
    Nbd,
    /// NFS version 3, over TCP.
    Nfs,
}

/// Processors of a simulated server: each request occupies one of them for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanProcessors {
    /// How many.
    pub count: u32,
    /// Processor time of a read.
    pub read: Span,
    /// Processor time of any other request.
    pub write: Span,
}

/// Bandwidth limits of the connections to a plan's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanLink {
    /// Limit of a single connection.
    pub flow: Option<BytesPerSecond>,
    /// Sustained limit of all connections; equal to `burst` if there is no credit.
    pub network: Option<BytesPerSecond>,
    /// Limit of all connections while there is credit.
    pub burst: Option<BytesPerSecond>,
    /// Credit: bytes that may pass above `network`.
    pub credit: Bytes,
}

/// The levels that may have a policy at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanNesting {
    /// As in ONTAP: a LUN or file only if nothing that contains it has one.
    #[default]
    Ontap,
    /// Every level.
    Free,
}

/// Default burst of policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Burst {
    /// None.
    #[default]
    None,
    /// ONTAP's: 50 % for 1 s.
    Ontap,
}

/// How an adaptive policy reaches its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peak {
    /// Always allowed.
    #[default]
    Ceiling,
    /// On credit that was saved below the expected rate.
    Credits,
}

/// Reads the SVM's name and the settings, whose units apply to all sizes read later.
pub(super) fn read(root: &Table<'_>) -> (String, PlanSettings) {
    let Some(table) = root.table("server", "[server]") else { return (SVM.into(), PlanSettings::default()) };
    table.only(&[
        "svm",
        "units",
        "nesting",
        "burst",
        "peak",
        "fair",
        "cache",
        "second_level",
        "protocol",
        "processors",
        "read_time",
        "write_time",
        "flow_limit",
        "network",
        "network_burst",
        "network_credit",
    ]);
    table.missing("svm", "name the SVM that owns the volumes, such as svm01");
    let units =
        table.choice("units", &[("decimal", PlanUnits::Decimal), ("binary", PlanUnits::Binary)]).unwrap_or_default();
    table.count_in(units);
    let settings = PlanSettings {
        units,
        nesting: table
            .choice("nesting", &[("ontap", PlanNesting::Ontap), ("free", PlanNesting::Free)])
            .unwrap_or_default(),
        burst: table.choice("burst", &[("none", Burst::None), ("ontap", Burst::Ontap)]).unwrap_or_default(),
        peak: table.choice("peak", &[("ceiling", Peak::Ceiling), ("credits", Peak::Credits)]).unwrap_or_default(),
        fair: table.flag("fair").unwrap_or_default(),
        cache: cache(&table),
        second_level: second_level(&table),
        link: link(&table),
        protocol: table
            .choice("protocol", &[("nbd", PlanProtocol::Nbd), ("nfs", PlanProtocol::Nfs)])
            .unwrap_or_default(),
        processors: processors(&table),
    };
    (owned(table.name("svm")), settings)
}

/// Bytes of a page in a plan's cache.
pub const CACHE_PAGE: u64 = 4096;

fn cache(table: &Table<'_>) -> Option<Bytes> {
    let memory = table.space("cache")?;
    if memory.0 < 1 << 20 {
        table.wrong("cache", "1 MiB or more", "say how much memory the server keeps pages in, or leave it out");
    }
    Some(memory)
}

/// Smallest second level, the same as a real server's.
const SECOND_LEVEL_MIN: u64 = 2 << 20;

fn second_level(table: &Table<'_>) -> Option<Bytes> {
    let size = table.space("second_level")?;
    if size.0 < SECOND_LEVEL_MIN {
        table.wrong("second_level", "2 MiB or more", "say how much of what memory evicts is kept, or leave it out");
    }
    table.missing("cache", "say how much memory is above the second level, such as 256MiB");
    Some(size)
}

/// Maximum number of processors, the same as the servers of a simulated device.
const PROCESSORS_MAX: u32 = 65_536;

fn processors(table: &Table<'_>) -> Option<PlanProcessors> {
    if !["processors", "read_time", "write_time"].into_iter().any(|key| table.has(key)) {
        return None;
    }
    table.missing("processors", "say how many processors a simulated server has, such as 2");
    table.missing("read_time", "say how long a read takes a processor, such as 30us");
    table.missing("write_time", "say how long a write takes a processor, such as 60us");
    let (read, write) = (table.duration("read_time"), table.duration("write_time"));
    if table.count("processors").is_some_and(|count| !(1..=PROCESSORS_MAX).contains(&count)) {
        table.wrong("processors", "from 1 to 65 536", "say how many requests are worked on at a time");
    }
    Some(PlanProcessors { count: table.count("processors")?, read: read?, write: write? })
}

fn link(table: &Table<'_>) -> PlanLink {
    let credit = table.space("network_credit");
    let link = PlanLink {
        flow: table.rate("flow_limit"),
        network: table.rate("network"),
        burst: table.rate("network_burst"),
        credit: credit.unwrap_or_default(),
    };
    match (link.network, link.burst, credit) {
        (Some(base), Some(burst), _) if burst < base => {
            table.wrong("network_burst", "at least network", "a burst is above what passes for ever");
        }
        (None, Some(_), _) => table.missing("network", "say what passes when the credit has ended, such as 150MB/s"),
        (_, Some(_), None) => table.missing("network_credit", "say how much may pass above network, such as 100GB"),
        (_, None, Some(_)) => table.missing("network_burst", "say how fast credit may be spent, such as 1250MB/s"),
        _ => {}
    }
    link
}

impl PlanSettings {
    /// Describes what differs from a pool's defaults.
    pub(super) fn describe(&self) -> Vec<&'static str> {
        let said = [
            (self.units == PlanUnits::Binary, "a GB is 2^30 bytes"),
            (self.nesting == PlanNesting::Free, "every level may carry a policy"),
            (self.burst == Burst::Ontap, "a policy without a burst has ONTAP's, 50 % for 1 s"),
            (self.peak == Peak::Credits, "peaks of adaptive policies are reached on credit"),
            (self.fair, "SVMs take turns"),
            (self.cache.is_some(), "pages are kept in memory"),
            (self.second_level.is_some(), "what memory evicts goes to a second level"),
            (self.protocol == PlanProtocol::Nfs, "hosts speak NFS version 3"),
            (self.link.flow.is_some(), "a connection carries so much a second"),
            (self.link.network.is_some(), "all connections carry so much a second together"),
        ];
        said.into_iter().filter(|(differs, _)| *differs).map(|(_, words)| words).collect()
    }
}
