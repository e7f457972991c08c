//! Positions of names: at the ends of their lines, moved apart if they would overlap, or in rows
//! below the drawing.

use crate::text;
use std::ops::Range;

/// Width of a character at 12 px, a little more than the average of usual fonts.
const CHARACTER: f64 = 6.6;
/// Width of a bold character.
const BOLD_CHARACTER: f64 = 7.6;
/// Height of a line of text.
pub(super) const LINE: f64 = 15.0;
/// Height of a row of the key.
pub(super) const KEY_ROW: f64 = 18.0;
/// Width of the swatch before an entry of the key, and distance between entries.
pub(super) const SWATCH: f64 = 20.0;
const ENTRY_GAP: f64 = 12.0;
/// Distance between the frame and the names at its right.
pub(super) const NAME_GAP: f64 = 8.0;

/// Width of a text.
pub(super) fn width_of(text: &str) -> f64 {
    text::width(text) as f64 * CHARACTER + 8.0
}

/// Width that a name of this many characters needs at the right.
pub(super) fn room_for(characters: usize) -> f64 {
    (NAME_GAP + BOLD_CHARACTER * characters as f64).ceil()
}

/// Number of characters that fit in this width.
pub(super) fn characters_in(room: f64) -> usize {
    ((room - NAME_GAP) / BOLD_CHARACTER) as usize
}

/// Positions near the wanted ones (ascending), at least `gap` apart, and within `low..=high` if all
/// fit.
pub(super) fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    // Groups of touching names, each centred on the mean of its members' wanted positions.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &place in wanted {
        let mut group = (place, 1);
        loop {
            let half = gap * (group.1 - 1) as f64 / 2.0;
            group.0 = group.0.min(high - half).max(low + half);
            match groups.last() {
                Some(&(mean, count)) if group.0 - mean < gap * (count + group.1) as f64 / 2.0 => {
                    groups.pop();
                    let total = mean * count as f64 + group.0 * group.1 as f64;
                    group = (total / (count + group.1) as f64, count + group.1);
                }
                _ => break,
            }
        }
        groups.push(group);
    }
    let members =
        |(mean, count): (f64, usize)| (0..count).map(move |i| mean + gap * (i as f64 - (count - 1) as f64 / 2.0));
    groups.into_iter().flat_map(members).collect()
}

/// Positions of the entries of a key (`texts` with or without a swatch) in rows within
/// `left..right`: for each its left edge and the number of its row.
pub(super) fn in_rows(texts: &[(String, bool)], left: f64, right: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (left, 0);
    let (mut places, mut before) = (Vec::new(), false);
    for (text, has_swatch) in texts {
        let wide = width_of(text) + if *has_swatch { SWATCH } else { 0.0 };
        // The first entry with a swatch begins a new row.
        let is_first = *has_swatch && !std::mem::replace(&mut before, *has_swatch);
        if x > left && (is_first || x + wide > right) {
            (x, row) = (left, row + 1);
        }
        places.push((x, row));
        x += wide + ENTRY_GAP;
    }
    places
}

/// Left edge and baseline of a name of this width at height `at`: above or below, at the left or
/// right end of `across`. The first of these within `down` that hides no line; above at the left if
/// there is none.
pub(super) fn free_place(
    lines: &[Vec<(f64, f64)>],
    across: Range<f64>,
    at: f64,
    width: f64,
    down: Range<f64>,
) -> (f64, f64) {
    const GAP: f64 = 2.0;
    let (left, right) = (across.start + GAP, across.end - GAP - width);
    let (above, below) = (at - 5.0, at + LINE);
    let is_free = |place: &(f64, f64)| {
        let (x, y) = (place.0..place.0 + width, place.1 - LINE..place.1 + 3.0);
        let mut pairs = lines.iter().flat_map(|line| line.windows(2));
        let within = y.start >= down.start - 3.0 && y.end <= down.end;
        within && !pairs.any(|pair| touches((pair[0], pair[1]), x.clone(), y.clone()))
    };
    let found = [(left, above), (right, above), (left, below), (right, below)].into_iter().find(is_free);
    found.unwrap_or((left, above))
}

/// Whether the straight line between two points, given from left to right, crosses a box.
fn touches((from, to): ((f64, f64), (f64, f64)), x: Range<f64>, y: Range<f64>) -> bool {
    if to.0 < x.start || from.0 > x.end {
        return false;
    }
    let height = |at: f64| from.1 + (to.1 - from.1) * (at - from.0) / (to.0 - from.0);
    let (first, last) = match to.0 > from.0 {
        true => (height(from.0.max(x.start)), height(to.0.min(x.end))),
        false => (from.1, to.1),
    };
    first.min(last) <= y.end && first.max(last) >= y.start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_do_not_touch_stay_where_they_are() {
        assert_eq!(apart(&[10.0, 40.0], 15.0, 0.0, 100.0), [10.0, 40.0]);
        // 50 and 52 are moved apart around their middle, 51.
        assert_eq!(apart(&[10.0, 50.0, 52.0], 15.0, 0.0, 100.0), [10.0, 43.5, 58.5]);
    }

    #[test]
    fn a_key_breaks_where_its_row_is_full() {
        let entry = |text: &str| (text.to_owned(), true);
        // Ten characters are 74 wide with a swatch of 20 and a gap of 12: two fit into 200, three
        // do not.
        let places = in_rows(&[entry("aaaaaaaaaa"), entry("bbbbbbbbbb"), entry("cccccccccc")], 0.0, 200.0);
        assert_eq!(places.iter().map(|place| place.1).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!((places[0].0, places[2].0), (0.0, 0.0));
        let long = entry(&"x".repeat(99));
        assert_eq!(in_rows(&[long.clone(), long], 0.0, 200.0)[1], (0.0, 1), "a row each, however long");
    }

    /// A limit at height 100 from 0 to 400 with a name 60 wide: above it at y from 80 to 98, below
    /// from 100 to 118.
    #[test]
    fn a_limits_name_hides_no_line_if_it_can() {
        let place = |lines: &[Vec<(f64, f64)>]| free_place(lines, 0.0..400.0, 100.0, 60.0, 0.0..300.0);
        let (above, below) = (95.0, 100.0 + LINE);
        let left_above = vec![(20.0, 90.0), (200.0, 50.0)];
        let right_above = vec![(300.0, 50.0), (350.0, 50.0), (350.0, 120.0), (400.0, 120.0)];
        assert_eq!(place(&[]), (2.0, above));
        assert_eq!(place(&[vec![(0.0, 70.0), (400.0, 70.0)]]), (2.0, above), "a line above the name");
        assert_eq!(place(std::slice::from_ref(&left_above)), (338.0, above));
        assert_eq!(place(&[left_above.clone(), right_above.clone()]), (2.0, below));
        let everywhere = [left_above, right_above, vec![(0.0, 110.0), (100.0, 110.0)]];
        assert_eq!(place(&everywhere), (2.0, above), "nowhere is room");
        let low = free_place(&[], 0.0..400.0, 100.0, 60.0, 95.0..300.0);
        assert_eq!(low, (2.0, below), "above it would leave the frame");
    }

    proptest! {
        /// If all fit, names are in order, at least a gap apart, and inside the frame.
        #[test]
        fn names_never_overlap(mut wanted in prop::collection::vec(0.0..200.0f64, 1..10)) {
            wanted.sort_by(f64::total_cmp);
            let places = apart(&wanted, 15.0, 0.0, 200.0);
            prop_assert_eq!(places.len(), wanted.len());
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-6), "{:?}", places);
            prop_assert!(places.iter().all(|place| (-1e-6..=200.0 + 1e-6).contains(place)), "{:?}", places);
        }
    }
}
