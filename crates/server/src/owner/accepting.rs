//! Accepts new connections, within the limits on their number.

use super::{LISTENER, Owner};
use crate::access::Caller;
use crate::limits::REFUSALS;
use crate::listen::Listener;
use crate::session::{Arrival, Protocol, Session};
use admin::EventKind;
use block::Time;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use uring::{Done, Failure, FileId, Io, Job};

pub(super) struct Accepting {
    pub(super) socket: FileId,
    pub(super) listener: Listener,
    pub(super) protocol: Protocol,
    /// An accept is in flight.
    pub(super) armed: bool,
}

impl Accepting {
    /// A listener for clients of that protocol.
    pub(super) fn new(io: &Io, mut listener: Listener, protocol: Protocol) -> Accepting {
        Accepting { socket: io.register(listener.take_socket()), listener, protocol, armed: false }
    }
}

/// The accepts that failed in a row for lack of descriptors or memory. They are retried twice a
/// second, so the log has a line where they begin and one where they end.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    failures: u64,
}

impl Shortage {
    /// Counts a failure; returns whether it is the first.
    fn begins(&mut self) -> bool {
        self.failures += 1;
        self.failures == 1
    }

    /// An accept succeeded; returns how many had failed before it, if any.
    fn end(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.failures)).filter(|&failures| failures > 0)
    }
}

impl Owner {
    /// Starts an accept on every listener that has none in flight.
    pub(super) fn accept(&mut self) {
        if !self.is_open {
            return;
        }
        for (number, accepting) in self.listeners.iter_mut().enumerate().filter(|(_, accepting)| !accepting.armed) {
            let job = Job::Accept { listener: accepting.socket };
            // If the ring is full, the next periodic check tries again; until then connections wait
            // in the kernel.
            accepting.armed = self.port.push(LISTENER | number as u64, job).is_ok();
        }
    }

    pub(super) fn accepted(&mut self, now: Time, event: Done) {
        let number = (event.token & !LISTENER) as usize;
        self.listeners[number].armed = false;
        if self.stopping.is_some() {
            return;
        }
        match (event.accepted, event.result) {
            (Some(socket), _) => {
                if let Some(failures) = self.shortage.end() {
                    tracing::warn!(failures, "connections are accepted again");
                }
                self.begin_session(now, number, socket);
            }
            (None, Err(failure)) if is_short_of(failure) => {
                // Trying again at once would fail again. A connection that ends frees resources, so
                // the next periodic check tries again.
                if self.shortage.begins() {
                    tracing::warn!(%failure, "no connection can be accepted until there is room for one again");
                }
                let text = format!("no connection can be accepted: {failure}");
                self.notices.note(EventKind::ClientRefused, "accept", text);
                return;
            }
            (None, result) => tracing::info!(?result, "a connection went before it was accepted"),
        }
        self.accept();
    }

    fn begin_session(&mut self, now: Time, listener: usize, socket: OwnedFd) {
        let Accepting { listener, protocol, .. } = &self.listeners[listener];
        let protocol = *protocol;
        let Ok((socket, address)) = listener.prepare(socket) else { return };
        let caller = Caller { address, ..Caller::default() };
        let refused_for = self.limit_met_by(address);
        if let Some(limit) = refused_for {
            tracing::warn!(client = %caller, "connection refused: the limit `{limit}` is met");
            let text = format!("{caller}: the limit `{limit}` is met");
            self.notices.note(EventKind::ClientRefused, format!("{caller} {limit}"), text);
            if self.refused >= REFUSALS || protocol == Protocol::Nfs {
                return;
            }
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(None);
            self.sessions.len() as u32 - 1
        });
        let socket = self.io.register(socket);
        let (_, mut shard) = self.parts(now);
        match Session::begin(index, Arrival { socket, caller, protocol, refused_for }, &mut shard) {
            Some(session) => {
                self.remember(&session);
                self.sessions[index as usize] = Some(session);
            }
            None => {
                tracing::warn!("connection refused: no memory for its receive buffer (limit `memory`)");
                let text = "no memory for its receive buffer (limit `memory`)";
                self.notices.note(EventKind::ClientRefused, "memory", text);
                self.io.close(socket);
                self.free.push(index);
            }
        }
        // Registers its wait if the ring was too full for its first receive.
        self.with_session(now, index, |_, _| ());
    }

    /// Counts a new session for those limits.
    fn remember(&mut self, session: &Session) {
        match session.caller().address {
            _ if session.is_refused => self.refused += 1,
            Some(address) => *self.callers.entry(address).or_default() += 1,
            None => {}
        }
    }

    pub(super) fn forget(&mut self, session: &Session) {
        let Some(address) = session.caller().address.filter(|_| !session.is_refused) else {
            self.refused -= u32::from(session.is_refused);
            return;
        };
        if let Some(count) = self.callers.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.callers.remove(&address);
            }
        }
    }

    /// The limit that one more connection from that address would exceed.
    fn limit_met_by(&self, address: Option<IpAddr>) -> Option<&'static str> {
        let from_there = address.and_then(|address| self.callers.get(&address)).copied().unwrap_or(0);
        if self.connections() - self.refused >= self.limits.connections {
            Some("connections")
        } else if from_there >= self.limits.connections_per_address {
            Some("connections_per_address")
        } else {
            None
        }
    }
}

/// Whether an accept failed for lack of descriptors or memory.
fn is_short_of(failure: Failure) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(failure, Failure::Os(uring::Errno(ENFILE | EMFILE))) || failure.fault() == block::Fault::NoMemory
}

#[cfg(test)]
mod tests {
    use super::Shortage;

    #[test]
    fn a_shortage_is_told_where_it_begins_and_where_it_ends() {
        let mut shortage = Shortage::default();
        assert_eq!(shortage.end(), None, "there was none");
        let told: Vec<bool> = (0..3).map(|_| shortage.begins()).collect();
        assert_eq!(told, [true, false, false]);
        assert_eq!((shortage.end(), shortage.end()), (Some(3), None));
        assert!(shortage.begins(), "the next one is told again");
    }
}
