//! Checks data: every block of every file must have the contents that follow from its position.

use super::device::Device;
use super::pipe::Pipe;
use super::{Found, Place, words};
use anyhow::{Result, anyhow};
use ramp::{BLOCK, Dataset, Label, Recipe};

/// The result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Blocks that were read.
    pub blocks: u64,
    /// Blocks that write cycles have rewritten.
    pub rewritten: u64,
    /// Blocks that are wrong.
    pub wrong: u64,
    /// Blocks that existed when the last fill ended and are missing now.
    pub missing: u64,
    /// Lines about the first of the wrong and missing blocks.
    pub first: Vec<String>,
    stopped: bool,
}

/// Maximum number of lines about wrong and missing blocks; there may be millions.
const LINES_MAX: usize = 10;

/// Consecutive blocks of a job.
struct Row<'a> {
    recipe: &'a Recipe,
    job: u64,
    /// The number of its first block in the job.
    first: u64,
    at: u64,
    blocks: u64,
    name: String,
}

/// Reads all of `found`. `step` is called with the bytes read, and ends the check by returning
/// false.
pub fn check(found: &Found, checked: &mut Checked, step: &mut dyn FnMut(u64) -> bool) -> Result<()> {
    for (job, noted, there) in found.short() {
        checked.missing += noted - there;
        let home = found.folder.join(Dataset::folder(job));
        checked.tell(format!("{}: {noted} blocks were written, {there} are there", home.display()));
    }
    for (job, index, path, blocks) in &found.files {
        let row = Row {
            recipe: &found.dataset.recipe,
            job: u64::from(*job),
            first: index * Dataset::FILE_BLOCKS,
            at: 0,
            blocks: *blocks,
            name: path.display().to_string(),
        };
        checked.row(&row, &Place::Path(path.clone()), step)?;
    }
    Ok(())
}

/// Reads the filled part of a device.
pub fn check_device(device: &Device, checked: &mut Checked, step: &mut dyn FnMut(u64) -> bool) -> Result<()> {
    let Label { recipe, job, filled, .. } = &device.label;
    let (place, name) = (&device.place, device.place.to_string());
    let row = Row { recipe, job: u64::from(*job), first: 0, at: Label::place(0), blocks: *filled, name };
    checked.row(&row, place, step)
}

impl Checked {
    fn row(&mut self, row: &Row<'_>, place: &Place, step: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        if self.stopped || row.blocks == 0 {
            return Ok(());
        }
        let mut pipe = Pipe::reading(place)?;
        let seen = |at: u64, bytes: &[u8]| {
            for (number, block) in bytes.chunks_exact(BLOCK as usize).enumerate() {
                let number = row.first + (at - row.at) / BLOCK + number as u64;
                self.block(row, block, number);
            }
            self.stopped = !step(bytes.len() as u64);
            !self.stopped
        };
        let read = pipe.read(row.at, row.at + row.blocks * BLOCK, seen);
        read.map_err(|fault| anyhow!("{}: reading it: {}", row.name, words(fault)))
    }

    fn block(&mut self, row: &Row<'_>, bytes: &[u8], number: u64) {
        self.blocks += 1;
        match row.recipe.check(bytes, row.job, number) {
            Ok(0) => {}
            Ok(_) => self.rewritten += 1,
            Err(wrong) => {
                self.wrong += 1;
                self.tell(format!("{}: {wrong}", row.name));
            }
        }
    }

    fn tell(&mut self, line: String) {
        if self.first.len() < LINES_MAX {
            self.first.push(line);
        }
    }
}
