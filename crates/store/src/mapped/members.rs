//! The layout of data on several files or block devices: segments of 1 MiB, on each member in turn.
//!
//! ```text
//!              member 0 (3 segments)   member 1 (2)   member 2 (3)
//!   row 0         segment 0               1              2          ┐ a zone: all that reach so far take part
//!   row 1         3                       4              5          ┘
//!   row 2         6                                      7          ┐ the next zone, without those that are full
//! ```
//! So the blocks of one LUN are spread over all members, and devices of unequal size are used
//! fully. The numbers and sizes of members are in their labels since the pool was created: a device
//! that grew changes nothing. Files grow as they are written, and take part in every row.

/// Bytes of the data that are contiguous on a member. A block never lies on two members.
pub(crate) const SEGMENT: u64 = 1 << 20;

/// Maps bytes of the data to bytes of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members {
    rooms: Vec<Option<u64>>,
    zones: Vec<Zone>,
    /// The end of the data.
    end: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Zone {
    /// Its first segment of the data.
    first: u64,
    /// Its first row, and the row after its last.
    rows: (u64, u64),
    /// The members that take part.
    members: Vec<usize>,
}

impl Members {
    /// Members with room for this many bytes each; `None` grows without limit.
    pub(crate) fn new(rooms: &[Option<u64>]) -> Members {
        let rows = |room: Option<u64>| room.map_or(u64::MAX / SEGMENT, |room| room / SEGMENT);
        let mut ends: Vec<u64> = rooms.iter().map(|room| rows(*room)).collect();
        ends.sort_unstable();
        ends.dedup();
        let (mut zones, mut first, mut row) = (Vec::new(), 0u64, 0);
        for end in ends.into_iter().filter(|end| *end > 0) {
            let members: Vec<usize> = (0..rooms.len()).filter(|member| rows(rooms[*member]) >= end).collect();
            let segments = (end - row).saturating_mul(members.len() as u64);
            zones.push(Zone { first, rows: (row, end), members });
            (first, row) = (first.saturating_add(segments), end);
        }
        Members { rooms: rooms.to_vec(), zones, end: first.saturating_mul(SEGMENT) }
    }

    /// The room of a member when the pool was created.
    pub(crate) fn room(&self, member: usize) -> Option<u64> {
        self.rooms.get(member).copied().flatten()
    }

    /// The member that has byte `at` of the data, and the offset in it. The bytes up to the next
    /// multiple of [`SEGMENT`] follow there.
    pub(crate) fn place(&self, at: u64) -> (usize, u64) {
        let segment = at / SEGMENT;
        let zone = self.zones.iter().rev().find(|zone| zone.first <= segment).expect("zones begin at 0");
        let (across, count) = (segment - zone.first, zone.members.len() as u64);
        let row = zone.rows.0 + across / count;
        (zone.members[(across % count) as usize], row * SEGMENT + at % SEGMENT)
    }

    /// Usable bytes of the data if member `n` has `rooms[n]` bytes: up to the first segment for
    /// which its member has no room.
    pub(crate) fn capacity(&self, rooms: &[u64]) -> u64 {
        let full = rooms.iter().enumerate().filter_map(|(member, room)| self.first_beyond(member, room / SEGMENT));
        full.min().map_or(self.end, |segment| segment.saturating_mul(SEGMENT).min(self.end))
    }

    /// The first segment of the data in row `row` of a member, or in a later row.
    fn first_beyond(&self, member: usize, row: u64) -> Option<u64> {
        let zone = self.zones.iter().find(|zone| row < zone.rows.1 && zone.members.contains(&member))?;
        let at = zone.members.iter().position(|found| *found == member)? as u64;
        let rows = row.saturating_sub(zone.rows.0);
        Some(zone.first.saturating_add(rows.saturating_mul(zone.members.len() as u64)).saturating_add(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn unequal_members_are_used_whole_and_every_byte_is_in_one_place() {
        // 3, 2 and 3 segments, and a rest that is too short for another.
        let rooms = [3 * SEGMENT, 2 * SEGMENT + 77, 3 * SEGMENT];
        let members = Members::new(&rooms.map(Some));
        assert_eq!(members.capacity(&rooms), 8 * SEGMENT);
        let places: Vec<(usize, u64)> = (0..8).map(|segment| members.place(segment * SEGMENT + 5)).collect();
        let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (2, 2)];
        assert_eq!(places, expected.map(|(member, row)| (member, row * SEGMENT + 5)));
        assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 8);
    }

    #[test]
    fn one_member_is_as_it_is() {
        let members = Members::new(&[None]);
        assert_eq!(members.place(123 << 30), (0, 123 << 30));
        assert_eq!(members.capacity(&[100 * SEGMENT]), 100 * SEGMENT);
    }

    #[test]
    fn the_first_that_is_full_ends_the_data() {
        let members = Members::new(&[None, None]);
        // Member 1 has room for two segments: segments 0 to 4 of the data fit, segment 5 would be
        // its third.
        assert_eq!(members.capacity(&[100 * SEGMENT, 2 * SEGMENT]), 5 * SEGMENT);
        assert_eq!(members.capacity(&[2 * SEGMENT, 100 * SEGMENT]), 4 * SEGMENT);
        // A device of 2 segments beside a file: the file continues alone.
        let members = Members::new(&[Some(2 * SEGMENT), None]);
        assert_eq!(members.capacity(&[2 * SEGMENT, 10 * SEGMENT]), 12 * SEGMENT);
        assert_eq!(members.place(11 * SEGMENT), (1, 9 * SEGMENT));
    }
}
