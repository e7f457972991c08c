//! The handshake's part of a session.

use super::link::Link;
use super::tls::TlsLink;
use super::{Around, Ending, Phase, Session};
use crate::access::Caller;
use crate::noticed::Notices;
use admin::EventKind;
use nbd::{HandshakeError, ServerStep};

impl Session {
    /// Handles the options that are here, then asks for more. True when the handshake is over and
    /// transmission has begun.
    pub(super) fn shake_hands(&mut self, around: &mut Around<'_>) -> bool {
        loop {
            let Phase::Handshake(shaking) = &mut self.phase else { return true };
            if self.tx.is_busy() && !self.tx.is_empty() {
                // A client that asks and does not listen: an answer may be long, so no more than
                // one waits here. Nothing is received either: what is here could not be read
                // meanwhile.
                return false;
            }
            if shaking.upgrades {
                if !self.upgrade(around) {
                    return false;
                }
                continue;
            }
            around.scratch.clear();
            let exports = around.exports.seen_by(&self.caller, around.access);
            let out = &mut *around.scratch;
            let step = self.rx.unread(around.io, |bytes| {
                let mut rest = bytes;
                let step = shaking.handshake.receive(&mut rest, &exports, out);
                (bytes.len() - rest.len(), step)
            });
            if let Some(export) = exports.take_refused() {
                note_refused(&self.caller, &export, around.notices);
            }
            let Some(step) = step else { return false };
            shaking.upgrades = matches!(step, Ok(ServerStep::StartTls));
            if !around.scratch.is_empty() {
                self.tx.say(around.scratch);
                self.send(around);
            }
            match step {
                Ok(ServerStep::Continue | ServerStep::StartTls) => {}
                Ok(ServerStep::NeedMore(_)) => {
                    if !self.receive(around) {
                        return false;
                    }
                }
                Ok(ServerStep::Transmission(admitted)) => {
                    tracing::info!(session = self.index, client = %self.caller, export = admitted.requested, "connected");
                    self.phase = Phase::Transmission(Box::new(Link::new(&admitted)));
                    return true;
                }
                Ok(ServerStep::Aborted) => {
                    self.ending = Ending::Draining;
                    return false;
                }
                Err(error) => {
                    self.refuse_handshake(&error, around.notices);
                    return false;
                }
            }
        }
    }

    /// Says why the client is not let in. What was answered goes out before the connection ends.
    fn refuse_handshake(&mut self, error: &HandshakeError, notices: &mut Notices) {
        let client = &self.caller;
        match error {
            HandshakeError::TooManyOptions(_) => {
                tracing::warn!(%client, "connection closed: the limit `handshake_options` is met");
            }
            error => tracing::info!(session = self.index, %client, %error, "handshake refused"),
        }
        // An export that was refused is told as that.
        if !matches!(error, HandshakeError::ExportName { name: Some(_), .. }) {
            notices.note(EventKind::ClientRefused, client.to_string(), format!("{client}: {error}"));
        }
        self.ending = Ending::Draining;
    }

    /// Goes on with the handshake of TLS; true when it is over.
    fn upgrade(&mut self, around: &mut Around<'_>) -> bool {
        if self.tls.is_none() && !self.begin_tls(around) {
            return false;
        }
        let Some(tls) = &mut self.tls else { return false };
        match tls.shake_hands(around.io) {
            Ok(true) => {
                self.encrypted(around);
                true
            }
            Ok(false) => {
                self.receive_cipher(around);
                false
            }
            Err(error) => {
                self.fail_tls(&error, around);
                false
            }
        }
    }

    /// The answer to `STARTTLS` is the last that goes out in clear text: TLS begins once the kernel
    /// has it.
    fn begin_tls(&mut self, around: &mut Around<'_>) -> bool {
        if !self.tx.is_empty() {
            return false;
        }
        let records = around.tls.map(crate::tls::Tls::accept);
        match (records, around.io.take(around.limits.receive.0 as u32)) {
            (Some(Ok(records)), Some(cipher)) => {
                self.tls = Some(Box::new(TlsLink::new(records, cipher)));
                true
            }
            (records, cipher) => {
                // Room for all receive buffers is kept free, so this is a library that does not
                // work.
                tracing::error!(failed = ?records.map(|made| made.err()), "TLS cannot begin");
                cipher.into_iter().for_each(|buf| around.io.give(buf));
                self.ending = Ending::Draining;
                false
            }
        }
    }

    /// From here on all is encrypted, and the client has shown who it is, if it has anything to
    /// show.
    fn encrypted(&mut self, around: &mut Around<'_>) {
        let Some(tls) = &self.tls else { return };
        tls.introduce(&mut self.caller);
        tracing::info!(session = self.index, client = %self.caller, tls = tls.words(), "encrypted");
        if let Phase::Handshake(shaking) = &mut self.phase {
            shaking.handshake.tls_established();
            shaking.upgrades = false;
        }
        // The last flight of the handshake goes out.
        self.send(around);
    }
}

/// Notes that a client did not get an export.
fn note_refused(client: &Caller, export: &str, notices: &mut Notices) {
    let text = format!("{client}: export {export:?} is unknown, offline, or not for this client");
    notices.note(EventKind::ExportRefused, format!("{client} {export}"), text);
}
