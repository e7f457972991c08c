//! The pool: a folder with a catalogue of what is in it and the data of its LUNs.
//!
//! ```text
//!   DIR/seawall.toml     settings (cache, [pool] data, log, give_back), optional
//!   DIR/catalogue.db     SQLite: names, sizes, policies, attachments; beside it catalogue.ballast
//!   DIR/lock             locked while a server has the pool open
//!   DIR/control.sock     the running server's control socket (mode 0600)
//!   DIR/totals.db        SQLite: what was done and promised in each hour ([`HourlyTotals`])
//!   DIR/maps/            the blocks of all LUNs, and the maps of them ([`MappedVolumes`])
//! ```
//!
//! A LUN is thin: space is allocated by the first write and released by trim. Durability is
//! provided by [`map::Core`] for all LUNs of the pool together. This crate knows nothing of quality
//! of service.

mod agreement;
mod catalogue;
mod check;
mod doubt;
mod error;
mod line;
mod mapped;
mod pool;
mod queued;
mod repair;
mod served;
mod settings;
mod totals;
mod unfinished;
mod volume_files;

pub use catalogue::{
    BUILT_IN_POLICIES, Catalogue, CatalogueId, Changes, Contents, Kind, ObjectRow, PartitionRow, PolicyRow,
    SnapshotLeafRow, SnapshotRow,
};
pub use check::{Checked, Trouble, check};
pub use error::StoreError;
pub use mapped::{
    CacheSettings, Counts, DiskFailure, MapError, MapSettings, MappedPool, MappedVolumes, Marks, Named, PartitionState,
    Room, SecondError, SecondFile, SecondPlace, SecondState, check_maps,
};
pub use pool::{CONTROL_SOCKET, Keeper, Pool, must_be_a_pool, svms};
pub use repair::{RepairSettings, Repaired, repair};
pub use served::Served;
pub use settings::{Cache, MAPS_MEMORY_MIN, VolumesSettings, maps_within, named, qos_settings, settings_path};
pub use totals::{HOURS_KEPT, HourRow, HourlyTotals, ObjectHour, ObjectName, TOTALS};
pub use unfinished::clear_unfinished;
pub use volume_files::VolumeFiles;
