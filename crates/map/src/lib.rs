//! The maps of a pool: which block of the data holds which block of a LUN, who shares it, and how
//! all of that survives a power failure. Pure: it says which I/O to do, and is told how it ended.
//!
//! ```text
//!            asks                        commands: write · patch · flush · store · discard
//!   LUNs ──────────►  Core  ───────────────────────────────►  a disk, real or simulated
//!        ◄──────────   │    ◄───────────────────────────────
//!          events      │              done
//!                      ├ tree        shared radix trees of 4 KiB nodes: a clone is one more reference
//!                      ├ space       blocks and their counts
//!                      ├ limbo       freed references that wait for reads
//!                      ├ change      writes, in place or into a copy of a shared block
//!                      ├ group       atomic changes of several trees
//!                      ├ giving      free blocks are returned to the disk
//!                      ├ steps       long work is done in bounded steps
//!                      ├ commit      data, then log: group commit of changes of the maps
//!                      ├ checkpoint  changed nodes and a table to the disk, so that the log stays short
//!                      ├ recover     table, nodes, log; and the check that reports damage
//!                      └ salvage     what is left of a damaged pool
//! ```
//!
//! What holds at every moment, whatever is lost:
//! - the durable map never refers to data that is not there: a record is logged after the data that
//!   it describes;
//! - a block that the durable map still refers to is neither written in place by another tree nor
//!   reused;
//! - whatever was acknowledged by a flush, or with FUA, is in the log or in a table.

mod ask;
mod change;
mod check;
mod checkpoint;
mod clearing;
mod command;
mod commit;
mod core;
mod end;
mod entry;
mod giving;
mod group;
mod limbo;
mod record;
mod recover;
mod refusal;
mod salvage;
mod slots;
mod space;
mod steps;
mod table;
mod tree;

pub use crate::ask::{Ask, Ended, What};
pub use crate::check::{Damage, Report, check};
pub use crate::command::{Command, Patch, Region, Run, Source, Token};
pub use crate::core::{Core, Settings, TREES_MAX, Usage};
pub use crate::end::{Agreed, END_FORMAT, END_SIZE, Edition, End, Standing};
pub use crate::entry::{BLOCK, PAGE, SIZE_MAX};
pub use crate::limbo::Pin;
pub use crate::recover::{Media, RecoverError, format, format_end, recover};
pub use crate::refusal::MapRefusal;
pub use crate::salvage::{Lost, salvage};
pub use crate::slots::Slots;
pub use crate::steps::{Owned, Steps};
pub use crate::table::FORMAT;
