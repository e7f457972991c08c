//! Devices and exports filled with data: identified by the label in their first block and filled
//! behind it, in order, with a thread for each.

use super::pipe::Pipe;
use super::{Consent, Filling, Place, seed_of, words};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Fault};
use ramp::{BLOCK, Label, Recipe};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::{EDGE, Intent, Permit};

/// The label is rewritten after this many blocks, so a power loss costs at most 1 GiB.
const CHECKPOINT: u64 = (1 << 30) / BLOCK;

/// A device that was filled.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its place.
    pub place: Place,
    /// Its label.
    pub label: Label,
    /// Its size in bytes.
    pub size: u64,
}

/// Fails if a place, or one that it joins, was filled for a ramp, unless `consent` covers it.
/// [`Permit`] lets data go that this program made, so it does not know of this.
///
/// # Errors
/// It was filled, or cannot be read.
pub fn spare_filled(place: &Place, consent: &Consent) -> Result<()> {
    if consent.covers(place) {
        return Ok(());
    }
    for member in place.members()?.iter().filter(|member| !matches!(member, Place::Nothing(_))) {
        let mut pipe = Pipe::reading(member)?;
        if pipe.size() < BLOCK {
            continue;
        }
        let head = pipe.bytes(0, BLOCK).map_err(|fault| anyhow!("{member}: {}", words(fault)))?;
        if ramp::is_block(&head) || !matches!(Label::read(&head), Ok(None)) {
            bail!(
                "{member}: holds data of seawall dgen for a ramp; --destroy-data={member} overwrites it all the same"
            );
        }
    }
    Ok(())
}

/// Options of a fill.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Seed of the data.
    pub seed: Option<u64>,
    /// Percentage that compression can save.
    pub compress: Option<u32>,
    /// Percentage of blocks that are duplicates.
    pub duplicates: Option<u32>,
    /// Percentage of the device to fill.
    pub percent: u32,
    /// What may be overwritten whatever it holds.
    pub consent: Consent,
}

/// A device to be filled, after all checks.
#[derive(Clone, Debug)]
pub struct Filler {
    /// The device as it will be.
    pub device: Device,
    /// Existing contents that will be lost.
    pub lost: Vec<String>,
    permit: Permit,
    is_new: bool,
}

impl Device {
    /// The device at `place`; `None` if it has no label.
    ///
    /// # Errors
    /// It cannot be read, or its label is damaged.
    pub fn find(place: &Place) -> Result<Option<Device>> {
        if let Place::Nothing(size) = place {
            let blocks = size.0 / BLOCK;
            let label = Label { recipe: Recipe::default(), job: 1, blocks, filled: blocks };
            return Ok(Some(Device { place: place.clone(), label, size: size.0 }));
        }
        let mut pipe = Pipe::reading(place)?;
        let size = pipe.size();
        if size < BLOCK {
            bail!("{place}: has {}, not even a block of 8 KiB", Bytes(size));
        }
        let label = Label::read(&pipe.bytes(0, BLOCK).map_err(|fault| anyhow!("{place}: {}", words(fault)))?);
        let label = label.with_context(|| place.to_string())?;
        Ok(label.map(|label| Device { place: place.clone(), label, size }))
    }

    /// All of its data.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.label.filled * BLOCK)
    }
}

impl Filler {
    /// Examines device number `number` (from 1) of the devices that are filled together.
    ///
    /// # Errors
    /// It must not be overwritten, or holds data that was begun with other options.
    pub fn prepare(place: &Place, number: u32, ask: &Ask) -> Result<Filler> {
        let found = if matches!(place, Place::Nothing(_)) { None } else { Device::find(place)? };
        let blocks = |size| Label::blocks_of(size, ask.percent);
        if let Some(mut device) = found {
            agrees(&device, ask)?;
            let permit = Permit::ask(place, Intent::Write(&ask.consent))?;
            device.label.blocks = blocks(device.size).max(device.label.filled);
            return Ok(Filler { device, lost: Vec::new(), permit, is_new: false });
        }
        let usual = Recipe::default();
        let recipe = Recipe {
            seed: ask.seed.unwrap_or_else(|| seed_of(place)),
            compress_percent: ask.compress.unwrap_or(usual.compress_percent),
            duplicate_percent: ask.duplicates.unwrap_or(usual.duplicate_percent),
        };
        let permit = Permit::ask(place, Intent::Write(&ask.consent))?;
        let lost = permit.holds(&ask.consent)?;
        let size = permit.size().0;
        let label = Label { recipe, job: number, blocks: blocks(size), filled: 0 };
        if label.blocks == 0 {
            bail!(
                "--pctfull: {} % of {place} ({}) are less than two blocks of 8 KiB; raise it",
                ask.percent,
                Bytes(size)
            );
        }
        Ok(Filler { device: Device { place: place.clone(), label, size }, lost, permit, is_new: true })
    }

    /// Bytes that are still to be written.
    pub fn missing(&self) -> u64 {
        (self.device.label.blocks - self.device.label.filled) * BLOCK
    }

    /// Fills the rest of the device. `wrote` is called with the bytes written, and ends the fill by
    /// returning false.
    fn fill(mut self, wrote: &dyn Fn(u64) -> bool) -> Result<()> {
        let mut pipe = Pipe::open(&self.permit)?;
        self.fill_by(&mut pipe, wrote).map_err(|fault| {
            let why =
                if fault == Fault::NoSpace { "no space is left behind it; make room there" } else { words(fault) };
            anyhow!(
                "{}: {why}; {} are filled and kept: run the same command again to go on",
                self.device.place,
                self.device.bytes()
            )
        })
    }

    fn fill_by(&mut self, pipe: &mut Pipe, wrote: &dyn Fn(u64) -> bool) -> Result<(), Fault> {
        self.claim(pipe)?;
        let label = self.device.label;
        let per_piece = pipe.piece() / BLOCK;
        let (mut done, mut goes_on) = (label.filled, true);
        while done < label.blocks && goes_on {
            // The label shifts the data by one block; pieces still start at multiples of their
            // size.
            let count = (per_piece - (done + 1) % per_piece).min(label.blocks - done);
            pipe.write(Label::place(done), count * BLOCK, |bytes| {
                for (number, block) in bytes.chunks_exact_mut(BLOCK as usize).enumerate() {
                    label.recipe.fill(block, u64::from(label.job), done + number as u64);
                }
            })?;
            done += count;
            goes_on = wrote(count * BLOCK);
            if done - self.device.label.filled >= CHECKPOINT {
                self.note(pipe, done)?;
            }
        }
        self.note(pipe, done)?;
        pipe.sync()
    }

    /// Takes over the device: its earlier contents must no longer be recognised. None of this has
    /// to be durable before the data is, because a device without a label is filled from the
    /// beginning.
    fn claim(&self, pipe: &mut Pipe) -> Result<(), Fault> {
        for part in self.permit.parts().iter().filter(|part| part.kind() == storage::PlaceKind::File) {
            let Some(path) = part.path() else { continue };
            let file = std::fs::File::open(path).map_err(|_| Fault::Gone)?;
            uring::mark::set(&file).map_err(|_| Fault::Io)?;
        }
        if !self.is_new {
            return Ok(());
        }
        if !self.lost.is_empty() {
            wipe_edges(pipe)?;
        }
        self.write_label(pipe, 0)?;
        pipe.finish()
    }

    /// Makes the written data durable, then records it in the label.
    fn note(&mut self, pipe: &mut Pipe, done: u64) -> Result<(), Fault> {
        pipe.sync()?;
        self.write_label(pipe, done)?;
        self.device.label.filled = done;
        Ok(())
    }

    fn write_label(&self, pipe: &mut Pipe, filled: u64) -> Result<(), Fault> {
        let block = Label { filled, ..self.device.label }.block();
        pipe.write(0, BLOCK, |bytes| bytes.copy_from_slice(&block))
    }
}

/// Fills devices, `at_once` of them at the same time, and returns the bytes written.
///
/// # Errors
/// The error of the first device that failed; the others are filled as far as they got.
pub fn fill_devices(fillers: Vec<Filler>, at_once: usize, watch: &dyn Filling) -> Result<u64> {
    let written = AtomicU64::new(0);
    let wrote = |bytes: u64| {
        watch.written(written.fetch_add(bytes, Ordering::Relaxed) + bytes);
        !watch.is_stopped()
    };
    let threads = at_once.clamp(1, fillers.len().max(1));
    let queue = Mutex::new(VecDeque::from(fillers));
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    let work = || -> Result<()> {
        while let Some(filler) = next().filter(|_| !watch.is_stopped()) {
            filler.fill(&wrote)?;
        }
        Ok(())
    };
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or(Err(anyhow!("a thread died")))).collect()
    });
    outcomes.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(written.into_inner())
}

/// Overwrites the signatures at the beginning and end of a device.
///
/// # Errors
/// A write failed.
pub fn wipe_edges(pipe: &mut Pipe) -> Result<(), Fault> {
    let (piece, size) = (pipe.piece(), pipe.size() / BLOCK * BLOCK);
    let edge = EDGE.min(size);
    for (from, to) in [(0, edge), (size - edge, size)] {
        for at in (from..to).step_by(piece as usize) {
            pipe.write(at, piece.min(to - at), |bytes| bytes.fill(0))?;
        }
    }
    pipe.finish()
}

/// Checks that the options do not contradict the existing data.
fn agrees(device: &Device, ask: &Ask) -> Result<()> {
    let recipe = &device.label.recipe;
    let asked = [
        ("seed", ask.seed, recipe.seed),
        ("compress", ask.compress.map(u64::from), u64::from(recipe.compress_percent)),
        ("duplicates", ask.duplicates.map(u64::from), u64::from(recipe.duplicate_percent)),
    ];
    for (option, given, is) in asked {
        if let Some(given) = given.filter(|given| *given != is) {
            bail!(
                "--{option}: the data on {} was begun with {is}, got {given}; leave the option out, or overwrite its first \
                 block to begin anew",
                device.place
            );
        }
    }
    Ok(())
}
