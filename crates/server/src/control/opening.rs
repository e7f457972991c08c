//! The maps of a pool that is opened, on their way to the data thread.

use super::{Control, ControlError};
use crate::order::Order;
use block::ObjectId;
use map::What;
use std::collections::HashSet;
use store::MappedPool;

impl Control {
    /// Gives the shard the maps and takes trees out that a change has left which was cut off, and
    /// that the catalogue does not know. No others: whose they are is not known.
    pub(super) fn serve_maps(&mut self, maps: MappedPool) -> Result<(), ControlError> {
        let contents = self.pool.contents();
        let agreed = maps.core().agreed().clone();
        let of_snapshots: HashSet<u32> = contents.snapshots.values().flat_map(|s| &s.leaves).map(|l| l.tree).collect();
        let trees = maps.core().trees();
        let sizes: Vec<(u32, u64)> =
            trees.iter().filter_map(|(tree, _)| Some((*tree, maps.core().tree(*tree)?.0))).collect();
        self.shard.order(Order::Maps(Box::new(maps)))?;
        for (tree, size) in sizes.into_iter().filter(|(tree, _)| agreed.touches(*tree)) {
            match contents.objects.get(&tree) {
                // A restore was not finished; what its answer would have said is not so.
                Some(row) if row.size > size => self.change(ObjectId(tree), What::Resize { size: row.size })?,
                None if !of_snapshots.contains(&tree) => self.change(ObjectId(tree), What::Delete)?,
                _ => {}
            }
        }
        if agreed != map::Agreed::on(self.pool.edition()) {
            self.confirm()?;
        }
        Ok(())
    }
}
