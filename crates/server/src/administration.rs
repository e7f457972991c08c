//! The administrators' commands on a registry: what each means, what it answers, and what it leads to.
//!
//! No pool and no clock here: what has to happen to data is told as [`Effect`]s, so that the server and the simulator
//! run the same commands.
//!
//! One file a command's area, with the same roles in each: what changes, what shows.

mod adaptive;
mod clone;
mod fairness;
mod file;
mod leaf;
mod lun;
mod policy_group;
mod qtree;
mod rename;
mod size;
mod snapshot;
mod snapshots;
mod statistics;
mod volume;
mod vserver;
mod workload;

use crate::monitor::Sample;
use block::{Bytes, ObjectId, Time};
use ontap::value::{ObjectName, PolicyAssignment, Units};
use ontap::{Command, CommandError};
use qos::{Change, Edit, GroupId, ObjectKind, Refusal, Registry, RegistrySettings, Size};
use stats::LimitsInForce;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use size::Sizes;
use size::Told;
pub use snapshots::{Snapshot, SnapshotLeaf, Snapshots};
pub use statistics::advice;

/// Why a command was not done. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The line is no command.
    #[error("{0}")]
    Grammar(Box<CommandError>),
    /// A rule refused it.
    #[error("{0} (code {code})", code = .0.code())]
    Refused(#[from] Refusal),
    /// Something that it names does not exist, or stands in the way.
    #[error("{0}")]
    Command(String),
}

/// What has to happen to a LUN's or file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is new.
    Make {
        /// Which.
        object: ObjectId,
        /// Its size in bytes.
        size: u64,
    },
    /// It has another size.
    Resize {
        /// Which.
        object: ObjectId,
        /// Its new size in bytes.
        size: u64,
        /// What it was.
        was: u64,
    },
    /// It has another name; its path is the registry's.
    Rename {
        /// Which.
        object: ObjectId,
    },
    /// It is new, and shares all that another has. Those of one command are made at one moment.
    Share {
        /// Which: an object, or a tree of a snapshot.
        object: ObjectId,
        /// The other.
        from: ObjectId,
        /// Its size in bytes.
        size: u64,
        /// It belongs to a snapshot: it never changes and is not served.
        frozen: bool,
    },
    /// It shares all that a snapshot has, and what it had is gone; at the same moment as [`Effect::Share`].
    Restore {
        /// Which.
        object: ObjectId,
        /// The snapshot's tree.
        from: ObjectId,
        /// Its size in bytes from now on.
        size: u64,
    },
    /// It is gone: an object, or a tree of a snapshot.
    Remove {
        /// Which.
        object: ObjectId,
    },
    /// Clients lose it, or may have it again; its data stays.
    Offer {
        /// Which.
        object: ObjectId,
        /// They may have it.
        online: bool,
    },
}

impl Effect {
    /// The LUN or file that it takes away from clients who are connected, whole or in part: the one rule on that is
    /// [`Outcome::forced`]'s.
    pub fn taken_from_clients(&self) -> Option<ObjectId> {
        match *self {
            Effect::Remove { object } => (!Snapshots::is_tree(object)).then_some(object),
            Effect::Restore { object, .. } | Effect::Offer { object, online: false } => Some(object),
            Effect::Resize { object, size, was } => (size < was).then_some(object),
            Effect::Make { .. } | Effect::Share { .. } | Effect::Rename { .. } | Effect::Offer { .. } => None,
        }
    }
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "the edits must reach the scheduler"]
pub struct Outcome {
    /// Ready to print.
    pub answer: String,
    /// For the scheduler, in this order.
    pub edits: Vec<Edit>,
    /// For the store, in this order.
    pub effects: Vec<Effect>,
    /// What it takes away from clients goes although they are connected. Without, the command must be refused where one
    /// is connected to what [`Effect::taken_from_clients`] names.
    pub forced: bool,
}

/// A registry that understands commands.
#[derive(Clone, Debug)]
pub struct Administration {
    /// What there is.
    pub registry: Registry,
    /// What the gate said of the last second, for statistics.
    pub sample: Arc<Sample>,
    /// The snapshots of its volumes.
    pub snapshots: Snapshots,
    /// Seconds since the beginning of 1970, for what is made from now on.
    pub wall_seconds: u64,
    /// The LUNs that no client may have for now.
    pub offline: BTreeSet<ObjectId>,
    /// Connections that clients have to LUNs and files, for what shows them.
    pub connected: BTreeMap<ObjectId, u64>,
    units: Units,
}

impl Administration {
    /// With the built-in policy groups and nothing else.
    pub fn new(settings: RegistrySettings) -> Administration {
        let units = match settings.units {
            qos::Units::Decimal => Units::Decimal,
            qos::Units::Binary => Units::Binary,
        };
        Administration {
            registry: Registry::new(settings),
            sample: Arc::default(),
            snapshots: Snapshots::default(),
            wall_seconds: 0,
            offline: BTreeSet::new(),
            connected: BTreeMap::new(),
            units,
        }
    }

    /// Runs one line at `now`; `used` tells the bytes that a LUN or file takes, and those that
    /// would come free with a snapshot's tree.
    ///
    /// # Errors
    /// The line is refused, and nothing changed.
    pub fn execute(&mut self, line: &str, now: Time, used: &dyn Fn(ObjectId) -> u64) -> Result<Outcome, AdminError> {
        self.execute_with(line, now, &Told(used))
    }

    /// Runs one line at `now`; `sizes` are asked for only where a row of the answer or a rule needs them.
    ///
    /// # Errors
    /// The line is refused, and nothing changed.
    pub fn execute_with(&mut self, line: &str, now: Time, sizes: &dyn Sizes) -> Result<Outcome, AdminError> {
        let command = ontap::parse(line).map_err(|error| AdminError::Grammar(Box::new(error)))?;
        let before = (self.registry.clone(), self.snapshots.clone(), self.offline.clone());
        let mut errand = Errand {
            registry: &mut self.registry,
            sample: &self.sample,
            snapshots: &mut self.snapshots,
            wall_seconds: self.wall_seconds,
            offline: &mut self.offline,
            connected: &self.connected,
            units: self.units,
            now,
            sizes,
            edits: Vec::new(),
            effects: Vec::new(),
            notes: Vec::new(),
            forced: false,
        };
        match errand.run(command) {
            Ok(answer) => {
                let Errand { edits, effects, notes, forced, .. } = errand;
                Ok(Outcome { answer: answer + &notes.concat(), edits, effects, forced })
            }
            Err(error) => {
                (self.registry, self.snapshots, self.offline) = before;
                Err(error)
            }
        }
    }

    /// The path of an object as people write it: `svm01`, `svm01:/vol/vol1`, `svm01:/vol/vol1/lun1`.
    pub fn path_of(&self, object: ObjectId) -> Option<String> {
        path_of(&self.registry, object)
    }

    /// The name of a policy group.
    pub fn group_name(&self, group: GroupId) -> Option<&str> {
        self.registry.group_of(group).map(qos::Group::name)
    }

    /// The numbers in force: for every object in a policy group its own (not those of a shared budget), and for every
    /// shared group with members its budget, by path or name.
    pub fn limits(&self) -> Vec<(String, LimitsInForce)> {
        let numbers = |policy: &str, limits: &qos::Limits| LimitsInForce {
            policy: policy.into(),
            ceiling_iops: limits.ceiling.iops.map(|rate| rate.0),
            ceiling_bytes: limits.ceiling.bytes.map(|rate| rate.0),
            floor_iops: limits.floor.iops.map(|rate| rate.0),
            floor_bytes: limits.floor.bytes.map(|rate| rate.0),
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

/// One command on its way.
struct Errand<'a> {
    registry: &'a mut Registry,
    sample: &'a Sample,
    snapshots: &'a mut Snapshots,
    wall_seconds: u64,
    offline: &'a mut BTreeSet<ObjectId>,
    connected: &'a BTreeMap<ObjectId, u64>,
    units: Units,
    now: Time,
    sizes: &'a dyn Sizes,
    edits: Vec<Edit>,
    effects: Vec<Effect>,
    notes: Vec<String>,
    forced: bool,
}

impl Errand<'_> {
    fn run(&mut self, command: Command) -> Result<String, AdminError> {
        match command {
            Command::Vserver(command) => self.vserver(command),
            Command::Volume(command) => self.volume(command),
            Command::Qtree(command) => self.qtree(command),
            Command::File(command) => self.file(command),
            Command::Lun(command) => self.lun(command),
            Command::Snapshot(command) => self.snapshot(command),
            Command::Clone(command) => self.clone(command),
            Command::PolicyGroup(command) => self.policy_group(command),
            Command::Adaptive(command) => self.adaptive_policy_group(command),
            Command::Fairness(command) => self.fairness(command),
            Command::Workload(command) => self.workload(command),
            Command::Help(topic) => Ok(topic.text()),
            Command::Statistics(show) => self.statistics(&show),
        }
    }

    /// The SVM that is meant: the named one, or the only one.
    fn svm(&self, name: Option<&ObjectName>) -> Result<ObjectId, AdminError> {
        let svms = || self.registry.objects().filter(|object| object.kind() == ObjectKind::Svm);
        match name {
            Some(name) => self.registry.find_svm(name.as_str()).ok_or_else(|| {
                let known: Vec<_> = svms().map(|svm| svm.name().to_owned()).collect();
                AdminError::Command(format!("there is no SVM {name}; there are: {}", list(&known)))
            }),
            None => match (svms().next(), svms().nth(1)) {
                (Some(only), None) => Ok(only.id()),
                (None, _) => Err(AdminError::Command("there is no SVM yet; `vserver create NAME` makes one".into())),
                _ => Err(AdminError::Command("there are several SVMs; say which with -vserver".into())),
            },
        }
    }

    fn svm_name(&self, object: ObjectId) -> String {
        let svm = self.registry.svm_of(object).and_then(|svm| self.registry.object(svm));
        svm.map(|svm| svm.name().to_owned()).unwrap_or_default()
    }

    /// The names of the policy groups that an object is in: (fixed, adaptive), of which at most one is there.
    fn attached(&self, object: ObjectId) -> (Option<String>, Option<String>) {
        let membership = self.registry.object(object).and_then(qos::Object::membership);
        let group = membership.and_then(|membership| self.registry.group_of(membership.group));
        match group {
            Some(group) if group.policy().adaptive().is_some() => (None, Some(group.name().into())),
            Some(group) => (Some(group.name().into()), None),
            None => (None, None),
        }
    }

    /// Takes what an accepted step leads to.
    fn take(&mut self, change: Change) {
        self.edits.extend(change.edits);
        self.notes.extend(change.notes.iter().map(|note| format!("Note: {note}.\n")));
    }

    /// Attaches what an administrator assigned: a group of the kind that the parameter is for, or none.
    fn assign(&mut self, object: ObjectId, assigned: &Assigned<'_>) -> Result<(), AdminError> {
        let Some((assignment, adaptive)) = assigned.given() else { return Ok(()) };
        let name = assignment.group().map(|name| name.as_str());
        let has_size = self.registry.object(object).is_some_and(|object| object.kind().has_size());
        // Where no adaptive group fits at all, the registry says so; there is no other parameter to use.
        if let Some(group) = name.and_then(|name| self.registry.group(name))
            && group.policy().adaptive().is_some() != adaptive
            && (adaptive || has_size)
        {
            let (is, parameter) = match adaptive {
                true => ("fixed", "-qos-policy-group"),
                false => ("adaptive", "-qos-adaptive-policy-group"),
            };
            let (name, label) = (group.name(), self.registry.label(object));
            return Err(AdminError::Command(format!(
                "{label}: policy group {name} is {is}; attach it with {parameter}"
            )));
        }
        // `none` takes away a group of the kind that was named, and leaves one of the other kind alone.
        if name.is_none() {
            let membership = self.registry.object(object).and_then(qos::Object::membership);
            let group = membership.and_then(|membership| self.registry.group_of(membership.group));
            if group.is_some_and(|group| group.policy().adaptive().is_some() != adaptive) {
                return Ok(());
            }
        }
        // Others do not go by what is used.
        if adaptive && name.is_some() {
            self.measure(object);
        }
        let change = self.registry.attach(object, name)?;
        self.take(change);
        Ok(())
    }
}

/// The two parameters that assign a policy group; the grammar lets at most one through.
struct Assigned<'a> {
    fixed: Option<&'a PolicyAssignment>,
    adaptive: Option<&'a PolicyAssignment>,
}

impl<'a> Assigned<'a> {
    fn given(&self) -> Option<(&'a PolicyAssignment, bool)> {
        self.fixed.map(|group| (group, false)).or(self.adaptive.map(|group| (group, true)))
    }
}

fn whole(allocated: u64, used: u64) -> Size {
    Size { allocated: Bytes(allocated), used: Bytes(used) }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// An object's identifier, derived from its number: unique within the pool, and the same after a restart.
fn uuid_of(object: ObjectId) -> String {
    crate::persist::uuid_text(0x5ea1_a110_0000_8000_8000_0000_0000_0000 | u128::from(object.0))
}

fn path_of(registry: &Registry, object: ObjectId) -> Option<String> {
    registry.object(object)?;
    let mut names: Vec<&str> = registry.path(object).map(|level| level.name()).collect();
    let svm = names.pop()?;
    names.reverse();
    Some(if names.is_empty() { svm.into() } else { format!("{svm}:/vol/{}", names.join("/")) })
}
