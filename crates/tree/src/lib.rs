//! The files that clients make on a volume: names, what is known of each, and where its data is, in
//! a tree of the maps of its own. Pure: it says what is to be written and is told how it ended;
//! time is an argument.
//!
//! ```text
//!   make, remove, rename, set, write ──► FileTree ──► commands: write · zero · flush ──► the volume's tree
//!   look up, list, read             ──►  │  ▲                                          in the maps
//!                                        │  └─ recover: newest image, then records
//!                                        ├ state      all nodes, in memory; the same code plays a change and a record
//!                                        ├ journal    one record at a time; many changes share one
//!                                        ├ image      everything, written beside later records
//!                                        ├ space      which pages come next
//!                                        ├ clearing   pages that came free, until they are given out again
//!                                        ├ realm      folders at the top whose contents stay apart
//!                                        ├ followed   files that somebody follows: what each is called now
//!                                        ├ permission who may do what; whoever asks for a change is judged before
//!                                        └ check      whether all of it fits together
//! ```
//! What holds at every moment, whatever is lost:
//! - a change is there whole or not at all, and with it all before it;
//! - what [`FileTree::durable`] names is there after a power loss;
//! - no file ever shows what another had: pages are given out again when it is durable that they
//!   are clear;
//! - names are bytes, and cookies of folders belong to one entry for good.
//!
//! What a write that nobody was told to be durable left behind the end of its own file, within the
//! last page, may be seen when the file becomes longer after a power loss.

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
