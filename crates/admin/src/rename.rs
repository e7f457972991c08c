//! Renaming: only names change, and hosts reach every LUN and file in the renamed object by its new
//! name. Existing connections stay.

use super::{AdminError, Answer, Effect, Errand, ObjectDetails};
use block::ObjectId;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    /// Renames an object in its place: to a path for a LUN or file, to a plain name for others.
    pub(super) fn rename(&mut self, object: ObjectId, to: &str) -> Result<Answer, AdminError> {
        let kind = self.registry.object(object).map(Object::kind);
        if kind.is_some_and(|kind| kind.has_tree() || kind == ObjectKind::Qtree) {
            let volume = self.volume_of(object);
            let there = format!("/vol/{}/", self.place_of(object).0);
            self.check_free_of_files(volume, to.strip_prefix(&there).unwrap_or(to))?;
        }
        let before = self.registry.object(object).map(|object| object.name().to_owned());
        let change = self.registry.rename(object, to)?;
        self.take(change);
        if self.registry.object(object).map(|object| object.name().to_owned()) != before {
            if kind == Some(ObjectKind::Volume) {
                let placed = self.at.date();
                self.set_details(object, ObjectDetails { placed, ..self.details(object) });
            }
            self.tell_names_in(object);
        }
        Ok(Answer::default())
    }

    /// Adds the effects for every LUN and file in an object, which is exported by a new name, and
    /// for every volume in it with a place in a name space.
    fn tell_names_in(&mut self, object: ObjectId) {
        let Some(named) = self.registry.object(object) else { return };
        if named.kind().has_tree() {
            return self.lead_to(Effect::Rename { object });
        }
        let children: Vec<ObjectId> = named.children().collect();
        if self.details.get(&object).is_some_and(|details| details.junction.is_some()) {
            self.lead_to(Effect::Junction { object });
        }
        for child in children {
            self.tell_names_in(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use crate::Effect;
    use block::{ObjectId, Time};

    fn administration() -> Administration {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for line in [
            "vserver create s",
            "volume create v -size 4MB",
            "volume qtree create q -volume v",
            "lun create /vol/v/l -size 1MB",
            "lun create /vol/v/q/m -size 1MB",
            "volume file create /q/f -volume v -size 1MB",
            "qos policy-group create p -max-throughput 100iops",
            "volume modify v -qos-policy-group p",
        ] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        }
        administration
    }

    /// Renames by `line`; returns the paths of exports with new names, in order.
    fn renamed(administration: &mut Administration, line: &str) -> Result<Vec<String>, String> {
        let outcome = administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string())?;
        assert!(outcome.edits.is_empty(), "{line}: names are nothing to the scheduler");
        let object = |effect: &Effect| match *effect {
            Effect::Rename { object } => object,
            ref other => panic!("{line}: {other:?}"),
        };
        let objects: Vec<ObjectId> = outcome.effects.iter().map(object).collect();
        Ok(objects.into_iter().map(|object| administration.path_of(object).unwrap()).collect())
    }

    #[test]
    fn all_that_is_in_it_is_offered_by_its_new_name() {
        let mut administration = administration();
        let mut rename = |line: &str| renamed(&mut administration, line).unwrap();
        assert_eq!(rename("volume rename v -newname w"), ["s:/vol/w/l", "s:/vol/w/q/f", "s:/vol/w/q/m"]);
        assert_eq!(rename("volume qtree rename q -volume w -newname r"), ["s:/vol/w/r/f", "s:/vol/w/r/m"]);
        assert_eq!(rename("vserver rename s -newname t"), ["t:/vol/w/l", "t:/vol/w/r/f", "t:/vol/w/r/m"]);
        assert_eq!(rename("lun move-in-volume /vol/w/l -new-path /vol/w/k"), ["t:/vol/w/k"]);
        // Command words may be cut short.
        assert_eq!(rename("lun move /vol/w/k -new-path /vol/w/l"), ["t:/vol/w/l"]);
        assert_eq!(rename("volume file rename /r/f -volume w -new-path /r/d/g"), ["t:/vol/w/r/d/g"]);
        assert_eq!(rename("volume rename w -newname w"), [""; 0], "the name that it has");
        // The policy is still there.
        let show = administration.execute("volume show w -fields qos-policy-group", Time::ZERO, &|_| 0).unwrap();
        assert!(
            show.answer.text().lines().any(|line| line.split_whitespace().eq(["t", "w", "p"])),
            "{}",
            show.answer.text()
        );
    }

    #[test]
    fn a_name_that_is_taken_or_elsewhere_is_refused() {
        let mut administration = administration();
        let mut refused = |line: &str| renamed(&mut administration, line).unwrap_err();
        assert_eq!(refused("volume rename x -newname y"), "SVM s has no volume x; it has: v");
        let taken = refused("lun move-in-volume /vol/v/q/m -new-path /vol/v/q/f");
        assert!(taken.starts_with("LUN f of qtree s:/vol/v/q: ") && taken.contains("got f"), "{taken}");
        let moved = refused("lun move-in-volume /vol/v/l -new-path /vol/v/q/l");
        assert!(moved.starts_with("LUN s:/vol/v/l: a rename cannot move an object"), "{moved}");
        assert!(moved.contains("got /vol/v/q/l"), "{moved}");
    }
}
