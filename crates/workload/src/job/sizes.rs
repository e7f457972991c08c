//! Draws the size of the next request.

use super::BlockSizes;
use crate::chance::Chance;

/// Draws sizes of requests of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    blocks: BlockSizes,
    /// Sum of the weights of a split.
    weights: u64,
}

impl Sizes {
    pub(crate) fn new(blocks: &BlockSizes) -> Sizes {
        let weights = match blocks {
            BlockSizes::Split(shares) => shares.iter().map(|share| u64::from(share.weight)).sum(),
            _ => 0,
        };
        Sizes { blocks: blocks.clone(), weights }
    }

    pub(crate) fn least(&self) -> u32 {
        self.blocks.least()
    }

    /// The next size in bytes.
    #[inline]
    pub(crate) fn draw(&self, chance: &mut Chance) -> u32 {
        match &self.blocks {
            BlockSizes::Fixed(size) => *size,
            several => self.draw_one_of(several, chance),
        }
    }

    /// A separate function, so that the common case is inlined.
    fn draw_one_of(&self, several: &BlockSizes, chance: &mut Chance) -> u32 {
        match several {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { least, most, step } => {
                let step = (*step).max(1);
                least + chance.below(u64::from((most - least) / step) + 1) as u32 * step
            }
            BlockSizes::Split(shares) => {
                let mut drawn = chance.below(self.weights);
                for share in shares {
                    if drawn < u64::from(share.weight) {
                        return share.size;
                    }
                    drawn -= u64::from(share.weight);
                }
                unreachable!("a draw below the sum of weights falls into one of them")
            }
        }
    }
}
