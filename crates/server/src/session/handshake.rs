//! The handshake phase of an NBD session.

use super::link::Link;
use super::tls::TlsLink;
use super::{Ending, Phase, Session, ShardParts};
use crate::access::Caller;
use crate::noticed::Notices;
use admin::EventKind;
use nbd::{HandshakeError, ServerStep};

impl Session {
    /// Handles the options that have arrived, then receives more. True if the handshake is over and
    /// transmission begins.
    pub(super) fn shake_hands(&mut self, shard: &mut ShardParts<'_>) -> bool {
        loop {
            let Phase::Handshake(shaking) = &mut self.phase else { return true };
            if self.tx.is_busy() && !self.tx.is_empty() {
                // The client sends options but does not read the answers. Answers may be long, so
                // at most one waits here, and nothing is received meanwhile.
                return false;
            }
            if shaking.upgrades {
                if !self.upgrade(shard) {
                    return false;
                }
                continue;
            }
            shard.scratch.clear();
            let exports = shard.exports.seen_by(&self.caller, shard.access);
            let out = &mut *shard.scratch;
            let step = self.rx.unread(shard.io, |bytes| {
                let mut rest = bytes;
                let step = shaking.handshake.receive(&mut rest, &exports, out);
                (bytes.len() - rest.len(), step)
            });
            if let Some(export) = exports.take_refused() {
                note_refused(&self.caller, &export, shard.notices);
            }
            let Some(step) = step else { return false };
            shaking.upgrades = matches!(step, Ok(ServerStep::StartTls));
            if !shard.scratch.is_empty() {
                self.tx.say(shard.scratch);
                self.send(shard);
            }
            match step {
                Ok(ServerStep::Continue | ServerStep::StartTls) => {}
                Ok(ServerStep::NeedMore(_)) => {
                    if !self.receive(shard) {
                        return false;
                    }
                }
                Ok(ServerStep::Transmission(admitted)) => {
                    let (session, export) = (self.index, &admitted.requested);
                    tracing::info!(session, client = %self.caller, export, "connected");
                    self.phase = Phase::Transmission(Box::new(Link::new(&admitted)));
                    return true;
                }
                Ok(ServerStep::Aborted) => {
                    self.ending = Ending::Draining;
                    return false;
                }
                Err(error) => {
                    self.refuse_handshake(&error, shard.notices);
                    return false;
                }
            }
        }
    }

    /// Ends a failed handshake. Answers that are queued are sent before the connection is closed.
    fn refuse_handshake(&mut self, error: &HandshakeError, notices: &mut Notices) {
        let client = &self.caller;
        let text = match error {
            // By the name of its setting.
            HandshakeError::TooManyOptions(most) => {
                tracing::warn!(%client, "connection closed: the limit `handshake_options` is met");
                format!("{client}: more than {most} options in one handshake (limit `handshake_options`)")
            }
            error => {
                tracing::info!(session = self.index, %client, %error, "handshake refused");
                format!("{client}: {error}")
            }
        };
        // A refused export has been noted already.
        if !matches!(error, HandshakeError::ExportName { name: Some(_), .. }) {
            notices.note(EventKind::ClientRefused, client.to_string(), text);
        }
        self.ending = Ending::Draining;
    }

    /// Continues the TLS handshake; true if it is over.
    fn upgrade(&mut self, shard: &mut ShardParts<'_>) -> bool {
        if self.tls.is_none() && !self.begin_tls(shard) {
            return false;
        }
        let Some(tls) = &mut self.tls else { return false };
        match tls.shake_hands(shard.io) {
            Ok(true) => {
                self.encrypted(shard);
                true
            }
            Ok(false) => {
                self.receive_cipher(shard);
                false
            }
            Err(error) => {
                self.fail_tls(&error, shard);
                false
            }
        }
    }

    /// Begins TLS once the kernel has taken the answer to `STARTTLS`, the last message in clear
    /// text.
    fn begin_tls(&mut self, shard: &mut ShardParts<'_>) -> bool {
        if !self.tx.is_empty() {
            return false;
        }
        let records = shard.tls.map(crate::tls::Tls::accept);
        match (records, shard.io.take(shard.limits.receive.0 as u32)) {
            (Some(Ok(records)), Some(cipher)) => {
                self.tls = Some(Box::new(TlsLink::new(records, cipher)));
                true
            }
            (records, cipher) => {
                // Receive buffers are reserved for all connections, so the TLS library has failed.
                tracing::error!(failed = ?records.map(|made| made.err()), "TLS cannot begin");
                cipher.into_iter().for_each(|buf| shard.io.give(buf));
                self.ending = Ending::Draining;
                false
            }
        }
    }

    /// From here on everything is encrypted, and the client has proved its identity if it has one.
    fn encrypted(&mut self, shard: &mut ShardParts<'_>) {
        let Some(tls) = &self.tls else { return };
        tls.introduce(&mut self.caller);
        tracing::info!(session = self.index, client = %self.caller, tls = tls.words(), "encrypted");
        if let Phase::Handshake(shaking) = &mut self.phase {
            shaking.handshake.tls_established();
            shaking.upgrades = false;
        }
        // Sends the last flight of the TLS handshake.
        self.send(shard);
    }
}

/// Notes that a client was refused an export.
fn note_refused(client: &Caller, export: &str, notices: &mut Notices) {
    let text = format!("{client}: export {export:?} is unknown, offline, or not for this client");
    notices.note(EventKind::ExportRefused, format!("{client} {export}"), text);
}
