//! The handshake's part of a session.

use super::link::Link;
use super::{Around, Ending, Phase, Session};
use nbd::ServerStep;

impl Session {
    /// Handles the options that are here, then asks for more. True when the handshake is over and transmission has begun.
    pub(super) fn shake_hands(&mut self, around: &mut Around<'_>) -> bool {
        loop {
            let Phase::Handshake(handshake) = &mut self.phase else { return true };
            if self.tx.is_busy() && !self.tx.is_empty() {
                // A client that asks and does not listen: an answer may be long, so no more than one waits here. Nothing
                // is received either: what is here could not be read meanwhile.
                return false;
            }
            around.scratch.clear();
            let (exports, out) = (around.exports, &mut *around.scratch);
            let step = self.rx.unread(around.io, |bytes| {
                let mut rest = bytes;
                let step = handshake.receive(&mut rest, exports, out);
                (bytes.len() - rest.len(), step)
            });
            let Some(step) = step else { return false };
            if !around.scratch.is_empty() {
                self.tx.say(around.scratch);
                self.send(around);
            }
            match step {
                Ok(ServerStep::Continue) => {}
                Ok(ServerStep::NeedMore(_)) => {
                    self.receive(around);
                    return false;
                }
                Ok(ServerStep::Transmission(admitted)) => {
                    self.phase = Phase::Transmission(Box::new(Link::new(&admitted)));
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
