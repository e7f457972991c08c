//! What happened to storage objects over a day and over a year, from samples of about a second:
//! sums, never rates, so that any two stretches of time add up to one.
//!
//! ```text
//!   sample ─┬─► History   10 min by 1 s, 24 h by 15 s, in memory; coarser, the oldest first, where memory runs out
//!           └─► Hours     sums by the hour and object, handed out to whoever keeps them
//! ```
//!
//! No clock: a sample says from when it is and how long. No names: objects are numbers.

mod figures;
mod hours;
mod packed;
mod points;
mod slots;

pub use figures::{Figures, Latency, Promise, Totals};
pub use hours::{HOUR, Hours, hour_of};
pub use points::{Point, points};
pub use slots::{History, HistorySettings, Resolution, Slot};
