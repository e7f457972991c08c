//! Administration: the meaning of the administrators' commands on a registry. Typed commands go in
//! ([`ontap::Command`]), typed answers come out; text and JSON are two renderings of an answer.
//!
//! ```text
//!   Command ──► Administration::run ──► Outcome { answer, edits, effects }
//!                 ▲ registry, snapshots      │       │       └─► the store: LUNs and files made, resized, gone
//!                 │ At: time, date, World    │       └─► the scheduler: limits by number
//!                                            └─► the caller: rows, what was done, or text
//! ```
//!
//! There is no pool and no clock here. What has to happen to data is returned as [`Effect`]s, so
//! that the server and the simulator run the same commands. Each file has one area of commands,
//! with the same roles in each: what changes, what shows.

mod adaptive;
mod aggregate;
mod answer;
mod cache;
mod certificate;
mod chart;
mod client_file;
mod clone;
mod details;
mod effect;
mod errand;
mod error;
mod event;
mod fairness;
mod file;
mod goal;
mod history;
mod leaf;
mod link;
mod login;
mod lun;
mod own_limits;
mod partitions;
mod policy_group;
mod qtree;
mod rename;
mod sample;
mod size;
mod snapshot;
mod snapshots;
mod statistics;
mod undo;
mod volume;
mod vserver;
mod workload;
mod world;

pub use answer::{Answer, Note, Report};
pub use certificate::{CertificatePurpose, CertificateSeen};
pub use details::{CloneOrigin, FileNode, Junction, ObjectDetails};
pub use effect::{Effect, Outcome, Taken};
pub use errand::{object_of_uuid, uuid_of, uuid_text};
pub use error::{AdminError, Detail, Objection, Obstacle};
pub use event::{EVENTS_MAX, Event, EventKind, EventLog, Noticed};
pub use history::{Done, Stretch};
pub use login::{Login, LoginChange, LoginScope};
pub use partitions::{CacheMemory, CachePartition, DEFAULT_PARTITION, PARTITIONS_MAX, Partitions};
pub use sample::{CacheSeen, LinkSeen, Missed, Sample, SampleKind, SecondSeen, Seen, main_cause};
pub use size::{FILES_BYTES, LEAF_BYTES_MAX};
pub use snapshots::{Snapshot, SnapshotLeaf, Snapshots};
pub use statistics::{NODE, advice};
pub use undo::{Touched, Undo};
pub use workload::workload_name;
pub use world::{Aggregate, At, ClientFile, FilesSeen, HourDone, MemoryPart, Named, ServerSeen, Top, World};

use block::{ObjectId, Time};
use errand::{Assigned, Errand, list, path_of, whole};
use ontap::Command;
use ontap::value::SizeUnits;
use qos::{GroupId, Registry, RegistrySettings};
use stats::{BurstAllowed, LimitsInForce};
use std::collections::{BTreeMap, BTreeSet};
use world::Told;

/// A registry of storage objects and policies, with the commands that change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administration {
    /// The objects, policy groups and limits.
    pub registry: Registry,
    /// The snapshots of its volumes.
    pub snapshots: Snapshots,
    /// The LUNs that are offline.
    pub offline: BTreeSet<ObjectId>,
    /// The partitions of the cache, and its memory.
    pub partitions: Partitions,
    /// Further details of objects.
    pub details: BTreeMap<ObjectId, ObjectDetails>,
    units: SizeUnits,
}

impl Administration {
    /// A size in the units that answers have.
    pub fn size(&self, bytes: u64) -> String {
        ontap::show::size(bytes, self.units)
    }

    /// An administration with the built-in policy groups and nothing else.
    pub fn new(settings: RegistrySettings) -> Administration {
        let units = match settings.units {
            qos::Units::Decimal => SizeUnits::Decimal,
            qos::Units::Binary => SizeUnits::Binary,
        };
        Administration {
            registry: Registry::new(settings),
            snapshots: Snapshots::default(),
            offline: BTreeSet::new(),
            partitions: Partitions::default(),
            details: BTreeMap::new(),
            units,
        }
    }

    /// Runs a command.
    ///
    /// # Errors
    /// The command is refused, and nothing has changed.
    pub fn run(&mut self, command: Command, at: &At<'_>) -> Result<Outcome, AdminError> {
        self.run_all(vec![command], at)
    }

    /// Runs commands as a unit: either all of them take effect, or none. The answer is that of the
    /// last one. If one may disconnect clients by force, all may.
    ///
    /// # Errors
    /// One is refused, and nothing has changed.
    pub fn run_all(&mut self, commands: Vec<Command>, at: &At<'_>) -> Result<Outcome, AdminError> {
        let promised = goal::before(&self.registry, &commands);
        self.errand(at, |errand| {
            let answer = errand.run_all(commands)?;
            promised.map_or(Ok(()), |promised| errand.keep_goal(promised))?;
            Ok(answer)
        })
    }

    /// Runs an errand as a unit: all of it takes effect, or none.
    fn errand(
        &mut self,
        at: &At<'_>,
        run: impl FnOnce(&mut Errand<'_>) -> Result<Answer, AdminError>,
    ) -> Result<Outcome, AdminError> {
        self.registry.begin();
        let mut errand = Errand {
            registry: &mut self.registry,
            snapshots: &mut self.snapshots,
            offline: &mut self.offline,
            partitions: &mut self.partitions,
            details: &mut self.details,
            units: self.units,
            at: *at,
            edits: Vec::new(),
            effects: Vec::new(),
            taken: BTreeMap::new(),
            notes: Vec::new(),
            forced: false,
            undo: Undo::default(),
        };
        let result = run(&mut errand);
        let Errand { edits, effects, taken, notes, forced, undo, .. } = errand;
        let undo = Undo { registry: self.registry.end(), ..undo };
        match result {
            Ok(answer) => Ok(Outcome { answer: answer.with(notes), edits, effects, taken, forced, undo }),
            Err(error) => {
                self.take_back(undo);
                Err(error)
            }
        }
    }

    /// Undoes the last command, after which nothing else must have been done.
    pub fn take_back(&mut self, undo: Undo) {
        let Undo { registry, snapshots, offline, partitions, details } = undo;
        self.registry.take_back(registry);
        for (id, was) in snapshots.into_iter().rev() {
            self.snapshots.set(id, was);
        }
        for (id, was) in partitions.into_iter().rev() {
            self.partitions.set(id, was);
        }
        for (lun, was) in offline.into_iter().rev() {
            if was {
                self.offline.insert(lun)
            } else {
                self.offline.remove(&lun)
            };
        }
        for (object, was) in details.into_iter().rev() {
            match was {
                Some(was) => drop(self.details.insert(object, was)),
                None => drop(self.details.remove(&object)),
            }
        }
    }

    /// Details of an object beyond its size and policy.
    pub fn details(&self, object: ObjectId) -> ObjectDetails {
        self.details.get(&object).cloned().unwrap_or_default()
    }

    /// The volume that a volume was cloned from, if it still exists.
    pub fn parent_of_clone(&self, volume: ObjectId) -> Option<&qos::Object> {
        self.registry.object(self.details.get(&volume)?.origin.as_ref()?.volume)
    }

    /// Runs one line at `now` without clients and statistics. `used` returns the bytes that a LUN
    /// or file uses, and those that deleting a snapshot's tree would free.
    ///
    /// # Errors
    /// The line is not a command, or is refused, and nothing has changed.
    pub fn execute(&mut self, line: &str, now: Time, used: &dyn Fn(ObjectId) -> u64) -> Result<Outcome, AdminError> {
        self.run(ontap::parse(line)?, &At { now, began: 0, world: &Told(used) })
    }

    /// The path of an object as administrators write it: `svm01`, `svm01:/vol/vol1`,
    /// `svm01:/vol/vol1/lun1`.
    pub fn path_of(&self, object: ObjectId) -> Option<String> {
        path_of(&self.registry, object)
    }

    /// The name of a policy group.
    pub fn group_name(&self, group: GroupId) -> Option<&str> {
        self.registry.group_of(group).map(qos::Group::name)
    }

    /// The limits in force: for each object in a policy group its own limits (without those of a
    /// shared group), and for each shared group with members its limits; by path or name.
    pub fn limits(&self) -> Vec<(String, LimitsInForce)> {
        let numbers = |policy: &str, limits: &qos::Limits| LimitsInForce {
            policy: policy.into(),
            ceiling_iops: limits.ceiling.iops.map(|rate| rate.0),
            ceiling_bytes: limits.ceiling.bytes.map(|rate| rate.0),
            floor_iops: limits.floor.iops.map(|rate| rate.0),
            floor_bytes: limits.floor.bytes.map(|rate| rate.0),
            burst: limits.ceiling.burst.map(|burst| BurstAllowed { ppm: burst.ppm, duration: burst.duration }),
            floor_latency: limits.floor.latency,
        };
        let mut found = Vec::new();
        for object in self.registry.objects() {
            let in_force = self.registry.limits_in_force(object.id()).unwrap_or_default();
            let own = in_force.levels.iter().find(|level| level.object == object.id());
            let Some((level, group)) = own.and_then(|level| Some((level, self.group_name(level.group)?))) else {
                continue;
            };
            let mut limits = level.limits;
            if level.shared {
                let budget = numbers(group, &limits);
                if !found.iter().any(|(name, _)| name == group) {
                    found.push((group.to_owned(), budget));
                }
                limits.ceiling = qos::Ceiling::default();
            }
            found.push((self.path_of(object.id()).unwrap_or_default(), numbers(group, &limits)));
        }
        found
    }
}
