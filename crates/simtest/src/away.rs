//! A server whose thread is taken off its processor now and then, as happens beside compilers.
//! Completions and requests wait for it meanwhile, while the device and the clients go on.

use array::Absence;
use block::{Completion, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use qos::{Edit, EditError};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::scene::Shield;

/// A target that nobody polls while its thread is away. Absences of chance length come after times
/// of chance length, both exponential.
#[derive(Debug)]
pub struct Away<T> {
    inner: T,
    absence: Absence,
    chance: Xoshiro256PlusPlus,
    /// The next absence, or the one under way: from when, and until when.
    next: (Time, Time),
    is_away: bool,
}

impl<T> Away<T> {
    /// Wraps `inner`. The absences follow from the seed, apart from what the device draws.
    pub fn now_and_then(inner: T, absence: Absence, seed: u64) -> Away<T> {
        let mut away = Away {
            inner,
            absence,
            chance: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5EA),
            next: (Time::ZERO, Time::ZERO),
            is_away: false,
        };
        away.plan();
        away
    }

    /// Draws the next absence.
    fn plan(&mut self) {
        let from = self.next.1 + self.absence.draw_until(&mut self.chance);
        self.next = (from, from + self.absence.draw_length(&mut self.chance));
    }

    fn is_away(&mut self, now: Time) -> bool {
        while self.next.1 <= now {
            self.plan();
        }
        self.is_away = self.next.0 <= now;
        self.is_away
    }
}

impl<T: Target> Target for Away<T> {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.is_away(now) { Submitted::Full(request) } else { self.inner.submit(now, request) }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        if !self.is_away(now) {
            self.inner.poll(now, out);
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        match self.inner.next_wakeup() {
            // Whoever was refused is served then.
            _ if self.is_away => Wakeup::At(self.next.1),
            Wakeup::At(at) if at >= self.next.0 => Wakeup::At(at.max(self.next.1)),
            wakeup => wakeup,
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.inner.cancel(now, ticket);
    }
}

impl<T: Shield> Shield for Away<T> {
    fn apply(&mut self, now: Time, edit: &Edit) -> Result<(), EditError> {
        self.inner.apply(now, edit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, Scene, Tree};
    use array::{DeviceSpec, Host, Model};
    use block::{ObjectId, Span};
    use qos::{Gate, Settings};

    /// Present for 10 ms and away for 10, on average: about half of 5 000 milliseconds have
    /// answers.
    #[test]
    fn nothing_is_answered_while_it_is_away() {
        let host = Host { turn: Span::from_micros(100), ..Host::default() };
        let until = Time::ZERO + Span::from_secs(5);
        let clients = vec![Client::closed(ObjectId(0), 4)];
        let scene =
            Scene { device: DeviceSpec::of(Model::Host(host)), clients, edits: Tree::flat(1).edits(), until, seed: 1 };
        let mean = Span::from_millis(10);
        let absence = Absence { every: mean, length: mean };
        let recording =
            scene.play(|device| Away::now_and_then(Gate::new(device, Settings::default()), absence, scene.seed));
        let ends = recording.tracks[0].ends.iter().map(|end| end.at.since(Time::ZERO).as_nanos() / 1_000_000);
        let answered = ends.collect::<std::collections::BTreeSet<_>>().len();
        assert!((2_000..3_000).contains(&answered), "answers in {answered} of 5000 ms");
    }
}
