//! The storage server: NBD and NFS sessions, the QoS gate and the store on one thread, and the
//! control that changes them.
//!
//! ```text
//!   shard thread (one a pool)                               control (any thread)
//!   ─────────────────────────                               ────────────────────
//!   listener ─► Session ─► Gate ─► Volumes ─► ring          Control: registry, catalogue, commands
//!                  ▲         │                                  │
//!                  └─────────┘ completions          ◄── Order ──┘  (a queue and a wake-up, no lock)
//! ```
//!
//! A change is checked by the administration, made durable in the catalogue, and only then sent to
//! the shard as an order.

mod access;
mod account;
mod audit;
mod budget;
mod certificate;
mod claims;
mod config;
mod control;
mod dates;
mod events;
mod exports;
mod folders;
mod front;
mod housekeeping;
mod limits;
mod link_meter;
mod listen;
mod logins;
mod measuring;
mod memory;
mod monitor;
mod mounts;
mod noticed;
mod order;
mod own_certificate;
mod owner;
mod persist;
mod portmap;
mod repeats;
mod replies;
mod session;
mod settings;
mod shard;
mod socket;
mod starting;
mod tls;
mod volume_files;
mod waiting;

pub use access::{Access, AccessRule, NOBODY, Network, NetworkError, Pattern, Squash, Squashed};
pub use account::{AccountRow, Accounts, HeldAt, floor_outcome, held_by};
pub use audit::{Actor, Audit, AuditError};
pub use budget::MemoryBudget;
pub use config::{ConfigError, LogFormat, LogLevel, LogSettings, RestConfig, ServeConfig};
pub use control::{Control, ControlError};
pub use events::{EVENTS_FILE, Events};
pub use front::Front;
pub use housekeeping::{Housekeeping, HousekeepingSettings};
pub use limits::{LimitsError, ServerLimits};
pub use link_meter::{LinkMeter, LinkSettings};
pub use listen::{Listen, ListenError};
pub use logins::LoginStore;
pub use memory::MemorySigns;
pub use monitor::Monitor;
pub use nbd::TlsMode;
pub use owner::cache_seen;
pub use persist::check_catalogue;
pub use portmap::Portmap;
pub use settings::{check_settings, registry_settings};
pub use shard::{Account, Shard, ShardGone, io_settings, trace_of};
pub use socket::{ControlClient, ControlSocket};
pub use starting::{Latency, StartError};
pub use tls::{Tls, TlsError, TlsFiles, TlsSource};
