//! Changes of structure: LUNs and snapshots made, shared, restored, resized and deleted, each durable when it is
//! answered.

use super::{ADMINISTRATION, MappedVolumes};
use block::ObjectId;
use map::{Agreed, Ask, Ended, What};

impl MappedVolumes {
    /// Asks for a change of an object's tree. Its answer comes by [`MappedVolumes::take_answers`] after a poll, with the
    /// number that this returns.
    pub fn administer(&mut self, object: ObjectId, what: What) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        let ask = Ask { id: id | ADMINISTRATION, tree: object.0, at: 0, len: 0, what, fua: true, aligned: true };
        self.core.submit(ask);
        self.sort_answers();
        id
    }

    /// Asks for changes of several objects' trees that are done at one moment, or none of them; see
    /// [`map::Core::submit_together`]. Returns the number of the one answer.
    pub fn administer_together(&mut self, changes: Vec<(ObjectId, What)>) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        let changes: Vec<(u32, What)> = changes.into_iter().map(|(object, what)| (object.0, what)).collect();
        self.core.submit_together(id | ADMINISTRATION, changes);
        id
    }

    /// Has the maps keep what is known of the catalogue, durably. Returns the number of its answer.
    pub fn agree(&mut self, agreed: Agreed) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        self.core.agree(id | ADMINISTRATION, agreed);
        id
    }

    /// What was refused on its face is answered already.
    fn sort_answers(&mut self) {
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        let (ours, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|ended| ended.id & ADMINISTRATION != 0);
        self.answers.extend(ours.into_iter().map(|ended| Ended { id: ended.id & !ADMINISTRATION, ..ended }));
        self.events.extend(others);
    }

    /// Moves the answers to what was administered to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.answers);
    }
}
