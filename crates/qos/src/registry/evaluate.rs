//! Sizes, and the adaptive policies that follow them.
//!
//! A change of size does not move a limit at once. The object is noted with the time at which its
//! policy is evaluated anew: [`RegistrySettings::evaluation_interval`](crate::RegistrySettings)
//! after the first change since the last evaluation. Further changes meanwhile are covered by the
//! same evaluation. So a million growing volumes cost a million evaluations every few minutes,
//! spread as their changes were, and not one a write.

use block::{ObjectId, Time};

use super::{Change, Registry};
use crate::adaptive::Size;
use crate::edit::Edit;
use crate::object::Object;
use crate::rule::{Refusal, Rule};

impl Registry {
    /// The most objects that one call of [`Registry::evaluate`] looks at, so that a call stays
    /// short.
    pub const EVALUATIONS_MAX: usize = 10_000;

    /// The size of a volume, LUN or file from now on. An adaptive policy follows it by
    /// [`Registry::evaluate`].
    pub fn set_size(&mut self, id: ObjectId, size: Size, now: Time) -> Result<(), Refusal> {
        let object = self.known(id)?;
        if !object.kind.has_size() {
            return Err(Refusal::new(Rule::WrongKind, self.label(id), "a size"));
        }
        if object.size == size {
            return Ok(());
        }
        // Later changes leave the time as it is, unless a clock that had jumped ahead put it too
        // far away.
        let due = now + self.settings.evaluation_interval;
        let waits = object.due.is_none_or(|before| before > due) && self.is_adaptive(object);
        self.at(id).size = size;
        if waits {
            self.settled(id);
            self.at(id).due = Some(due);
            self.set_due((due, id), true);
        }
        Ok(())
    }

    /// Evaluates the adaptive policies that are due, [`Registry::EVALUATIONS_MAX`] at most; the
    /// rest waits for the next call, due at once. A change of less than 10 IOPS is skipped.
    pub fn evaluate(&mut self, now: Time) -> Change {
        let mut change = Change::default();
        for _ in 0..Registry::EVALUATIONS_MAX {
            match self.due.first() {
                Some(&(due, id)) if due <= now => self.reevaluate(id, &mut change.edits),
                _ => break,
            }
        }
        change
    }

    /// When [`Registry::evaluate`] has work next.
    pub fn next_evaluation(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    fn reevaluate(&mut self, id: ObjectId, edits: &mut Vec<Edit>) {
        self.settled(id);
        let object = &self.objects[&id];
        let Some(mut membership) = object.membership else { return };
        let Some(policy) = self.groups[&membership.group].policy.adaptive() else { return };
        let evaluation = policy.evaluate(object.size, self.settings.units);
        if !evaluation.differs(membership.evaluation) {
            return;
        }
        let before = self.binding(id);
        membership.evaluation = evaluation;
        self.at(id).membership = Some(membership);
        before.edits(self.binding(id), id, edits);
    }

    /// Nothing is left to evaluate for the object: clears the time at which it was due.
    pub(super) fn settled(&mut self, id: ObjectId) {
        if let Some(due) = self.objects[&id].due {
            self.at(id).due = None;
            self.set_due((due, id), false);
        }
    }

    fn is_adaptive(&self, object: &Object) -> bool {
        object.membership.is_some_and(|membership| self.groups[&membership.group].policy.adaptive().is_some())
    }
}
