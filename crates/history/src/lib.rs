//! Statistics of storage objects over a day and over a year, from samples of about a second. They
//! are sums and never rates, so that adjacent intervals can be added.
//!
//! ```text
//!   sample ─┬─► History   10 min by 1 s, 24 h by 15 s, in memory; coarser, the oldest first, where memory runs out
//!           └─► Hours     sums by the hour and object, handed out to whoever keeps them
//! ```
//!
//! The crate has no clock: a sample comes with its end and its length. It has no names: objects are
//! numbers.

mod figures;
mod hours;
mod packed;
mod points;
mod slots;

pub use figures::{Figures, Latency, Promise, Totals};
pub use hours::{HOUR, Hours, hour_of};
pub use points::{Point, points};
pub use slots::{History, HistorySettings, Resolution, Slot};
