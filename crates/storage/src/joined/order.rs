//! The layout of members in the whole: concatenated, or in stripes that go round.
//!
//! ```text
//!   concatenated   a a a a a a │ b b │ c c c          striped   a b c │ a b c │ …      a letter is a stripe
//! ```
//! Of any range of the whole, each member has at most one contiguous range: [`Order::share`].

use super::copies::Run;
use block::Bytes;
use std::ops::Range;

/// The layout of the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Where each member begins, and the end of the last one. With stripes, as if they were
    /// concatenated.
    borders: Vec<u64>,
    /// Bytes in a stripe.
    stripe: Option<u64>,
}

/// A contiguous part of a range of the whole that lies in one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub member: usize,
    /// First byte in the member.
    pub at: u64,
    /// Bytes.
    pub len: u64,
}

impl Order {
    /// For members of these sizes, each cut to a multiple of `unit` bytes; with a stripe, to the
    /// whole stripes of the smallest.
    pub(super) fn new(sizes: &[Bytes], unit: u64, stripe: Option<Bytes>) -> Order {
        let stripe = stripe.map(|stripe| stripe.0).filter(|_| sizes.len() > 1);
        let smallest = sizes.iter().map(|size| size.0).min().unwrap_or(0);
        let cut = |size: u64| match stripe {
            Some(stripe) => smallest - smallest % stripe,
            None => size - size % unit,
        };
        let ends = sizes.iter().scan(0, |end, size| {
            *end += cut(size.0);
            Some(*end)
        });
        Order { borders: std::iter::once(0).chain(ends).collect(), stripe }
    }

    /// Size of the whole.
    pub(super) fn size(&self) -> Bytes {
        Bytes(*self.borders.last().expect("there is always the first border"))
    }

    pub(super) fn members(&self) -> usize {
        self.borders.len() - 1
    }

    /// The first piece of a range that begins below the end.
    pub(super) fn piece(&self, at: u64, len: u64) -> Piece {
        let (member, at, left) = match self.stripe {
            Some(stripe) => {
                let (number, within) = (at / stripe, at % stripe);
                let (round, member) = (number / self.members() as u64, number % self.members() as u64);
                (member as usize, round * stripe + within, stripe - within)
            }
            None => {
                let member = self.borders.partition_point(|border| *border <= at) - 1;
                (member, at - self.borders[member], self.borders[member + 1] - at)
            }
        };
        Piece { member, at, len: len.min(left) }
    }

    /// All pieces of a range, in the order of the whole.
    pub(super) fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = Piece> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let piece = (at < range.end).then(|| self.piece(at, range.end - at))?;
            at += piece.len;
            Some(piece)
        })
    }

    /// The range of a member's own bytes in a range of the whole: the pieces of one member are
    /// adjacent.
    pub(super) fn share(&self, member: usize, range: &Range<u64>) -> Range<u64> {
        self.below(member, range.start)..self.below(member, range.end)
    }

    /// The runs of a member in the buffer of a range of the whole.
    pub(super) fn runs(&self, range: &Range<u64>, member: usize) -> impl Iterator<Item = Run> {
        let (mut end, first) = (0, self.share(member, range).start);
        self.pieces(range.clone()).filter_map(move |piece| {
            let len = piece.len as usize;
            end += len;
            let part = (piece.member == member).then(|| (piece.at - first) as usize)?;
            Some(Run { whole: end - len..end, part: part..part + len })
        })
    }

    /// How many of a member's bytes lie before byte `at` of the whole.
    fn below(&self, member: usize, at: u64) -> u64 {
        match self.stripe {
            Some(stripe) => {
                let round = stripe * self.members() as u64;
                at / round * stripe + (at % round).saturating_sub(member as u64 * stripe).min(stripe)
            }
            None => at.clamp(self.borders[member], self.borders[member + 1]) - self.borders[member],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Members of 10, 4 and 7 bytes. Concatenated: 21. In stripes of 2: two whole stripes of each,
    /// 12 in all.
    #[test]
    fn pieces_end_at_borders() {
        let sizes = [10, 4, 7].map(Bytes);
        let piece = |member, at, len| Piece { member, at, len };
        let order = Order::new(&sizes, 1, None);
        assert_eq!(order.size(), Bytes(21));
        assert_eq!(order.pieces(8..16).collect::<Vec<_>>(), [piece(0, 8, 2), piece(1, 0, 4), piece(2, 0, 2)]);
        let order = Order::new(&sizes, 1, Some(Bytes(2)));
        assert_eq!(order.size(), Bytes(12));
        assert_eq!(order.pieces(3..8).collect::<Vec<_>>(), [piece(1, 1, 1), piece(2, 0, 2), piece(0, 2, 2)]);
        // Tails of less than a unit are left out, and a member may have nothing.
        assert_eq!(Order::new(&[10, 3, 7].map(Bytes), 4, None).size(), Bytes(12));
        assert_eq!(Order::new(&[10, 3, 7].map(Bytes), 4, None).piece(8, 4), piece(2, 0, 4));
    }

    proptest! {
        /// A member's pieces in sequence are its share, and every byte of the whole occurs exactly
        /// once.
        #[test]
        fn shares_are_the_pieces_laid_together(
            sizes in proptest::collection::vec(0u64..40, 1..5), stripe in proptest::option::of(1u64..8),
            from in 0u64..160, to in 0u64..160,
        ) {
            let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes).collect();
            let order = Order::new(&sizes, 1, stripe.map(Bytes));
            let range = from.min(to).min(order.size().0)..from.max(to).min(order.size().0);
            let mut ends: Vec<u64> = (0..order.members()).map(|member| order.share(member, &range).start).collect();
            for piece in order.pieces(range.clone()) {
                prop_assert!(piece.len > 0 && piece.at + piece.len <= sizes[piece.member].0);
                prop_assert_eq!(piece.at, ends[piece.member]);
                ends[piece.member] += piece.len;
            }
            for (member, end) in ends.into_iter().enumerate() {
                prop_assert_eq!(end, order.share(member, &range).end);
            }
            let total: u64 = order.pieces(range.clone()).map(|piece| piece.len).sum();
            prop_assert_eq!(total, range.end - range.start);
        }
    }
}
