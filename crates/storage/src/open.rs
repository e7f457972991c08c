//! From a permit to a target.

use crate::error::OpenError;
use crate::error::of_system;
use crate::joined::{self, Copies, Joined, Member};
use crate::local::{CallTarget, LocalFile, Lock, NullTarget, RingTarget};
use crate::nbd_target::{ConnectError, Connection, Export, NbdTarget};
use crate::nfs_target::{NfsError, NfsFile, NfsTarget};
use crate::permit::{Intent, Permit, PlaceKind, of_disk};
use crate::place::Place;
use block::{Bytes, ObjectId, Target};
use stats::job::Losses;
use std::cell::RefCell;
use std::rc::Rc;
use uring::Io;
use uring::disk::{self, Caching, Create, Disk, Durable, Opening};

/// How files, devices and exports are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// Whether to use the page cache.
    pub cache: Caching,
    /// Use the page cache after all if the file system has no direct I/O, or needs an alignment of
    /// more than this many bytes.
    pub fallback: Option<u32>,
    /// Whether to create a file.
    pub create: Create,
    /// Use plain system calls instead of the worker's ring.
    pub calls: Option<Calls>,
    /// Whether reads of an export keep their bytes; otherwise they are discarded.
    pub keep_data: bool,
}

impl Default for How {
    /// Direct I/O by the ring to what exists; reads keep their bytes.
    fn default() -> How {
        How { cache: Caching::Direct, fallback: None, create: Create::Never, calls: None, keep_data: true }
    }
}

/// How plain system calls are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// They move no data: a write allocates space and extends the file, a read only allocates
    /// space, a trim releases it.
    pub space: bool,
    /// Which other calls of this program on the same file a call waits for.
    pub lock: Option<Exclusion>,
    /// What is durable when a write returns.
    pub durable: Durable,
}

/// Which calls exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// All.
    All,
    /// Writers exclude all others; readers share.
    Writers,
}

/// Opened storage.
pub struct Opened {
    /// The target; what was opened as number n is its object n.
    pub target: Box<dyn Target>,
    /// The size of each object.
    pub sizes: Vec<Bytes>,
    /// Offsets and lengths must be multiples of this.
    pub align: u32,
    /// Whether it supports flushes. If not, it buffers nothing.
    pub flushes: bool,
    /// Whether a write can be durable when it completes.
    pub writes_durably: bool,
    /// The losses of its connections; the counts continue to grow.
    pub losses: LossCounts,
}

/// The losses of a target's connections. The counts continue to grow.
#[derive(Clone, Debug, Default)]
pub struct LossCounts(Vec<Rc<RefCell<Losses>>>);

impl LossCounts {
    /// The sum so far.
    pub fn sum(&self) -> Losses {
        let mut sum = Losses::default();
        self.0.iter().for_each(|losses| sum.absorb(&losses.borrow()));
        sum
    }

    /// The losses since the last call.
    pub fn take(&mut self) -> Losses {
        let mut sum = Losses::default();
        self.0.iter().for_each(|losses| sum.absorb(&losses.take()));
        sum
    }

    fn absorb(&mut self, other: LossCounts) {
        self.0.extend(other.0);
    }
}

/// Asks for permission and opens a single place.
///
/// # Errors
/// As [`Permit::ask`] and [`Permit::open`].
pub fn open(io: &Io, place: &Place, intent: Intent<'_>, how: How) -> Result<Opened, OpenError> {
    Permit::ask(place, intent)?.open(io, how)
}

/// Several files and devices as one target, in this order.
///
/// # Errors
/// As [`Permit::open`].
///
/// # Panics
/// One of them is not a path.
pub fn open_files(io: &Io, permits: &[Permit], how: How) -> Result<Opened, OpenError> {
    let files = permits.iter().map(|permit| permit.open_file(how)).collect::<Result<Vec<_>, _>>()?;
    let sizes = files.iter().map(|file| file.size).collect();
    let target: Box<dyn Target> = match how.calls {
        None => Box::new(RingTarget::new(io, files)),
        Some(calls) => Box::new(by_calls(io, files, calls).map_err(|error| of_system("lockfile", error))?),
    };
    Ok(Opened {
        align: target.traits().align,
        target,
        sizes,
        flushes: true,
        writes_durably: true,
        losses: LossCounts::default(),
    })
}

/// Several places as one target with a single object: concatenated in this order, or in stripes of
/// `stripe` bytes. Files and devices share one target beneath.
///
/// # Errors
/// As [`Permit::open`]; or the stripe is not a multiple of the largest alignment.
///
/// # Panics
/// There are none.
pub fn open_joined(io: &Io, permits: &[Permit], stripe: Option<Bytes>, how: How) -> Result<Opened, OpenError> {
    let (mut targets, mut align, mut losses) = (Vec::new(), 1, LossCounts::default());
    let (mut flushes, mut writes_durably) = (false, true);
    let mut members = vec![None; permits.len()];
    let mut add = |opened: Opened, of: &[usize]| {
        for ((number, place), size) in (0..).zip(of).zip(opened.sizes) {
            members[*place] =
                Some(Member { target: targets.len(), object: ObjectId(number), size, flushes: opened.flushes });
        }
        align = align.max(opened.align);
        flushes |= opened.flushes;
        writes_durably &= opened.writes_durably;
        losses.absorb(opened.losses);
        targets.push(opened.target);
    };
    let (paths, others): (Vec<usize>, Vec<usize>) =
        (0..permits.len()).partition(|&place| permits[place].path().is_some());
    if !paths.is_empty() {
        let files: Vec<Permit> = paths.iter().map(|&place| permits[place].clone()).collect();
        add(open_files(io, &files, how)?, &paths);
    }
    for place in others {
        add(permits[place].open(io, how)?, &[place]);
    }
    check_stripe(stripe, align)?;
    let copies = Copies { io: io.clone(), keep_data: how.keep_data };
    let joined = Joined::new(targets, members.into_iter().flatten().collect(), stripe, Some(copies));
    let sizes = vec![joined.traits().size];
    Ok(Opened { target: Box::new(joined), sizes, align, flushes, writes_durably, losses })
}

/// The combined size of places: that of [`open_joined`] with direct I/O.
///
/// # Errors
/// As [`Permit::alignment`]; or the stripe is not a multiple of the largest alignment.
pub(crate) fn joined_size(permits: &[Permit], stripe: Option<Bytes>) -> Result<Bytes, OpenError> {
    let aligns = permits.iter().map(|permit| permit.alignment(Caching::Direct)).collect::<Result<Vec<u32>, _>>()?;
    let align = aligns.into_iter().max().unwrap_or(1);
    check_stripe(stripe, align)?;
    let sizes: Vec<Bytes> = permits.iter().map(Permit::size).collect();
    Ok(joined::size(&sizes, align, stripe))
}

fn check_stripe(stripe: Option<Bytes>, align: u32) -> Result<(), OpenError> {
    match stripe.filter(|stripe| stripe.0 == 0 || !stripe.0.is_multiple_of(u64::from(align))) {
        Some(stripe) => Err(OpenError::Stripe { stripe, align: Bytes(align.into()) }),
        None => Ok(()),
    }
}

fn by_calls(io: &Io, files: Vec<LocalFile>, calls: Calls) -> std::io::Result<CallTarget> {
    let lock = |exclusion| files.iter().map(|file| Lock::of(&file.file, exclusion == Exclusion::Writers)).collect();
    let locks = calls.lock.map_or(Ok(Vec::new()), lock)?;
    let target = CallTarget::new(io, files).locked(locks);
    Ok(if calls.space { target.for_space() } else { target })
}

/// An export of a server that the caller runs. Its volumes contain what the caller put there, so no
/// permission is needed. Every other export is opened by a [`Permit`].
///
/// # Errors
/// As [`Permit::open`].
pub fn own_export(io: &Io, export: &Export, keep_data: bool) -> Result<NbdTarget, ConnectError> {
    NbdTarget::open(io, export, keep_data)
}

/// Does the same over an existing connection, which is not re-established when it is lost.
///
/// # Errors
/// The slab has no room for the receive buffer; the connection is closed.
pub fn own_connection(io: &Io, connection: Connection, keep_data: bool) -> Result<NbdTarget, ConnectError> {
    NbdTarget::new(io, connection, keep_data)
}

/// Does the same over NFS, for a file that exists and may be written.
///
/// # Errors
/// It does not exist, it cannot connect, or the slab has no room.
pub fn own_file(io: &Io, file: &NfsFile, keep_data: bool) -> Result<NfsTarget, NfsError> {
    NfsTarget::open(io, file, true, keep_data)
}

impl Permit {
    /// Opens what was permitted, on the worker of `io`. It connects to a server as the URI says,
    /// and handles later losses as it says.
    ///
    /// # Errors
    /// It has changed meanwhile, the system or the server refuses, or there is no memory for it.
    pub fn open(&self, io: &Io, how: How) -> Result<Opened, OpenError> {
        match self.place() {
            Place::Path(_) => open_files(io, std::slice::from_ref(self), how),
            Place::Nbd { export, .. } => {
                let target = NbdTarget::open(io, export, how.keep_data)?;
                let (traits, losses) = (target.traits(), target.losses());
                let (flushes, writes_durably) = (target.flushes(), target.writes_durably());
                if self.writes() && traits.read_only {
                    return Err(OpenError::ReadOnly(self.place().to_string()));
                }
                Ok(Opened {
                    target: Box::new(target),
                    sizes: vec![traits.size],
                    align: traits.align,
                    flushes,
                    writes_durably,
                    losses: LossCounts(vec![losses]),
                })
            }
            Place::Nfs { file, .. } => {
                let target = NfsTarget::open(io, file, self.writes(), how.keep_data)?;
                let (traits, losses) = (target.traits(), target.losses());
                Ok(Opened {
                    target: Box::new(target),
                    sizes: vec![traits.size],
                    align: traits.align,
                    flushes: true,
                    writes_durably: true,
                    losses: LossCounts(vec![losses]),
                })
            }
            Place::Nothing(size) => Ok(Opened {
                target: Box::new(NullTarget::new(*size)),
                sizes: vec![*size],
                align: 1,
                flushes: true,
                writes_durably: true,
                losses: LossCounts::default(),
            }),
            Place::Joined { stripe, .. } => open_joined(io, self.parts(), *stripe, how),
        }
    }

    fn open_file(&self, how: How) -> Result<LocalFile, OpenError> {
        let path = self.path().expect("files and devices are paths");
        let name = self.place().to_string();
        let endless = self.kind() == PlaceKind::Endless;
        let with = |cache| {
            let durable = how.calls.map_or(Durable::Nothing, |calls| calls.durable);
            let opening = Opening { cache, write: self.writes(), create: how.create, mode: 0o644, durable, endless };
            disk::open(path, opening)
        };
        let opened = match with(how.cache) {
            Err(disk::OpenError::NoDirect(_)) if how.fallback.is_some() => with(Caching::Page),
            Ok(disk) if !disk.is_device && how.fallback.is_some_and(|most| disk.align > most) => with(Caching::Page),
            opened => opened,
        };
        let Disk { file, size, align, is_device } = opened.map_err(|error| of_disk(&name, error))?;
        if is_device != (self.kind() == PlaceKind::Device) {
            return Err(OpenError::Changed(name));
        }
        Ok(LocalFile { file, size: if endless { self.size() } else { size }, align })
    }
}
