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

use anyhow::{Context as _, Result};
use ramp::Room;
use std::path::Path;

/// The room of the file system that holds `folder`.
pub fn room(folder: &Path) -> Result<Room> {
    let space = uring::space::space(folder).with_context(|| format!("{}: its space", folder.display()))?;
    Ok(Room { total: space.total.0, free: space.free.0, available: space.available.0 })
}
