//! `storage aggregate`: the pool, which is the one aggregate.

use super::{AdminError, Answer, Errand, NODE};
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
            node: NODE.into(),
        });
        self.listed(row, selection)
    }

    /// The name of the pool, which contains all volumes.
    pub(super) fn aggregate_name(&self) -> Option<String> {
        self.at.world.aggregate_name()
    }

    /// What the cluster is called where it owns something, as an SVM would: by its pool, or by its
    /// node where there is none.
    pub(super) fn cluster_name(&self) -> String {
        self.aggregate_name().unwrap_or_else(|| NODE.into())
    }
}

#[cfg(test)]
mod tests {
    use crate::world::TestWorld;
    use crate::{Administration, At, Login, LoginScope};
    use block::Time;

    /// What belongs to the whole cluster is under one name, whichever command shows it.
    #[test]
    fn the_cluster_is_called_as_its_pool() {
        for (pool, cluster) in [(Some("tank"), "tank"), (None, "seawall")] {
            let logins = vec![Login { name: "alice".into(), scope: LoginScope::Admin }];
            let world = TestWorld { pool, logins, ..TestWorld::default() };
            let at = At { now: Time::ZERO, began: 0, world: &world };
            let mut administration = Administration::new(qos::RegistrySettings::default());
            for (line, owned) in [
                (format!("qos adaptive-policy-group show -vserver {cluster} -fields vserver"), "extreme"),
                (format!("security login show -vserver {cluster} -fields vserver"), "alice"),
            ] {
                let shown = administration.run(ontap::parse(&line).unwrap(), &at).unwrap().answer.text();
                let row: Vec<&str> =
                    shown.lines().find(|row| row.contains(owned)).unwrap().split_whitespace().collect();
                assert!(row.contains(&cluster), "{line}: {shown}");
            }
        }
    }
}
