//! The handshake's part of a session.

use super::{Around, Ending, Link, Phase, Session};
use block::ObjectId;
use nbd::{Rules, ServerStep};

impl Session {
    /// Handles the options that are here. True when the handshake is over and transmission has begun.
    pub(super) fn shake_hands(&mut self, around: &mut Around<'_>) -> bool {
        loop {
            let Phase::Handshake(handshake) = &mut self.phase else { return true };
            around.scratch.clear();
            let (exports, out) = (around.exports, &mut *around.scratch);
            let step = self.rx.unread(around.io, |bytes| {
                let mut rest = bytes;
                let step = handshake.receive(&mut rest, exports, out);
                (bytes.len() - rest.len(), step)
            });
            let Some(step) = step else { return false };
            if !around.scratch.is_empty() {
                self.tx.next.header(around.scratch);
            }
            match step {
                Ok(ServerStep::Continue) => {}
                Ok(ServerStep::NeedMore(_)) => return false,
                Ok(ServerStep::Transmission(admitted)) => {
                    let link = Link {
                        rules: Rules::of_server(&admitted),
                        object: ObjectId(admitted.export.id as u32),
                        allocation: admitted.settings.allocation,
                        held: None,
                    };
                    self.phase = Phase::Transmission(Box::new(link));
                    return true;
                }
                // TLS is off, so it is never started.
                Ok(ServerStep::Aborted | ServerStep::StartTls) => {
                    self.ending = Ending::Draining;
                    return false;
                }
                Err(error) => {
                    tracing::info!(session = self.index, %error, "handshake refused");
                    self.ending = Ending::Draining;
                    return false;
                }
            }
        }
    }
}
