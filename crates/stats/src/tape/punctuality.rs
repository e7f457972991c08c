//! How well an open loop kept its schedule.

use block::Span;

/// Punctuality of an open loop; all zero for a closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// Whether there was a schedule.
    pub scheduled: bool,
    /// Requests made more than [`Punctuality::LATE_AFTER`] after they were due.
    pub late: u64,
    /// The longest time between due and made, of any request.
    pub late_most: Span,
    /// Requests that were due while the cap on requests in flight was reached. Once it was, all
    /// overdue requests count until the schedule has caught up.
    pub held: u64,
    /// Requests that were due before the end and never made.
    pub never_sent: u64,
}

impl Punctuality {
    /// A request made more than this after it was due counts as late. Less is within the accuracy
    /// of a timer and the length of a batch of completions.
    pub const LATE_AFTER: Span = Span::from_millis(1);

    /// Counts a request that was made `delay` after it was due.
    #[inline]
    pub fn count(&mut self, delay: Span, held: bool) {
        self.late += u64::from(delay > Punctuality::LATE_AFTER);
        self.late_most = self.late_most.max(delay);
        self.held += u64::from(held);
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Punctuality) {
        self.scheduled |= other.scheduled;
        self.late += other.late;
        self.late_most = self.late_most.max(other.late_most);
        self.held += other.held;
        self.never_sent += other.never_sent;
    }
}
