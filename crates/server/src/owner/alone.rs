//! Detects that only one connection is active: then measures for its throughput delay nobody else.

use block::{Span, Time};

/// Another session that was silent for this long, and had nothing outstanding, does not count.
const SILENT: Span = Span::from_millis(100);

/// The session that was last heard or answered.
#[derive(Debug, Default)]
pub(super) struct Alone {
    index: u32,
    /// When the first such event after one of another session was.
    since: Time,
    was_alone: bool,
}

impl Alone {
    /// Notes a request or a reply of a session.
    pub(super) fn heard(&mut self, now: Time, index: u32) {
        if index != self.index {
            (self.index, self.since) = (index, now);
        }
    }

    /// Whether one session is alone now, if that has changed. With floors none is: one connection
    /// may use several objects.
    pub(super) fn change(&mut self, now: Time, has_floors: bool) -> Option<bool> {
        let is_alone = !has_floors && now.since(self.since) >= SILENT;
        let has_changed = std::mem::replace(&mut self.was_alone, is_alone) != is_alone;
        has_changed.then_some(is_alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_alone_when_no_other_was_served_for_a_while() {
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let mut alone = Alone::default();
        let mut heard = |at, index| {
            alone.heard(ms(at), index);
            alone.change(ms(at), false)
        };
        assert_eq!(heard(1000, 0), Some(true));
        assert_eq!(heard(1001, 0), None, "it still is");
        assert_eq!(heard(1002, 3), Some(false));
        assert_eq!(heard(1050, 0), None, "by turns");
        assert_eq!(heard(1149, 0), None);
        assert_eq!(heard(1150, 0), Some(true), "the other one is silent");
        assert_eq!(heard(1151, 3), Some(false));
        assert_eq!(heard(1300, 3), Some(true));
        assert_eq!(alone.change(ms(1301), true), Some(false), "there is a floor");
    }
}
