//! Databases for the order-entry load: connections, setup, check and drop, and users at work.
//!
//! ```text
//!   a thread a user: User over a Session ──Done──► MessageDriver (waits) ──► Collector (an actor) ──► Ledger
//! ```
//! What users do is in `oltp`; this crate has everything that touches the outside world.

mod any;
mod books;
mod cgroup;
mod error;
mod mysql;
mod parallel;
mod play;
mod postgres;
mod private;
mod process;
mod relation;
mod setup;
mod shell;
mod sqlite;
mod url;
mod watch;

pub use any::Database;
pub use books::{Found, OpenRun};
pub use cgroup::MemoryBound;
pub use error::Error;
pub use mysql::{Mysql, MysqlAddress, MysqlError, PrivateMariadb};
pub use play::{Dates, PlayOutcome, PointWatcher, RECONNECT_S, StopSignal, UserPlan, play};
pub use postgres::{Address, Isolation, Postgres, WireError};
pub use private::Private;
pub use process::{identity as process_identity, lives as process_lives, process};
pub use relation::{BLOCK, Looked, Reader, Relation};
pub use setup::{Loaded, Progress};
pub use sqlite::Sqlite;
pub use url::{AddressError, Environment, Scheme};
pub use watch::{ServerSeen, ServerWatch};
