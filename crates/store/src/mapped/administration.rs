//! Changes of structure: LUNs and snapshots made, shared, restored, resized and deleted, each durable when it is
//! answered.

use super::{ADMINISTRATION, MappedVolumes};
use block::ObjectId;
use map::{Ask, Ended, What};

impl MappedVolumes {
    /// Asks for a change of an object's tree. Its answer comes by [`MappedVolumes::take_answers`] after a poll, with the
    /// number that this returns.
    pub fn administer(&mut self, object: ObjectId, what: What) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        let ask = Ask { id: id | ADMINISTRATION, tree: object.0, at: 0, len: 0, what, fua: true, aligned: true };
        self.core.submit(ask);
        // What was refused on its face is answered already.
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        let (ours, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|ended| ended.id == ask.id);
        self.answers.extend(ours.into_iter().map(|ended| Ended { id, ..ended }));
        self.events.extend(others);
        id
    }

    /// Moves the answers to what was administered to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.answers);
    }
}
