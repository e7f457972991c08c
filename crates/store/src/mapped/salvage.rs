//! The repair of damaged maps: what [`map::salvage`] could keep is written as a checkpoint, one
//! command at a time.

use super::MapError;
use super::files::{Folder, REGIONS, index_of, is_made_anew};
use super::places::{Named, Places};
use block::Fault;
use map::{Agreed, Ask, Command, Core, Ended, MapRefusal, Settings, Steps, What, salvage};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Changes that are part of a repair.
#[derive(Default)]
pub(crate) struct MapRepair<'a> {
    /// Trees to create, with their sizes in bytes.
    pub make: &'a [(u32, u64)],
    /// Trees to extend.
    pub grow: &'a [(u32, u64)],
    /// Trees to delete.
    pub give_up: &'a [u32],
    /// What the maps will know of the catalogue, if that changes.
    pub agreed: Option<Agreed>,
}

/// Makes damaged maps fit to be opened, and returns what was lost. `None` if that is impossible.
pub(crate) fn salvage_maps(
    dir: &Path,
    named: &Named,
    repair: &MapRepair<'_>,
) -> Result<Option<Vec<map::Lost>>, MapError> {
    let places = Places::new(dir, named.clone())?;
    let recovered = salvage(&mut Folder::open(&places)?, Settings::default());
    let failed = |cause| MapError::Recover { path: places.maps().into(), cause };
    let Some((core, lost)) = recovered.map_err(failed)? else { return Ok(None) };
    let open = |region| {
        let path = places.path(region);
        let file = OpenOptions::new().write(true).create(is_made_anew(region)).truncate(false).mode(0o600).open(&path);
        file.map(|file| (path.clone(), file)).map_err(|cause| MapError::File { path, cause })
    };
    let files = REGIONS.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut writer = MapWriter { core, files, bases: places.bases(), failure: None };
    for (tree, size) in repair.make {
        writer.ask(*tree, What::Create { size: *size })?;
    }
    for (tree, size) in repair.grow {
        writer.ask(*tree, What::Resize { size: *size })?;
    }
    for tree in repair.give_up {
        writer.ask(*tree, What::Delete)?;
    }
    if let Some(agreed) = &repair.agreed {
        writer.core.agree(1, agreed.clone());
        writer.carry_on()?;
    }
    writer.ask(0, What::Checkpoint)?;
    // Twice, so that both tables are correct.
    writer.ask(0, What::Checkpoint)?;
    writer.ask(0, What::Anchor)?;
    let maps = places.maps();
    let synced = File::open(maps).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| MapError::File { path: maps.into(), cause })?;
    Ok(Some(lost))
}

/// The maps and their files, for one change at a time.
struct MapWriter {
    core: Core,
    /// In the order of [`REGIONS`].
    files: Vec<(PathBuf, File)>,
    bases: [u64; 6],
    failure: Option<MapError>,
}

impl MapWriter {
    fn ask(&mut self, tree: u32, what: What) -> Result<(), MapError> {
        self.core.submit(Ask { id: 1, tree, at: 0, len: 0, what, fua: true, aligned: true });
        self.carry_on()
    }

    /// Runs until the request is answered.
    fn carry_on(&mut self) -> Result<(), MapError> {
        let mut answers = Vec::new();
        while answers.is_empty() {
            self.core.step(&mut Steps::new(u32::MAX));
            self.core.advance();
            while let Some(command) = self.core.next_command() {
                self.carry_out(command);
            }
            self.core.take_events(&mut answers);
        }
        match answers[0] {
            Ended { result: Ok(()), .. } => Ok(()),
            Ended { result: Err(refusal), .. } => Err(self.failure.take().unwrap_or_else(|| self.refused(refusal))),
        }
    }

    fn refused(&self, refusal: MapRefusal) -> MapError {
        let path = self.files[0].0.clone();
        MapError::File { path, cause: std::io::Error::other(refusal.to_string()) }
    }

    fn carry_out(&mut self, command: Command) {
        let (token, region, done) = match command {
            Command::Flush { token, region } => (token, region, self.files[index_of(region)].1.sync_all()),
            Command::Store { token, region, at, bytes, durable } => {
                let file = &self.files[index_of(region)].1;
                let written = file.write_all_at(&bytes, at + self.bases[index_of(region)]);
                (token, region, written.and_then(|()| if durable { file.sync_all() } else { Ok(()) }))
            }
            Command::Write { .. } | Command::Patch { .. } | Command::Discard { .. } => {
                unreachable!("nothing is written to a tree")
            }
        };
        let result = done.map_err(|cause| {
            let path = self.files[index_of(region)].0.clone();
            self.failure = Some(MapError::File { path, cause });
            Fault::Io
        });
        self.core.done(token, result);
    }
}
