//! What a gate reports about an object in the course of a scene.

use std::cell::RefCell;
use std::rc::Rc;

use block::{Completion, ObjectId, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use qos::{Edit, EditError, FloorState, Gate, Settings};
use simtest::{Scene, Shield};

/// The states of an object's floor, second by second.
pub fn floor_by_second(scene: &Scene, object: ObjectId) -> Vec<FloorState> {
    let reported = Rc::new(RefCell::new(Vec::new()));
    scene.play(|device| {
        let gate = Gate::new(device, Settings::default());
        Reporting { gate, object, next: Time::ZERO + Span::SECOND, reported: reported.clone() }
    });
    reported.take()
}

/// A gate whose account is taken each second.
struct Reporting<T: Target> {
    gate: Gate<T>,
    object: ObjectId,
    next: Time,
    reported: Rc<RefCell<Vec<FloorState>>>,
}

impl<T: Target> Target for Reporting<T> {
    fn traits(&self) -> Traits {
        self.gate.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.gate.submit(now, request)
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.gate.poll(now, out);
        if now >= self.next {
            self.next = now + Span::SECOND;
            let mut accounts = Vec::new();
            self.gate.account(now, &mut accounts);
            let ours = accounts.iter().find(|account| account.object == self.object);
            self.reported.borrow_mut().extend(ours.map(|account| account.floor));
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.gate.next_wakeup()
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.gate.cancel(now, ticket);
    }
}

impl<T: Target> Shield for Reporting<T> {
    fn apply(&mut self, now: Time, edit: &Edit) -> Result<(), EditError> {
        self.gate.edit(now, edit)
    }
}
