//! A host's control group that holds a disk to so many reads and writes a second, as Linux does it
//! (`block/blk-throttle.c`). Each kind has a budget for a time slice; requests beyond it wait for
//! the next slice, first come first served. So requests either go at the speed of what is behind,
//! or stand still.
//!
//! ```text
//!   passed ▲  ██▏      ██▏      ██▏         budget = rate × slice, spent at the disk's own speed
//!          │  ██▏______██▏______██▏____►    slices begin with the first request after the one before
//! ```

use std::collections::VecDeque;

use block::{OpKind, Span, Time};

use crate::agenda::Agenda;
use crate::device::{DeviceError, none_zero};
use crate::simulated::{Job, Medium, or_never, withdraw};

/// Budgets of reads and writes per time slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// Reads a second; whatever moves no data counts as a read.
    pub reads: u64,
    /// Writes a second.
    pub writes: u64,
    /// The length of a slice; its budget is at least one request.
    pub slice: Span,
}

impl ControlGroup {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        none_zero("control-group", &[("reads", self.reads), ("writes", self.writes), ("slice", self.slice.as_nanos())])
    }
}

impl Default for ControlGroup {
    /// 10 000 of each; a slice of Linux is a tenth of a second.
    fn default() -> ControlGroup {
        ControlGroup { reads: 10_000, writes: 10_000, slice: Span::from_millis(100) }
    }
}

/// The group at work.
#[derive(Debug)]
pub(crate) struct Budgets {
    kinds: [Budget; 2],
    slice: Span,
    /// Requests that passed and are not reported yet.
    passed: Agenda<u32>,
}

/// The budget of one kind.
#[derive(Debug)]
struct Budget {
    /// Requests in a slice, now and at full capacity.
    each: u64,
    full: u64,
    left: u64,
    /// When the present slice is over.
    until: Time,
    waiting: VecDeque<Job>,
}

impl Budgets {
    pub(crate) fn new(group: &ControlGroup) -> Budgets {
        let budget = |rate: u64| {
            let each = u128::from(rate) * u128::from(group.slice.as_nanos()) / 1_000_000_000;
            let each = u64::try_from(each).unwrap_or(u64::MAX).max(1);
            Budget { each, full: each, left: 0, until: Time::ZERO, waiting: VecDeque::new() }
        };
        Budgets { kinds: [budget(group.reads), budget(group.writes)], slice: group.slice, passed: Agenda::new() }
    }
}

impl Budget {
    /// Takes one request's worth from the slice, or from the next if the present one is over.
    fn take(&mut self, now: Time, slice: Span) -> bool {
        if now >= self.until {
            (self.left, self.until) = (self.each, now + slice);
        }
        let takes = self.left > 0;
        self.left -= u64::from(takes);
        takes
    }

    fn opens(&self) -> Time {
        or_never((!self.waiting.is_empty() && self.each > 0).then_some(self.until))
    }

    /// Passes waiting requests as far as the budget goes.
    fn pass(&mut self, now: Time, slice: Span, passed: &mut Agenda<u32>) {
        while let Some(slot) = self.waiting.front().map(|job| job.slot)
            && self.take(now, slice)
        {
            self.waiting.pop_front();
            passed.note(now, slot);
        }
    }
}

impl Medium for Budgets {
    fn arrive(&mut self, now: Time, job: Job) {
        let budget = &mut self.kinds[usize::from(job.kind == OpKind::Write)];
        budget.waiting.push_back(job);
        if budget.waiting.len() == 1 {
            budget.pass(now, self.slice, &mut self.passed);
        }
    }

    fn next_event(&self) -> Time {
        self.passed.next().min(self.kinds[0].opens()).min(self.kinds[1].opens())
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        for budget in &mut self.kinds {
            budget.pass(now, self.slice, &mut self.passed);
        }
        while let Some(slot) = self.passed.take_due(now) {
            ended.push(slot);
        }
    }

    fn withdraw(&mut self, _now: Time, slot: u32) -> bool {
        self.kinds.iter_mut().any(|budget| withdraw(&mut budget.waiting, slot))
    }

    /// The next slice has so much; at 0 nothing passes once the present budget is spent.
    fn scale(&mut self, now: Time, percent: u32) {
        for budget in &mut self.kinds {
            let each = u128::from(budget.full) * u128::from(percent) / 100;
            budget.each = u64::try_from(each).unwrap_or(u64::MAX).max(u64::from(percent > 0));
            budget.until = budget.until.max(now);
        }
    }
}
