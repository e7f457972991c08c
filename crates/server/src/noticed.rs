//! What the data thread noticed since it was asked last: few lines, whatever clients do, and no
//! lock.

use admin::{EventKind, Noticed};
use std::collections::BTreeMap;

/// Different events that are held until they are asked for, once a second; more of a kind are
/// counted with one that is held.
const HELD_MAX: usize = 64;

/// Counts by kind and subject.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    held: BTreeMap<(EventKind, String), (String, u64)>,
}

impl Notices {
    /// Something was noticed about a subject.
    pub fn note(&mut self, kind: EventKind, subject: impl Into<String>, text: impl Into<String>) {
        let mut key = (kind, subject.into());
        if self.held.len() >= HELD_MAX && !self.held.contains_key(&key) {
            key.1 = String::new();
        }
        let (latest, count) = self.held.entry(key).or_default();
        *latest = text.into();
        *count += 1;
    }

    /// Hands out what there is and starts anew.
    pub fn take(&mut self) -> Vec<Noticed> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().map(|((kind, subject), (text, count))| Noticed { kind, subject, text, count }).collect()
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
