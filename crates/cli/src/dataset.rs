//! Data sets in directories, on devices and on NBD exports: finding, filling and checking them.

mod check;
mod device;
mod fill;
mod open;
mod pipe;

pub use check::{Checked, check, check_device};
pub use device::{Ask, Device, Filler, fill_devices, spare_filled, wipe_edges};
pub use fill::{Filling, fill, only_writer};
pub use open::{Found, find, find_above, note};
pub use pipe::Pipe;
pub use storage::{Consent, Place, words};

use crate::machine;
use crate::ramping::Header;
use anyhow::{Context as _, Result, anyhow};
use ramp::{Label, Recipe, Room};
use std::path::Path;

/// Parses the place that was given to an option.
///
/// # Errors
/// It is not a place.
pub fn place(option: &str, given: &str) -> Result<Place> {
    Place::parse(given).map_err(|line| anyhow!("--{option}: {line}"))
}

/// The consent given by `--destroy-data` and `--even-in-use`. Files that begin like a data set, a
/// filled device or a journal are ours, even if they were copied.
pub fn consent(destroy: &[String], even_in_use: &[String]) -> Consent {
    Consent::new(destroy, even_in_use).knowing(is_ours)
}

fn is_ours(beginning: &[u8]) -> bool {
    let is_label = Label::read(beginning).is_ok_and(|label| label.is_some());
    is_label || ramp::is_block(beginning) || Header::read(beginning).is_some()
}

/// The default seed for data at a place, derived from the host and the place.
pub fn seed_of(place: &Place) -> u64 {
    let name = match place {
        Place::Path(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
        other => other.to_string(),
    };
    Recipe::seed_of(&machine::host_name(), &name)
}

/// The space of the file system that holds `folder`.
pub fn room(folder: &Path) -> Result<Room> {
    let space = uring::space::space(folder).with_context(|| format!("{}: its space", folder.display()))?;
    Ok(Room { total: space.total.0, free: space.free.0, available: space.available.0 })
}
