//! Reading trees of a pool that is not being served, through the page cache.

use super::members::{Members, SEGMENT};
use super::places::{Named, Places};
use super::{MapError, MappedPool};
use crate::mapped::files::recover_only;
use block::Fault;
use map::{Core, PAGE, Region};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tree::TreeMedia;
use uring::disk::{self, Caching, Opening};

/// The members of a pool's data.
pub(crate) struct DataFiles {
    dir: PathBuf,
    files: Vec<File>,
    base: u64,
    members: Members,
}

impl DataFiles {
    pub fn open(dir: &Path, named: &Named) -> Result<DataFiles, MapError> {
        let places = Places::new(dir, named.clone())?;
        let open = |number| {
            let path = places.member(number);
            Ok(disk::open(&path, Opening { cache: Caching::Page, ..Opening::default() })?.file)
        };
        let files = (0..places.count()).map(open).collect::<Result<_, MapError>>()?;
        Ok(DataFiles { dir: dir.to_owned(), files, base: places.base(Region::Data), members: places.members().clone() })
    }

    /// A reader of a tree.
    pub fn of<'a>(&'a self, core: &'a mut Core, tree: u32) -> TreeReader<'a> {
        TreeReader { data: self, core, tree }
    }

    /// Makes all of it durable.
    pub fn sync(&self) -> Result<(), MapError> {
        let failed = |cause| MapError::File { path: self.dir.clone(), cause };
        self.files.iter().try_for_each(|file| file.sync_data().map_err(failed))
    }

    fn read(&self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let (mut at, mut rest) = (at, buf);
        while !rest.is_empty() {
            let len = rest.len().min((SEGMENT - at % SEGMENT) as usize);
            let (now, later) = rest.split_at_mut(len);
            let (member, place) = self.members.place(at);
            self.files[member].read_exact_at(now, self.base + place).map_err(|_| Fault::Io)?;
            (at, rest) = (at + len as u64, later);
        }
        Ok(())
    }
}

/// The maps and the data of a pool that is not being served.
pub(crate) fn open_trees(dir: &Path, named: &Named) -> Result<(Core, DataFiles), MapError> {
    Ok((recover_only(dir, named)?, DataFiles::open(dir, named)?))
}

impl MappedPool {
    /// A reader of a tree, before the pool is served.
    pub(crate) fn reader<'a>(&'a mut self, data: &'a DataFiles, tree: u32) -> TreeReader<'a> {
        data.of(&mut self.core, tree)
    }
}

/// A reader of one tree.
pub(crate) struct TreeReader<'a> {
    data: &'a DataFiles,
    core: &'a mut Core,
    tree: u32,
}

impl TreeMedia for TreeReader<'_> {
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let (from, end) = (at / PAGE * PAGE, (at + buf.len() as u64).next_multiple_of(PAGE));
        let mut runs = Vec::new();
        let pin = self.core.read(self.tree, from, end - from, &mut runs).map_err(|refusal| refusal.fault())?;
        self.core.unpin(pin);
        let (mut whole, mut here) = (vec![0; (end - from) as usize], 0);
        for run in runs {
            let part = &mut whole[here..here + run.len as usize];
            if let Some(place) = run.at {
                self.data.read(place, part)?;
            }
            here += run.len as usize;
        }
        let skip = (at - from) as usize;
        buf.copy_from_slice(&whole[skip..skip + buf.len()]);
        Ok(())
    }
}
