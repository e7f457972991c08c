//! What LUNs and files take, measured when it is first asked for: most commands need none of it.

use crate::administration::Sizes;
use crate::shard::{Shard, ShardGone};
use block::ObjectId;
use qos::{Object, Registry};
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

/// The sizes of one moment, or of none.
pub(crate) struct Measuring<'a> {
    shard: &'a Shard,
    leaves: Vec<ObjectId>,
    all: OnceCell<HashMap<ObjectId, u64>>,
    is_gone: Cell<bool>,
}

impl<'a> Measuring<'a> {
    /// Of all that is in `registry` now. Nothing is measured yet.
    pub(crate) fn new(shard: &'a Shard, registry: &Registry) -> Measuring<'a> {
        let leaves = registry.objects().filter(|object| object.kind().is_leaf()).map(Object::id).collect();
        Measuring { shard, leaves, all: OnceCell::new(), is_gone: Cell::new(false) }
    }

    /// Whether all that was asked was told.
    pub(crate) fn is_whole(&self) -> Result<(), ShardGone> {
        if self.is_gone.get() { Err(ShardGone) } else { Ok(()) }
    }

    fn told<T: Default>(&self, told: Result<T, ShardGone>) -> T {
        told.unwrap_or_else(|ShardGone| {
            self.is_gone.set(true);
            T::default()
        })
    }

    fn measure(&self) -> HashMap<ObjectId, u64> {
        let used = self.told(self.shard.used(self.leaves.clone()));
        self.leaves.iter().copied().zip(used).collect()
    }
}

impl Sizes for Measuring<'_> {
    fn used(&self, leaf: ObjectId) -> u64 {
        self.all.get_or_init(|| self.measure()).get(&leaf).copied().unwrap_or(0)
    }

    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        self.told(self.shard.owned(trees.collect()))
    }
}
