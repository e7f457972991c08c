//! The vocabulary that every part of Seawall shares: time, sizes, rates, requests, and the seam
//! [`Target`] that every kind of storage meets.
//!
//! ```text
//!   who makes requests            the seam                    who serves them
//!   ──────────────────            ────────                    ───────────────
//!   engine (a workload)   ──►  Target::submit   ──►  file · NBD export · volume · simulated device
//!   server (an NBD session)    Target::poll     ◄──  or a QoS gate, itself a Target around a Target
//! ```
//!
//! Nothing here reads a clock, starts a thread, opens a file or needs `unsafe`. The caller passes
//! `now`.

mod buf;
mod count;
mod date;
mod drive;
mod rate;
mod request;
mod target;
mod time;

pub use buf::Buf;
pub use count::{count, thousands};
pub use date::{date, moment};
pub use drive::{Actor, Wait, drive};
pub use rate::{Bytes, BytesPerSecond, Iops, ParseBytesError, ParseRateError};
pub use request::{Cause, Completion, Detail, Extent, Fault, LimitKind, ObjectId, Op, OpKind, Request};
pub use target::{Driver, Submitted, Target, Ticket, Traits, Wakeup};
pub use time::{Span, Time};
