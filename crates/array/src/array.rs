//! An array: stages from the hosts to the media, each in front of all that follows.
//!
//! ```text
//!   ──► link ──► controller ──► log of writes ──► RAID ─┬► disk          each box is a medium that has the rest of the
//!                                                       ├► disk          line inside, as a gate is a target around a
//!                                                       └► disk          target; a RAID has it once for each member
//! ```
//!
//! So an array in front of another one is one list with the stages of both, and a shelf on a slower
//! loop is a link between two stages.

use block::Bytes;

use crate::cloud_volume::{CloudVolume, Throttled};
use crate::control_group::{Budgets, ControlGroup};
use crate::device::{DeviceError, Model};
use crate::disk::Disk;
use crate::host_adapters::{Adapters, HostAdapters};
use crate::link::{Link, Wires};
use crate::parallel_servers::Servers;
use crate::raid::{Group, Level, Raid};
use crate::read_cache::{Pages, ReadCache};
use crate::simulated::Medium;
use crate::stage::{Before, Controller};
use crate::write_log::{Halves, WriteLog};

/// Stages in front of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// From the hosts on.
    pub stages: Vec<ArrayStage>,
    /// What is behind the last of them; behind a RAID, each of its members.
    pub media: Box<Model>,
}

/// One stage of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayStage {
    /// Adapters of hosts, with queues of a bounded length.
    HostAdapters(HostAdapters),
    /// A path for data, with a bandwidth.
    Link(Link),
    /// Processors that every request costs some time.
    Controller(Controller),
    /// A write log, which answers writes before they are on the media.
    WriteLog(WriteLog),
    /// A cache of pages in memory, for reads.
    Cache(ReadCache),
    /// Limits on operations and bytes, with credit for bursts.
    Credits(CloudVolume),
    /// A host's limits on reads and writes, by time slices.
    ControlGroup(ControlGroup),
    /// All that follows, several times.
    Raid(Raid),
}

impl ArrayStage {
    /// Its kind, as plans call it.
    pub const fn name(&self) -> &'static str {
        match self {
            ArrayStage::HostAdapters(_) => "hba",
            ArrayStage::Link(_) => "link",
            ArrayStage::Controller(_) => "controller",
            ArrayStage::WriteLog(_) => "write-log",
            ArrayStage::Cache(_) => "cache",
            ArrayStage::Credits(_) => "credits",
            ArrayStage::ControlGroup(_) => "control-group",
            ArrayStage::Raid(_) => "raid",
        }
    }

    /// Whether it is possible, and if not, which field breaks which rule.
    pub fn check(&self) -> Result<(), DeviceError> {
        match self {
            ArrayStage::HostAdapters(adapters) => adapters.check(),
            ArrayStage::Link(link) => link.check(),
            ArrayStage::Controller(controller) => controller.check(),
            ArrayStage::WriteLog(log) => log.check(),
            ArrayStage::Cache(cache) => cache.check(),
            ArrayStage::Credits(credits) => Model::CloudVolume(credits.clone()).check(),
            ArrayStage::ControlGroup(group) => group.check(),
            ArrayStage::Raid(raid) => raid.check(),
        }
    }

    /// How many copies there are of what follows it.
    fn members(&self) -> u64 {
        match self {
            ArrayStage::Raid(raid) => raid.members.into(),
            _ => 1,
        }
    }
}

impl Array {
    /// Most media in one array. The largest arrays of today have fewer, and a few nested RAIDs soon
    /// reach this.
    pub const MEDIA_MAX: u64 = 4096;

    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        if matches!(*self.media, Model::Array(_)) {
            return Err(DeviceError::Stages("its media must not be an array; write its stages behind the others"));
        }
        self.stages.iter().try_for_each(ArrayStage::check)?;
        if self.stages.iter().map(ArrayStage::members).product::<u64>() > Array::MEDIA_MAX {
            return Err(DeviceError::Stages("its RAIDs have more than 4096 media in all"));
        }
        self.media.check()
    }

    /// How many media it has.
    pub fn media_count(&self) -> u64 {
        self.stages.iter().map(ArrayStage::members).product()
    }

    /// Its medium, for so many bytes on which so many objects lie one behind the other.
    pub(crate) fn medium(&self, size: Bytes, luns: u32, seed: u64) -> Box<dyn Medium> {
        build(&self.stages, &self.media, (size, luns), seed)
    }
}

fn build(stages: &[ArrayStage], media: &Model, (size, luns): (Bytes, u32), seed: u64) -> Box<dyn Medium> {
    let Some((first, rest)) = stages.split_first() else { return media.medium(size, luns, seed) };
    if let ArrayStage::Raid(raid) = first {
        let each = (raid.member_size(size), luns);
        // Neighbouring seeds would do, since the generator spreads them; the step keeps members of
        // nested groups apart.
        let member = |k: u32| build(rest, media, each, seed.wrapping_add(u64::from(k + 1) << 32));
        return Box::new(Group::new(raid.clone(), (0..raid.members).map(member).collect()));
    }
    let below = build(rest, media, (size, luns), seed);
    match first.clone() {
        ArrayStage::HostAdapters(adapters) => Box::new(Adapters::new(adapters, below)),
        ArrayStage::Link(link) => Box::new(Wires::new(&link, below)),
        ArrayStage::Controller(controller) => {
            Box::new(Before::new(Servers::that(controller.cores, controller.work(), controller.reads_first), below))
        }
        ArrayStage::WriteLog(log) => Box::new(Halves::new(log, size, below)),
        ArrayStage::Cache(cache) => Box::new(Pages::new(cache, size, luns, below)),
        ArrayStage::Credits(credits) => Box::new(Before::new(Throttled::new(credits, seed), below)),
        ArrayStage::ControlGroup(group) => Box::new(Before::new(Budgets::new(&group), below)),
        ArrayStage::Raid(_) => unreachable!("taken above"),
    }
}

impl Default for Array {
    /// A small array of its time: 8 Gb/s, two cores, 1 GiB of mirrored log, RAID 5 of eight disks.
    fn default() -> Array {
        Array {
            stages: vec![
                ArrayStage::Link(Link::default()),
                ArrayStage::Controller(Controller::default()),
                ArrayStage::WriteLog(WriteLog::default()),
                ArrayStage::Raid(Raid { level: Level::Five, members: 8, unit: Bytes::kib(64) }),
            ],
            media: Box::new(Model::Disk(Disk::default())),
        }
    }
}
