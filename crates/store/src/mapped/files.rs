//! Creating, opening and reading the files of a pool's maps and blocks. While the pool is served,
//! the ring has them.
//!
//! ```text
//!   DIR/maps/blocks     the data: blocks of 64 KiB, sparse where none was taken
//!   DIR/maps/log        the ring of records, written with zeroes when it is made
//!   DIR/maps/nodes      the trees' nodes, two pages each
//!   DIR/maps/table.0    the tables of the checkpoints, by turns
//!   DIR/maps/table.1
//!   DIR/maps/end        how far the log goes, and which edition of the catalogue belongs to it
//! ```
//! Blocks and log may be elsewhere: see [`super::places`].

use super::MapError;
use super::members::{Members, SEGMENT};
use super::places::{Marks, Named, Places};
use crate::catalogue::first_edition;
use crate::doubt::{Doubt, HasFailed};
use block::{Bytes, Fault};
use map::{Agreed, Core, Media, RecoverError, Region, Report, Settings};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use uring::disk::{self, Caching, Disk, Opening};
use uring::space;

/// The regions in the order of their files.
pub(super) const REGIONS: [Region; 6] =
    [Region::Data, Region::Log, Region::Nodes, Region::Table(0), Region::Table(1), Region::End];

/// Limit on the space that a file system keeps for anything but data.
const RESERVE_MAX: u64 = 256 << 20;

/// The settings with which a pool's maps are created and opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSettings {
    /// Where the blocks and the log are, if not in the pool's folder.
    pub named: Named,
    /// Whether data goes through the page cache.
    pub cache: crate::Cache,
    /// Bytes of data that may be used; `None` means what the file system has left.
    pub capacity: Option<u64>,
    /// Bytes of the log of a new pool: a multiple of 4 KiB, at least 64 KiB. A larger log means
    /// fewer checkpoints, and a longer opening after a crash.
    pub log: u64,
    /// Whether free blocks are returned to the file system or the device.
    pub give_back: bool,
    /// Limit on the memory of the maps' nodes; `None` for no such limit.
    pub memory: Option<Bytes>,
}

impl Default for MapSettings {
    fn default() -> Self {
        MapSettings {
            named: Named::default(),
            cache: crate::Cache::default(),
            capacity: None,
            log: 8 << 20,
            give_back: true,
            memory: None,
        }
    }
}

/// A pool's maps and files, ready to be served. It may be sent to the thread that serves it.
pub struct MappedPool {
    pub(super) core: Core,
    /// In the order of [`REGIONS`], and then the members of the data from the second on.
    pub(super) files: Vec<File>,
    /// Where these are.
    pub(super) paths: Vec<PathBuf>,
    pub(super) align: u32,
    /// Where each begins in its file.
    pub(super) bases: Vec<u64>,
    pub(super) locks: Vec<File>,
    /// The layout of the data, if it has several members.
    pub(super) members: Option<Members>,
    pub(super) give_back: bool,
    pub(super) doubt: Doubt,
    marks: Marks,
    /// `None` if the capacity was given.
    room: Option<Room>,
}

/// The space for a pool's blocks. On a file system it varies, as other files grow and shrink, or as
/// the file system is made larger.
#[derive(Debug)]
pub struct Room {
    places: Places,
    /// The size of each member of the data that is a device.
    devices: Vec<Option<u64>>,
}

impl MappedPool {
    /// Creates the files of an empty pool, durably, in a folder that has none, and opens it.
    /// `number` is that of the pool: records and tables with another number are not taken for its
    /// own.
    ///
    /// # Errors
    /// The folder has such files, or the file system refuses.
    pub fn create(dir: &Path, number: u64, settings: MapSettings) -> Result<MappedPool, MapError> {
        let places = Places::fresh(dir, settings.named.clone())?;
        // The file that is created last shows that all exist. So a crash in between leaves no valid
        // pool.
        if places.path(Region::Table(0)).exists() {
            return Err(MapError::Exists(places.maps().into()));
        }
        places.must_be_free()?;
        let made = MappedPool::make(dir, &places, number, settings.log);
        // One that cannot be opened is given up, too.
        made.and_then(|()| MappedPool::open(dir, settings)).inspect_err(|_| places.put_back(number))
    }

    /// Creates all files, the first table last.
    fn make(dir: &Path, places: &Places, number: u64, log: u64) -> Result<(), MapError> {
        let (maps, last) = (places.maps(), places.path(Region::Table(0)));
        let table = map::format(number, log);
        let end = map::format_end(number, Agreed::on(first_edition(number)));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| MapError::File { path, cause }
        };
        fs::create_dir_all(maps).and_then(|()| places.begin(number)).map_err(failed(maps))?;
        for region in REGIONS.into_iter().filter(|region| *region != Region::Table(0)) {
            for (path, mut file) in places.make(region, number)? {
                let written = match region {
                    Region::Log => file.seek(SeekFrom::Start(places.base(region))).and_then(|_| {
                        write_zeroes(&mut file, log)?;
                        file.sync_all()
                    }),
                    Region::Table(_) => file.write_all(&table).and_then(|()| file.sync_all()),
                    Region::End => file.write_all(&end).and_then(|()| file.sync_all()),
                    Region::Data | Region::Nodes => file.sync_all(),
                };
                written.map_err(failed(&path))?;
            }
        }
        let making = maps.join("table.new");
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&making);
        let written = file.and_then(|mut file| file.write_all(&table).and_then(|()| file.sync_all()));
        written.and_then(|()| fs::rename(&making, &last)).map_err(failed(&making))?;
        let synced = [maps, dir].into_iter().try_for_each(|path| File::open(path)?.sync_all());
        synced.map_err(failed(maps))
    }

    /// Opens the files and recovers from a crash.
    ///
    /// # Errors
    /// They are missing, damaged or of a later format, or the file system refuses. Then nothing is
    /// written.
    pub fn open(dir: &Path, settings: MapSettings) -> Result<MappedPool, MapError> {
        let places = Places::new(dir, settings.named)?;
        let cache = match settings.cache {
            crate::Cache::Direct => Caching::Direct,
            crate::Cache::Page => Caching::Page,
        };
        let opening = Opening { cache, write: true, ..Opening::default() };
        let others = (1..places.count()).map(|number| places.member(number));
        let paths: Vec<PathBuf> = REGIONS.iter().map(|region| places.path(*region)).chain(others).collect();
        let opened = paths.iter().map(|path| disk::open(path, opening)).collect::<Result<Vec<_>, _>>()?;
        let align = opened.iter().map(|disk| disk.align).max().unwrap_or(1);
        let several = places.count() > 1;
        let data: Vec<&Disk> = opened[..1].iter().chain(&opened[REGIONS.len()..]).collect();
        let devices = data.iter().map(|disk| disk.is_device.then_some(disk.size.0)).collect();
        let room = Room { places: places.clone(), devices };
        let (capacity, room) = match settings.capacity {
            Some(capacity) => (capacity, None),
            None => (room.measure()?.0, Some(room)),
        };
        let segment = if several { SEGMENT } else { Settings::default().segment };
        let nodes_max = settings.memory.map_or(u64::MAX, |memory| memory.0 / map::PAGE);
        let map_settings =
            Settings { capacity: capacity / map::BLOCK, align, nodes_max, segment, ..Settings::default() };
        let mut core = recover(&places, map_settings)?;
        must_be_long_enough(&places, &data, &core)?;
        let (locks, marks) = (places.claim(core.pool())?, places.marks(core.pool()));
        if settings.give_back && keeps_more(&data, core.usage().used) {
            let longest = data.iter().map(|disk| disk.size.0).max().unwrap_or(0);
            core.suspect(longest.saturating_mul(data.len() as u64));
        }
        let mut bases = places.bases().to_vec();
        bases.resize(opened.len(), places.base(Region::Data));
        let files = opened.into_iter().map(|disk| disk.file).collect();
        let members = several.then(|| places.members().clone());
        let (give_back, doubt) = (settings.give_back, Doubt::of(dir));
        Ok(MappedPool { core, files, paths, align, bases, locks, members, give_back, doubt, marks, room })
    }

    pub(crate) fn has_failed(&self) -> HasFailed {
        self.doubt.has_failed()
    }

    #[cfg(test)]
    pub(crate) fn into_doubt(self) -> Doubt {
        self.doubt
    }

    /// Offsets and lengths of its I/O are multiples of this many bytes.
    pub fn align(&self) -> u32 {
        self.align
    }

    /// The labels on files and devices outside of its folder.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The space for its blocks, to be measured again while it is served. `None` if the capacity
    /// was given, and the second time.
    pub fn take_room(&mut self) -> Option<Room> {
        self.room.take()
    }

    /// Limits the memory of the maps to `most`; what they use beyond it is kept.
    pub(crate) fn bound(&mut self, most: Bytes) {
        self.core.bound_nodes(most.0 / map::PAGE);
    }

    /// The maps in their present state.
    pub fn core(&self) -> &Core {
        &self.core
    }
}

impl fmt::Debug for MappedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedPool").field("files", &self.files).field("usage", &self.core.usage()).finish()
    }
}

/// Checks all maps of a pool that is not being served; the report has the damage.
///
/// # Errors
/// They are missing, or have a later format.
pub fn check_maps(dir: &Path, named: &Named) -> Result<Report, MapError> {
    let places = Places::new(dir, named.clone())?;
    let mut media = Folder::open(&places)?;
    let failed = |cause| MapError::Recover { path: places.maps().into(), cause };
    let segment = if places.count() > 1 { SEGMENT } else { Settings::default().segment };
    map::check(&mut media, Settings { segment, ..Settings::default() }).map_err(failed)
}

/// The maps of a pool that is not being served, for reading.
pub(super) fn recover_only(dir: &Path, named: &Named) -> Result<Core, MapError> {
    let places = Places::new(dir, named.clone())?;
    let segment = if places.count() > 1 { SEGMENT } else { Settings::default().segment };
    recover(&places, Settings { segment, ..Settings::default() })
}

/// The length of a file or device, and the length that it needs.
pub(crate) struct Length {
    pub path: PathBuf,
    pub found: u64,
    pub needed: u64,
}

/// The members of the data, and the length that each needs for the blocks that a check found in
/// use.
pub(crate) fn lengths(dir: &Path, named: &Named, report: &Report) -> Result<Vec<Length>, MapError> {
    let places = Places::new(dir, named.clone())?;
    let base = places.base(Region::Data);
    let mut lengths = Vec::new();
    for number in 0..places.count() {
        let path = places.member(number);
        let disk = disk::open(&path, Opening { cache: Caching::Page, ..Opening::default() })?;
        lengths.push(Length { path, found: disk.size.0, needed: 0 });
    }
    for end in &report.ends {
        // The last byte in use determines the member; the byte after it may be on another.
        let (member, last) = places.members().place(end - 1);
        let needed = &mut lengths[member].needed;
        *needed = (*needed).max(base + last + 1);
    }
    Ok(lengths)
}

/// Checks that all blocks in use lie within the members. A member that was truncated is not served,
/// since the lost blocks would read as zeroes once it grows again.
fn must_be_long_enough(places: &Places, members: &[&Disk], core: &Core) -> Result<(), MapError> {
    let (base, mut needed) = (places.base(Region::Data), vec![0; members.len()]);
    core.each_end(&mut |end| {
        let (member, last) = places.members().place(end - 1);
        needed[member] = needed[member].max(base + last + 1);
    });
    let lengths = members.iter().map(|disk| disk.size.0).zip(needed);
    match lengths.enumerate().find(|(_, (found, needed))| found < needed) {
        None => Ok(()),
        Some((number, (found, needed))) => Err(MapError::Short { path: places.member(number), found, needed }),
    }
}

fn recover(places: &Places, settings: Settings) -> Result<Core, MapError> {
    let mut media = Folder::open(places)?;
    let recovered: Result<Core, RecoverError> = map::recover(&mut media, settings);
    recovered.map_err(|cause| MapError::Recover { path: places.maps().into(), cause })
}

impl Room {
    /// Bytes for blocks, including those in use.
    ///
    /// # Errors
    /// A file system does not report its space.
    pub fn measure(&self) -> Result<Bytes, MapError> {
        Ok(Bytes(self.places.members().capacity(&self.of_members()?)))
    }

    /// The space of each member: a device has its size; files share equally what is left of their
    /// file system.
    fn of_members(&self) -> Result<Vec<u64>, MapError> {
        let failed = |number: usize| move |cause| MapError::File { path: self.places.member(number), cause };
        let about = |number: usize| self.places.member(number).metadata().map_err(failed(number));
        let abouts = (0..self.devices.len()).map(about).collect::<Result<Vec<_>, _>>()?;
        let base = self.places.base(Region::Data);
        let mut rooms = Vec::new();
        for (number, device) in self.devices.iter().enumerate() {
            if let Some(size) = device {
                rooms.push(size.saturating_sub(base));
                continue;
            }
            let path = self.places.member(number);
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let available = space::space(folder).map_err(failed(number))?.available.0;
            let here =
                |(about, device): &(&Metadata, &Option<u64>)| device.is_none() && about.dev() == abouts[number].dev();
            let beside: Vec<u64> =
                abouts.iter().zip(&self.devices).filter(here).map(|(about, _)| about.blocks() * 512).collect();
            // Nodes, tables and the catalogue must not run out of space. A part of the whole is
            // kept for them, and stays free as the data takes the rest.
            let kept = ((available + beside.iter().sum::<u64>()) / 16).min(RESERVE_MAX);
            let left = available.saturating_sub(kept) / beside.len() as u64;
            rooms.push(left + abouts[number].blocks() * 512);
        }
        Ok(rooms)
    }
}

/// Whether files take more of their file systems than is in use: their server died before it
/// returned free space. This is not known for a device, and it would be wrong to discard all its
/// free blocks at each start.
fn keeps_more(members: &[&Disk], used: u64) -> bool {
    let taken = |disk: &&Disk| disk.file.metadata().map_or(0, |about| about.blocks() * 512);
    members.iter().all(|disk| !disk.is_device) && members.iter().map(taken).sum::<u64>() > used
}

fn write_zeroes(file: &mut File, len: u64) -> std::io::Result<()> {
    const CHUNK: u64 = 1 << 20;
    let zeroes = vec![0; CHUNK as usize];
    let mut left = len;
    while left > 0 {
        let now = left.min(CHUNK);
        file.write_all(&zeroes[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// The files as they are read to open a pool: in order, through the page cache.
pub(super) struct Folder {
    /// In the order of [`REGIONS`], and where each region begins. A missing table or end counts as
    /// empty.
    files: Vec<(Option<File>, u64)>,
}

impl Folder {
    pub(super) fn open(places: &Places) -> Result<Folder, MapError> {
        let open = |region: &Region| -> Result<_, MapError> {
            let path = places.path(*region);
            let file = match File::open(&path) {
                Err(error) if is_made_anew(*region) && error.kind() == ErrorKind::NotFound => None,
                opened => Some(opened.map_err(|cause| MapError::File { path, cause })?),
            };
            Ok((file, places.base(*region)))
        };
        Ok(Folder { files: REGIONS.iter().map(open).collect::<Result<_, _>>()? })
    }
}

impl Media for Folder {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let (Some(file), base) = &self.files[index_of(region)] else { return Ok(0) };
        let at = at + base;
        let mut done = 0;
        while done < buf.len() {
            match file.read_at(&mut buf[done..], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Io),
            }
        }
        Ok(done)
    }

    fn settle(&mut self, region: Region) -> Result<(), Fault> {
        self.files[index_of(region)].0.as_ref().map_or(Ok(()), |file| file.sync_data().map_err(|_| Fault::Io))
    }
}

/// Whether a repair creates the region's file if it is missing.
pub(super) fn is_made_anew(region: Region) -> bool {
    matches!(region, Region::Table(_) | Region::End)
}

pub(super) fn index_of(region: Region) -> usize {
    match region {
        Region::Data => 0,
        Region::Log => 1,
        Region::Nodes => 2,
        Region::Table(turn) => 3 + usize::from(turn),
        Region::End => 5,
    }
}
