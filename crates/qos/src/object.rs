//! Storage objects as administrators know them: names in a tree of SVM > volume > qtree, LUN, file,
//! with their sizes and policies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use block::{ObjectId, Time};

use crate::adaptive::{Evaluation, Size};
use crate::edit::GroupId;
use crate::rule::{Refusal, Rule};

/// What kind of object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A storage virtual machine: one tenant.
    Svm,
    /// A volume of an SVM.
    Volume,
    /// A top-level folder of a volume with rules of its own.
    Qtree,
    /// A block device inside a volume or qtree.
    Lun,
    /// A file inside a volume or qtree that administrators made, of a fixed size.
    File,
    /// A file that clients made on a volume or in a qtree, and that has a policy, or had one.
    ClientFile,
}

impl ObjectKind {
    /// Whether an adaptive policy fits: it needs a size.
    pub const fn has_size(self) -> bool {
        matches!(self, ObjectKind::Volume) || self.is_leaf()
    }

    /// Whether it can have no children.
    pub const fn is_leaf(self) -> bool {
        self.has_tree() || self.is_file()
    }

    /// Whether it is a LUN or file of a fixed size, with data of its own. The data of a file that
    /// clients made is its volume's.
    pub const fn has_tree(self) -> bool {
        matches!(self, ObjectKind::Lun | ObjectKind::File)
    }

    /// Whether it is a file, whoever made it.
    pub const fn is_file(self) -> bool {
        matches!(self, ObjectKind::File | ObjectKind::ClientFile)
    }

    pub(crate) const fn may_hang_on(self, parent: Option<ObjectKind>) -> bool {
        match self {
            ObjectKind::Svm => parent.is_none(),
            ObjectKind::Volume => matches!(parent, Some(ObjectKind::Svm)),
            ObjectKind::Qtree => matches!(parent, Some(ObjectKind::Volume)),
            ObjectKind::Lun | ObjectKind::File | ObjectKind::ClientFile => {
                matches!(parent, Some(ObjectKind::Volume | ObjectKind::Qtree))
            }
        }
    }

    /// Whether `name` may be its name inside its parent; see [`Rule::ObjectName`],
    /// [`Rule::LunPath`], [`Rule::FilePath`].
    pub(crate) fn check_name(self, name: &str, subject: &str) -> Result<(), Refusal> {
        let (rule, fits) = match self {
            ObjectKind::Lun => (Rule::LunPath, is_component(name)),
            ObjectKind::File | ObjectKind::ClientFile => {
                (Rule::FilePath, name.len() <= PATH_BYTES_MAX && name.split('/').all(is_component))
            }
            _ => (Rule::ObjectName, is_word(name)),
        };
        if fits { Ok(()) } else { Err(Refusal::new(rule, subject, format_args!("{name:?}"))) }
    }
}

/// The longest path of a file inside its volume.
const PATH_BYTES_MAX: usize = 4096;

fn is_word(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=203).contains(&name.len())
        && name.starts_with(letter)
        && name.chars().all(|c| letter(c) || matches!(c, '-' | '.'))
}

fn is_component(name: &str) -> bool {
    (1..=255).contains(&name.len()) && name != "." && name != ".." && !name.chars().any(|c| c == '/' || c.is_control())
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ObjectKind::Svm => "SVM",
            ObjectKind::Volume => "volume",
            ObjectKind::Qtree => "qtree",
            ObjectKind::Lun => "LUN",
            ObjectKind::File | ObjectKind::ClientFile => "file",
        })
    }
}

/// The policy group that an object is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Which group.
    pub group: GroupId,
    /// Under an adaptive policy, what it came to when last evaluated; zero under a fixed one.
    pub evaluation: Evaluation,
}

/// One storage object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub(crate) id: ObjectId,
    pub(crate) kind: ObjectKind,
    pub(crate) name: Arc<str>,
    pub(crate) parent: Option<ObjectId>,
    pub(crate) children: BTreeMap<Arc<str>, ObjectId>,
    pub(crate) size: Size,
    pub(crate) membership: Option<Membership>,
    pub(crate) template: Option<GroupId>,
    pub(crate) fair: bool,
    /// When its adaptive policy is next evaluated, if its size changed since the last time.
    pub(crate) due: Option<Time>,
    /// LUNs and files in policy groups anywhere below, so that the nesting rule needs no search.
    pub(crate) leaves_in_groups: usize,
}

impl Object {
    /// Its number.
    pub const fn id(&self) -> ObjectId {
        self.id
    }

    /// Its kind.
    pub const fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// Its name inside its parent; a file's is its path there, without the first slash.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parent; `None` for an SVM.
    pub const fn parent(&self) -> Option<ObjectId> {
        self.parent
    }

    /// Its children, by name.
    pub fn children(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.children.values().copied()
    }

    /// Its size as last told; zero for kinds without one.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The policy group that it is in.
    pub const fn membership(&self) -> Option<Membership> {
        self.membership
    }

    /// An SVM's template: the adaptive group that volumes made in it from now on join.
    pub const fn template(&self) -> Option<GroupId> {
        self.template
    }

    /// Whether its children take turns even where no limit binds.
    pub const fn fair(&self) -> bool {
        self.fair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_by_kind() {
        let fits = |kind: ObjectKind, name: &str| kind.check_name(name, "x").is_ok();
        for name in ["vol1", "_x", "epic_rhel1_01", "a-b.c", &"v".repeat(203)] {
            assert!(fits(ObjectKind::Volume, name), "{name}");
        }
        for name in ["", "-v", ".v", "a b", "a/b", "ä", &"v".repeat(204)] {
            assert!(!fits(ObjectKind::Volume, name), "{name}");
        }
        assert!(fits(ObjectKind::Lun, "lun 1") && !fits(ObjectKind::Lun, "a/b") && !fits(ObjectKind::Lun, ".."));
        assert!(fits(ObjectKind::File, "dir/file.vmdk") && !fits(ObjectKind::File, "dir//file"));
        assert!(!fits(ObjectKind::File, "dir/../file") && !fits(ObjectKind::File, "a\nb"));
    }
}
