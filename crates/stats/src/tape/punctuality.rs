//! How well an open loop's schedule was kept.

use block::Span;

/// How well an open loop's schedule was kept; all zero of a closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// There was a schedule.
    pub scheduled: bool,
    /// Requests made more than [`Punctuality::LATE_AFTER`] after they were due.
    pub late: u64,
    /// The longest time between due and made, of any request.
    pub late_most: Span,
    /// Requests that were due while as many as allowed were in flight. Where the cap was met, that
    /// is all that is overdue until the schedule is caught up with.
    pub held: u64,
    /// Requests that were due before the end and never made.
    pub never_sent: u64,
}

impl Punctuality {
    /// A request made so long after it was due counts as late. Below lies what a timer and a batch
    /// of ends take.
    pub const LATE_AFTER: Span = Span::from_millis(1);

    /// Counts a request that was made `delay` after it was due.
    #[inline]
    pub fn count(&mut self, delay: Span, held: bool) {
        self.late += u64::from(delay > Punctuality::LATE_AFTER);
        self.late_most = self.late_most.max(delay);
        self.held += u64::from(held);
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Punctuality) {
        self.scheduled |= other.scheduled;
        self.late += other.late;
        self.late_most = self.late_most.max(other.late_most);
        self.held += other.held;
        self.never_sent += other.never_sent;
    }
}
