//! Data on this machine, in directories, on devices and behind NBD exports: finding, filling and checking it.

mod check;
mod device;
mod fill;
mod open;
mod pipe;
mod place;

pub use check::{Checked, check, check_device};
pub use device::{Ask, Device, Filler, fill_devices, objections, refuse};
pub use fill::{Filling, fill};
pub use open::{Found, find, find_above};
pub use pipe::{Pipe, words};
pub use place::Place;

use crate::machine;
use anyhow::{Context as _, Result};
use ramp::{Recipe, Room};
use std::path::Path;

/// The seed of what is filled there without one being given: its host's and its own.
pub fn seed_of(place: &Place) -> u64 {
    let name = match place {
        Place::Path(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
        other => other.to_string(),
    };
    Recipe::seed_of(&machine::host_name(), &name)
}

/// The room of the file system that holds `folder`.
pub fn room(folder: &Path) -> Result<Room> {
    let space = uring::space::space(folder).with_context(|| format!("{}: its space", folder.display()))?;
    Ok(Room { total: space.total.0, free: space.free.0, available: space.available.0 })
}
