//! Permission to open a place: the only way to a writable target.
//!
//! ```text
//!   Place ──Permit::ask(intent)──► Permit ──open──► Opened { target, … }
//!             │  is it there, may it be opened, how large is it,      └─lay_out──► a file with its space
//!             │  who uses it, what does it carry, what did the user say may go
//!             └─► OpenError: one line that says what speaks against it and what to do
//! ```
//! Everything is checked once, before anything is written anywhere; a run that writes to many
//! places asks for all its permits first. There is no other way to get a permit for writing, and
//! nothing is opened for writing without one.

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

/// What is intended at a place.
#[derive(Clone, Copy, Debug)]
pub enum Intent<'a> {
    /// To read its contents.
    Read,
    /// To overwrite its contents, if nothing speaks against it or this consents to it.
    Write(&'a Consent),
    /// To remove the file.
    Remove(&'a Consent),
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Nothing yet; a file may be created.
    Missing,
    /// A file.
    File,
    /// A block device.
    Device,
    /// `/dev/null` or `/dev/zero`.
    Endless,
    /// An NBD export.
    Export,
    /// A file of an NFS server.
    NfsFile,
    /// No storage.
    Nothing,
    /// Several places, concatenated.
    Concatenated,
    /// Several places in stripes.
    Striped,
}

impl PlaceKind {
    /// The word for it in results.
    pub fn word(self) -> &'static str {
        match self {
            PlaceKind::Missing | PlaceKind::File => "file",
            PlaceKind::Device | PlaceKind::Endless => "device",
            PlaceKind::Export => "nbd",
            PlaceKind::NfsFile => "nfs",
            PlaceKind::Nothing => "null",
            PlaceKind::Concatenated => "concatenated",
            PlaceKind::Striped => "striped",
        }
    }
}

/// Permission to open a place.
#[derive(Clone, Debug)]
pub struct Permit {
    place: Place,
    kind: PlaceKind,
    size: Bytes,
    /// For an export: offsets and lengths must be multiples of this.
    align: u32,
    leave: Leave,
    /// The permits of joined places.
    members: Vec<Permit>,
}

/// What was permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Read,
    Write,
    Remove,
}

impl Permit {
    /// Asks for permission for an intent at `place`. It connects to a server for that.
    ///
    /// # Errors
    /// It does not exist, may not be opened or has no size; or something speaks against writing to
    /// it, and the user has not consented.
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
                // A missing file is created when it is opened, if its size is given and it may be
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

    /// Permission for `/dev/null` or `/dev/zero` as if it had `size`; they keep nothing that could
    /// be destroyed. `None` for every other path, and for removing one.
    pub fn endless(path: &Path, size: Bytes, intent: Intent<'_>) -> Option<Permit> {
        let is_one = !matches!(intent, Intent::Remove(_)) && disk::is_endless(path);
        let permit = || Permit { size, ..Permit::bare(&Place::Path(path.into()), PlaceKind::Endless, intent) };
        is_one.then(permit)
    }

    /// A permit about which nothing is known yet.
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
        // Check its uses first: they say more than the system's own refusal to open such a device.
        permit.objections(intent)?;
        let write = matches!(intent, Intent::Write(_));
        let disk = disk::open(path, Opening { cache: Caching::Page, write, ..Opening::default() });
        permit.size = disk.map_err(|error| of_disk(&name, error))?.size;
        if kind == PlaceKind::Device && permit.size == Bytes(0) {
            return Err(OpenError::NoSize(name));
        }
        Ok(permit)
    }

    /// Refuses if something speaks against it, unless the user has consented.
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

    /// The place.
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

    /// What was there when permission was asked for.
    pub fn kind(&self) -> PlaceKind {
        self.kind
    }

    /// Its size at that time.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it may be written.
    pub fn writes(&self) -> bool {
        self.leave == Leave::Write
    }

    /// Whether it may be created, extended or removed.
    pub(crate) fn makes(&self) -> bool {
        self.leave != Leave::Read
    }

    /// Its parts: itself, or the places that are joined.
    pub fn parts(&self) -> &[Permit] {
        if self.members.is_empty() { std::slice::from_ref(self) } else { &self.members }
    }

    /// Whether a request to it may be split into several with buffers of their own.
    pub fn splits(&self) -> bool {
        !self.members.is_empty()
    }

    /// How many connections it uses.
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

    /// The same permit, with one connection to each server.
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

    /// The same permit, for reading only.
    #[must_use]
    pub fn reading(mut self) -> Permit {
        self.members = self.members.into_iter().map(Permit::reading).collect();
        Permit { leave: Leave::Read, ..self }
    }

    /// What contents writing would destroy, in words, whether or not the user has consented.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn holds(&self, consent: &Consent) -> Result<Vec<String>, OpenError> {
        safety::holds(&self.place, consent)
    }

    /// Offsets and lengths must be multiples of this; for a file or device it is that of direct
    /// I/O. For a missing file, its folder is examined.
    ///
    /// # Errors
    /// There is no direct I/O.
    pub fn alignment(&self, cache: Caching) -> Result<u32, OpenError> {
        match &self.place {
            Place::Path(_) if cache == Caching::Page => Ok(1),
            Place::Path(path) if self.kind == PlaceKind::Missing => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                // The smallest alignment of any device.
                Ok(disk::alignment_in(folder).unwrap_or(512))
            }
            Place::Path(path) => {
                let endless = self.kind == PlaceKind::Endless;
                let opened = disk::open(path, Opening { cache, endless, ..Opening::default() });
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

/// The place, or all joined places as a list.
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

/// The error for a failed open of a file or device.
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
