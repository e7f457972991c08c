//! The contents of a cycle's writes: self-identifying blocks, in the worker's slab.

use block::Buf;
use ramp::{BLOCK, BlockIdentity, BlockTarget, BufferContents, Buffers, Recipe};
use uring::Io;

/// The transaction journal's job number, which no data has.
const STREAM: u64 = u64::MAX;

/// The owner of a file's blocks.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// How its directory was filled.
    pub recipe: Recipe,
    /// Its job.
    pub job: u64,
    /// The number of its first block in the job.
    pub first: u64,
}

/// The header of a write image journal: its mark, its contents, and how much of it was written
/// ahead.
///
/// ```text
///   0          8        16           24           32
///   │ SeawallJ │ blocks │ generation │ made ready │ zeroes …      little-endian; made ready in bytes
/// ```
pub struct Header {
    /// Blocks that follow, 0 when it is clear.
    pub blocks: u64,
    /// The cycle that wrote it.
    pub generation: u64,
    /// Bytes of the journal that were written once in advance.
    pub ready: u64,
}

impl Header {
    const MAGIC: &[u8; 8] = b"SeawallJ";

    /// Writes it into a block.
    pub fn write(&self, block: &mut [u8]) {
        block.fill(0);
        block[..8].copy_from_slice(Header::MAGIC);
        for (place, word) in block[8..].chunks_exact_mut(8).zip([self.blocks, self.generation, self.ready]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The header in a block; `None` if there is none.
    pub fn read(block: &[u8]) -> Option<Header> {
        let word = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
        if block.get(..8)? != Header::MAGIC {
            return None;
        }
        Some(Header { blocks: word(8)?, generation: word(16)?, ready: word(24)? })
    }
}

/// Buffers of a worker's slab.
pub struct SlabBuffers {
    io: Io,
    owners: Vec<Owner>,
    /// Bytes of the write image journal.
    wij: u64,
    /// Distinguishes the cycles of this run from those of others.
    base: u64,
}

impl SlabBuffers {
    /// For files with these owners, in the layout's order, and a journal of `wij` bytes; `run` is
    /// the run's number.
    pub fn new(io: &Io, owners: Vec<Owner>, wij: u64, run: u64) -> SlabBuffers {
        SlabBuffers { io: io.clone(), owners, wij, base: (run + 1) << 32 }
    }

    fn write(&self, block: &mut [u8], contents: BufferContents<'_>) {
        match contents {
            BufferContents::Header { blocks, generation } => {
                Header { blocks, generation: self.base | generation, ready: self.wij }.write(block);
            }
            BufferContents::Blocks(places) => {
                let BlockTarget { file, block: number, generation } = places[0];
                let owner = &self.owners[file];
                let generation = self.base | generation;
                let identity = BlockIdentity { job: owner.job, block: owner.first + number, generation };
                owner.recipe.write(block, identity);
            }
            BufferContents::Stream { first, .. } => {
                let identity = BlockIdentity { job: STREAM, block: first, generation: self.base };
                self.owners[0].recipe.write(block, identity);
            }
        }
    }
}

impl Buffers for SlabBuffers {
    fn take(&mut self, bytes: u64) -> Option<Buf> {
        self.io.take(bytes as u32)
    }

    /// One block at a time takes a microsecond or two, as long as a read may be delayed.
    fn fill(&mut self, buf: &mut Buf, from: u64, contents: BufferContents<'_>) -> u64 {
        let from = (from * BLOCK) as usize;
        self.io.with_mut(buf, |bytes| self.write(&mut bytes[from..from + BLOCK as usize], contents));
        1
    }

    fn give(&mut self, buf: Buf) {
        self.io.give(buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journals_header_is_read_back() {
        let mut block = vec![7; BLOCK as usize];
        assert!(Header::read(&block).is_none());
        Header { blocks: 5, generation: 9, ready: 8192 }.write(&mut block);
        let found = Header::read(&block).unwrap();
        assert_eq!((found.blocks, found.generation, found.ready), (5, 9, 8192));
    }
}
