//! Collects what the data thread noticed since it was last asked. The number of lines is bounded,
//! whatever clients do, and no lock is needed.

use admin::{EventKind, Noticed};
use std::collections::BTreeMap;

/// Most different events that are held until the next query, once a second. Beyond that, an event
/// is counted with a held one of its kind.
const HELD_MAX: usize = 64;

/// Events with counts, by kind and subject.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    held: BTreeMap<(EventKind, String), (String, u64)>,
}

impl Notices {
    /// Notes an event about a subject.
    pub fn note(&mut self, kind: EventKind, subject: impl Into<String>, text: impl Into<String>) {
        let mut key = (kind, subject.into());
        if self.held.len() >= HELD_MAX && !self.held.contains_key(&key) {
            key.1 = String::new();
        }
        let (latest, count) = self.held.entry(key).or_default();
        *latest = text.into();
        *count += 1;
    }

    /// Returns the events and starts anew.
    pub fn take(&mut self) -> Vec<Noticed> {
        let held = std::mem::take(&mut self.held);
        held.into_iter()
            .map(|((kind, subject), (text, count))| Noticed { kind, subject, sort: "", text, count })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_in_little_room() {
        let mut notices = Notices::default();
        for client in 0..1000 {
            notices.note(EventKind::ClientRefused, client.to_string(), "refused");
        }
        let taken = notices.take();
        assert!(taken.len() <= HELD_MAX + 1);
        assert_eq!(taken.iter().map(|noticed| noticed.count).sum::<u64>(), 1000);
        assert_eq!(notices.take(), []);
    }
}
