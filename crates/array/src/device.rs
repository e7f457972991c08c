//! What a device is, as plain data: a model by name, its size, its queue, and how its capacity
//! changes over time.
//!
//! Every named model starts from defaults that a plan may change field by field;
//! [`DeviceSpec::check`] says which field breaks which rule before anything runs.

use block::{Bytes, Span, Target, Time};
use qos::CreditLimit;

use crate::array::Array;
use crate::cloud_volume::{CloudVolume, Throttled};
use crate::disk::{Arm, Disk};
use crate::flash::{Channels, Collection, Flash};
use crate::host::{Absence, Host, Thread};
use crate::parallel_servers::{ParallelServers, Servers};
use crate::simulated::{Medium, Simulated};

/// A device to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// What it is made of.
    pub model: Model,
    /// The size of each object on it; requests beyond it are refused.
    pub size: Bytes,
    /// How many objects of that size lie on it, one behind the other in the order of their first
    /// requests; at least 1. Further objects share the places of the first.
    pub luns: u32,
    /// How many requests it takes before it is full, waiting ones included. `None` is no limit.
    pub queue_limit: Option<u32>,
    /// Changes of its capacity, in the order of their times. It starts at 100 %.
    pub changes: Vec<Change>,
}

/// What a device is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// Parallel servers of fixed latency.
    ParallelServers(ParallelServers),
    /// A spinning disk.
    Disk(Disk),
    /// A solid-state drive.
    Flash(Flash),
    /// A network volume that throttles itself.
    CloudVolume(CloudVolume),
    /// A host whose processor is the limit.
    Host(Host),
    /// An array: stages before media.
    Array(Array),
}

/// A change of capacity: of the servers that are open, of a disk's or drive's speed, of a cloud
/// volume's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From when on.
    pub at: Time,
    /// Percent of the full capacity, above or below 100. At 0 nothing new begins; a later change
    /// must end that.
    pub percent: u32,
}

/// Why a device is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No model has this name.
    #[error("no device is called {0:?}; there are {list}", list = Model::NAMES.join(", "))]
    Name(String),
    /// A field is zero that must not be.
    #[error("{device}: {field} must be at least 1")]
    Zero {
        /// The model's name.
        device: &'static str,
        /// The field's.
        field: &'static str,
    },
    /// A field must not be larger than another.
    #[error("{device}: {smaller} must not be more than {larger}, got {low} and {high}")]
    Order {
        /// The model's name.
        device: &'static str,
        /// The field that is too large.
        smaller: &'static str,
        /// The field that bounds it.
        larger: &'static str,
        /// What was given for the first.
        low: String,
        /// What was given for the other.
        high: String,
    },
    /// A RAID group has too few or too many members for its level, or an odd number of halves.
    #[error("raid: members: level {level} needs {rule}, got {members}")]
    Members {
        /// Its level.
        level: &'static str,
        /// What it needs.
        rule: &'static str,
        /// What was given.
        members: u32,
    },
    /// Stages of an array stand in the wrong order.
    #[error("array: {0}")]
    Stages(&'static str),
    /// The changes of capacity are not in the order of their times.
    #[error("changes must be in the order of their times; the one at {0:?} follows a later one")]
    ChangeOrder(Time),
    /// The device would stand still for ever.
    #[error("the last change leaves 0 % of the capacity for ever; add a later one that brings it back")]
    StandsStill,
}

impl DeviceError {
    /// The fields that it is about.
    pub fn fields(&self) -> Vec<&'static str> {
        match *self {
            DeviceError::Zero { field, .. } => vec![field],
            DeviceError::Order { smaller, larger, .. } => vec![smaller, larger],
            DeviceError::Members { .. } => vec!["members"],
            DeviceError::ChangeOrder(_) | DeviceError::StandsStill => vec!["changes"],
            DeviceError::Name(_) | DeviceError::Stages(_) => Vec::new(),
        }
    }
}

impl Model {
    /// The names that [`DeviceSpec::named`] knows.
    pub const NAMES: [&'static str; 6] = ["parallel-servers", "disk", "flash", "cloud-volume", "host", "array"];

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Model::ParallelServers(_) => "parallel-servers",
            Model::Disk(_) => "disk",
            Model::Flash(_) => "flash",
            Model::CloudVolume(_) => "cloud-volume",
            Model::Host(_) => "host",
            Model::Array(_) => "array",
        }
    }
}

impl DeviceSpec {
    /// A model's defaults, 1 TiB large, without a queue limit or changes.
    pub fn named(name: &str) -> Result<DeviceSpec, DeviceError> {
        let model = match name {
            "parallel-servers" => Model::ParallelServers(ParallelServers::default()),
            "disk" => Model::Disk(Disk::default()),
            "flash" => Model::Flash(Flash::default()),
            "cloud-volume" => Model::CloudVolume(CloudVolume::default()),
            "host" => Model::Host(Host::default()),
            "array" => Model::Array(Array::default()),
            other => return Err(DeviceError::Name(other.into())),
        };
        Ok(DeviceSpec::of(model))
    }

    /// A device of this model, 1 TiB large, without a queue limit or changes.
    pub fn of(model: Model) -> DeviceSpec {
        DeviceSpec { model, size: Bytes::gib(1024), luns: 1, queue_limit: None, changes: Vec::new() }
    }

    /// Whether such a device can be built, and if not, which field breaks which rule.
    pub fn check(&self) -> Result<(), DeviceError> {
        let device = self.model.name();
        let queue_limit = self.queue_limit.map_or(1, u64::from);
        let fields = [("size", self.size.0), ("luns", self.luns.into()), ("queue_limit", queue_limit)];
        none_zero(device, &fields)?;
        self.check_changes()?;
        self.model.check()
    }

    fn check_changes(&self) -> Result<(), DeviceError> {
        if let Some(pair) = self.changes.windows(2).find(|pair| pair[0].at > pair[1].at) {
            return Err(DeviceError::ChangeOrder(pair[1].at));
        }
        match self.changes.last() {
            Some(last) if last.percent == 0 => Err(DeviceError::StandsStill),
            _ => Ok(()),
        }
    }

    /// Builds it. The same requests at the same times with the same seed end at the same times.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Target>, DeviceError> {
        self.check()?;
        let size = Bytes(self.size.0.saturating_mul(self.luns.into()));
        Ok(match &self.model {
            Model::ParallelServers(spec) => Box::new(Simulated::new(Servers::new(spec), self)),
            Model::Disk(spec) => Box::new(Simulated::new(Arm::new(spec.clone(), size, seed), self)),
            Model::Flash(spec) => Box::new(Simulated::new(Channels::new(spec.clone(), seed), self)),
            Model::CloudVolume(spec) => Box::new(Simulated::new(Throttled::new(spec.clone(), seed), self)),
            Model::Host(spec) => Box::new(Simulated::new(Thread::new(spec.clone(), seed), self)),
            Model::Array(_) => Box::new(Simulated::new(self.model.medium(size, self.luns, seed), self)),
        })
    }
}

impl Model {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let device = self.name();
        match self {
            Model::ParallelServers(model) => model.check(device),
            Model::Disk(model) => model.check(device),
            Model::Flash(model) => model.check(device),
            Model::CloudVolume(model) => model.check(device),
            Model::Host(model) => model.check(device),
            Model::Array(model) => model.check(),
        }
    }

    /// Its medium, for so many bytes on which so many objects lie.
    pub(crate) fn medium(&self, size: Bytes, luns: u32, seed: u64) -> Box<dyn Medium> {
        match self.clone() {
            Model::ParallelServers(spec) => Box::new(Servers::new(&spec)),
            Model::Disk(spec) => Box::new(Arm::new(spec, size, seed)),
            Model::Flash(spec) => Box::new(Channels::new(spec, seed)),
            Model::CloudVolume(spec) => Box::new(Throttled::new(spec, seed)),
            Model::Host(spec) => Box::new(Thread::new(spec, seed)),
            Model::Array(spec) => spec.medium(size, luns, seed),
        }
    }
}

pub(crate) fn none_zero(device: &'static str, fields: &[(&'static str, u64)]) -> Result<(), DeviceError> {
    match fields.iter().find(|(_, value)| *value == 0) {
        Some((field, _)) => Err(DeviceError::Zero { device, field }),
        None => Ok(()),
    }
}

pub(crate) fn in_order<T: PartialOrd + std::fmt::Display>(
    device: &'static str,
    (smaller, low): (&'static str, T),
    (larger, high): (&'static str, T),
) -> Result<(), DeviceError> {
    let found = || DeviceError::Order { device, smaller, larger, low: low.to_string(), high: high.to_string() };
    if low > high { Err(found()) } else { Ok(()) }
}

impl ParallelServers {
    fn check(&self, device: &'static str) -> Result<(), DeviceError> {
        let fields = [
            ("servers", u64::from(self.servers)),
            ("service", self.service.as_nanos()),
            ("size_unit", self.size_unit.map_or(1, |unit| unit.0)),
        ];
        none_zero(device, &fields)
    }
}

impl Disk {
    fn check(&self, device: &'static str) -> Result<(), DeviceError> {
        let fields =
            [("rotation", self.rotation.as_nanos()), ("track", self.track.0), ("window", u64::from(self.window))];
        none_zero(device, &fields)?;
        let inner = self.track_inner.unwrap_or(self.track);
        none_zero(device, &[("track_inner", inner.0)])?;
        in_order(device, ("track_inner", inner), ("track", self.track))?;
        in_order(device, ("seek_shortest", self.seek_shortest), ("seek_longest", self.seek_longest))
    }
}

impl Flash {
    fn check(&self, device: &'static str) -> Result<(), DeviceError> {
        let fields = [
            ("channels", u64::from(self.channels)),
            ("page", self.page.0),
            ("read", self.read.as_nanos()),
            ("program", self.program.as_nanos()),
            ("collect_every", self.collection.map_or(1, |collection| collection.every.0)),
            ("pause_every", self.pause.map_or(1, |pause| pause.every.as_nanos())),
        ];
        none_zero(device, &fields)?;
        let Some(pause) = self.pause else { return Ok(()) };
        // A pause as long as its cycle would be a permanent standstill.
        let latest = pause.every.saturating_sub(Span::from_nanos(1));
        in_order(device, ("pause_length", pause.length), ("pause_every - 1 ns", latest))
    }
}

impl CloudVolume {
    fn check(&self, device: &'static str) -> Result<(), DeviceError> {
        let fields = [("iops", self.operations.base), ("bytes", self.bytes.base), ("io_unit", self.io_unit.0)];
        none_zero(device, &fields)?;
        in_order(device, ("iops", self.operations.base), ("iops_peak", self.operations.peak))?;
        in_order(device, ("bytes", self.bytes.base), ("bytes_peak", self.bytes.peak))
    }
}

impl Host {
    fn check(&self, device: &'static str) -> Result<(), DeviceError> {
        let absence = |of: fn(Absence) -> Span| self.absence.map_or(1, |absence| of(absence).as_nanos());
        let fields = [
            ("turn + request", (self.turn + self.request).as_nanos()),
            ("size_unit", self.size_unit.map_or(1, |unit| unit.0)),
            ("absent_every", absence(|absence| absence.every)),
        ];
        none_zero(device, &fields)
    }
}

impl Default for ParallelServers {
    /// 8 servers of 100 µs: 80 000 requests a second, whatever their size.
    fn default() -> ParallelServers {
        ParallelServers {
            servers: 8,
            service: Span::from_micros(100),
            size_unit: None,
            flush: Span::from_micros(100),
            trim: Span::from_micros(100),
        }
    }
}

impl Default for Disk {
    /// A 7200/min disk: 8.33 ms a turn, random seeks of 8.1 ms on average (x averages 1/3, √x
    /// 8/15), 120 MiB/s.
    fn default() -> Disk {
        Disk {
            seek_shortest: Span::from_micros(500),
            seek_longest: Span::from_millis(18),
            rotation: Span::from_nanos(8_333_333),
            track: Bytes::mib(1),
            track_inner: None,
            window: 32,
            patience: 64,
            flush: Span::from_millis(4),
            trim: Span::from_micros(200),
        }
    }
}

impl Default for Flash {
    /// The reference drive of MQSim's default configuration (FAST 2018), 8 channels of 8 dies taken
    /// as one channel each: 8 KiB pages, 75 µs a read, 750 µs a program; collections take about 7 %
    /// of a busy writer's time.
    fn default() -> Flash {
        Flash {
            channels: 64,
            page: Bytes::kib(8),
            read: Span::from_micros(75),
            program: Span::from_micros(750),
            collection: Some(Collection { every: Bytes::kib(512), stall: Span::from_micros(3_800) }),
            pause: None,
            flush: Span::from_micros(200),
            trim: Span::from_micros(50),
        }
    }
}

impl Default for CloudVolume {
    /// A general-purpose volume of 1000 GiB: 3000 operations a second (5.4 million saved for bursts
    /// to 10 000), 250 MiB/s, answers after half a millisecond or up to a tenth more.
    fn default() -> CloudVolume {
        let bytes = Bytes::mib(250).0;
        CloudVolume {
            operations: CreditLimit { base: 3_000, peak: 10_000, credit: 5_400_000 },
            bytes: CreditLimit { base: bytes, peak: bytes, credit: 0 },
            io_unit: Bytes::kib(256),
            latency: Span::from_micros(500),
            jitter: Span::from_micros(50),
            flush: Span::from_micros(500),
            trim: Span::from_micros(500),
        }
    }
}

impl Default for Host {
    /// About what a small virtual machine does on a disk faster than itself: 85 000 requests a
    /// second at most, half of them with 9 outstanding, 60 000 with 21, and the processor away 1 %
    /// of the time, for 2 ms on average.
    fn default() -> Host {
        Host {
            turn: Span::from_micros(100),
            request: Span::from_nanos(11_765),
            size_unit: None,
            absence: Some(Absence { every: Span::from_millis(200), length: Span::from_millis(2) }),
            flush: Span::from_micros(30),
            trim: Span::from_micros(20),
        }
    }
}
