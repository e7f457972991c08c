//! What stands in for the disk when a plan is simulated. Each kind is a row of the table `[device]`'s kinds.

use super::table::Table;
use block::Span;

/// Most servers of a simulated device.
const SERVERS_MAX: u32 = 65_536;

/// A simulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// So many requests at a time, each for the same time: `servers / service` IOPS.
    ParallelServers {
        /// How many.
        servers: u32,
        /// The time of one request.
        service: Span,
    },
}

impl Device {
    /// The most it can do, in operations per second.
    pub fn iops(&self) -> f64 {
        match self {
            Device::ParallelServers { servers, service } => f64::from(*servers) / service.as_secs_f64(),
        }
    }
}

/// How each kind is read. A new kind is a new row, and a variant above.
type Reader = fn(&Table<'_>) -> Option<Device>;
const KINDS: [(&str, Reader); 1] = [("parallel-servers", parallel_servers)];

/// The device of the plan's table `[device]`.
pub(super) fn read(table: &Table<'_>) -> Option<Device> {
    table.missing("kind", "choose one, such as parallel-servers");
    table.choice("kind", &KINDS)?(table)
}

fn parallel_servers(table: &Table<'_>) -> Option<Device> {
    table.only(&["kind", "servers", "service"]);
    table.missing("servers", "say how many requests it serves at a time");
    table.missing("service", "say how long each takes, such as 1ms");
    let (servers, service) = (table.count("servers")?, table.duration("service")?);
    if !(1..=SERVERS_MAX).contains(&servers) {
        table.wrong("servers", format!("from 1 to {SERVERS_MAX}"), "say how many requests it serves at a time");
    }
    if service == Span::ZERO {
        table.wrong("service", "above zero", "a real device takes at least some microseconds");
    }
    Some(Device::ParallelServers { servers, service })
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::ParallelServers { servers, service } => {
                write!(f, "{servers} parallel servers of {service} each, {:.0} IOPS", self.iops())
            }
        }
    }
}
