//! An errand: one command that is being executed, with what all areas need of the registry.

use crate::{
    AdminError, Answer, At, Effect, Note, ObjectDetails, Obstacle, Partitions, Snapshot, Snapshots, Taken, Undo,
};
use block::{Bytes, ObjectId};
use ontap::Command;
use ontap::catalogue::Selection;
use ontap::show::{Listing, Row, Rows};
use ontap::value::{ObjectName, PolicyAssignment, SizeUnits, VolumeName};
use qos::{Change, Edit, Object, ObjectKind, Registry, Size};
use std::collections::{BTreeMap, BTreeSet};

/// One command, or several as a unit, while being executed.
pub(crate) struct Errand<'a> {
    pub registry: &'a mut Registry,
    pub snapshots: &'a mut Snapshots,
    pub offline: &'a mut BTreeSet<ObjectId>,
    pub partitions: &'a mut Partitions,
    pub details: &'a mut BTreeMap<ObjectId, ObjectDetails>,
    pub units: SizeUnits,
    pub at: At<'a>,
    pub edits: Vec<Edit>,
    pub effects: Vec<Effect>,
    pub taken: BTreeMap<ObjectId, Taken>,
    pub notes: Vec<Note>,
    pub forced: bool,
    /// The inverse change, without the registry's.
    pub undo: Undo,
}

impl Errand<'_> {
    /// Runs the commands until one is refused.
    pub fn run_all(&mut self, commands: Vec<Command>) -> Result<Answer, AdminError> {
        let mut answer = Answer::default();
        let mut forced = false;
        for command in commands {
            answer = self.run(command)?;
            forced |= self.forced;
        }
        self.forced = forced;
        Ok(answer)
    }

    /// Runs one command; what it did before a refusal remains.
    fn run(&mut self, command: Command) -> Result<Answer, AdminError> {
        match command {
            Command::Vserver(command) => self.vserver(command),
            Command::Volume(command) => self.volume(command),
            Command::Aggregate(command) => self.aggregate(&command),
            Command::Network(command) => self.network(&command),
            Command::Qtree(command) => self.qtree(command),
            Command::File(command) => self.file(command),
            Command::Lun(command) => self.lun(command),
            Command::Snapshot(command) => self.snapshot(command),
            Command::Clone(command) => self.clone(command),
            Command::PolicyGroup(command) => self.policy_group(command),
            Command::Adaptive(command) => self.adaptive_policy_group(command),
            Command::Chart(chart) => self.chart(&chart),
            Command::Fairness(command) => self.fairness(command),
            Command::Workload(command) => self.workload(command),
            // Handled by the shell; it changes nothing here.
            Command::Session(_) => Ok(Answer::default()),
            Command::Help(topic) => Ok(Answer::Text(topic.text())),
            Command::Statistics(show) => self.statistics(&show),
            Command::Cache(command) => self.cache(command),
            Command::History(show) => self.history(&show),
            Command::Event(command) => self.event(command),
            Command::Security(command) => self.security(command),
        }
    }

    /// The answer of a `show` command.
    pub fn listed<R: Row>(&self, rows: impl IntoIterator<Item = R>, selection: &Selection) -> Result<Answer, AdminError>
    where
        Rows: From<Vec<R>>,
    {
        Ok(Answer::Rows(Listing::new(rows, selection, self.units)))
    }

    /// Adds an effect. The objects that clients would lose still exist, so their paths are recorded
    /// now.
    pub fn lead_to(&mut self, effect: Effect) {
        if let Some(object) = effect.taken_from_clients() {
            let path = path_of(self.registry, object).unwrap_or_default();
            let is_lun = self.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::Lun);
            self.taken.insert(object, Taken { path, is_lun });
        }
        self.effects.push(effect);
    }

    /// Sets or removes the snapshot with that number.
    pub fn set_snapshot(&mut self, id: u32, snapshot: Option<Snapshot>) {
        let was = self.snapshots.set(id, snapshot);
        self.undo.snapshots.push((id, was));
    }

    /// Sets whether a LUN is offline. Returns whether that is a change.
    pub fn set_offline(&mut self, lun: ObjectId, offline: bool) -> bool {
        let changed = if offline { self.offline.insert(lun) } else { self.offline.remove(&lun) };
        if changed {
            self.undo.offline.push((lun, !offline));
        }
        changed
    }

    /// Resolves an SVM: the named one, or the only one.
    pub fn svm(&self, name: Option<&ObjectName>) -> Result<ObjectId, AdminError> {
        let svms = || self.registry.objects().filter(|object| object.kind() == ObjectKind::Svm);
        match name {
            Some(name) => self.registry.find_svm(name.as_str()).ok_or_else(|| {
                let known: Vec<_> = svms().map(|svm| svm.name().to_owned()).collect();
                let text = format!("there is no SVM {name}; there are: {}", list(&known));
                Obstacle::NoSvm.told(text).given(name).into()
            }),
            None => match (svms().next(), svms().nth(1)) {
                (Some(only), None) => Ok(only.id()),
                (None, _) => Err(Obstacle::NoSvm.told("there is no SVM yet; `vserver create NAME` makes one").into()),
                _ => Err(Obstacle::WhichSvm.told("there are several SVMs; say which with -vserver").into()),
            },
        }
    }

    /// Resolves the SVM of a volume: the named one, or the only one with a volume of that name.
    pub fn svm_of_volume(&self, vserver: Option<&ObjectName>, volume: &str) -> Result<ObjectId, AdminError> {
        self.svm_that_has(vserver, volume, |svm| self.registry.find_volume(svm, volume).is_some())
    }

    /// Resolves the SVM of a volume in a list; a name that several SVMs have must be given with its
    /// SVM.
    pub fn svm_of_listed(&self, name: &VolumeName) -> Result<ObjectId, AdminError> {
        let volume = name.volume.as_str();
        let has = |svm| self.registry.find_volume(svm, volume).is_some();
        self.svm_told(name.vserver.as_ref(), volume, has, |svms| {
            let whole: Vec<String> = svms.iter().map(|svm| format!("{svm}:{volume}")).collect();
            format!("write {}", whole.join(" or "))
        })
    }

    /// Resolves an SVM: the named one, the only one, or the only one that has what `volume` names.
    pub fn svm_that_has(
        &self,
        vserver: Option<&ObjectName>,
        volume: &str,
        has: impl Fn(ObjectId) -> bool,
    ) -> Result<ObjectId, AdminError> {
        self.svm_told(vserver, volume, has, |_| "say which with -vserver".to_owned())
    }

    /// The same where `how` says, of the SVMs that have it, how one of them is named.
    fn svm_told(
        &self,
        vserver: Option<&ObjectName>,
        volume: &str,
        has: impl Fn(ObjectId) -> bool,
        how: impl Fn(&[String]) -> String,
    ) -> Result<ObjectId, AdminError> {
        let svms: Vec<ObjectId> =
            self.registry.objects().filter(|object| object.kind() == ObjectKind::Svm).map(Object::id).collect();
        if vserver.is_some() || svms.len() < 2 {
            return self.svm(vserver);
        }
        let having: Vec<ObjectId> = svms.into_iter().filter(|svm| has(*svm)).collect();
        match having[..] {
            [only] => Ok(only),
            [] => Err(Obstacle::NoVolume.told(format!("no SVM has a volume {volume}")).given(volume).into()),
            _ => {
                let names: Vec<String> = having.iter().map(|svm| self.svm_name(*svm)).collect();
                let text = format!("several SVMs have a volume {volume}: {}; {}", list(&names), how(&names));
                Err(Obstacle::WhichSvm.told(text).given(volume).into())
            }
        }
    }

    pub fn svm_name(&self, object: ObjectId) -> String {
        let svm = self.registry.svm_of(object).and_then(|svm| self.registry.object(svm));
        svm.map(|svm| svm.name().to_owned()).unwrap_or_default()
    }

    /// The names of the fixed and of the adaptive policy group that an object is in; at most one is
    /// set.
    pub fn attached(&self, object: ObjectId) -> (Option<String>, Option<String>) {
        let membership = self.registry.object(object).and_then(Object::membership);
        let group = membership.and_then(|membership| self.registry.group_of(membership.group));
        match group {
            Some(group) if group.policy().adaptive().is_some() => (None, Some(group.name().into())),
            Some(group) => (Some(group.name().into()), None),
            None => (None, None),
        }
    }

    /// Adds the results of an accepted step.
    pub fn take(&mut self, change: Change) {
        self.edits.extend(change.edits);
        self.notes.extend(change.notes.into_iter().map(Note::Policy));
    }

    /// Attaches an object to the group that was assigned, which must be of the parameter's kind, or
    /// detaches it.
    pub fn assign(&mut self, object: ObjectId, assigned: &Assigned<'_>) -> Result<(), AdminError> {
        let Some((assignment, adaptive)) = assigned.given() else { return Ok(()) };
        if let PolicyAssignment::Own(limits) = assignment {
            return self.assign_own(object, *limits);
        }
        let name = assignment.group().map(|name| name.as_str());
        let has_size = self.registry.object(object).is_some_and(|object| object.kind().has_size());
        // If no adaptive group fits at all, the registry reports it: there is no other parameter to
        // suggest.
        if let Some(group) = name.and_then(|name| self.registry.group(name))
            && group.policy().adaptive().is_some() != adaptive
            && (adaptive || has_size)
        {
            let (obstacle, is, parameter) = match adaptive {
                true => (Obstacle::GroupIsFixed, "fixed", "-qos-policy-group"),
                false => (Obstacle::GroupIsAdaptive, "adaptive", "-qos-adaptive-policy-group"),
            };
            let (name, label) = (group.name(), self.registry.label(object));
            let text = format!("{label}: policy group {name} is {is}; attach it with {parameter}");
            return Err(obstacle.told(text).given(name).about(label).into());
        }
        // `none` detaches a group of the parameter's kind and leaves one of the other kind.
        if name.is_none() {
            let membership = self.registry.object(object).and_then(Object::membership);
            let group = membership.and_then(|membership| self.registry.group_of(membership.group));
            if group.is_some_and(|group| group.policy().adaptive().is_some() != adaptive) {
                return Ok(());
            }
        }
        // Only adaptive groups depend on used space.
        if adaptive && name.is_some() {
            self.measure(object);
        }
        self.attach(object, name)
    }

    /// Attaches a group, or detaches with `None`. A group that was made for the object alone is
    /// deleted when the object leaves it.
    pub fn attach(&mut self, object: ObjectId, name: Option<&str>) -> Result<(), AdminError> {
        let left = self.own_group(object).filter(|left| Some(left.as_str()) != name);
        let change = self.registry.attach(object, name)?;
        self.take(change);
        self.drop_groups(left)
    }
}

/// The two parameters that assign a policy group; the grammar accepts at most one of them.
pub(crate) struct Assigned<'a> {
    pub fixed: Option<&'a PolicyAssignment>,
    pub adaptive: Option<&'a PolicyAssignment>,
}

impl<'a> Assigned<'a> {
    fn given(&self) -> Option<(&'a PolicyAssignment, bool)> {
        self.fixed.map(|group| (group, false)).or(self.adaptive.map(|group| (group, true)))
    }

    /// Whether it leaves an object without a policy as it is.
    pub fn detaches(&self) -> bool {
        self.given().is_none_or(|(assignment, _)| matches!(assignment, PolicyAssignment::Detach))
    }
}

pub(crate) fn whole(allocated: u64, used: u64) -> Size {
    Size { allocated: Bytes(allocated), used: Bytes(used) }
}

/// Names that a list in a message has at most; of the others it has the number.
const NAMED_MAX: usize = 8;

pub(crate) fn list(names: &[String]) -> String {
    match names.len() {
        0 => "none".into(),
        1..=NAMED_MAX => names.join(", "),
        _ => format!("{} and {} more", names[..NAMED_MAX].join(", "), names.len() - NAMED_MAX),
    }
}

/// An object's identifier, derived from its number: unique within the pool, and the same after a
/// restart.
pub fn uuid_of(object: ObjectId) -> String {
    uuid_text(OBJECT_UUID | u128::from(object.0))
}

/// The number of the object with an identifier made by [`uuid_of`]; the object need not exist.
pub fn object_of_uuid(text: &str) -> Option<ObjectId> {
    let uuid = u128::from_str_radix(&text.replace('-', ""), 16).ok()?;
    let number = ObjectId(u32::try_from(uuid ^ OBJECT_UUID).ok()?);
    (uuid_of(number) == text).then_some(number)
}

/// The fixed bits of an object's identifier.
const OBJECT_UUID: u128 = 0x5ea1_a110_0000_8000_8000_0000_0000_0000;

pub(crate) fn path_of(registry: &Registry, object: ObjectId) -> Option<String> {
    registry.object(object)?;
    let mut names: Vec<&str> = registry.path(object).map(|level| level.name()).collect();
    let svm = names.pop()?;
    names.reverse();
    Some(if names.is_empty() { svm.into() } else { format!("{svm}:/vol/{}", names.join("/")) })
}

/// `63ab2b0a-0000-0000-0000-000000000000`
pub fn uuid_text(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
