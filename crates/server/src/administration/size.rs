//! Sizes as adaptive policies see them: what is allocated is known here, what is used is asked of the pool.

use super::{Administration, Errand, whole};
use block::{ObjectId, Time};
use qos::{Edit, Object, Registry};

impl Administration {
    /// Takes in what every object under an adaptive policy uses now, and evaluates the policies that are due. To be
    /// called from time to time; the edits are for the scheduler.
    #[must_use = "the edits must reach the scheduler"]
    pub fn follow_sizes(&mut self, now: Time, used: &dyn Fn(ObjectId) -> u64) -> Vec<Edit> {
        let adaptive: Vec<ObjectId> =
            self.registry.objects().filter(|object| is_adaptive(&self.registry, object)).map(Object::id).collect();
        for object in adaptive {
            take_in(&mut self.registry, object, now, used);
        }
        let mut edits = Vec::new();
        // A bounded number at a time; all that are due now, or the last of many objects would wait for minutes.
        while self.registry.next_evaluation().is_some_and(|at| at <= now) {
            edits.extend(self.registry.evaluate(now).edits);
        }
        edits
    }
}

impl Errand<'_> {
    /// Bytes that an object takes, with all that is in it.
    pub(super) fn used_in(&self, object: ObjectId) -> u64 {
        used_in(self.registry, object, self.used)
    }

    /// Has the registry know what an object uses now, so that a policy attached or changed now goes by it.
    pub(super) fn measure(&mut self, object: ObjectId) {
        take_in(self.registry, object, self.now, self.used);
    }
}

fn take_in(registry: &mut Registry, id: ObjectId, now: Time, used: &dyn Fn(ObjectId) -> u64) {
    let Some(object) = registry.object(id).filter(|object| object.kind().has_size()) else { return };
    let size = whole(object.size().allocated.0, used_in(registry, id, used));
    registry.set_size(id, size, now).expect("it exists and its kind has a size");
}

fn used_in(registry: &Registry, object: ObjectId, used: &dyn Fn(ObjectId) -> u64) -> u64 {
    match registry.object(object) {
        Some(object) if object.kind().is_leaf() => used(object.id()),
        Some(object) => object.children().map(|child| used_in(registry, child, used)).sum(),
        None => 0,
    }
}

fn is_adaptive(registry: &Registry, object: &Object) -> bool {
    let group = object.membership().and_then(|membership| registry.group_of(membership.group));
    group.is_some_and(|group| group.policy().adaptive().is_some())
}
