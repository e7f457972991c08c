//! Clients' files with policies. Such a file is an object from when it is given a policy until it
//! is deleted. It is identified by its node in the volume's tree, and has the name that its clients
//! give it.

use super::{
    AdminError, Administration, Answer, Assigned, At, ClientFile, Errand, FileNode, ObjectDetails, Obstacle, Outcome,
    whole,
};
use block::ObjectId;
use ontap::value::FilePath;
use qos::{Object, ObjectKind, Size};

impl Administration {
    /// Records new names of clients' files, or `None` for deleted ones. Policies are deleted with
    /// their files.
    ///
    /// # Errors
    /// The change would break a rule; nothing has changed.
    pub fn follow_files(&mut self, news: &[(ObjectId, Option<String>)], at: &At<'_>) -> Result<Outcome, AdminError> {
        self.errand(at, |errand| {
            for (file, _) in news.iter().filter(|(_, name)| name.is_none()) {
                if errand.is_client_file(*file) {
                    errand.remove_object(*file)?;
                }
            }
            let named: Vec<(ObjectId, String)> =
                news.iter().filter_map(|(file, name)| Some((*file, name.clone()?))).collect();
            errand.registry.name_client_files(&named);
            Ok(Answer::default())
        })
    }

    /// Clients' files on a volume that are objects, with the node in the volume's tree and the
    /// parent of each.
    pub fn client_files(&self, volume: ObjectId) -> Vec<(&Object, FileNode, ObjectId)> {
        let below = |parent: ObjectId| {
            let children = self.registry.object(parent).into_iter().flat_map(Object::children);
            children.filter_map(|child| self.registry.object(child))
        };
        let qtrees = below(volume).filter(|child| child.kind() == ObjectKind::Qtree).map(Object::id);
        let places = std::iter::once(volume).chain(qtrees);
        let files = places.flat_map(|place| below(place).map(move |file| (file, place)));
        files.filter_map(|(file, place)| Some((file, self.details.get(&file.id())?.node?, place))).collect()
    }
}

impl Errand<'_> {
    /// Attaches a clients' file to a policy, or detaches it.
    pub(super) fn assign_client_file(
        &mut self,
        volume: ObjectId,
        path: &FilePath,
        found: ClientFile,
        assigned: &Assigned<'_>,
    ) -> Result<(), AdminError> {
        if assigned.detaches() {
            return Ok(());
        }
        let (file, change) = self.registry.add_client_file(volume, path.as_str(), Size::default())?;
        self.take(change);
        self.set_details(file, ObjectDetails { node: Some(found.node), ..ObjectDetails::default() });
        self.assign(file, assigned)?;
        // Its number is new, so the world cannot measure it yet.
        self.registry.set_size(file, whole(found.used, found.used), self.at.now)?;
        let change = self.registry.evaluate(self.at.now + self.registry.settings().evaluation_interval);
        self.take(change);
        Ok(())
    }

    pub(super) fn is_client_file(&self, object: ObjectId) -> bool {
        self.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::ClientFile)
    }

    /// Clients' files in a volume or qtree that is deleted stop being objects.
    pub(super) fn forget_client_files(&mut self, place: ObjectId) -> Result<(), AdminError> {
        let mut places: Vec<ObjectId> = self.children(place, ObjectKind::Qtree).map(Object::id).collect();
        places.push(place);
        for place in places {
            let files: Vec<ObjectId> = self.children(place, ObjectKind::ClientFile).map(Object::id).collect();
            files.into_iter().try_for_each(|file| self.remove_object(file))?;
        }
        Ok(())
    }
}

/// The refusal of a change to a file that belongs to clients.
pub(super) fn clients_own(path: &FilePath) -> AdminError {
    let text = format!("{path}: clients made that file; its size and name are theirs, only its policy is given here");
    Obstacle::FilesOfClients.told(text).given(path).about(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, World};
    use block::Time;
    use std::sync::Arc;

    /// A volume on which clients made `/a/b` and, in the qtree `q`, `/q/c`, of 1 MiB each.
    struct Clients;

    impl World for Clients {
        fn used(&self, object: ObjectId) -> u64 {
            // The volume's number is 2, its files' begin at 4.
            match object.0 {
                2 => 2 << 20,
                4.. => 1 << 20,
                _ => 0,
            }
        }

        fn client_file(&self, _: ObjectId, path: &str) -> Option<ClientFile> {
            let number = match path {
                "/a/b" => 7,
                "/q/c" => 8,
                _ => return None,
            };
            Some(ClientFile { node: FileNode { number, generation: 70 }, used: 1 << 20 })
        }

        fn length(&self, _: ObjectId) -> u64 {
            3 << 20
        }

        fn owned(&self, _: &mut dyn Iterator<Item = ObjectId>) -> u64 {
            0
        }

        fn connections(&self, _: ObjectId) -> u64 {
            0
        }

        fn sample(&self) -> Arc<Sample> {
            Arc::default()
        }

        fn uuid(&self) -> u128 {
            1
        }
    }

    const AT: At<'static> = At { now: Time::ZERO, began: 0, world: &Clients };

    fn run(administration: &mut Administration, line: &str) -> Result<Outcome, String> {
        administration.run(ontap::parse(line).unwrap(), &AT).map_err(|error| error.to_string())
    }

    fn with_files() -> Administration {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for line in [
            "vserver create s",
            "volume create v -size 1GB",
            "volume qtree create q -volume v",
            "qos policy-group create p -max-throughput 100iops -is-shared false",
            "qos adaptive-policy-group create a -expected-iops 1000iops/gb -peak-iops 2000iops/gb -absolute-min-iops 10",
            "volume file modify -volume v -file /a/b -qos-policy-group p",
            "volume file modify -volume v -file /q/c -qos-adaptive-policy-group a",
        ] {
            let _ = run(&mut administration, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        administration
    }

    fn paths(administration: &Administration) -> Vec<String> {
        let limits = administration.limits().into_iter().map(|(path, limits)| format!("{path} {}", limits.policy));
        limits.collect()
    }

    /// A file has a policy from a command on, is listed with it, and its data stays its volume's:
    /// nothing is made, and nothing is counted twice.
    #[test]
    fn a_file_of_clients_may_have_a_policy() {
        let mut administration = with_files();
        assert_eq!(paths(&administration), ["s:/vol/v/a/b p", "s:/vol/v/q/c a"]);
        let shown = run(&mut administration, "volume file show").unwrap().answer.text();
        let sizes = |line: &str| line.contains("3.15MB") && line.contains("1.05MB");
        assert_eq!(shown.lines().filter(|line| sizes(line)).count(), 2, "{shown}");
        let shown =
            run(&mut administration, "qos workload show -fields file,qtree,policy-group").unwrap().answer.text();
        let has = |words: [&str; 4]| shown.lines().any(|line| line.split_whitespace().eq(words));
        assert!(has(["b-wid4", "p", "-", "a/b"]) && has(["c-wid5", "a", "q", "c"]), "{shown}");
        let world = |object| Clients.used(object);
        assert_eq!(administration.used_by_volume(&world), [("s:/vol/v".to_owned(), block::Bytes(2 << 20))]);
        // 1 MiB at 2000 IOPS a GB is 2, less than the least of 10.
        let limits = administration.limits().into_iter().find(|(path, _)| path.ends_with("/q/c")).unwrap().1;
        assert_eq!(limits.ceiling_iops, Some(10));
        let again = run(&mut administration, "volume file modify -volume v -file /a/b -qos-policy-group none").unwrap();
        assert!(again.effects.is_empty());
        assert_eq!(paths(&administration), ["s:/vol/v/q/c a"]);
        let _ = run(&mut administration, "volume file modify -volume v -file /a/b -qos-policy-group p").unwrap();
        assert_eq!(paths(&administration).len(), 2, "it is the object that it was");
        assert_eq!(administration.client_files(ObjectId(2)).len(), 2);
    }

    #[test]
    fn names_and_sizes_of_clients_files_are_theirs() {
        let mut administration = with_files();
        let before = administration.clone();
        for line in [
            "volume file modify -volume v -file /a/b -size 1MB",
            "volume file rename -volume v -file /a/b -new-path /a/c",
            "volume file delete -volume v -file /a/b",
        ] {
            let refused = run(&mut administration, line).unwrap_err();
            assert!(refused.starts_with("/a/b: clients made that file"), "{line}: {refused}");
        }
        let none = run(&mut administration, "volume file modify -volume v -file /a/x -qos-policy-group p").unwrap_err();
        assert!(none.starts_with("volume v has no file /a/x"), "{none}");
        let nested = run(&mut administration, "volume modify v -qos-policy-group p").unwrap_err();
        assert!(nested.contains("file s:/vol/v/a/b in policy group p"), "{nested}");
        assert_eq!(administration, before);
    }

    /// A file that is gone takes its policy along, also one of its own; others have their new
    /// names, even if two have changed them.
    #[test]
    fn policies_follow_their_files() {
        let mut administration = with_files();
        let files = administration.client_files(ObjectId(2)).iter().map(|(file, ..)| file.id()).collect::<Vec<_>>();
        let before = administration.clone();
        let news = [(files[0], Some("x/y".to_owned())), (files[1], Some("d/c".to_owned()))];
        let outcome = administration.follow_files(&news, &AT).unwrap();
        assert_eq!(paths(&administration), ["s:/vol/v/x/y p", "s:/vol/v/q/d/c a"]);
        assert!(outcome.edits.is_empty() && outcome.undo.touched().objects.len() == 2);
        administration.take_back(outcome.undo);
        assert_eq!(administration, before);
        let outcome = administration.follow_files(&[(files[0], None), (ObjectId(2), None)], &AT).unwrap();
        assert_eq!(paths(&administration), ["s:/vol/v/q/c a"]);
        assert!(outcome.undo.touched().objects.contains(&files[0]) && !administration.details.contains_key(&files[0]));
    }

    /// What goes with a volume or qtree; a clone and a snapshot have none of it.
    #[test]
    fn clones_have_no_policies_of_files_and_volumes_take_theirs_along() {
        let mut administration = with_files();
        for line in [
            "volume snapshot create v -snapshot one",
            "volume clone create w -parent-volume v",
            "volume snapshot restore v -snapshot one",
        ] {
            let _ = run(&mut administration, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        assert_eq!(paths(&administration), ["s:/vol/v/a/b p", "s:/vol/v/q/c a"]);
        for line in
            ["volume snapshot delete v -snapshot one", "volume qtree delete q -volume v", "volume delete v -force"]
        {
            let _ = run(&mut administration, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        assert_eq!((paths(&administration), administration.details.len()), (Vec::new(), 1), "the clone's");
    }
}
