//! A page cache without pages: which slot holds which page, which page is evicted, and the
//! statistics. It serves an owner of memory (the server) or one without (a simulated array).
//!
//! ```text
//!   get(partition, key) ──► index ──► slot          a hit is one probe and one counter, and allocates nothing
//!   insert(partition, key) ──► slot, and the page that was evicted for it
//!                 small ──► main                     per partition: queues by the policy,
//!                   └──► ghost                       evicted keys, without a slot
//! ```
//! The slots are one budget. Each partition has a share of it, and evicts only its own pages.
//! Evicted pages may go to a second level on a device ([`SecondLevel`]). [`Residence`] computes a
//! cache's hit ratio without simulating it.

mod advice;
mod coherent;
mod ghost;
mod index;
mod lists;
mod partition;
mod partitions;
mod pressure;
mod read_ahead;
mod residence;
mod second;
mod shards;

pub use advice::{Advice, Worth, advise};
pub use coherent::{Coherent, Filling};
pub use index::Key;
pub use lists::Slot;
pub use partition::{Eviction, Part, Statistics};
pub use partitions::{Cache, Evicted, Inserted, PARTITIONS_MAX, PartitionId, PartitionRefusal};
pub use pressure::{Pressure, room};
pub use read_ahead::{Ahead, ReadAhead};
pub use residence::{PageClass, Replacement, Residence, SecondResidence};
pub use second::{Place, SEGMENT, SEGMENTS_MIN, Sealed, SecondLevel, SecondSettings, SecondStatistics};
pub use shards::{Curve, Shards};
