//! The places of data and journals, and the source of buffers for writes.

use crate::BLOCK;
use block::{Buf, ObjectId};

/// A file of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its number at the target.
    pub object: ObjectId,
    /// Its first byte there; not 0 if several files share an object.
    pub at: u64,
    /// Its blocks of 8 KiB.
    pub blocks: u64,
}

/// The files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    files: Vec<DataFile>,
    /// First block of each file, counted over all files.
    firsts: Vec<u64>,
    blocks: u64,
    wij: Spot,
    stream: Option<Spot>,
}

/// A range of an object, for a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The object's number at the target.
    pub object: ObjectId,
    /// The first byte.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
}

/// A block to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTarget {
    /// Index of the file.
    pub file: usize,
    /// Block in the file.
    pub block: u64,
    /// Number of the write cycle that writes it, unique within the run.
    pub generation: u64,
}

/// The contents of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferContents<'a> {
    /// The journal's first block: how many blocks follow, 0 when the journal is clear.
    Header {
        /// Blocks that follow.
        blocks: u64,
        /// Number of the cycle.
        generation: u64,
    },
    /// Blocks of data, one after the other.
    Blocks(&'a [BlockTarget]),
    /// Blocks of the transaction journal.
    Stream {
        /// Number of the first, counted from the run's start.
        first: u64,
        /// How many.
        blocks: u64,
    },
}

impl BufferContents<'_> {
    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        match self {
            BufferContents::Header { .. } => 1,
            BufferContents::Blocks(places) => places.len() as u64,
            BufferContents::Stream { blocks, .. } => *blocks,
        }
    }
}

/// Provides buffers for writes, and takes all buffers back.
pub trait Buffers {
    /// A buffer of this many bytes, a multiple of 8 KiB; `None` if there is no memory now.
    fn take(&mut self, bytes: u64) -> Option<Buf>;
    /// Writes contents into the buffer from its block `from` on: at least one block, and no more
    /// than due reads can wait for. Returns the number of blocks.
    fn fill(&mut self, buf: &mut Buf, from: u64, contents: BufferContents<'_>) -> u64;
    /// Takes a buffer back, also that of a read.
    fn give(&mut self, buf: Buf);
}

/// For targets that carry no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContents;

impl Buffers for NoContents {
    fn take(&mut self, bytes: u64) -> Option<Buf> {
        Some(Buf::nothing(bytes as u32))
    }
    fn fill(&mut self, _buf: &mut Buf, _from: u64, contents: BufferContents<'_>) -> u64 {
        contents.blocks()
    }
    fn give(&mut self, _buf: Buf) {}
}

/// Why these files cannot take a load.
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
    /// A layout with data in `files`, and the write image journal.
    pub fn new(files: Vec<DataFile>, wij: Spot) -> Layout {
        let mut blocks = 0;
        let mut firsts = Vec::with_capacity(files.len());
        for file in &files {
            firsts.push(blocks);
            blocks += file.blocks;
        }
        Layout { files, firsts, blocks, wij, stream: None }
    }

    /// The same with a place for the transaction journal.
    pub fn with_stream(self, spot: Spot) -> Layout {
        Layout { stream: Some(spot), ..self }
    }

    /// Bytes that the transaction journal needs.
    pub const fn stream_need() -> u64 {
        super::stream::Stream::PLACE
    }

    /// Bytes that the journal of a burst needs: a header and its blocks.
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
        if self.wij.bytes < need {
            return Err(SetupError::Journal { bytes: self.wij.bytes, need, burst });
        }
        Ok(())
    }

    /// The file, and the block in it, of a block counted over all files.
    #[inline]
    pub(super) fn place(&self, block: u64, generation: u64) -> BlockTarget {
        let file = self.firsts.partition_point(|first| *first <= block) - 1;
        BlockTarget { file, block: block - self.firsts[file], generation }
    }

    /// The object and offset of a block counted over all files.
    #[inline]
    pub(super) fn locate(&self, block: u64) -> (ObjectId, u64) {
        let place = self.place(block, 0);
        let file = &self.files[place.file];
        (file.object, file.at + place.block * BLOCK)
    }

    /// The journal's object and first byte.
    pub(super) fn wij(&self) -> (ObjectId, u64) {
        (self.wij.object, self.wij.at)
    }

    /// The place of the transaction journal.
    pub(super) fn stream(&self) -> Option<Spot> {
        self.stream
    }

    /// The objects that hold data, each once.
    pub(super) fn objects(&self) -> Vec<ObjectId> {
        let mut objects: Vec<ObjectId> = self.files.iter().map(|file| file.object).collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }
}
