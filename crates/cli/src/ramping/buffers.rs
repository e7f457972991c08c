//! What a cycle writes: blocks that say what they are, in the worker's slab.

use block::Buf;
use ramp::{BLOCK, Buffers, Contents, Identity, Place, Recipe};
use uring::Io;

/// Whose blocks a file holds.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// How its directory was filled.
    pub recipe: Recipe,
    /// Its job.
    pub job: u64,
    /// The job's block at its beginning.
    pub first: u64,
}

/// Buffers of a worker's slab.
pub struct SlabBuffers {
    io: Io,
    owners: Vec<Owner>,
    /// Tells the cycles of this run from those of others.
    base: u64,
}

impl SlabBuffers {
    /// For files with these owners, in the layout's order; `run` is the run's number.
    pub fn new(io: &Io, owners: Vec<Owner>, run: u64) -> SlabBuffers {
        SlabBuffers { io: io.clone(), owners, base: (run + 1) << 32 }
    }

    fn write(&self, block: &mut [u8], place: &Place) {
        let owner = &self.owners[place.file];
        let generation = self.base | place.generation;
        owner.recipe.write(block, Identity { job: owner.job, block: owner.first + place.block, generation });
    }
}

impl Buffers for SlabBuffers {
    fn take(&mut self, contents: Contents<'_>) -> Option<Buf> {
        let count = match contents {
            Contents::Header { .. } => 1,
            Contents::Blocks(places) => places.len(),
        };
        let mut buf = self.io.take((count as u64 * BLOCK) as u32)?;
        self.io.with_mut(&mut buf, |bytes| match contents {
            Contents::Header { blocks, generation } => {
                bytes.fill(0);
                bytes[..8].copy_from_slice(b"SeawallJ");
                bytes[8..16].copy_from_slice(&blocks.to_le_bytes());
                bytes[16..24].copy_from_slice(&(self.base | generation).to_le_bytes());
            }
            Contents::Blocks(places) => {
                for (block, place) in bytes.chunks_exact_mut(BLOCK as usize).zip(places) {
                    self.write(block, place);
                }
            }
        });
        Some(buf)
    }

    fn give(&mut self, buf: Buf) {
        self.io.give(buf);
    }
}
