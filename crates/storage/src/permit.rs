//! Leave to open a place: the one way to a target that may be written.
//!
//! ```text
//!   Place ──Permit::ask(intent)──► Permit ──open──► Opened { target, … }
//!             │  is it there, may it be opened, how large is it,      └─lay_out──► a file with its space
//!             │  who uses it, what does it carry, what did the user say may go
//!             └─► OpenError: one line that says what speaks against it and what to do
//! ```
//! Everything is asked once, before anything is written anywhere; a run that writes at many places
//! asks for all of its permits first. A permit for writing cannot be made in any other way, and
//! nothing opens for writing without one.

use crate::consent::Consent;
use crate::error::{OpenError, Refusal, is_for_devices, of_system};
use crate::nbd_target::Connection;
use crate::nfs_target::{NfsError, find};
use crate::open::joined_size;
use crate::place::Place;
use crate::safety::{self, Findings};
use block::Bytes;
use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use uring::disk::{self, Caching, Opening};

/// What is meant to be done at a place.
#[derive(Clone, Copy, Debug)]
pub enum Intent<'a> {
    /// To read what is there.
    Read,
    /// To write over what is there, where nothing or this speaks for it.
    Write(&'a Consent),
    /// To take the file away.
    Remove(&'a Consent),
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Nothing yet: a file may be made.
    Missing,
    /// A file.
    File,
    /// A block device.
    Device,
    /// An NBD export.
    Export,
    /// A file of an NFS server.
    NfsFile,
    /// No storage.
    Nothing,
    /// Several places behind each other.
    Concatenated,
    /// Several places in stripes.
    Striped,
}

impl PlaceKind {
    /// The word for it in results.
    pub fn word(self) -> &'static str {
        match self {
            PlaceKind::Missing | PlaceKind::File => "file",
            PlaceKind::Device => "device",
            PlaceKind::Export => "nbd",
            PlaceKind::NfsFile => "nfs",
            PlaceKind::Nothing => "null",
            PlaceKind::Concatenated => "concatenated",
            PlaceKind::Striped => "striped",
        }
    }
}

/// Leave to open a place.
#[derive(Clone, Debug)]
pub struct Permit {
    place: Place,
    kind: PlaceKind,
    size: Bytes,
    /// Of an export: what its offsets and lengths must be multiples of.
    align: u32,
    leave: Leave,
    /// Leave for each of several that are joined.
    members: Vec<Permit>,
}

/// What leave was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Read,
    Write,
    Remove,
}

impl Permit {
    /// Asks for leave to do what is meant at `place`. A server is connected to for that.
    ///
    /// # Errors
    /// It is not there, may not be opened or has no size; or something speaks against writing it,
    /// and nobody said that it may go.
    pub fn ask(place: &Place, intent: Intent<'_>) -> Result<Permit, OpenError> {
        match place {
            Place::Path(path) => Permit::ask_path(place, path, intent),
            Place::Nbd { export, .. } => {
                let mut one = (**export).clone();
                one.connections = 1;
                let connection = Connection::to(&one)?;
                let (size, align) = (Bytes(connection.rules.size), connection.rules.minimum);
                let permit = Permit { size, align, ..Permit::bare(place, PlaceKind::Export, intent) };
                if permit.writes() && connection.rules.flags.contains(nbd::TransmissionFlags::READ_ONLY) {
                    return Err(OpenError::ReadOnly(place.to_string()));
                }
                drop(connection);
                permit.objections(intent)?;
                Ok(permit)
            }
            Place::Nfs { file, .. } => {
                let permit = Permit::bare(place, PlaceKind::NfsFile, intent);
                let missing = || NfsError::Missing { address: file.host.clone(), path: file.path.clone() };
                // One that is not there is made when it is opened, if it says how long and may be
                // written.
                let wished = file.size.filter(|_| permit.writes());
                let there = find(file)?.map(|found| Bytes(found.size));
                let size = there.max(wished).ok_or_else(missing)?;
                permit.objections(intent)?;
                Ok(Permit { size, ..permit })
            }
            Place::Nothing(size) => Ok(Permit { size: *size, ..Permit::bare(place, PlaceKind::Nothing, intent) }),
            Place::Joined { stripe, .. } => Permit::ask_joined(place, *stripe, intent),
        }
    }

    /// One of which nothing is known yet.
    fn bare(place: &Place, kind: PlaceKind, intent: Intent<'_>) -> Permit {
        let leave = intent.leave();
        Permit { place: place.clone(), kind, size: Bytes(0), align: 1, leave, members: Vec::new() }
    }

    fn ask_joined(place: &Place, stripe: Option<Bytes>, intent: Intent<'_>) -> Result<Permit, OpenError> {
        let mut members = Vec::new();
        for member in place.members()? {
            let permit = Permit::ask(&member, intent)?;
            if permit.kind == PlaceKind::Missing {
                return Err(OpenError::MissingMember(member.to_string()));
            }
            members.push(permit);
        }
        let size = joined_size(&members, stripe)?;
        if size == Bytes(0) {
            return Err(OpenError::NothingTogether(named(place)));
        }
        let kind = if stripe.is_some() { PlaceKind::Striped } else { PlaceKind::Concatenated };
        Ok(Permit { size, members, ..Permit::bare(place, kind, intent) })
    }

    fn ask_path(place: &Place, path: &Path, intent: Intent<'_>) -> Result<Permit, OpenError> {
        let name = place.to_string();
        let leave = intent.leave();
        let about = match std::fs::metadata(path) {
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && leave != Leave::Read && !is_for_devices(&name) =>
            {
                return Ok(Permit::bare(place, PlaceKind::Missing, intent));
            }
            about => about.map_err(|error| of_system(&name, error))?,
        };
        let kind = kind_of(&about, &name)?;
        let mut permit = Permit::bare(place, kind, intent);
        // What it is used for comes first: the system's own refusal to open such a device says
        // less.
        permit.objections(intent)?;
        let write = matches!(intent, Intent::Write(_));
        let disk = disk::open(path, Opening { cache: Caching::Page, write, ..Opening::default() });
        permit.size = disk.map_err(|error| of_disk(&name, error))?.size;
        if kind == PlaceKind::Device && permit.size == Bytes(0) {
            return Err(OpenError::NoSize(name));
        }
        Ok(permit)
    }

    /// Refuses where something speaks against it, unless it was said that it may go.
    fn objections(&self, intent: Intent<'_>) -> Result<(), OpenError> {
        let (consent, verb) = match intent {
            Intent::Read => return Ok(()),
            Intent::Write(consent) => (consent, ("written", "overwrites")),
            Intent::Remove(consent) => (consent, ("removed", "removes")),
        };
        let (may_go, place) = (consent.covers(&self.place), self.place.to_string());
        let Findings { in_use, advice } = safety::uses(&self.place).map_err(|error| of_system(&place, error))?;
        let in_use_refused = !in_use.is_empty() && !consent.covers_in_use(&self.place);
        let holds = if may_go { Vec::new() } else { safety::holds(&self.place, consent)? };
        if !in_use_refused && holds.is_empty() {
            return Ok(());
        }
        let advice = if in_use_refused {
            let more = if may_go { "; --destroy-data says nothing of a device in use" } else { "" };
            format!("{}{more}", advice.join(", "))
        } else {
            format!("--destroy-data={place} {} it all the same", verb.1)
        };
        Err(Refusal { place, verb, found: [in_use, holds].concat(), advice }.into())
    }

    /// Where.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The path of a file or device.
    pub fn path(&self) -> Option<&PathBuf> {
        match &self.place {
            Place::Path(path) => Some(path),
            _ => None,
        }
    }

    /// What was there when it was asked.
    pub fn kind(&self) -> PlaceKind {
        self.kind
    }

    /// How large it was.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it may be written.
    pub fn writes(&self) -> bool {
        self.leave == Leave::Write
    }

    /// Whether it may be made, made longer, or taken away.
    pub(crate) fn makes(&self) -> bool {
        self.leave != Leave::Read
    }

    /// Those of which it consists: itself, or those that are joined.
    pub fn parts(&self) -> &[Permit] {
        if self.members.is_empty() { std::slice::from_ref(self) } else { &self.members }
    }

    /// Whether a request to it may become several, with memory of their own.
    pub fn splits(&self) -> bool {
        !self.members.is_empty()
    }

    /// How many connections it takes.
    pub fn connections(&self) -> u32 {
        let own = |permit: &Permit| match &permit.place {
            Place::Nbd { export, .. } => export.connections,
            Place::Nfs { file, .. } => file.connections,
            _ => 0,
        };
        self.parts().iter().map(own).sum()
    }

    /// How many files and devices are opened for it.
    pub fn files(&self) -> u32 {
        self.parts().iter().filter(|part| part.path().is_some()).count() as u32
    }

    /// The same over one connection to each server.
    #[must_use]
    pub fn over_one_connection(mut self) -> Permit {
        self.members = self.members.into_iter().map(Permit::over_one_connection).collect();
        match &mut self.place {
            Place::Nbd { export, .. } => export.connections = 1,
            Place::Nfs { file, .. } => file.connections = 1,
            Place::Path(_) | Place::Nothing(_) | Place::Joined { .. } => {}
        }
        self
    }

    /// The same for reading alone.
    #[must_use]
    pub fn reading(mut self) -> Permit {
        self.members = self.members.into_iter().map(Permit::reading).collect();
        Permit { leave: Leave::Read, ..self }
    }

    /// What it holds that writing destroys, in words, whether that was allowed or not.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn holds(&self, consent: &Consent) -> Result<Vec<String>, OpenError> {
        safety::holds(&self.place, consent)
    }

    /// What offsets and lengths must be multiples of: past the page cache for a file or device. A
    /// file that is not there yet is asked for at its folder.
    ///
    /// # Errors
    /// There is no direct I/O.
    pub fn alignment(&self, cache: Caching) -> Result<u32, OpenError> {
        match &self.place {
            Place::Path(_) if cache == Caching::Page => Ok(1),
            Place::Path(path) if self.kind == PlaceKind::Missing => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                // The least that any device has.
                Ok(disk::alignment_in(folder).unwrap_or(512))
            }
            Place::Path(path) => {
                let opened = disk::open(path, Opening { cache, ..Opening::default() });
                Ok(opened.map_err(|error| of_disk(&self.place.to_string(), error))?.align)
            }
            Place::Nbd { .. } | Place::Nfs { .. } | Place::Nothing(_) => Ok(self.align),
            Place::Joined { .. } => {
                self.members.iter().try_fold(1, |most, member| Ok(member.alignment(cache)?.max(most)))
            }
        }
    }
}

impl Intent<'_> {
    fn leave(self) -> Leave {
        match self {
            Intent::Read => Leave::Read,
            Intent::Write(_) => Leave::Write,
            Intent::Remove(_) => Leave::Remove,
        }
    }
}

/// Places that are joined, as a list.
fn named(place: &Place) -> String {
    match place {
        Place::Joined { members, .. } => members.iter().map(Place::to_string).collect::<Vec<_>>().join(", "),
        place => place.to_string(),
    }
}

fn kind_of(about: &Metadata, name: &str) -> Result<PlaceKind, OpenError> {
    let kind = about.file_type();
    if kind.is_dir() {
        Err(OpenError::Folder(name.into()))
    } else if kind.is_block_device() {
        Ok(PlaceKind::Device)
    } else if kind.is_file() {
        Ok(PlaceKind::File)
    } else {
        Err(OpenError::Kind(name.into()))
    }
}

/// The same for a disk's error.
pub(crate) fn of_disk(name: &str, error: disk::OpenError) -> OpenError {
    match error {
        disk::OpenError::Os { cause, .. } => match of_system(name, cause) {
            OpenError::Look { place, cause } => disk::OpenError::Os { path: place.into(), cause }.into(),
            other => other,
        },
        disk::OpenError::Kind(_) => OpenError::Kind(name.into()),
        other @ disk::OpenError::NoDirect(_) => other.into(),
    }
}
