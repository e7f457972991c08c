//! The first block of a filled device: how it was made, how far the data extends, and how far
//! filling has come.
//!
//! ```text
//!   block 0   1            …            filled          …          blocks   …    the end
//!   │ label │ data, as a job's are │ still to be filled │ │ free: journals may go here │
//! ```
//! The lengths of a directory's files show how far filling has come; a device has a fixed length,
//! so this is recorded, each time after the data before it was made durable. A filling that was
//! stopped resumes from there.

use crate::BLOCK;
use crate::content::Recipe;
use crate::dataset::ManifestError;
use serde::{Deserialize, Serialize};

/// The label of a filled device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The recipe of its blocks.
    pub recipe: Recipe,
    /// The job: devices that are filled together count from 1, so that they have different data.
    pub job: u32,
    /// Blocks of data at the end, without the label.
    pub blocks: u64,
    /// Blocks that are written and durable.
    pub filled: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    format: u32,
    seed: u64,
    job: u32,
    compress_percent: u32,
    duplicate_percent: u32,
    blocks: u64,
    filled: u64,
}

impl Label {
    /// The first bytes of the text.
    const OPENING: &str = "# Filled by seawall dgen; ";

    /// Blocks of data on a device of `size` bytes that is to be `percent` full, including the
    /// label.
    pub fn blocks_of(size: u64, percent: u32) -> u64 {
        let bytes = u128::from(size) * u128::from(percent.min(100)) / 100;
        ((bytes / u128::from(BLOCK)) as u64).saturating_sub(1)
    }

    /// The byte at which a block of data begins on the device.
    pub fn place(block: u64) -> u64 {
        (block + 1) * BLOCK
    }

    /// The block: text, then zeroes.
    pub fn block(&self) -> Vec<u8> {
        let Recipe { seed, compress_percent, duplicate_percent } = self.recipe;
        let text = format!(
            "{}its data is for seawall ramp.\nformat = 1\nseed = {seed}\njob = {}\ncompress_percent = {compress_percent}\n\
             duplicate_percent = {duplicate_percent}\nblocks = {}\nfilled = {}\n",
            Label::OPENING,
            self.job,
            self.blocks,
            self.filled
        );
        let mut bytes = text.into_bytes();
        bytes.resize(BLOCK as usize, 0);
        bytes
    }

    /// Reads a device's first block; `None` if it is not a label.
    ///
    /// # Errors
    /// It is a label, but damaged or of another format.
    pub fn read(block: &[u8]) -> Result<Option<Label>, ManifestError> {
        if !block.starts_with(Label::OPENING.as_bytes()) {
            return Ok(None);
        }
        let end = block.iter().position(|&byte| byte == 0).unwrap_or(block.len());
        let damaged = |what: &str| ManifestError::new(format!("its label is damaged: {what}"));
        let text = std::str::from_utf8(&block[..end]).map_err(|_| damaged("no text"))?;
        let typed: Typed = toml::from_str(text).map_err(|error| {
            let (line, what) = nearest::toml::wrong(text, error.span(), error.message());
            damaged(&format!("line {line}: {what}"))
        })?;
        let Typed { format, seed, job, compress_percent, duplicate_percent, blocks, filled } = typed;
        if format != 1 {
            return Err(ManifestError::new(format!("its label is of format {format}; this seawall knows format 1")));
        }
        if filled > blocks {
            return Err(damaged("more is filled than was to be"));
        }
        Ok(Some(Label { recipe: Recipe { seed, compress_percent, duplicate_percent }, job, blocks, filled }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label {
        recipe: Recipe { seed: 5, compress_percent: 40, duplicate_percent: 10 },
        job: 2,
        blocks: 1000,
        filled: 128,
    };

    #[test]
    fn a_label_is_read_back_and_what_is_none_is_told_apart() {
        let block = LABEL.block();
        assert_eq!((block.len() as u64, Label::read(&block)), (BLOCK, Ok(Some(LABEL))));
        assert_eq!(Label::read(&[0; 8192]), Ok(None));
        let altered = |from: &str, to: &str| {
            let text = String::from_utf8(block.clone()).unwrap().replace(from, to);
            Label::read(text.as_bytes()).unwrap_err().to_string()
        };
        assert_eq!(altered("format = 1", "format = 2"), "its label is of format 2; this seawall knows format 1");
        assert_eq!(altered("filled = 128", "filled = 1001"), "its label is damaged: more is filled than was to be");
        assert!(
            altered("seed = 5", "sled = 5").starts_with("its label is damaged: line 3: sled: there is no such key")
        );
    }

    #[test]
    fn a_share_of_a_device_counts_the_label_and_never_passes_it() {
        // 64 MiB are 8192 blocks; 95 % of them are 7782.4, the label is one of those.
        assert_eq!(Label::blocks_of(64 << 20, 95), 7781);
        assert_eq!(Label::blocks_of(64 << 20, 100), 8191);
        assert_eq!((Label::blocks_of(8192, 100), Label::blocks_of(100, 100)), (0, 0));
        assert_eq!(Label::place(0), BLOCK);
        assert!(Label::place(Label::blocks_of(64 << 20, 100)) <= 64 << 20);
    }
}
