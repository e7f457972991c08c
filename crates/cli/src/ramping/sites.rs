//! Everything that a ramp touches, numbered: files and devices of data first, then what journals are on.

use super::buffers::Owner;
use super::journal::{self, Part};
use crate::dataset::{Device, Found, Place, objections, refuse};
use anyhow::{Result, bail};
use block::{Bytes, ObjectId};
use ramp::{BLOCK, DataFile, Dataset, Label, Spot};
use std::path::Path;

/// Something with blocks.
struct Site {
    place: Place,
    size: u64,
    /// The first byte that holds neither data nor a journal.
    free: u64,
}

/// All of them. A site's place in the row is its object's number.
#[derive(Default)]
pub struct Sites {
    all: Vec<Site>,
    data: Vec<DataFile>,
    owners: Vec<Owner>,
    names: Vec<String>,
}

impl Sites {
    /// Adds the files of a directory.
    pub fn add_directory(&mut self, found: &Found) {
        self.names.push(found.folder.display().to_string());
        for (job, index, path, blocks) in found.files.iter().filter(|(.., blocks)| *blocks > 0) {
            let object = self.add(Place::Path(path.clone()), blocks * BLOCK, blocks * BLOCK);
            self.data.push(DataFile { object, at: 0, blocks: *blocks });
            let first = index * Dataset::FILE_BLOCKS;
            self.owners.push(Owner { recipe: found.dataset.recipe, job: u64::from(*job), first });
        }
    }

    /// Adds a device that was filled.
    ///
    /// # Errors
    /// It was not, or it is used by something else.
    pub fn add_device(&mut self, given: &str, destroy: &[String]) -> Result<()> {
        let place = Place::parse("device", given)?;
        if self.all.iter().any(|site| site.place.is_same(&place)) {
            bail!("--device: {place} is named twice; name each once");
        }
        let Some(Device { label, size, .. }) = Device::find(&place)? else {
            bail!("--device: {place} was not filled by seawall dgen; fill it first, or name another");
        };
        if place.is_block_device() && !place.is_among(destroy) {
            refuse(&place, &objections(&place)?)?;
        }
        self.names.push(place.to_string());
        let free = if matches!(place, Place::Nothing(_)) { 0 } else { Label::place(label.blocks) };
        let at = if matches!(place, Place::Nothing(_)) { 0 } else { Label::place(0) };
        let object = self.add(place, size, free);
        self.data.push(DataFile { object, at, blocks: label.filled });
        self.owners.push(Owner { recipe: label.recipe, job: u64::from(label.job), first: 0 });
        Ok(())
    }

    fn add(&mut self, place: Place, size: u64, free: u64) -> ObjectId {
        self.all.push(Site { place, size, free });
        ObjectId(self.all.len() as u32 - 1)
    }

    /// Finds room for a journal of `need` bytes, behind the data where there is some. Nothing is written yet.
    ///
    /// # Errors
    /// There is too little, or it holds something else.
    pub fn room(&mut self, option: &str, given: &str, need: u64, destroy: &[String]) -> Result<Spot> {
        let place = Place::parse(option, given)?;
        if Path::new(given).is_dir() {
            bail!("--{option}: {given} is a directory; name a file in it");
        }
        if let Place::Path(path) = &place
            && !place.is_block_device()
            && !self.is_known(&place)
            && !is_labelled_file(path)
        {
            let object = self.add(place, need, need);
            return Ok(Spot { object, at: 0, bytes: need });
        }
        let known = self.all.iter().position(|site| site.place.is_same(&place));
        let index = match known {
            Some(index) => index,
            None => self.add_journal_device(option, place, destroy)?.0 as usize,
        };
        let Site { place, size, free } = &mut self.all[index];
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

    fn add_journal_device(&mut self, option: &str, place: Place, destroy: &[String]) -> Result<ObjectId> {
        if let Place::Nothing(size) = place {
            return Ok(self.add(place, size.0, 0));
        }
        if let Some(Device { label, size, .. }) = Device::find(&place)? {
            if place.is_block_device() && !place.is_among(destroy) {
                refuse(&place, &objections(&place)?)?;
            }
            return Ok(self.add(place, size, Label::place(label.blocks)));
        }
        journal::may_overwrite(&place, destroy).map_err(|error| error.context(format!("--{option}")))?;
        let size = crate::dataset::Pipe::open(&place, true)?.size();
        Ok(self.add(place, size, 0))
    }

    /// Makes a journal's place ready to be written.
    pub fn prepare(&self, option: &str, spot: Spot) -> Result<()> {
        let site = &self.all[spot.object.0 as usize];
        match &site.place {
            Place::Path(path) if !site.place.is_block_device() && spot.at == 0 => {
                journal::prepare_file(option, path, spot.bytes)
            }
            place => journal::prepare_part(place, Part { at: spot.at, bytes: spot.bytes }),
        }
    }

    fn is_known(&self, place: &Place) -> bool {
        self.all.iter().any(|site| site.place.is_same(place))
    }

    /// Where each object is, in order.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.all.iter().map(|site| &site.place)
    }

    /// The data.
    pub fn data(&self) -> &[DataFile] {
        &self.data
    }

    /// Whose blocks the data is.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// What was named: directories and devices.
    pub fn names(&self) -> String {
        self.names.join(", ")
    }

    /// Whether there is any data.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The object's place in words.
    pub fn name_of(&self, object: ObjectId) -> String {
        self.all.get(object.0 as usize).map_or_else(String::new, |site| site.place.to_string())
    }
}

/// Whether a file is used as a device: it has a label.
fn is_labelled_file(path: &Path) -> bool {
    path.is_file() && Device::find(&Place::Path(path.into())).is_ok_and(|device| device.is_some())
}
