//! The files that clients make on a volume: names, attributes, and where their data is. They are
//! stored in a tree of the maps of their own. Pure: it says what to write, and is told how that
//! ended; time is an argument.
//!
//! ```text
//!   make, remove, rename, set, write ──► FileTree ──► commands: write · zero · flush ──► the volume's tree
//!   look up, list, read             ──►  │  ▲                                          in the maps
//!                                        │  └─ recover: newest image, then records
//!                                        ├ state      all nodes, in memory; the same code applies a change and a record
//!                                        ├ journal    one record at a time; many changes share one
//!                                        ├ later      what proves that a record is lost
//!                                        ├ image      everything, written beside later records
//!                                        ├ space      which pages are allocated next
//!                                        ├ clearing   freed pages, until they may be reused
//!                                        ├ realm      top-level folders whose contents stay apart
//!                                        ├ followed   files whose present names the owner asks for
//!                                        ├ permission who may do what; the caller checks it before a change
//!                                        └ check      the consistency check
//! ```
//! What holds at every moment, whatever is lost:
//! - a change is there as a whole or not at all, and with it all changes before it;
//! - what [`FileTree::durable`] names survives a power failure;
//! - no file ever shows another file's data: pages are reused only when it is durable that they are
//!   clear;
//! - names are bytes, and a cookie of a folder is never reused for another entry.
//!
//! One exception concerns a file's own data. A write that was never reported as durable may have
//! put bytes beyond the file's end, within its last page. They may appear if the file is extended
//! after a power failure.

mod changes;
mod check;
mod clearing;
mod data;
mod extents;
mod file_tree;
mod followed;
pub mod fuzz;
mod image;
mod item;
mod journal;
mod later;
pub mod limits;
mod look;
mod node;
pub mod permission;
mod realm;
mod record;
mod recover;
mod refusal;
mod runs;
mod space;
mod state;
mod tails;
mod tickets;

pub use changes::{NewNode, SetDone, SetNode};
pub use check::TreeFault;
pub use data::FilePiece;
pub use file_tree::{FileTree, TreeCommand};
pub use followed::{Follow, Followed};
pub use look::EntrySeen;
pub use node::{NodeId, NodeInfo, NodeKind};
pub use permission::{Ownership, Who};
pub use recover::{TreeError, TreeMedia};
pub use refusal::TreeRefusal;
pub use tails::TailEnded;
