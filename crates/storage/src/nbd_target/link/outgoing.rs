//! Sending: messages of many requests, encrypted where that is agreed, one at a time at the kernel.

use super::{Link, SEND};
use crate::connections::Carrier as _;
use block::Op;
use uring::{Job, Message, Part};

/// A message, and the requests in it, in order.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) requests: Vec<Aboard>,
}

/// A request in a message.
#[derive(Clone, Copy)]
pub(super) struct Aboard {
    pub(super) cookie: u64,
    /// The message has its data.
    pub(super) is_write: bool,
}

impl Link {
    /// Returns the data of a message's writes to those without a reply, or else to the slab.
    pub(super) fn give_back(&mut self, message: &mut Message, requests: &[Aboard]) {
        let writes = requests.iter().filter(|aboard| aboard.is_write);
        for (Aboard { cookie, .. }, buf) in writes.zip(message.unload()) {
            let in_flight = self.in_flight.get_mut(*cookie as u32 as usize);
            let in_flight = in_flight.filter(|in_flight| in_flight.cookie == *cookie);
            match in_flight.map(|in_flight| &mut in_flight.pending.request.op) {
                Some(Op::Write(data)) => *data = buf,
                _ => self.io.give(buf),
            }
        }
    }

    pub(super) fn send(&mut self) {
        if self.sending || self.is_lost() || !self.seal() {
            return;
        }
        let Outgoing { message, requests } = match &self.tls {
            Some(_) => {
                let mut message = std::mem::take(&mut self.spare).message;
                message.header(&self.records);
                Outgoing { message, requests: std::mem::take(&mut self.sealed) }
            }
            None => std::mem::replace(&mut self.next, std::mem::take(&mut self.spare)),
        };
        match self.port.push(SEND, Job::Send { socket: self.socket, message }) {
            Ok(()) => {
                self.sending = true;
                self.records.clear();
                for Aboard { cookie, .. } in &requests {
                    if let Some(in_flight) = self.in_flight.get_mut(*cookie as u32 as usize) {
                        in_flight.sent = true;
                    }
                }
                self.going = requests;
            }
            // The table of requests in flight is full: try again later.
            Err(Job::Send { mut message, .. }) if self.tls.is_some() => {
                message.unload().for_each(|buf| self.io.give(buf));
                self.spare.message = message;
                self.sealed = requests;
            }
            Err(Job::Send { message, .. }) => {
                self.spare = std::mem::replace(&mut self.next, Outgoing { message, requests });
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    /// Over TLS, encrypts the message. Returns whether there is something to send.
    fn seal(&mut self) -> bool {
        let Some(tls) = &mut self.tls else { return !self.next.message.is_empty() };
        let Outgoing { mut message, mut requests } = std::mem::take(&mut self.next);
        for part in &message.parts {
            match part {
                Part::Header { start, len } => {
                    tls.write(&message.headers[*start as usize..(*start + *len) as usize]);
                }
                Part::Data(buf) => self.io.with(buf, |bytes| tls.write(bytes)),
            }
        }
        tls.seal(&mut self.records);
        self.give_back(&mut message, &requests);
        self.sealed.append(&mut requests);
        self.next = Outgoing { message, requests };
        !self.records.is_empty()
    }
}
