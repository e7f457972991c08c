//! What LUNs and files have in common: a size that must fit in their volume, data that is made,
//! resized and deleted with them, and a policy.

use super::{AdminError, Assigned, Effect, Errand, Obstacle, list, path_of, whole};
use block::ObjectId;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    /// Completes a new LUN or file after the registry has added it.
    pub(super) fn make_leaf(&mut self, leaf: ObjectId, size: u64, assigned: &Assigned<'_>) -> Result<(), AdminError> {
        self.assign(leaf, assigned)?;
        self.lead_to(Effect::Make { object: leaf, size });
        Ok(())
    }

    /// Changes the size and the policy of a LUN or file, as far as they are given.
    pub(super) fn modify_leaf(
        &mut self,
        leaf: ObjectId,
        size: Option<u64>,
        assigned: &Assigned<'_>,
    ) -> Result<(), AdminError> {
        if let Some(size) = size {
            self.resize_leaf(leaf, size)?;
        }
        self.assign(leaf, assigned)
    }

    /// The store checks whether data lies beyond a smaller size.
    fn resize_leaf(&mut self, leaf: ObjectId, size: u64) -> Result<(), AdminError> {
        let was = self.registry.object(leaf).map_or(0, |object| object.size().allocated.0);
        self.check_room(self.volume_of(leaf), size, was)?;
        self.resize(leaf, size)?;
        self.lead_to(Effect::Resize { object: leaf, size, was });
        Ok(())
    }

    pub(super) fn delete_leaf(&mut self, leaf: ObjectId) -> Result<(), AdminError> {
        self.lead_to(Effect::Remove { object: leaf });
        self.set_offline(leaf, false);
        self.remove_object(leaf)?;
        Ok(())
    }

    /// Sets a size. Adaptive policies that depend on it are evaluated at once, and so are those
    /// that are due for other reasons: a resize is rare, and earlier is within the promised five
    /// minutes too.
    pub(super) fn resize(&mut self, object: ObjectId, size: u64) -> Result<(), AdminError> {
        let known = self.registry.object(object).map_or(0, |object| object.size().used.0);
        let used = if self.follows_size(object) { self.used_in(object) } else { known };
        self.registry.set_size(object, whole(size, used), self.at.now)?;
        let change = self.registry.evaluate(self.at.now + self.registry.settings().evaluation_interval);
        self.take(change);
        Ok(())
    }

    /// Checks that a volume has room for a LUN or file of `size` bytes in place of one of `old`
    /// bytes.
    pub(super) fn check_room(&self, volume: ObjectId, size: u64, old: u64) -> Result<(), AdminError> {
        let all = self.registry.object(volume).map_or(0, |object| object.size().allocated.0);
        let left = all.saturating_sub(self.taken_in(volume)).saturating_sub(self.at.world.files(volume).bytes);
        let needed = size.saturating_sub(old);
        if needed <= left {
            return Ok(());
        }
        let path = path_of(self.registry, volume).unwrap_or_default();
        let [left, needed] = self.sizes([left, needed]);
        let more = if old == 0 { "" } else { " more" };
        let text = format!(
            "{path}: has {left} left for LUNs and files, {needed}{more} are needed; grow it with `volume modify -size`"
        );
        Err(Obstacle::NoRoom.told(text).given(size).about(path).into())
    }

    /// Bytes allocated to all LUNs and files in a volume or qtree.
    pub(super) fn taken_in(&self, object: ObjectId) -> u64 {
        let Some(object) = self.registry.object(object) else { return 0 };
        match object.kind().has_tree() {
            true => object.size().allocated.0,
            false => object.children().map(|child| self.taken_in(child)).sum(),
        }
    }

    /// Checks that clients made no entry of that name at the top of a volume or qtree.
    pub(super) fn check_free_of_files(&self, volume: ObjectId, path: &str) -> Result<(), AdminError> {
        let path = path.trim_start_matches('/');
        if !self.at.world.has_file(volume, path) {
            return Ok(());
        }
        let (folder, rest) = path.split_once('/').unwrap_or((path, ""));
        let name = match self.registry.find_qtree(volume, folder) {
            Some(_) => rest.split('/').next().unwrap_or_default(),
            None => folder,
        };
        let at = path_of(self.registry, volume).unwrap_or_default();
        let text = format!("{at}: clients made something named {name} there; choose another name, or remove it first");
        Err(Obstacle::FilesOfClients.told(text).given(name).about(at).into())
    }

    /// Whether clients made nothing on a volume or qtree that would be lost with it.
    pub(super) fn check_no_files(&self, object: ObjectId) -> Result<(), AdminError> {
        match self.at.world.files(object).count {
            0 => Ok(()),
            count => {
                let path = path_of(self.registry, object).unwrap_or_default();
                let held = match count {
                    1 => "a file or folder of a client; remove it".to_owned(),
                    _ => format!("{count} files and folders of clients; remove them"),
                };
                let is_volume = self.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::Volume);
                let force = if is_volume { ", or delete with -force" } else { "" };
                let text = format!("{path}: still holds {held} first{force}");
                Err(Obstacle::FilesOfClients.told(text).about(path).into())
            }
        }
    }

    /// The volume that contains an object; a volume contains itself.
    pub(super) fn volume_of(&self, object: ObjectId) -> ObjectId {
        self.registry.path(object).find(|above| above.kind() == ObjectKind::Volume).map_or(object, Object::id)
    }

    /// The names of an object's volume, and of its qtree if it is in one.
    pub(super) fn place_of(&self, object: ObjectId) -> (String, Option<String>) {
        let named = |kind| self.registry.path(object).find(|above| above.kind() == kind).map(|a| a.name().to_owned());
        (named(ObjectKind::Volume).unwrap_or_default(), named(ObjectKind::Qtree))
    }

    /// Checks that a volume or qtree is empty.
    pub(super) fn check_empty(&self, object: ObjectId) -> Result<(), AdminError> {
        let children = self.registry.object(object).into_iter().flat_map(Object::children);
        let children = children.filter_map(|child| self.registry.object(child));
        // Clients' files are checked separately.
        let children = children.filter(|child| child.kind() != ObjectKind::ClientFile);
        let held: Vec<String> = children.map(|child| format!("{} {}", child.kind(), child.name())).collect();
        if held.is_empty() {
            return Ok(());
        }
        let path = path_of(self.registry, object).unwrap_or_default();
        let text = format!("{path}: still holds {}; delete what is in it first", list(&held));
        Err(Obstacle::NotEmpty.told(text).about(path).into())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Administration, Effect};
    use block::Time;

    /// A refusal names a few of the things in its way, and how many more there are.
    #[test]
    fn a_volume_that_is_full_is_refused_in_a_line() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        let luns = (10..40).map(|lun| format!("lun create /vol/v/l{lun} -size 1MiB"));
        for line in ["vserver create s".into(), "volume create v -size 1GB".into()].into_iter().chain(luns) {
            let _ = run(&line).unwrap();
        }
        let names: Vec<String> = (10..18).map(|lun| format!("LUN l{lun}")).collect();
        let text = format!("s:/vol/v: still holds {} and 22 more; delete what is in it first", names.join(", "));
        assert_eq!(run("volume delete v").unwrap_err(), text);
    }

    /// Each command reports what it takes away from clients, and whether it was forced to. Growing,
    /// renaming, and changes to snapshots alone take nothing.
    #[test]
    fn commands_say_what_they_take_away_from_clients() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for line in [
            "vserver create s",
            "volume create v -size 1GB",
            "lun create /vol/v/l -size 2MiB",
            "volume file create /f -volume v -size 2MiB",
            "volume snapshot create v -snapshot one",
            "lun create /vol/v/later -size 2MiB",
        ] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        }
        let lines = [
            ("lun modify /vol/v/l -size 3MiB", 0, false),
            ("lun modify /vol/v/l -size 1MiB", 1, false),
            ("lun modify /vol/v/l -size 1MiB -force", 1, true),
            ("volume file modify /f -volume v -size 1MiB -force true", 1, true),
            ("lun delete /vol/v/l", 1, false),
            ("lun delete /vol/v/l -force", 1, true),
            ("volume file delete /f -volume v", 1, false),
            ("volume file delete /f -volume v -force", 1, true),
            // The LUN, the file and clients' files are restored, the later LUN is deleted.
            ("volume snapshot restore v -snapshot one", 4, false),
            ("volume snapshot restore v -snapshot one -force", 4, true),
            ("volume snapshot restore-file v -snapshot one -path /l -force", 1, true),
            ("volume snapshot delete v -snapshot one", 0, false),
            ("lun move-in-volume /vol/v/l -new-path /vol/v/m", 0, false),
            ("lun offline /vol/v/l*", 2, true),
            ("lun online /vol/v/l", 0, false),
            ("lun create /vol/v/n -size 1MiB", 0, false),
        ];
        for (line, taken, forced) in lines {
            let outcome = administration.clone().execute(line, Time::ZERO, &|_| 0).unwrap();
            let found = outcome.effects.iter().filter_map(Effect::taken_from_clients).count();
            assert_eq!((found, outcome.forced), (taken, forced), "{line}");
        }
    }
}
