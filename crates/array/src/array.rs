//! An array: stages from the hosts to the media, each of which stands before all that follows.
//!
//! ```text
//!   ──► link ──► controller ──► log of writes ──► RAID ─┬► disk          each box is a medium that has the rest of the
//!                                                       ├► disk          line inside, as a gate is a target around a
//!                                                       └► disk          target; a RAID has it once for each member
//! ```
//!
//! So an array in front of another one is the same list with both their stages, and a shelf on a
//! slower loop is a link between two of them.

use block::Bytes;

use crate::cloud_volume::{CloudVolume, Throttled};
use crate::device::{DeviceError, Model};
use crate::disk::Disk;
use crate::link::{Link, Wires};
use crate::parallel_servers::Servers;
use crate::raid::{Group, Level, Raid};
use crate::read_cache::{Pages, ReadCache};
use crate::simulated::Medium;
use crate::stage::{Before, Controller};
use crate::write_log::{Halves, WriteLog};

/// Stages before media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// From the hosts on.
    pub stages: Vec<Stage>,
    /// What stands behind the last of them; behind a RAID, each of its members.
    pub media: Box<Model>,
}

/// What stands before something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A way for data, with a bandwidth.
    Link(Link),
    /// Processors that every request costs some time.
    Controller(Controller),
    /// A log of writes, which answers them before they are on the media.
    WriteLog(WriteLog),
    /// Memory in which pages are kept for reads.
    Cache(ReadCache),
    /// Limits on operations and bytes, with credit for bursts.
    Credits(CloudVolume),
    /// What follows, several times.
    Raid(Raid),
}

impl Stage {
    /// Its kind, as plans call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Stage::Link(_) => "link",
            Stage::Controller(_) => "controller",
            Stage::WriteLog(_) => "write-log",
            Stage::Cache(_) => "cache",
            Stage::Credits(_) => "credits",
            Stage::Raid(_) => "raid",
        }
    }

    fn check(&self) -> Result<(), DeviceError> {
        match self {
            Stage::Link(link) => link.check(),
            Stage::Controller(controller) => controller.check(),
            Stage::WriteLog(log) => log.check(),
            Stage::Cache(cache) => cache.check(),
            Stage::Credits(credits) => Model::CloudVolume(credits.clone()).check(),
            Stage::Raid(raid) => raid.check(),
        }
    }

    /// How many of what follows it there are.
    fn members(&self) -> u64 {
        match self {
            Stage::Raid(raid) => raid.members.into(),
            _ => 1,
        }
    }
}

impl Array {
    /// Most media in one array: what the largest of today's carry is below it, and a line of RAIDs
    /// of RAIDs reaches it soon.
    pub const MEDIA_MAX: u64 = 4096;

    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        if matches!(*self.media, Model::Array(_)) {
            return Err(DeviceError::Stages("its media must not be an array; write its stages behind the others"));
        }
        self.stages.iter().try_for_each(Stage::check)?;
        if self.stages.iter().map(Stage::members).product::<u64>() > Array::MEDIA_MAX {
            return Err(DeviceError::Stages("its RAIDs have more than 4096 media in all"));
        }
        self.media.check()
    }

    /// How many media it has.
    pub fn media_count(&self) -> u64 {
        self.stages.iter().map(Stage::members).product()
    }

    pub(crate) fn medium(&self, size: Bytes, seed: u64) -> Box<dyn Medium> {
        build(&self.stages, &self.media, size, seed)
    }
}

fn build(stages: &[Stage], media: &Model, size: Bytes, seed: u64) -> Box<dyn Medium> {
    let Some((first, rest)) = stages.split_first() else { return media.medium(size, seed) };
    if let Stage::Raid(raid) = first {
        let each = raid.member_size(size);
        // Neighbouring seeds would do: the generator spreads them; the step keeps members of nested
        // groups apart.
        let member = |k: u32| build(rest, media, each, seed.wrapping_add(u64::from(k + 1) << 32));
        return Box::new(Group::new(raid.clone(), (0..raid.members).map(member).collect()));
    }
    let below = build(rest, media, size, seed);
    match first.clone() {
        Stage::Link(link) => Box::new(Wires::new(&link, below)),
        Stage::Controller(controller) => {
            Box::new(Before::new(Servers::that(controller.cores, controller.work(), controller.reads_first), below))
        }
        Stage::WriteLog(log) => Box::new(Halves::new(log, size, below)),
        Stage::Cache(cache) => Box::new(Pages::new(cache, size, below)),
        Stage::Credits(credits) => Box::new(Before::new(Throttled::new(credits, seed), below)),
        Stage::Raid(_) => unreachable!("taken above"),
    }
}

impl Default for Array {
    /// A small array of its time: 8 Gb/s, two cores, 1 GiB of mirrored log, RAID 5 of seven disks
    /// and one.
    fn default() -> Array {
        Array {
            stages: vec![
                Stage::Link(Link::default()),
                Stage::Controller(Controller::default()),
                Stage::WriteLog(WriteLog::default()),
                Stage::Raid(Raid { level: Level::Five, members: 8, unit: Bytes::kib(64) }),
            ],
            media: Box::new(Model::Disk(Disk::default())),
        }
    }
}
