//! Whether a load may write somewhere: a load tool must not destroy data.
//!
//! A file may be overwritten if this program created it (it has a mark), if its beginning is one
//! that the caller recognises as its own, or if it is empty; and if it contains nothing that looks
//! like other data. A block device or an export may be overwritten if nothing on it looks like
//! data: no partitions, and no signature of a file system, a volume manager or a partition table.
//! Nothing may be written while it is in use: as a mount or swap, below RAID or LVM, or by an
//! exclusive holder. Everything that speaks against it is reported together.

mod devices;
mod signature;

use crate::consent::Consent;
use crate::error::{OpenError, of_system};
use crate::nbd_target::{Export, NbdTarget};
use crate::nfs_target::{NfsFile, NfsTarget, find};
use crate::peek::{self, Edge};
use crate::place::Place;
use block::Span;
use devices::{Kernel, Use};
use signature::Window;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Bytes at the beginning and the end of a device that are searched for signatures.
pub const EDGE: u64 = 256 << 10;

/// The uses of a place, and how to end each of them.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) in_use: Vec<String>,
    pub(crate) advice: Vec<String>,
}

/// The present uses of a place. They are unknown for a place on a server.
pub(crate) fn uses(place: &Place) -> io::Result<Findings> {
    let Place::Path(path) = place else { return Ok(Findings::default()) };
    let about = std::fs::metadata(path)?;
    let kernel = Kernel::here();
    let mut found: Vec<Use> = Vec::new();
    if about.file_type().is_block_device() {
        found.extend(kernel.uses(about.rdev()));
    } else if kernel.is_swap(path) {
        found.push(Use::swap("it", &path.display().to_string()));
    }
    found.extend(kernel.loops_on(path).map(|device| Use::behind(&device)));
    if found.is_empty() && about.file_type().is_block_device() && uring::disk::is_held(path)? {
        found.push(Use::held());
    }
    let mut findings = Findings::default();
    for Use { what, advice } in found {
        findings.in_use.push(what);
        if !findings.advice.contains(&advice) {
            findings.advice.push(advice);
        }
    }
    Ok(findings)
}

/// What would be lost at a place, in words; empty if nothing would be.
pub(crate) fn holds(place: &Place, consent: &Consent) -> Result<Vec<String>, OpenError> {
    let carried = |what: &'static str| format!("it carries {what}");
    match place {
        Place::Nothing(_) => Ok(Vec::new()),
        Place::Joined { .. } => {
            let mut all = Vec::new();
            for member in place.members()? {
                let found = holds(&member, consent)?;
                all.extend(found.into_iter().map(|what| format!("of {member}: {what}")));
            }
            Ok(all)
        }
        Place::Nbd { uri, export } => {
            let export = Export { connections: 1, reconnect: Span::ZERO, ..(**export).clone() };
            let edges = peek::edges(uri, EDGE, |io| Ok(NbdTarget::open(io, &export, true)?))?;
            Ok(carried_between(&edges).into_iter().map(carried).collect())
        }
        Place::Nfs { uri, file } => on_server(uri, file, consent),
        Place::Path(path) => {
            let found = if place.is_block_device() { on_device(path) } else { in_file(path, consent) };
            found.map_err(|error| of_system(&place.to_string(), error))
        }
    }
}

/// The signatures at the beginning and the end.
fn carried_between((head, tail, size): &(Edge, Edge, u64)) -> Vec<&'static str> {
    let (head, tail) = (Window { at: head.0, bytes: &head.1 }, Window { at: tail.0, bytes: &tail.1 });
    signature::signatures(head, tail, *size)
}

/// The same rules as for a local file: it is ours by its mark or its beginning.
fn on_server(uri: &str, file: &NfsFile, consent: &Consent) -> Result<Vec<String>, OpenError> {
    let there = find(file)?.filter(|found| found.size > 0);
    let Some(there) = there else { return Ok(Vec::new()) };
    let one = NfsFile { connections: 1, reconnect: Span::ZERO, ..file.clone() };
    let edges = peek::edges(uri, EDGE, |io| Ok(NfsTarget::open(io, &one, false, true)?))?;
    let mut found = Vec::new();
    if !there.ours && !consent.knows(&edges.0.1) {
        found.push(format!("it is a file of {} that seawall did not make", block::Bytes(there.size)));
    }
    found.extend(carried_between(&edges).into_iter().map(|what| format!("it carries {what}")));
    Ok(found)
}

fn on_device(path: &Path) -> io::Result<Vec<String>> {
    let device = File::open(path)?;
    let parts = Kernel::here().partitions(device.metadata()?.rdev());
    let mut found: Vec<String> = parts.into_iter().map(|name| format!("it has the partition {name}")).collect();
    found.extend(signature::of_device(&device, EDGE)?.into_iter().map(|what| format!("it carries {what}")));
    Ok(found)
}

/// Parts of a file that are examined: its beginning, and the place of the signatures of Btrfs and
/// GFS2. They are small: there may be thousands of files, and a measurement of the disk counts
/// these reads.
const BEGINNING: u64 = 8 << 10;
const SECOND_LOOK: (u64, u64) = (0x10000, 4096);

/// What a file contains, unless it is ours by its mark or its beginning.
fn in_file(path: &Path, consent: &Consent) -> io::Result<Vec<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let size = file.metadata()?.len();
    if size == 0 {
        return Ok(Vec::new());
    }
    // Advice only, so a failure does not matter.
    let _ = uring::space::read_no_further(&file);
    let read = |at: u64, most: u64| {
        let mut bytes = vec![0; size.saturating_sub(at).min(most) as usize];
        file.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    let (head, more) = (read(0, BEGINNING)?, read(SECOND_LOOK.0, SECOND_LOOK.1)?);
    let ours = uring::mark::is_set(&file)? || consent.knows(&head);
    let mut found = Vec::new();
    if !ours {
        found.push(format!("it is a file of {} that seawall did not lay out", block::Bytes(size)));
    }
    let (head, more) = (Window { at: 0, bytes: &head }, Window { at: SECOND_LOOK.0, bytes: &more });
    let carried = signature::signatures(head, more, size);
    found.extend(carried.into_iter().map(|what| format!("it carries {what}")));
    Ok(found)
}
