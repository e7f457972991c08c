//! Checking data: every block of every file must be what its place says.

use super::{Aligned, CHUNK, Found, open};
use anyhow::{Context as _, Result};
use ramp::{BLOCK, Dataset};
use std::os::unix::fs::FileExt as _;

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Blocks that were read.
    pub blocks: u64,
    /// Blocks that write cycles have written since.
    pub rewritten: u64,
    /// Blocks that are wrong.
    pub wrong: u64,
    /// The first of them, a line each.
    pub first: Vec<String>,
}

/// Lines of wrong blocks at most; there may be millions.
const LINES_MAX: usize = 10;

/// Reads all of `found`; `step` hears of every byte and ends it early by returning false.
pub fn check(found: &Found, mut step: impl FnMut(u64) -> bool) -> Result<Checked> {
    let mut checked = Checked::default();
    let mut buffer = Aligned::new(CHUNK);
    for (job, index, path, blocks) in &found.files {
        let file = open(path, false)?;
        let mut done = 0;
        while done < *blocks {
            let count = (CHUNK as u64 / BLOCK).min(blocks - done);
            let bytes = &mut buffer.all()[..(count * BLOCK) as usize];
            file.read_exact_at(bytes, done * BLOCK).with_context(|| path.display().to_string())?;
            for (number, block) in bytes.chunks_exact(BLOCK as usize).enumerate() {
                let place = index * Dataset::FILE_BLOCKS + done + number as u64;
                match found.dataset.recipe.check(block, u64::from(*job), place) {
                    Ok(0) => {}
                    Ok(_) => checked.rewritten += 1,
                    Err(wrong) => {
                        checked.wrong += 1;
                        if checked.first.len() < LINES_MAX {
                            checked.first.push(format!("{}: {wrong}", path.display()));
                        }
                    }
                }
            }
            checked.blocks += count;
            done += count;
            if !step(count * BLOCK) {
                return Ok(checked);
            }
        }
    }
    Ok(checked)
}
