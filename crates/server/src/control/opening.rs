//! Hands the maps of an opened pool to the data thread.

use super::{Control, ControlError};
use crate::order::Order;
use block::ObjectId;
use map::What;
use std::collections::HashSet;
use store::MappedPool;

impl Control {
    /// Gives the shard the maps and deletes trees that an interrupted change left behind and that
    /// the catalogue does not name. Only trees that such a change touched are deleted.
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
                // A restore was interrupted before it was answered.
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
