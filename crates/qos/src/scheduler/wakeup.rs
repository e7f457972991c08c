//! When the scheduler has something to do without a new request or an end.

use block::{Time, Wakeup};

use super::{Entity, ROOT, Scheduler};

impl Scheduler {
    /// Whether another step may find a request to go without a timer.
    pub(super) fn is_ready(&self) -> bool {
        !self.backend_full
            && (!self.spilled.is_empty()
                || self.next_appointment().is_some_and(|at| at <= self.now)
                || self.is_floor_due()
                || self.desks[self.nodes[ROOT].desk].waiting > 0
                    && !self.floors.window_full
                    && self.is_open(Entity::Node(ROOT)))
    }

    /// When to poll again for the scheduler's own sake.
    pub fn next_wakeup(&self) -> Wakeup {
        if !self.ended.is_empty() || self.is_ready() {
            return Wakeup::Now;
        }
        let floor = self.due_floors.peek().filter(|_| !self.backend_full).map(|e| Time::from_nanos(e.key));
        let tick = (self.floors.set > 0 && self.queued + self.flying > 0).then_some(self.floors.next_tick);
        // One that is due waits for room in the backend, which comes with an end.
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
        // What the backend would not take it may take now; floors that are idle are judged too.
        later && !self.backend_full && (self.floors.set == 0 || self.queued + self.flying > 0)
    }
}
