//! Parses fio's command lines and job files, turns them into jobs, and writes fio's outputs from
//! the outcomes of those jobs.
//!
//! ```text
//!  arguments ─► command_line ─┐                                      ┌─► describe   (what will run, in words)
//!                             ├─► script ─► options ─► jobs ─► spec ─┤
//!  job files ─► jobfile ──────┘  (sections) (values)  (clones)       └─► the engine ─► outcome ─► render (fio's outputs)
//! ```
//! Nothing here reads a file, a clock or the environment: a [`World`] is passed in.

pub mod catalogue;
mod command_line;
mod describe;
mod dialect;
mod duration;
mod error;
mod expansion;
mod expression;
pub mod flags;
mod invocation;
mod job;
mod jobfile;
mod naming;
mod notes;
mod number;
pub mod options;
mod percentile;
mod reading;
pub mod render;
mod script;
mod showcmd;
mod spec;
mod state;
pub mod trace;
mod unfold;
mod value;
mod world;

pub use dialect::{Dialect, KbBase};
pub use error::{Error, Place, Problem};
pub use flags::{Action, Eta, Flags, Format};
pub use invocation::Invocation;
pub use job::{Job, STANDARD_INPUT};
pub use percentile::PercentileList;
pub use reading::{ReadingError, read_json};
pub use showcmd::quoted;
pub use unfold::LeftOut;
pub use value::{Rule, Value};
pub use world::{Given, World};
