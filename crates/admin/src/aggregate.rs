//! `storage aggregate`: the pool, which is the one aggregate.

use super::{AdminError, Answer, Errand};
use ontap::catalogue::AggregateCommand;
use ontap::show::AggregateRow;
use qos::ObjectKind;

impl Errand<'_> {
    /// Without a pool, nothing is listed.
    pub(super) fn aggregate(&mut self, command: &AggregateCommand) -> Result<Answer, AdminError> {
        let AggregateCommand::Show(selection) = command;
        let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume).count();
        let row = self.at.world.aggregate().map(|pool| AggregateRow {
            aggregate: pool.name,
            size: pool.size,
            available: pool.available,
            volcount: volumes as u64,
            node: super::statistics::NODE.into(),
        });
        self.listed(row, selection)
    }

    /// The name of the pool, which contains all volumes.
    pub(super) fn aggregate_name(&self) -> Option<String> {
        self.at.world.aggregate_name()
    }
}
