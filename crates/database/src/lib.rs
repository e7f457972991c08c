//! Databases under the order-entry load: connections, setup, check and drop, and users who work on them.
//!
//! ```text
//!   a thread a user: User over a Session ──Done──► Desk (the driver's wait) ──► Collector (an actor) ──► Ledger
//! ```
//! What users do is `oltp`'s; here is what touches the world.

mod play;
mod sqlite;

pub use play::{Pace, Plan, Whistle, play};
pub use sqlite::{Connection, Error, Found, Loaded, Sqlite};
