//! Storage objects are added, renamed, cloned, and removed.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use block::ObjectId;

use super::{Change, Registry};
use crate::adaptive::Size;
use crate::edit::Edit;
use crate::object::{Object, ObjectKind};
use crate::rule::{Refusal, Rule};

impl Registry {
    /// A new SVM.
    pub fn add_svm(&mut self, name: &str) -> Result<(ObjectId, Change), Refusal> {
        self.add(None, ObjectKind::Svm, name, Size::default())
    }

    /// A new volume. It joins the SVM's template, if there is one.
    pub fn add_volume(&mut self, svm: ObjectId, name: &str, size: Size) -> Result<(ObjectId, Change), Refusal> {
        self.add(Some(svm), ObjectKind::Volume, name, size)
    }

    /// A new qtree.
    pub fn add_qtree(&mut self, volume: ObjectId, name: &str) -> Result<(ObjectId, Change), Refusal> {
        self.add(Some(volume), ObjectKind::Qtree, name, Size::default())
    }

    /// A new LUN at `/vol/VOLUME/LUN` or `/vol/VOLUME/QTREE/LUN`.
    pub fn add_lun(&mut self, svm: ObjectId, path: &str, size: Size) -> Result<(ObjectId, Change), Refusal> {
        let (parent, name) = self.lun_place(svm, path)?;
        self.add(Some(parent), ObjectKind::Lun, name, size)
    }

    /// Adds a file at `/FOLDER/…/NAME` of a volume. Where the first folder is a qtree, that is its
    /// parent.
    pub fn add_file(&mut self, volume: ObjectId, path: &str, size: Size) -> Result<(ObjectId, Change), Refusal> {
        let (parent, name) = self.file_place(volume, path)?;
        self.add(Some(parent), ObjectKind::File, name, size)
    }

    /// Adds a file at `/FOLDER/…/NAME` of a volume that clients made: from now on it may be in a
    /// policy group.
    pub fn add_client_file(&mut self, volume: ObjectId, path: &str, size: Size) -> Result<(ObjectId, Change), Refusal> {
        let (parent, name) = self.file_place(volume, path)?;
        self.add(Some(parent), ObjectKind::ClientFile, name, size)
    }

    /// Renames files as their clients did, each from its parent on; all at once, so that two may
    /// have exchanged names. One whose new name does not fit there is called by its number.
    pub fn name_client_files(&mut self, named: &[(ObjectId, String)]) {
        let is_one = |id: &ObjectId| self.objects.get(id).is_some_and(|file| file.kind == ObjectKind::ClientFile);
        let named: Vec<&(ObjectId, String)> = named.iter().filter(|(id, _)| is_one(id)).collect();
        for (id, _) in &named {
            let (parent, before) = (self.objects[id].parent, self.objects[id].name.clone());
            self.link(parent, before, None);
        }
        for (id, name) in named {
            let parent = self.objects[id].parent;
            let fits = self.check_new(parent, ObjectKind::ClientFile, name).is_ok();
            let name: Arc<str> = if fits { name.as_str().into() } else { format!("%{}", id.0).into() };
            self.link(parent, name.clone(), Some(*id));
            self.at(*id).name = name;
        }
    }

    /// Renames an object in its place: a plain name for an SVM, volume or qtree, a path for a LUN
    /// or file. Nothing changes for the scheduler.
    pub fn rename(&mut self, id: ObjectId, to: &str) -> Result<Change, Refusal> {
        let object = self.known(id)?;
        let kind = object.kind;
        let (parent, name) = match kind {
            ObjectKind::Lun => self.lun_place(self.svm_of(id).unwrap_or(id), to)?,
            ObjectKind::File | ObjectKind::ClientFile => {
                let volume = self.path(id).find(|above| above.kind == ObjectKind::Volume).map_or(id, Object::id);
                self.file_place(volume, to)?
            }
            _ => (object.parent.unwrap_or(id), to),
        };
        if object.parent.is_some_and(|before| before != parent) {
            return Err(Refusal::new(Rule::Moves, self.label(id), to));
        }
        if object.name() == name {
            return Ok(Change::default());
        }
        self.check_new(object.parent, kind, name)?;
        let (before, parent) = (object.name.clone(), object.parent);
        let name: Arc<str> = name.into();
        self.link(parent, before, None);
        self.link(parent, name.clone(), Some(id));
        self.at(id).name = name;
        Ok(Change::default())
    }

    /// Removes an object with everything in it. An SVM must be empty and own no policy group.
    pub fn remove_object(&mut self, id: ObjectId) -> Result<Change, Refusal> {
        let object = self.known(id)?;
        if object.kind == ObjectKind::Svm {
            self.check_empty(object)?;
        }
        let (parent, name) = (object.parent, object.name.clone());
        let mut doomed = self.subtree(id);
        let mut change = Change::default();
        while let Some(id) = doomed.pop() {
            self.forget(id, &mut change.edits);
        }
        self.link(parent, name, None);
        Ok(change)
    }

    /// A copy of a volume with all that is in it, in the same SVM. Copies are in no policy group;
    /// the copy of the volume joins the SVM's template like any new volume.
    pub fn clone_volume(&mut self, source: ObjectId, name: &str) -> Result<(ObjectId, Change), Refusal> {
        let object = self.known(source)?;
        if object.kind != ObjectKind::Volume {
            return Err(Refusal::new(Rule::WrongKind, self.label(source), "a volume clone"));
        }
        let sources = self.subtree(source);
        self.check_numbers(&self.label(source), sources.len())?;
        let (svm, size) = (object.parent, object.size);
        let (copy, mut change) = self.add(svm, ObjectKind::Volume, name, size)?;
        let mut copies = BTreeMap::from([(source, copy)]);
        for id in sources.into_iter().skip(1) {
            let Object { kind, name, parent, size, .. } = self.objects[&id].clone();
            if kind == ObjectKind::ClientFile {
                continue;
            }
            let parent = parent.map(|parent| copies[&parent]);
            let copy = self.insert(parent, kind, &name, size, &mut change.edits);
            copies.insert(id, copy);
        }
        Ok((copy, change))
    }

    /// A copy of a LUN at another path of the same SVM, in no policy group.
    pub fn clone_lun(&mut self, source: ObjectId, path: &str) -> Result<(ObjectId, Change), Refusal> {
        let object = self.known(source)?;
        let (kind, size) = (object.kind, object.size);
        match self.svm_of(source) {
            Some(svm) if kind == ObjectKind::Lun => self.add_lun(svm, path, size),
            _ => Err(Refusal::new(Rule::WrongKind, self.label(source), "a LUN clone")),
        }
    }

    fn add(
        &mut self,
        parent: Option<ObjectId>,
        kind: ObjectKind,
        name: &str,
        size: Size,
    ) -> Result<(ObjectId, Change), Refusal> {
        self.check_new(parent, kind, name)?;
        self.check_numbers(&format!("{kind} {name}"), 1)?;
        let template = parent.and_then(|parent| self.objects[&parent].template).filter(|_| kind == ObjectKind::Volume);
        if template.is_some() {
            self.check_workloads(&format!("{kind} {name}"), 1)?;
        }
        let mut change = Change::default();
        let id = self.insert(parent, kind, name, size, &mut change.edits);
        if template.is_some() {
            self.join(id, template, &mut change.edits);
        }
        Ok((id, change))
    }

    /// Whether an object of this kind and name may come to be there.
    pub(super) fn check_new(&self, parent: Option<ObjectId>, kind: ObjectKind, name: &str) -> Result<(), Refusal> {
        let above = parent.map(|parent| self.known(parent)).transpose()?;
        let within = above.map(|above| self.label(above.id));
        if !kind.may_hang_on(above.map(Object::kind)) {
            let subject = within.unwrap_or("the server".into());
            return Err(Refusal::new(Rule::WrongKind, subject, format_args!("a new {kind}")));
        }
        let of = within.map(|within| format!(" of {within}")).unwrap_or_default();
        kind.check_name(name, &format!("{kind}{of}"))?;
        let siblings = above.map_or(&self.svms, |above| &above.children);
        match clash(siblings, name) {
            Some(other) => Err(Refusal::new(Rule::ObjectTaken, format_args!("{kind} {name}{of}"), other)),
            None => Ok(()),
        }
    }

    fn check_numbers(&self, subject: &str, more: usize) -> Result<(), Refusal> {
        let left = (u32::MAX - self.next_object) as usize;
        if more <= left { Ok(()) } else { Err(Refusal::new(Rule::ObjectsMax, subject, format_args!("{more} more"))) }
    }

    fn check_empty(&self, svm: &Object) -> Result<(), Refusal> {
        let inside = svm.children().next().map(|child| self.label(child));
        let owned = || self.groups.values().find(|group| group.svm == Some(svm.id));
        match inside.or_else(|| owned().map(|group| format!("policy group {}", group.name))) {
            Some(given) => Err(Refusal::new(Rule::ObjectInUse, self.label(svm.id), given)),
            None => Ok(()),
        }
    }

    /// Adds an object under the next number; everything was checked.
    fn insert(
        &mut self,
        parent: Option<ObjectId>,
        kind: ObjectKind,
        name: &str,
        size: Size,
        edits: &mut Vec<Edit>,
    ) -> ObjectId {
        let id = ObjectId(self.next_object);
        self.insert_as(id, parent, kind, name, size, edits);
        id
    }

    pub(super) fn insert_as(
        &mut self,
        id: ObjectId,
        parent: Option<ObjectId>,
        kind: ObjectKind,
        name: &str,
        size: Size,
        edits: &mut Vec<Edit>,
    ) {
        self.next_object = self.next_object.max(id.0.saturating_add(1));
        let name: Arc<str> = name.into();
        self.link(parent, name.clone(), Some(id));
        let object = Object {
            id,
            kind,
            name,
            parent,
            children: BTreeMap::new(),
            size,
            membership: None,
            template: None,
            fair: false,
            due: None,
            leaves_in_groups: 0,
        };
        self.put_object(object);
        edits.push(Edit::AddObject { object: id, parent });
    }

    /// Removes an object without children from the registry, except for its name at its parent.
    fn forget(&mut self, id: ObjectId, edits: &mut Vec<Edit>) {
        if let Some(group) = self.binding(id).budget {
            debug_assert!(self.groups[&group].members.contains(&id));
            edits.push(Edit::Join { object: id, group: None });
        }
        self.enrol(id, None);
        if let Some(template) = self.objects[&id].template {
            self.at(id).template = None;
            self.set_template_of(template, id, false);
        }
        self.drop_object(id);
        edits.push(Edit::RemoveObject { object: id });
    }

    /// The object and everything in it, parents before children.
    fn subtree(&self, id: ObjectId) -> Vec<ObjectId> {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(&id) = all.get(next) {
            all.extend(self.objects[&id].children());
            next += 1;
        }
        all
    }

    /// Where a LUN path leads: the parent of the LUN, and its name there.
    pub(super) fn lun_place<'a>(&self, svm: ObjectId, path: &'a str) -> Result<(ObjectId, &'a str), Refusal> {
        let subject = || format!("LUN {path:?} of {}", self.label(svm));
        let form = || Refusal::new(Rule::LunPath, subject(), format_args!("{path:?}"));
        let no = |what: &str, name: &str| Refusal::new(Rule::NoObject, subject(), format_args!("{what} {name:?}"));
        self.known(svm)?;
        let within: Vec<&str> = path.strip_prefix("/vol/").ok_or_else(form)?.split('/').collect();
        let (volume, qtree, lun) = match within[..] {
            [volume, lun] => (volume, None, lun),
            [volume, qtree, lun] => (volume, Some(qtree), lun),
            _ => return Err(form()),
        };
        let volume = self.find_volume(svm, volume).ok_or_else(|| no("volume", volume))?;
        match qtree {
            Some(qtree) => Ok((self.find_qtree(volume, qtree).ok_or_else(|| no("qtree", qtree))?, lun)),
            None => Ok((volume, lun)),
        }
    }

    /// Where a file's path leads: the parent of the file, and its path there without the first
    /// slash.
    pub(super) fn file_place<'a>(&self, volume: ObjectId, path: &'a str) -> Result<(ObjectId, &'a str), Refusal> {
        self.known(volume)?;
        let form = || Refusal::new(Rule::FilePath, self.label(volume), format_args!("{path:?}"));
        let within = path.strip_prefix('/').ok_or_else(form)?;
        let in_qtree = within.split_once('/').and_then(|(first, rest)| Some((self.find_qtree(volume, first)?, rest)));
        Ok(in_qtree.unwrap_or((volume, within)))
    }
}

/// A sibling that `name` cannot stand beside: the same, one that would be a folder of it, or one
/// that it would be a folder of (names of files hold their folders).
fn clash<'a>(siblings: &'a BTreeMap<Arc<str>, ObjectId>, name: &str) -> Option<&'a str> {
    let taken = |name: &str| siblings.get_key_value(name).map(|(other, _)| &**other);
    let folders = name.match_indices('/').map(|(end, _)| &name[..end]);
    let inside = format!("{name}/");
    let next = siblings
        .range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded))
        .next()
        .map(|(other, _)| &**other);
    taken(name).or_else(|| folders.filter_map(taken).next()).or(next.filter(|other| other.starts_with(&inside)))
}
