//! When the scheduler has something to do without a new request or a completion.

use block::{Time, Wakeup};

use super::{Entity, ROOT, Scheduler};

impl Scheduler {
    /// Whether another step may find a request to go without a timer.
    pub(super) fn is_ready(&self) -> bool {
        !self.backend_full
            && (!self.spilled.is_empty()
                || self.next_appointment().is_some_and(|at| at <= self.now)
                || self.is_floor_due()
                || self.turn_queues[self.nodes[ROOT].turn_queue].waiting > 0
                    && !self.floors.window_full
                    && self.is_open(Entity::Node(ROOT)))
    }

    /// When the scheduler itself needs to be polled again.
    pub fn next_wakeup(&self) -> Wakeup {
        if !self.ended.is_empty() || self.is_ready() {
            return Wakeup::Now;
        }
        let floor = self.due_floors.peek().filter(|_| !self.backend_full).map(|e| Time::from_nanos(e.key));
        let tick = (self.floors.set > 0 && self.queued + self.in_flight > 0).then_some(self.floors.next_tick);
        // An appointment that is due waits for room in the backend, which a completion makes.
        let appointment = self.next_appointment().filter(|&at| at > self.now);
        let rest = self.floors.rests_until();
        let times = self.timers.next().into_iter().chain(appointment).chain(floor).chain(tick).chain(rest);
        times.min().map_or(Wakeup::Idle, Wakeup::At)
    }

    /// Whether a poll finds nothing to do, if no request has come or ended since
    /// [`Scheduler::next_wakeup`] said `due`.
    #[inline]
    pub fn sleeps_until(&self, due: Wakeup) -> bool {
        let later = match due {
            Wakeup::At(at) => at > self.now,
            Wakeup::Idle => true,
            Wakeup::Now | Wakeup::External => false,
        };
        // A full backend may have room by now. Floors are judged while idle too, and no wakeup says
        // when.
        later && !self.backend_full && (self.floors.set == 0 || self.queued + self.in_flight > 0)
    }
}
