//! The receiving side of a session: bytes are received into the buffer of the phase, and decrypted
//! if the connection is encrypted.

use super::{Direction, Ending, Filling, Phase, Session, ShardParts, token};
use crate::waiting::Wait;
use admin::EventKind;
use block::Buf;
use cipher::Pulled;
use uring::{Done, Job};

impl Session {
    pub(super) fn received(&mut self, done: Done, shard: &mut ShardParts<'_>) {
        let filling = self.receiving.take();
        let got = done.result;
        if let (Some(buf), Some(filling)) = (done.buf, filling) {
            self.came(filling, buf, got.unwrap_or(0));
        }
        self.heard = shard.now;
        self.unread_at_stop = self.unread_at_stop.map(|left| left.saturating_sub(got.unwrap_or(0).into()));
        // The stream ended without a goodbye, or failed: there is nobody left to answer.
        if !matches!(got, Ok(1..)) {
            self.abandon(shard);
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
    pub(super) fn receive(&mut self, shard: &mut ShardParts<'_>) -> bool {
        if self.receiving.is_some() || self.ending != Ending::No && self.unread_at_stop.is_none() {
            return false;
        }
        if self.tls.is_some() {
            return self.decrypt(shard);
        }
        if self.reads()
            && let Some(buf) = self.rx.lend(shard.io)
        {
            self.push_receive(buf, Filling::Inbox, shard);
        }
        false
    }

    /// Whether more of the stream is to be read.
    pub(super) fn reads(&self) -> bool {
        self.ending == Ending::No || self.unread_at_stop.is_some_and(|left| left > 0)
    }

    /// Decrypts what has arrived, or receives more ciphertext if there is none. True if there is
    /// more to parse.
    fn decrypt(&mut self, shard: &mut ShardParts<'_>) -> bool {
        let (io, Some(tls)) = (shard.io, &mut self.tls) else { return false };
        let Some(mut buf) = self.rx.lend(io) else { return false };
        let pulled = io.with_mut(&mut buf, |bytes| tls.pull(io, bytes));
        let got = if let Ok(Pulled::Bytes(got)) = pulled { got as u32 } else { 0 };
        self.rx.came(buf, got);
        match pulled {
            Ok(Pulled::Bytes(_)) => return true,
            Ok(Pulled::Nothing) if self.reads() => self.receive_cipher(shard),
            Ok(Pulled::Nothing) => {}
            Ok(Pulled::End) => self.abandon(shard),
            Err(error) => self.fail_tls(&error, shard),
        }
        false
    }

    pub(super) fn receive_cipher(&mut self, shard: &mut ShardParts<'_>) {
        // TLS may have a record of its own to send, such as the answer to a key update.
        self.send(shard);
        let Some(tls) = &mut self.tls else { return };
        if let Some(buf) = tls.cipher.lend(shard.io) {
            self.push_receive(buf, Filling::Cipher, shard);
        }
    }

    /// Handles a broken TLS stream: nothing more is read, and an alert gives the reason.
    pub(super) fn fail_tls(&mut self, error: &cipher::CipherFault, shard: &mut ShardParts<'_>) {
        tracing::info!(session = self.index, client = %self.caller, %error, "TLS failed");
        let text = format!("{}: TLS failed: {error}", self.caller);
        shard.notices.note(EventKind::ClientRefused, format!("{} TLS", self.caller), text);
        if matches!(self.phase, Phase::Transmission(_)) {
            return self.abandon(shard);
        }
        self.tls.iter_mut().for_each(|tls| tls.give_up());
        self.ending = Ending::Draining;
    }

    pub(super) fn push_receive(&mut self, buf: Buf, filling: Filling, shard: &mut ShardParts<'_>) {
        match shard.port.push(token(self.index, Direction::Receive), Job::Receive { socket: self.socket, buf }) {
            Ok(()) => self.receiving = Some(filling),
            Err(Job::Receive { buf, .. }) => {
                self.waits.get_or_insert(Wait::Room { starving: false });
                self.came(filling, buf, 0);
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }
}
