//! What the floors promise together.

use super::Registry;
use crate::object::{Object, ObjectKind};
use block::{Iops, ObjectId};

impl Registry {
    /// The sum of all floors in operations per second. Of an object's own floor and the sum of
    /// those in it, the larger counts: what is done for the one keeps the other.
    pub fn promised(&self) -> Iops {
        let svms = self.objects().filter(|object| object.kind() == ObjectKind::Svm);
        Iops(svms.map(|svm| self.promised_to(svm.id())).fold(0, u64::saturating_add))
    }

    fn promised_to(&self, id: ObjectId) -> u64 {
        let own = self.binding(id).own.floor.iops.map_or(0, |floor| floor.0);
        let within = self.object(id).into_iter().flat_map(Object::children).map(|child| self.promised_to(child));
        own.max(within.fold(0, u64::saturating_add))
    }
}
