//! The receiving side of a session: bytes are received into the buffer of the phase, and decrypted
//! if the connection is encrypted.

use super::{Around, Direction, Ending, Filling, Phase, Session, token};
use crate::waiting::Wait;
use admin::EventKind;
use block::Buf;
use cipher::Pulled;
use uring::{Done, Job};

impl Session {
    pub(super) fn received(&mut self, done: Done, around: &mut Around<'_>) {
        let filling = self.receiving.take();
        let got = done.result;
        if let (Some(buf), Some(filling)) = (done.buf, filling) {
            self.came(filling, buf, got.unwrap_or(0));
        }
        self.heard = around.now;
        self.unread_at_stop = self.unread_at_stop.map(|left| left.saturating_sub(got.unwrap_or(0).into()));
        // The stream ended without a goodbye, or failed: there is nobody left to answer.
        if !matches!(got, Ok(1..)) {
            self.abandon(around);
        }
    }

    /// Takes a buffer back after a receive of `got` bytes.
    pub(super) fn came(&mut self, filling: Filling, buf: Buf, got: u32) {
        match (filling, &mut self.tls) {
            (Filling::Payload, _) => self.payload_came(buf, got),
            (Filling::Cipher, Some(tls)) => tls.cipher.came(buf, got),
            (Filling::Inbox | Filling::Cipher, _) => self.rx.came(buf, got),
        }
    }

    /// Receives more bytes behind those that are here; true if more could be decrypted at once.
    pub(super) fn receive(&mut self, around: &mut Around<'_>) -> bool {
        if self.receiving.is_some() || self.ending != Ending::No && self.unread_at_stop.is_none() {
            return false;
        }
        if self.tls.is_some() {
            return self.decrypt(around);
        }
        if self.reads()
            && let Some(buf) = self.rx.lend(around.io)
        {
            self.push_receive(buf, Filling::Inbox, around);
        }
        false
    }

    /// Whether more of the stream is to be read.
    pub(super) fn reads(&self) -> bool {
        self.ending == Ending::No || self.unread_at_stop.is_some_and(|left| left > 0)
    }

    /// Decrypts what has arrived, or receives more ciphertext if there is none. True if there is
    /// more to parse.
    fn decrypt(&mut self, around: &mut Around<'_>) -> bool {
        let (io, Some(tls)) = (around.io, &mut self.tls) else { return false };
        let Some(mut buf) = self.rx.lend(io) else { return false };
        let pulled = io.with_mut(&mut buf, |bytes| tls.pull(io, bytes));
        let got = if let Ok(Pulled::Bytes(got)) = pulled { got as u32 } else { 0 };
        self.rx.came(buf, got);
        match pulled {
            Ok(Pulled::Bytes(_)) => return true,
            Ok(Pulled::Nothing) if self.reads() => self.receive_cipher(around),
            Ok(Pulled::Nothing) => {}
            Ok(Pulled::End) => self.abandon(around),
            Err(error) => self.fail_tls(&error, around),
        }
        false
    }

    pub(super) fn receive_cipher(&mut self, around: &mut Around<'_>) {
        // TLS may have a record of its own to send, such as the answer to a key update.
        self.send(around);
        let Some(tls) = &mut self.tls else { return };
        if let Some(buf) = tls.cipher.lend(around.io) {
            self.push_receive(buf, Filling::Cipher, around);
        }
    }

    /// Handles a broken TLS stream: nothing more is read, and an alert gives the reason.
    pub(super) fn fail_tls(&mut self, error: &cipher::CipherFault, around: &mut Around<'_>) {
        tracing::info!(session = self.index, client = %self.caller, %error, "TLS failed");
        let text = format!("{}: TLS failed: {error}", self.caller);
        around.notices.note(EventKind::ClientRefused, format!("{} TLS", self.caller), text);
        if matches!(self.phase, Phase::Transmission(_)) {
            return self.abandon(around);
        }
        self.tls.iter_mut().for_each(|tls| tls.give_up());
        self.ending = Ending::Draining;
    }

    pub(super) fn push_receive(&mut self, buf: Buf, filling: Filling, around: &mut Around<'_>) {
        match around.port.push(token(self.index, Direction::Receive), Job::Receive { socket: self.socket, buf }) {
            Ok(()) => self.receiving = Some(filling),
            Err(Job::Receive { buf, .. }) => {
                self.waits.get_or_insert(Wait::Room { starving: false });
                self.came(filling, buf, 0);
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }
}
