//! All files and devices of a ramp, numbered: first those with data, then those with journals.

use super::buffers::Owner;
use super::journal::{self, Part};
use crate::dataset::{self, Consent, Device, Found, Place};
use crate::interrupt::Stop;
use anyhow::{Context as _, Result, bail};
use block::{Bytes, ObjectId};
use ramp::{BLOCK, DataFile, Dataset, Label, Spot};
use std::path::Path;
use storage::{Intent, Permit, PlaceKind};

/// A file or device.
struct Site {
    permit: Permit,
    size: u64,
    /// The first byte that holds neither data nor a journal.
    free: u64,
}

/// All of them. A site's index is its object's number.
#[derive(Default)]
pub struct Sites {
    all: Vec<Site>,
    data: Vec<DataFile>,
    owners: Vec<Owner>,
    names: Vec<String>,
}

impl Sites {
    /// Adds the files of a directory.
    ///
    /// # Errors
    /// One of them may not be written, or was not filled by dgen.
    pub fn add_directory(&mut self, found: &Found, consent: &Consent) -> Result<()> {
        self.names.push(found.folder.display().to_string());
        for (job, index, path, blocks) in found.files.iter().filter(|(.., blocks)| *blocks > 0) {
            let permit = Permit::ask(&Place::Path(path.clone()), Intent::Write(consent))?;
            let object = self.add(permit, blocks * BLOCK, blocks * BLOCK);
            self.data.push(DataFile { object, at: 0, blocks: *blocks });
            let first = index * Dataset::FILE_BLOCKS;
            self.owners.push(Owner { recipe: found.dataset.recipe, job: u64::from(*job), first });
        }
        Ok(())
    }

    /// Adds a filled device.
    ///
    /// # Errors
    /// It is not filled, or it is in use.
    pub fn add_device(&mut self, given: &str, consent: &Consent) -> Result<()> {
        let place = dataset::place("device", given)?;
        if self.is_known(&place) {
            bail!("--device: {place} is named twice; name each once");
        }
        let Some(Device { label, size, .. }) = Device::find(&place)? else {
            bail!("--device: {place} was not filled by seawall dgen; fill it first, or name another");
        };
        let permit = Permit::ask(&place, Intent::Write(consent))?;
        self.names.push(place.to_string());
        let free = if matches!(place, Place::Nothing(_)) { 0 } else { Label::place(label.blocks) };
        let at = if matches!(place, Place::Nothing(_)) { 0 } else { Label::place(0) };
        let object = self.add(permit, size, free);
        self.data.push(DataFile { object, at, blocks: label.filled });
        self.owners.push(Owner { recipe: label.recipe, job: u64::from(label.job), first: 0 });
        Ok(())
    }

    fn add(&mut self, permit: Permit, size: u64, free: u64) -> ObjectId {
        self.all.push(Site { permit, size, free });
        ObjectId(self.all.len() as u32 - 1)
    }

    /// Finds room for a journal of `need` bytes, after the data if there is some. Nothing is
    /// written yet.
    ///
    /// # Errors
    /// There is too little room, or it holds something else.
    pub fn room(&mut self, option: &str, given: &str, need: u64, consent: &Consent) -> Result<Spot> {
        let place = dataset::place(option, given)?;
        if Path::new(given).is_dir() {
            bail!("--{option}: {given} is a directory; name a file in it");
        }
        if let Place::Path(path) = &place
            && !place.is_block_device()
            && !self.is_known(&place)
            && !is_labelled_file(path)
        {
            let object = self.add(asked(option, &place, consent)?, need, need);
            return Ok(Spot { object, at: 0, bytes: need });
        }
        let known = self.all.iter().position(|site| site.permit.place().is_same(&place));
        let index = match known {
            Some(index) => index,
            None => self.add_journal_device(option, &place, consent)?.0 as usize,
        };
        let Site { permit, size, free } = &mut self.all[index];
        let place = permit.place();
        let is_nothing = matches!(place, Place::Nothing(_));
        let rest = size.saturating_sub(*free);
        if need > rest {
            bail!(
                "--{option}: a journal of {} is needed, and {place} has {} behind what is on it; fill less of it with \
                 seawall dgen --pctfull, lower --maxiops, or name another",
                Bytes(need),
                Bytes(rest)
            );
        }
        let spot = Spot { object: ObjectId(index as u32), at: *free, bytes: need };
        *free += if is_nothing { 0 } else { need };
        Ok(spot)
    }

    fn add_journal_device(&mut self, option: &str, place: &Place, consent: &Consent) -> Result<ObjectId> {
        let found = match place {
            Place::Nothing(_) => None,
            _ => Device::find(place)?,
        };
        let permit = asked(option, place, consent)?;
        let size = permit.size().0;
        Ok(self.add(permit, size, found.map_or(0, |device| Label::place(device.label.blocks))))
    }

    /// Prepares a journal's place for writing.
    pub fn prepare(&self, option: &str, spot: Spot, consent: &Consent, stop: &Stop) -> Result<()> {
        let Site { permit, .. } = &self.all[spot.object.0 as usize];
        match permit.path() {
            Some(path) if permit.kind() != PlaceKind::Device && spot.at == 0 => {
                journal::prepare_file(option, permit, path, spot.bytes, stop)
            }
            _ => journal::prepare_part(permit, Part { at: spot.at, bytes: spot.bytes }, consent, stop),
        }
    }

    fn is_known(&self, place: &Place) -> bool {
        self.all.iter().any(|site| site.permit.place().is_same(place))
    }

    /// The permits to load each object, in order.
    pub fn permits(&self) -> impl Iterator<Item = &Permit> {
        self.all.iter().map(|site| &site.permit)
    }

    /// The data.
    pub fn data(&self) -> &[DataFile] {
        &self.data
    }

    /// The owners of the data's blocks.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// The named directories and devices.
    pub fn names(&self) -> String {
        self.names.join(", ")
    }

    /// Whether there is any data.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The object's place in words.
    pub fn name_of(&self, object: ObjectId) -> String {
        self.all.get(object.0 as usize).map_or_else(String::new, |site| site.permit.place().to_string())
    }
}

/// The permit to write a journal to `place`.
fn asked(option: &str, place: &Place, consent: &Consent) -> Result<Permit> {
    Permit::ask(place, Intent::Write(consent)).with_context(|| format!("--{option}"))
}

/// Whether a file is used as a device, that is, has a label.
fn is_labelled_file(path: &Path) -> bool {
    path.is_file() && Device::find(&Place::Path(path.into())).is_ok_and(|device| device.is_some())
}
