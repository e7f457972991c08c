//! Storage that completes everything at once and keeps nothing, so that only the cost of a request
//! is left.

use block::{Bytes, Completion, Op, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};

/// A target without storage.
#[derive(Debug)]
pub struct NullTarget {
    size: Bytes,
    ready: Vec<Completion>,
}

impl NullTarget {
    /// Claims a size of `size` bytes.
    pub fn new(size: Bytes) -> NullTarget {
        NullTarget { size, ready: Vec::new() }
    }
}

impl Target for NullTarget {
    fn traits(&self) -> Traits {
        Traits { size: self.size, align: 1, longest: u32::MAX, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let mut completion = Completion::of(&request, now, Ok(()));
        if let Op::Write(buf) = request.op {
            completion.buf = Some(buf);
        }
        self.ready.push(completion);
        Submitted::Taken(Ticket(request.tag))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        for completion in &mut self.ready {
            // From its submission until the next poll, as for any other storage.
            completion.service = now.since(completion.end);
            completion.end = now;
        }
        // If `out` is empty, nothing is copied: the two lists are exchanged.
        if out.is_empty() {
            std::mem::swap(out, &mut self.ready);
        } else {
            out.append(&mut self.ready);
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        if self.ready.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}
