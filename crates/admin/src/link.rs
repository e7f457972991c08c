//! `network limit`: the bandwidth limits of connections, which are set when the server is started.

use super::{AdminError, Answer, Errand};
use ontap::catalogue::NetworkCommand;
use ontap::show::LinkRow;

impl Errand<'_> {
    pub(super) fn network(&self, command: &NetworkCommand) -> Result<Answer, AdminError> {
        let NetworkCommand::Show(selection) = command;
        let seen = self.at.world.link().unwrap_or_default();
        let bytes = seen.bytes;
        let connection = seen.flow.map(|rate| LinkRow {
            scope: "connection".into(),
            rate: Some(rate.0),
            waits: seen.flow_waits,
            bytes,
            ..LinkRow::default()
        });
        let server = seen.whole.map(|whole| {
            let bursts = whole.credit > 0;
            LinkRow {
                scope: "server".into(),
                rate: Some(whole.base),
                burst: bursts.then_some(whole.peak),
                credit: bursts.then_some(whole.credit),
                credit_left: bursts.then_some(seen.credit),
                waits: seen.whole_waits,
                bytes,
            }
        });
        self.listed(connection.into_iter().chain(server), selection)
    }
}
