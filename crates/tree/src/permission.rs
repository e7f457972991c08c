//! Permissions on a node by its owner, group and mode, as on Unix file servers.
//!
//! A server of NFS version 3 does not know which files a client has open, so two rules differ from
//! those of a local file system: a file's owner may read and write it whatever its mode is, and
//! whoever may execute a file may read it (RFC 1813, section 4.4).

use crate::changes::{NewNode, SetNode};
use crate::node::{NodeInfo, NodeKind};
use crate::refusal::TreeRefusal;

/// Groups of a user, including the first: the limit of `AUTH_SYS`.
pub const GROUPS_MAX: usize = 17;

/// Reading a file, or listing a folder.
pub const READ: u32 = 4;
/// Writing a file, or creating and removing names in a folder.
pub const WRITE: u32 = 2;
/// Executing a file, or looking up a name in a folder.
pub const EXECUTE: u32 = 1;

const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const GROUP_EXECUTE: u32 = 0o010;

/// The caller: a user and its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// User ID; 0 may do anything.
    pub uid: u32,
    groups: [u32; GROUPS_MAX],
    count: u8,
}

impl Who {
    /// A user with its first group, and as many of the others as there is room for.
    pub fn new(uid: u32, gid: u32, others: &[u32]) -> Who {
        let mut who = Who { uid, groups: [0; GROUPS_MAX], count: 1 };
        who.groups[0] = gid;
        for &other in others.iter().take(GROUPS_MAX - 1) {
            who.groups[usize::from(who.count)] = other;
            who.count += 1;
        }
        who
    }

    /// Its first group.
    pub fn gid(&self) -> u32 {
        self.groups[0]
    }

    /// Its groups, for changing them.
    pub fn groups_mut(&mut self) -> &mut [u32] {
        &mut self.groups[..usize::from(self.count)]
    }

    fn is_root(&self) -> bool {
        self.uid == 0
    }

    fn is_in(&self, gid: u32) -> bool {
        self.groups[..usize::from(self.count)].contains(&gid)
    }
}

/// The attributes that permissions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The mode.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Whether it is a folder.
    pub is_folder: bool,
}

impl From<&NodeInfo> for Ownership {
    fn from(info: &NodeInfo) -> Ownership {
        Ownership { mode: info.mode, uid: info.uid, gid: info.gid, is_folder: info.kind == NodeKind::Folder }
    }
}

impl Ownership {
    /// Whether the caller may do all of `wanted`, by the mode. Root may, except execute what nobody
    /// may.
    pub fn may(&self, who: &Who, wanted: u32) -> bool {
        let bits = match () {
            () if who.is_root() && (self.is_folder || self.mode & 0o111 != 0) => READ | WRITE | EXECUTE,
            () if who.is_root() => READ | WRITE,
            () if who.uid == self.uid => self.mode >> 6,
            () if who.is_in(self.gid) => self.mode >> 3,
            () => self.mode,
        };
        bits & wanted == wanted
    }

    /// Whether the caller may do what owners may.
    pub fn is_of(&self, who: &Who) -> bool {
        who.is_root() || who.uid == self.uid
    }

    /// Whether a READ of the file is permitted.
    pub fn may_be_read(&self, who: &Who) -> bool {
        self.is_of(who) || self.may(who, READ) || self.may(who, EXECUTE)
    }

    /// Whether a WRITE of the file, or setting its size, is permitted.
    pub fn may_be_written(&self, who: &Who) -> bool {
        self.is_of(who) || self.may(who, WRITE)
    }

    /// Whether names may be created and removed in the folder.
    pub fn may_be_changed(&self, who: &Who) -> bool {
        self.may(who, WRITE | EXECUTE)
    }

    /// Whether a name of a node that `owner` owns may be removed from the folder. In a sticky
    /// folder, only the owner of either may do so.
    pub fn may_remove_name(&self, who: &Who, owner: u32) -> bool {
        self.may_be_changed(who) && (self.mode & STICKY == 0 || self.is_of(who) || who.uid == owner)
    }

    /// The attributes to set if the caller asks for `set`. `times_are_now`: its times are those of
    /// the call.
    ///
    /// # Errors
    /// The caller may not set them.
    pub fn judge(&self, who: &Who, set: &SetNode, times_are_now: bool) -> Result<SetNode, TreeRefusal> {
        let times = set.accessed.is_some() || set.modified.is_some();
        let gives_away = set.uid.is_some_and(|uid| uid != self.uid);
        let moves = set.gid.is_some_and(|gid| gid != self.gid && !who.is_in(gid));
        let owners = set.mode.is_some() || set.uid.is_some() || set.gid.is_some() || times && !times_are_now;
        match () {
            () if owners && !self.is_of(who) => return Err(TreeRefusal::NotOwner),
            () if (gives_away || moves) && !who.is_root() => return Err(TreeRefusal::NotOwner),
            () if (set.size.is_some() || times) && !self.may_be_written(who) => return Err(TreeRefusal::Forbidden),
            () => {}
        }
        let mut mode = set.mode;
        let is_given = (set.uid.is_some() || set.gid.is_some()) && !self.is_folder;
        let is_written = set.size.is_some() && !who.is_root();
        if is_given || is_written {
            let kept = without_privilege(mode.unwrap_or(self.mode));
            mode = mode.map(|_| kept).or(Some(kept).filter(|kept| *kept != self.mode));
        }
        if !who.is_root() && !who.is_in(set.gid.unwrap_or(self.gid)) {
            mode = mode.map(|mode| mode & !SET_GID);
        }
        Ok(SetNode { mode, ..*set })
    }

    /// The owner, group and mode of a new node in the folder; `set` is what its creator asks for.
    /// Only root creates nodes for others. In a folder with the set-group bit, new nodes get the
    /// folder's group.
    pub fn attributes_of_new<'a>(&self, who: &Who, new: NewNode<'a>, set: &SetNode) -> NewNode<'a> {
        let asked = |id: Option<u32>| id.filter(|_| who.is_root());
        let uid = asked(set.uid).unwrap_or(who.uid);
        let inherits = self.mode & SET_GID != 0;
        let gid = asked(set.gid).unwrap_or(if inherits { self.gid } else { who.gid() });
        let mut mode = set.mode.unwrap_or(new.mode);
        match new.kind {
            // As with mkdir(2) on Linux: those bits are set afterwards, or inherited.
            NodeKind::Folder => mode = mode & 0o1777 | if inherits { SET_GID } else { 0 },
            // The target's mode decides; the link's own is of no use.
            NodeKind::Link => mode = 0o777,
            _ if !who.is_root() && !who.is_in(gid) => mode &= !SET_GID,
            NodeKind::File => {}
        }
        NewNode { mode, uid, gid, ..new }
    }
}

/// The mode of a file after it was written or given to another owner: it no longer runs as its
/// owner. Without the group's execute bit, the set-group bit grants nothing and is kept.
pub(crate) fn without_privilege(mode: u32) -> u32 {
    match mode & GROUP_EXECUTE {
        0 => mode & !SET_UID,
        _ => mode & !(SET_UID | SET_GID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;

    const ROOT: Who = Who { uid: 0, groups: [0; GROUPS_MAX], count: 1 };

    fn owned(mode: u32, is_folder: bool) -> Ownership {
        Ownership { mode, uid: 10, gid: 20, is_folder }
    }

    /// For the owner only the owner's bits count, and for the group only the group's, even if
    /// others may do more.
    #[test]
    fn the_first_class_that_fits_decides() {
        let (owner, member, other) = (Who::new(10, 20, &[]), Who::new(11, 1, &[2, 20]), Who::new(11, 1, &[2]));
        for (mode, who, may) in [
            (0o700, owner, 7),
            (0o077, owner, 0),
            (0o050, member, 5),
            (0o707, member, 0),
            (0o004, other, 4),
            (0o770, other, 0),
        ] {
            for wanted in 0..8 {
                assert_eq!(owned(mode, false).may(&who, wanted), wanted & !may == 0, "{mode:o} {wanted}");
            }
        }
        assert!(owned(0, false).may(&ROOT, READ | WRITE) && !owned(0o666, false).may(&ROOT, EXECUTE));
        assert!(owned(0, true).may(&ROOT, READ | WRITE | EXECUTE) && owned(0o001, false).may(&ROOT, EXECUTE));
        // What a client may have open: the owner continues, and programs run.
        assert!(owned(0, false).may_be_written(&owner) && owned(0, false).may_be_read(&owner));
        assert!(owned(0o711, false).may_be_read(&other) && !owned(0o711, false).may_be_written(&other));
        // The seventeenth group counts, another one does not.
        let many: Vec<u32> = (100..117).collect();
        let who = Who::new(1, 1, &many);
        assert!(who.is_in(115) && !who.is_in(116));
    }

    #[test]
    fn a_sticky_folder_gives_up_what_is_ones_own() {
        let (owner, other) = (Who::new(10, 1, &[]), Who::new(11, 1, &[]));
        let (sticky, plain) = (owned(0o1777, true), owned(0o777, true));
        assert!(plain.may_remove_name(&other, 12) && !sticky.may_remove_name(&other, 12));
        assert!(
            sticky.may_remove_name(&other, 11)
                && sticky.may_remove_name(&owner, 12)
                && sticky.may_remove_name(&ROOT, 12)
        );
        assert!(!owned(0o1555, true).may_remove_name(&other, 11), "it may not be changed at all");
    }

    #[test]
    fn attributes_are_set_by_whom_they_belong_to() {
        let (owner, member, other) = (Who::new(10, 1, &[21]), Who::new(11, 20, &[]), Who::new(11, 1, &[]));
        let none = SetNode::default();
        let mode = |mode| SetNode { mode: Some(mode), ..none };
        let file = owned(0o660, false);
        assert_eq!(file.judge(&other, &none, false), Ok(none), "nothing is asked for");
        assert_eq!(file.judge(&member, &mode(0o777), false), Err(TreeRefusal::NotOwner));
        // The owner is not in the file's group, so that bit is cleared; a folder keeps the others.
        assert_eq!(file.judge(&owner, &mode(0o6755), false), Ok(mode(0o4755)));
        assert_eq!(file.judge(&ROOT, &mode(0o6755), false), Ok(mode(0o6755)));
        let uid = SetNode { uid: Some(11), ..none };
        assert_eq!(file.judge(&owner, &uid, false), Err(TreeRefusal::NotOwner));
        assert_eq!(file.judge(&ROOT, &uid, false), Ok(uid));
        assert_eq!(file.judge(&owner, &SetNode { uid: Some(10), ..none }, false).map(|set| set.uid), Ok(Some(10)));
        let gid = |gid| SetNode { gid: Some(gid), ..none };
        assert_eq!(file.judge(&owner, &gid(22), false), Err(TreeRefusal::NotOwner));
        assert_eq!(file.judge(&owner, &gid(21), false), Ok(gid(21)));
        // After it was given away, its privilege bits are cleared.
        let given = Ok(SetNode { mode: Some(0o755), ..gid(21) });
        assert_eq!(owned(0o6755, false).judge(&owner, &gid(21), false), given);
        assert_eq!(owned(0o6755, true).judge(&owner, &gid(21), false), Ok(gid(21)));
        let size = SetNode { size: Some(0), ..none };
        assert_eq!(file.judge(&member, &size, false), Ok(size));
        let cut = SetNode { mode: Some(0o775), ..size };
        assert_eq!(owned(0o6775, false).judge(&member, &size, false), Ok(cut));
        assert_eq!(owned(0o6775, false).judge(&ROOT, &size, false), Ok(size));
        assert_eq!(file.judge(&other, &size, false), Err(TreeRefusal::Forbidden));
        let times = SetNode { modified: Some(Span::SECOND), ..none };
        assert_eq!(file.judge(&member, &times, true), Ok(times));
        assert_eq!(file.judge(&member, &times, false), Err(TreeRefusal::NotOwner));
        assert_eq!(file.judge(&other, &times, true), Err(TreeRefusal::Forbidden));
    }

    #[test]
    fn what_is_new_is_its_makers() {
        let maker = Who::new(11, 1, &[]);
        let new = |kind, mode| NewNode { kind, mode, uid: 0, gid: 0, verifier: 0, target: b"" };
        let ids = SetNode { uid: Some(5), gid: Some(6), ..SetNode::default() };
        let made = |folder: u32, who: &Who, new: NewNode<'static>| {
            let made = owned(folder, true).attributes_of_new(who, new, &ids);
            (made.mode, made.uid, made.gid)
        };
        assert_eq!(made(0o777, &maker, new(NodeKind::File, 0o6755)), (0o6755, 11, 1));
        assert_eq!(made(0o777, &ROOT, new(NodeKind::File, 0o644)), (0o644, 5, 6));
        assert_eq!(made(0o2777, &maker, new(NodeKind::File, 0o2755)), (0o755, 11, 20));
        assert_eq!(made(0o2777, &maker, new(NodeKind::Folder, 0o755)), (0o2755, 11, 20));
        assert_eq!(made(0o777, &ROOT, new(NodeKind::Folder, 0o7755)), (0o1755, 5, 6));
        assert_eq!(made(0o777, &maker, new(NodeKind::Link, 0o700)), (0o777, 11, 1));
    }
}
