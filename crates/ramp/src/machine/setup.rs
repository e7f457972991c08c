//! Where the data and the journal are, and where buffers for writes come from.

use crate::BLOCK;
use block::{Buf, ObjectId};

/// A file of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its number at the target.
    pub object: ObjectId,
    /// Its first byte there; 0 but where several share an object.
    pub at: u64,
    /// Its blocks of 8 KiB.
    pub blocks: u64,
}

/// The files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    files: Vec<DataFile>,
    /// First block of each file in the row of all.
    firsts: Vec<u64>,
    blocks: u64,
    wij: ObjectId,
    wij_at: u64,
    wij_bytes: u64,
}

/// A block to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the file.
    pub file: usize,
    /// Block in the file.
    pub block: u64,
    /// Number of the write cycle that writes it, unlike any other of the run.
    pub generation: u64,
}

/// What a buffer is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents<'a> {
    /// The journal's first block: how many blocks follow, 0 when the journal is clear.
    Header {
        /// Blocks that follow.
        blocks: u64,
        /// Number of the cycle.
        generation: u64,
    },
    /// Blocks of data, one after the other.
    Blocks(&'a [Place]),
}

/// Where buffers for writes come from, and the way back of all.
pub trait Buffers {
    /// A buffer with these contents, a multiple of 8 KiB; `None` when there is no room now.
    fn take(&mut self, contents: Contents<'_>) -> Option<Buf>;
    /// The way back, of a read's buffer too.
    fn give(&mut self, buf: Buf);
}

/// For targets that carry no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContents;

impl Buffers for NoContents {
    fn take(&mut self, contents: Contents<'_>) -> Option<Buf> {
        let blocks = match contents {
            Contents::Header { .. } => 1,
            Contents::Blocks(places) => places.len() as u32,
        };
        Some(Buf::nothing(blocks * BLOCK as u32))
    }
    fn give(&mut self, _buf: Buf) {}
}

/// Why a load cannot be put on these files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There are fewer blocks than a burst writes.
    #[error(
        "the data has {blocks} blocks of 8 KiB, fewer than the {burst} that one write cycle writes; fill more with \
         seawall dgen, or lower --maxiops"
    )]
    Small {
        /// Blocks there are.
        blocks: u64,
        /// Blocks of a burst.
        burst: u64,
    },
    /// The journal's file is shorter than a burst.
    #[error("the journal has {bytes} bytes, a burst of {burst} blocks needs {need}; make room for it")]
    Journal {
        /// Bytes there are.
        bytes: u64,
        /// Bytes needed.
        need: u64,
        /// Blocks of a burst.
        burst: u64,
    },
}

impl Layout {
    /// Data in `files`; the journal in `wij_bytes` bytes from `wij_at` of the object `wij`.
    pub fn new(files: Vec<DataFile>, wij: ObjectId, wij_at: u64, wij_bytes: u64) -> Layout {
        let mut blocks = 0;
        let mut firsts = Vec::with_capacity(files.len());
        for file in &files {
            firsts.push(blocks);
            blocks += file.blocks;
        }
        Layout { files, firsts, blocks, wij, wij_at, wij_bytes }
    }

    /// Bytes that the journal of a burst takes: a header and its blocks.
    pub fn wij_need(burst: u64) -> u64 {
        (burst + 1) * BLOCK
    }

    /// All blocks of data.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The files.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    pub(super) fn check(&self, burst: u64) -> Result<(), SetupError> {
        if self.blocks < burst.max(1) {
            return Err(SetupError::Small { blocks: self.blocks, burst });
        }
        let need = Layout::wij_need(burst);
        if self.wij_bytes < need {
            return Err(SetupError::Journal { bytes: self.wij_bytes, need, burst });
        }
        Ok(())
    }

    /// The file and the block in it of a block in the row of all.
    #[inline]
    pub(super) fn place(&self, block: u64, generation: u64) -> Place {
        let file = self.firsts.partition_point(|first| *first <= block) - 1;
        Place { file, block: block - self.firsts[file], generation }
    }

    /// The object and offset of a block in the row of all.
    #[inline]
    pub(super) fn locate(&self, block: u64) -> (ObjectId, u64) {
        let place = self.place(block, 0);
        let file = &self.files[place.file];
        (file.object, file.at + place.block * BLOCK)
    }

    /// The journal's object and first byte.
    pub(super) fn wij(&self) -> (ObjectId, u64) {
        (self.wij, self.wij_at)
    }

    /// The objects that hold data, each once.
    pub(super) fn objects(&self) -> Vec<ObjectId> {
        let mut objects: Vec<ObjectId> = self.files.iter().map(|file| file.object).collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }
}
