//! The administrators' side of a server: commands are checked by the registry, made durable in the catalogue, and then
//! ordered of the shard, in this order, so that what was answered survives whatever comes.
//!
//! One file a command's area, with the same roles in each: what changes, what shows.

mod adaptive;
mod lun;
mod policy_group;
mod volume;
mod vserver;

use crate::exports::Export;
use crate::persist::{UnreadablePolicy, records_of, rows_of};
use crate::shard::{Account, Order, Shard, ShardGone};
use block::{Bytes, Driver as _, ObjectId, Time};
use ontap::value::{ObjectName, PolicyAssignment, Units};
use ontap::{Command, CommandError};
use qos::{Change, Edit, GroupId, ObjectKind, Refusal, Registry, RegistrySettings, Size};
use stats::LimitsInForce;
use store::{Pool, StoreError};

/// Sizes of volumes and LUNs are rounded up to whole blocks of this many bytes: what a device never splits.
const BLOCK: u64 = 4096;

/// Why a command was not done. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The line is no command.
    #[error("{0}")]
    Grammar(Box<CommandError>),
    /// A rule refused it.
    #[error("{0} (code {code})", code = .0.code())]
    Refused(#[from] Refusal),
    /// Something that it names does not exist, or stands in the way.
    #[error("{0}")]
    Command(String),
    /// The pool failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A kept policy cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePolicy),
    /// The shard is gone.
    #[error(transparent)]
    Gone(#[from] ShardGone),
}

/// A pool, what is known of it, and the shard that serves it.
pub struct Control {
    pool: Pool,
    registry: Registry,
    shard: Shard,
    units: Units,
    clock: uring::Clock,
}

impl Control {
    /// Brings the shard to what the pool's catalogue says and opens every LUN.
    ///
    /// # Errors
    /// The catalogue breaks a rule, or a LUN's file cannot be opened.
    pub fn open(pool: Pool, shard: Shard, settings: RegistrySettings) -> Result<Control, ControlError> {
        let units = match settings.units {
            qos::Units::Decimal => Units::Decimal,
            qos::Units::Binary => Units::Binary,
        };
        let registry = Registry::new(settings);
        let mut control = Control { pool, registry, shard, units, clock: uring::Clock::new() };
        let edits = control.restore()?;
        control.shard.order(Order::Edit(edits))?;
        let luns: Vec<ObjectId> =
            control.registry.objects().filter(|o| o.kind() == ObjectKind::Lun).map(|o| o.id()).collect();
        for lun in luns {
            control.serve_lun(lun)?;
        }
        Ok(control)
    }

    /// Runs one line and returns its answer, ready to print.
    ///
    /// # Errors
    /// The line is refused, in one line (a grammar error may bring its usage along).
    pub fn execute(&mut self, line: &str) -> Result<String, ControlError> {
        let command = ontap::parse(line).map_err(|error| ControlError::Grammar(Box::new(error)))?;
        let answer = self.run(command);
        match &answer {
            Ok(_) => tracing::info!(command = line, "done"),
            Err(error) => tracing::info!(command = line, %error, "refused"),
        }
        answer
    }

    /// What the shard did since the last call.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn account(&self) -> Result<Account, ShardGone> {
        self.shard.account()
    }

    /// The shard.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The path of an object as people write it: `svm01`, `svm01:/vol/vol1`, `svm01:/vol/vol1/lun1`.
    pub fn path_of(&self, object: ObjectId) -> Option<String> {
        self.registry.object(object)?;
        let mut names: Vec<&str> = self.registry.path(object).map(|level| level.name()).collect();
        let svm = names.pop()?;
        names.reverse();
        Some(if names.is_empty() { svm.into() } else { format!("{svm}:/vol/{}", names.join("/")) })
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

    fn run(&mut self, command: Command) -> Result<String, ControlError> {
        match command {
            Command::Vserver(command) => self.vserver(command),
            Command::Volume(command) => self.volume(command),
            Command::Lun(command) => self.lun(command),
            Command::PolicyGroup(command) => self.policy_group(command),
            Command::AdaptivePolicyGroup(command) => self.adaptive_policy_group(command),
            Command::Help(topic) => Ok(topic.to_string()),
            _ => Err(ControlError::Command("this server does not have that command yet".into())),
        }
    }

    /// Reads the registry back from the catalogue; returns the edits that bring an empty scheduler there.
    fn restore(&mut self) -> Result<Vec<Edit>, ControlError> {
        let pool = &self.pool;
        let used = |row: &store::ObjectRow| match row.kind {
            store::Kind::Lun => pool.used(row.id).unwrap_or(0),
            _ => 0,
        };
        let records = records_of(pool.catalogue.contents(), used)?;
        let (registry, change) = Registry::restore(self.registry.settings().clone(), &records)?;
        self.registry = registry;
        Ok(change.edits)
    }

    /// Makes a change of several steps: all of it, durable, or nothing.
    fn change<T>(&mut self, steps: impl FnOnce(&mut Steps<'_>) -> Result<T, ControlError>) -> Result<T, ControlError> {
        let mut taken = Steps { registry: &mut self.registry, edits: Vec::new(), notes: Vec::new() };
        let result = steps(&mut taken);
        let edits = taken.edits;
        let kept = result.and_then(|value| {
            self.pool.catalogue.keep(rows_of(&self.registry.catalogue()))?;
            Ok(value)
        });
        match kept {
            Ok(value) => {
                self.shard.order(Order::Edit(edits))?;
                Ok(value)
            }
            Err(error) => {
                self.restore()?;
                Err(error)
            }
        }
    }

    /// Opens a LUN's file and has the shard offer it.
    fn serve_lun(&mut self, lun: ObjectId) -> Result<(), ControlError> {
        let size = self.registry.object(lun).map_or(0, |object| object.size().allocated.0);
        let path = self.path_of(lun).unwrap_or_default();
        let (svm, path) = path.split_once(':').unwrap_or_default();
        let opened = self.pool.open_data_file(lun.0)?;
        let export = Export {
            object: lun,
            svm: svm.into(),
            path: path.into(),
            size,
            align: opened.align,
            longest: store::VolumesSettings::default().longest,
        };
        self.shard.order(Order::Open { export, file: opened.file })?;
        Ok(())
    }

    /// The SVM that is meant: the named one, or the only one.
    fn svm(&self, name: Option<&ObjectName>) -> Result<ObjectId, ControlError> {
        let svms = || self.registry.objects().filter(|object| object.kind() == ObjectKind::Svm);
        match name {
            Some(name) => self.registry.find_svm(name.as_str()).ok_or_else(|| {
                let known: Vec<_> = svms().map(|svm| svm.name().to_owned()).collect();
                ControlError::Command(format!("there is no SVM {name}; there are: {}", list(&known)))
            }),
            None => match (svms().next(), svms().nth(1)) {
                (Some(only), None) => Ok(only.id()),
                (None, _) => Err(ControlError::Command("there is no SVM yet; `vserver create NAME` makes one".into())),
                _ => Err(ControlError::Command("there are several SVMs; say which with -vserver".into())),
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

    fn now(&self) -> Time {
        self.clock.now()
    }
}

/// The steps of one change.
struct Steps<'a> {
    registry: &'a mut Registry,
    edits: Vec<Edit>,
    notes: Vec<String>,
}

impl Steps<'_> {
    /// Takes what an accepted step leads to.
    fn take(&mut self, change: Change) {
        self.edits.extend(change.edits);
        self.notes.extend(change.notes.iter().map(|note| format!("Note: {note}.\n")));
    }

    /// Attaches what an administrator assigned: a group of the kind that the parameter is for, or none.
    fn assign(&mut self, object: ObjectId, assigned: &Assigned<'_>) -> Result<(), ControlError> {
        let Some((assignment, adaptive)) = assigned.given() else { return Ok(()) };
        let name = assignment.group().map(|name| name.as_str());
        if let Some(group) = name.and_then(|name| self.registry.group(name))
            && group.policy().adaptive().is_some() != adaptive
        {
            let (is, parameter) = match adaptive {
                true => ("fixed", "-qos-policy-group"),
                false => ("adaptive", "-qos-adaptive-policy-group"),
            };
            let name = group.name();
            return Err(ControlError::Command(format!("policy group {name} is {is}; attach it with {parameter}")));
        }
        // `none` takes away a group of the kind that was named, and leaves one of the other kind alone.
        if name.is_none() {
            let membership = self.registry.object(object).and_then(qos::Object::membership);
            let group = membership.and_then(|membership| self.registry.group_of(membership.group));
            if group.is_some_and(|group| group.policy().adaptive().is_some() != adaptive) {
                return Ok(());
            }
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

/// A typed size in bytes, rounded up to whole blocks.
fn bytes_of(size: ontap::value::Size, units: Units) -> Result<u64, ControlError> {
    let bytes = size.bytes(units).and_then(|bytes| bytes.checked_next_multiple_of(BLOCK));
    bytes
        .filter(|bytes| (BLOCK..=1 << 62).contains(bytes))
        .ok_or_else(|| ControlError::Command(format!("size {size}: must be from 1 byte to 4 EiB")))
}

fn whole(allocated: u64, used: u64) -> Size {
    Size { allocated: Bytes(allocated), used: Bytes(used) }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

impl Control {
    /// An object's identifier, derived from its number: unique within the pool, and the same after a restart.
    fn uuid_of(&self, object: ObjectId) -> String {
        crate::persist::uuid_text(0x5ea1_a110_0000_8000_8000_0000_0000_0000 | u128::from(object.0))
    }
}
