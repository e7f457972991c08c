//! Several kinds of storage as one target: requests go to the storage of their object.

use block::{Bytes, Completion, ObjectId, OpKind, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};

/// Storage, and the outside numbers of its objects 0, 1 and so on.
pub struct Road {
    /// The storage.
    pub target: Box<dyn Target>,
    /// The outside numbers.
    pub objects: Vec<ObjectId>,
    /// Whether it can be flushed. Storage that cannot has nothing to flush, and a flush completes
    /// at once.
    pub flushes: bool,
}

/// All kinds of storage.
pub struct Routes {
    roads: Vec<Road>,
    /// For each object the storage, and the number there.
    places: Vec<(usize, ObjectId)>,
    flushed: Vec<Completion>,
    scratch: Vec<Completion>,
}

impl Routes {
    /// Combines them. Their objects have consecutive numbers from 0.
    pub fn new(roads: Vec<Road>) -> Routes {
        let count = roads.iter().map(|road| road.objects.len()).sum();
        let mut places = vec![(0, ObjectId(0)); count];
        for (road, Road { objects, .. }) in roads.iter().enumerate() {
            for (inner, object) in objects.iter().enumerate() {
                places[object.0 as usize] = (road, ObjectId(inner as u32));
            }
        }
        Routes { roads, places, flushed: Vec::new(), scratch: Vec::new() }
    }
}

impl Target for Routes {
    fn traits(&self) -> Traits {
        let all = || self.roads.iter().map(|road| road.target.traits());
        Traits {
            size: all().map(|traits| traits.size).max().unwrap_or(Bytes(0)),
            align: all().map(|traits| traits.align).max().unwrap_or(1),
            longest: all().map(|traits| traits.longest).min().unwrap_or(u32::MAX),
            carries_data: all().any(|traits| traits.carries_data),
            read_only: all().any(|traits| traits.read_only),
        }
    }

    fn submit(&mut self, now: Time, mut request: Request) -> Submitted {
        let outer = request.object;
        let (road, inner) = self.places[outer.0 as usize];
        let road = &mut self.roads[road];
        if !road.flushes && request.op.kind() == OpKind::Flush {
            self.flushed.push(Completion::of(&request, now, Ok(())));
            return Submitted::Taken(Ticket(request.tag));
        }
        request.object = inner;
        match road.target.submit(now, request) {
            Submitted::Full(request) => Submitted::Full(Request { object: outer, ..request }),
            taken => taken,
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.flushed);
        for Road { target, objects, .. } in &mut self.roads {
            target.poll(now, &mut self.scratch);
            for mut completion in self.scratch.drain(..) {
                completion.object = objects[completion.object.0 as usize];
                out.push(completion);
            }
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.flushed.is_empty() {
            return Wakeup::Now;
        }
        self.roads.iter().map(|road| road.target.next_wakeup()).fold(Wakeup::Idle, Wakeup::sooner)
    }

    /// A ticket does not identify its storage; nothing is cancelled here.
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Op;
    use storage::local::NullTarget;

    /// Three objects on two kinds of storage: each completion has the number of its request, and
    /// storage that cannot be flushed completes a flush at once.
    #[test]
    fn objects_keep_their_numbers() {
        let road = |size, objects: &[u32], flushes| Road {
            target: Box::new(NullTarget::new(Bytes(size))),
            objects: objects.iter().copied().map(ObjectId).collect(),
            flushes,
        };
        let mut routes = Routes::new(vec![road(5, &[2, 0], true), road(9, &[1], false)]);
        assert_eq!(routes.traits().size, Bytes(9));
        assert_eq!(routes.places, [(0, ObjectId(1)), (1, ObjectId(0)), (0, ObjectId(0))]);
        for (tag, object) in [(10, 0), (11, 1), (12, 2)] {
            for op in [Op::Read, Op::Flush] {
                let len = if op == Op::Read { 1 } else { 0 };
                let object = ObjectId(object);
                let request = Request { tag, object, at: 0, len, op, fua: false, due: Time::ZERO };
                assert!(matches!(routes.submit(Time::ZERO, request), Submitted::Taken(_)));
            }
        }
        assert_eq!(routes.next_wakeup(), Wakeup::Now);
        let mut out = Vec::new();
        routes.poll(Time::ZERO, &mut out);
        let mut seen: Vec<(u64, u32, OpKind)> = out.iter().map(|c| (c.tag, c.object.0, c.kind)).collect();
        seen.sort_unstable();
        let (read, flush) = (OpKind::Read, OpKind::Flush);
        assert_eq!(seen, [(10, 0, read), (10, 0, flush), (11, 1, read), (11, 1, flush), (12, 2, read), (12, 2, flush)]);
        assert_eq!(routes.next_wakeup(), Wakeup::Idle);
    }
}
