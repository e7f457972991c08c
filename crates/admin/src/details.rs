//! Details of objects beyond their sizes and policies. They are stored and shown, and do not affect
//! data.

use super::{AdminError, Administration, Effect, Errand, Note, Obstacle};
use block::ObjectId;
use ontap::value::{JunctionPath, OsType};
use qos::{Object, ObjectKind};

/// The details of one object; objects without any have the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectDetails {
    /// The operating system that a LUN is for.
    pub os_type: OsType,
    /// When a volume was made, in seconds since 1970; 0 if unknown.
    pub created: u64,
    /// A volume's place in its SVM's name space.
    pub junction: Option<JunctionPath>,
    /// When a volume got its present name or junction, in seconds since 1970; 0 if it has had them
    /// since it was made.
    pub placed: u64,
    /// What a volume was cloned from.
    pub origin: Option<CloneOrigin>,
    /// The node of a clients' file in its volume's tree.
    pub node: Option<FileNode>,
}

impl ObjectDetails {
    /// Since when a volume has had its place in name spaces, in seconds since 1970. Of the volumes
    /// of several SVMs at a path that is given without its SVM, clients mount the one that was
    /// there first.
    pub fn placed_since(&self) -> u64 {
        self.created.max(self.placed)
    }
}

/// Identifies a file in a volume's tree for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileNode {
    /// Its number.
    pub number: u32,
    /// Distinguishes it from earlier files with the same number.
    pub generation: u64,
}

/// What a volume was cloned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneOrigin {
    /// The volume. It may have been deleted, but its number is never reused.
    pub volume: ObjectId,
    /// The snapshot of it, where it was one that is still there: by its name of today.
    pub snapshot: Option<String>,
}

/// A volume's place in a name space, by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Junction {
    /// The SVM's name.
    pub svm: String,
    /// The path there, `/db`.
    pub path: String,
    /// The volume's name.
    pub volume: String,
}

impl Administration {
    /// A volume's place in the name space of its SVM, if it has one.
    pub fn junction(&self, volume: ObjectId) -> Option<Junction> {
        let path = self.details.get(&volume)?.junction.as_ref()?.to_string();
        let name = |object: ObjectId| self.registry.object(object).map(|object| object.name().to_owned());
        Some(Junction { svm: name(self.registry.svm_of(volume)?)?, path, volume: name(volume)? })
    }
}

impl Errand<'_> {
    /// The details of an object.
    pub fn details(&self, object: ObjectId) -> ObjectDetails {
        self.details.get(&object).cloned().unwrap_or_default()
    }

    /// Sets the details of an object.
    pub fn set_details(&mut self, object: ObjectId, details: ObjectDetails) {
        let is_default = details == ObjectDetails::default();
        let was = if is_default { self.details.remove(&object) } else { self.details.insert(object, details) };
        let is = self.details.get(&object);
        if was.as_ref() == is {
            return;
        }
        let place = |details: Option<&ObjectDetails>| details.and_then(|details| details.junction.clone());
        if place(was.as_ref()) != place(is) {
            self.lead_to(Effect::Junction { object });
        }
        self.undo.details.push((object, was));
    }

    /// Sets the operating system that a LUN is for.
    pub fn set_os_type(&mut self, lun: ObjectId, os_type: OsType) {
        self.set_details(lun, ObjectDetails { os_type, ..self.details(lun) });
    }

    /// Sets or removes a volume's place in its SVM's name space. Other SVMs may have the same one:
    /// those that had it before keep it for clients that mount it without an SVM.
    pub fn set_junction(&mut self, volume: ObjectId, junction: Option<&JunctionPath>) -> Result<(), AdminError> {
        if let Some(path) = junction
            && let Some(other) = self.at_junction(volume, path)
        {
            let (svm, other) = (self.svm_name(volume), other.name());
            let text =
                format!("SVM {svm} has volume {other} at {path}; give another path, or `volume unmount {other}`");
            return Err(Obstacle::JunctionTaken.told(text).given(path).about(svm).into());
        }
        let was = self.details(volume);
        if was.junction.as_ref() == junction {
            return Ok(());
        }
        let first = junction.and_then(|path| self.elsewhere(volume, path));
        if let (Some(path), Some(_)) = (junction, first) {
            self.notes.push(Note::PathElsewhere { svm: self.svm_name(volume), path: path.to_string() });
        }
        let placed = first.map_or(0, |first| first + 1).max(self.at.date());
        self.set_details(volume, ObjectDetails { junction: junction.cloned(), placed, ..was });
        Ok(())
    }

    /// Since when at most volumes of other SVMs have had that path, as a junction or by their
    /// names.
    fn elsewhere(&self, volume: ObjectId, path: &JunctionPath) -> Option<u64> {
        let (svm, path) = (self.registry.svm_of(volume), path.to_string());
        let others = self.registry.objects().filter(|other| other.kind() == ObjectKind::Volume);
        let others = others.filter(|other| self.registry.svm_of(other.id()) != svm);
        let there = others.map(|other| (other, self.details(other.id()))).filter(|(other, details)| {
            path.strip_prefix('/') == Some(other.name())
                || details.junction.as_ref().is_some_and(|junction| junction.to_string() == path)
        });
        there.map(|(_, details)| details.placed_since()).max()
    }

    /// The other volume of the same SVM that has that place, if any.
    fn at_junction(&self, volume: ObjectId, path: &JunctionPath) -> Option<&Object> {
        let svm = self.registry.svm_of(volume)?;
        let has = |other: &ObjectId| self.details.get(other).is_some_and(|kept| kept.junction.as_ref() == Some(path));
        let mut others = self.children(svm, ObjectKind::Volume).filter(|other| other.id() != volume);
        others.find(|other| has(&other.id()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{At, Outcome};
    use block::Time;

    fn run(administration: &mut Administration, line: &str) -> Result<Outcome, String> {
        let world = crate::world::Told(&|_| 0);
        let at = At { now: Time::ZERO, began: 1_795_314_659, world: &world };
        let command = ontap::parse(line).map_err(|error| error.to_string())?;
        administration.run(command, &at).map_err(|error| error.to_string())
    }

    fn with(lines: &[&str]) -> Administration {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for line in ["vserver create s"].iter().chain(lines) {
            let _ = run(&mut administration, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        administration
    }

    fn shown(administration: &mut Administration, line: &str) -> String {
        run(administration, line).unwrap().answer.text()
    }

    /// A volume's place is shown and sent to hosts, no two volumes of an SVM have the same place,
    /// none has two, and a refused command leaves everything as it was.
    #[test]
    fn a_volume_has_one_place_in_the_name_space() {
        let mut administration = with(&["volume create v -junction-path /db", "volume create w", "vserver create t"]);
        let line = "volume show -fields junction-path -volume v";
        assert!(shown(&mut administration, line).contains(" /db"), "{}", shown(&mut administration, line));
        assert!(shown(&mut administration, "df -fields mounted-on -volume v").contains(" /db"));
        let before = administration.clone();
        for line in ["volume mount w -junction-path /db", "volume create x -vserver s -junction-path /db"] {
            let refused = run(&mut administration, line).unwrap_err();
            assert!(refused.contains("SVM s has volume v at /db"), "{refused}");
        }
        assert!(run(&mut administration, "volume mount w -junction-path db").unwrap_err().contains("junction path"));
        assert_eq!(administration, before);
        let there_too = run(&mut administration, "volume create x -vserver t -junction-path /db").unwrap();
        let note =
            "Note: clients mount it as t:/db; without `t:` they get a volume of another SVM, which had /db first.\n";
        assert_eq!(there_too.answer.text(), note);
        let renamed = run(&mut administration, "volume rename v -vserver s -newname u").unwrap();
        assert!(matches!(renamed.effects[..], [Effect::Junction { .. }]), "{:?}", renamed.effects);
        let Effect::Junction { object } = renamed.effects[0] else { unreachable!() };
        let place = Junction { svm: "s".into(), path: "/db".into(), volume: "u".into() };
        assert_eq!(administration.junction(object), Some(place));
        let refused = run(&mut administration, "volume mount u -junction-path /db2").unwrap_err();
        assert_eq!(refused, "s:/vol/u: is mounted at /db; unmount it first with `volume unmount u`");
        assert!(run(&mut administration, "volume mount u -junction-path /db").unwrap().effects.is_empty());
        let was = administration.clone();
        let unmounted = run(&mut administration, "volume unmount u").unwrap();
        assert_eq!(administration.junction(object), None);
        administration.take_back(unmounted.undo);
        assert_eq!(administration, was);
        let _ = run(&mut administration, "volume unmount u").unwrap();
        let moved = run(&mut administration, "volume mount u -junction-path /db2").unwrap();
        assert!(matches!(moved.effects[..], [Effect::Junction { .. }]));
        assert_eq!(moved.undo.touched().objects.into_iter().collect::<Vec<_>>(), [object], "its row is written");
        let gone = run(&mut administration, "volume delete u").unwrap();
        assert!(matches!(gone.effects[..], [Effect::Remove { .. }, Effect::Junction { .. }]));
        assert!(!administration.details.contains_key(&object), "nothing is kept of what is gone");
    }

    /// A clone is shown with its parent and snapshot, whatever they are called by now, until they
    /// are gone. Another snapshot that gets the name of one that is gone is not the clone's.
    #[test]
    fn clones_know_their_parents() {
        let mut administration = with(&[
            "volume create prod -size 1GB",
            "lun create /vol/prod/l -size 1MB",
            "volume snapshot create prod -snapshot nightly",
            "volume clone create dev1 -parent-volume prod",
            "volume clone create dev2 -parent-volume prod -parent-snapshot nightly -junction-path /dev2",
            "volume rename prod -newname production",
        ]);
        insta::assert_snapshot!(shown(&mut administration, "volume clone show"), @r"
                              Parent  Parent        Parent
        Vserver FlexClone     Vserver Volume        Snapshot             State     Type
        ------- ------------- ------- ------------- -------------------- --------- ----
        s       dev1          s       production    -                    online    RW
        s       dev2          s       production    nightly              online    RW
        2 entries were displayed.
        ");
        let dev2 = administration.registry.objects().find(|object| object.name() == "dev2").unwrap().id();
        let of_nightly = "volume clone show -parent-snapshot nightly";
        assert!(shown(&mut administration, of_nightly).contains("dev2"));
        let line = "volume snapshot rename production -snapshot nightly -new-name weekly";
        let renamed = run(&mut administration, line).unwrap();
        assert!(renamed.undo.touched().objects.contains(&dev2), "its row is written");
        let _ = run(&mut administration, "volume snapshot create production -snapshot nightly").unwrap();
        assert!(shown(&mut administration, of_nightly).contains("no entries"));
        assert!(shown(&mut administration, "volume clone show -parent-snapshot weekly").contains("dev2"));
        for line in ["delete", "create"] {
            let _ = run(&mut administration, &format!("volume snapshot {line} production -snapshot weekly")).unwrap();
        }
        let parents = "volume clone show -fields parent-volume,parent-snapshot";
        insta::assert_snapshot!(shown(&mut administration, parents), @r"
        vserver flexclone parent-volume parent-snapshot
        ------- --------- ------------- ---------------
        s       dev1      production    -
        s       dev2      production    -
        2 entries were displayed.
        ");
        for line in [
            "volume snapshot delete production -snapshot nightly",
            "volume snapshot delete production -snapshot weekly",
            "lun delete /vol/production/l",
            "volume delete production",
        ] {
            let _ = run(&mut administration, line).unwrap();
        }
        assert!(shown(&mut administration, "volume clone show").contains("currently empty"));
        assert_eq!((administration.details(dev2).created, administration.parent_of_clone(dev2)), (1_795_314_659, None));
    }
}
