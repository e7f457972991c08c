//! Service levels: what classes of storage promise and cost, and what was delivered, for the bill.
//!
//! ```text
//!   classes (TOML) ──► lines that make an adaptive policy group of each, in each SVM
//!          │
//!   hours of a pool ──► Bill: by SVM and volume what was promised, used, held back, missed ──► text, CSV, page
//! ```
//! Figures come only from recorded hours, and nothing is estimated: an hour in which no server ran
//! is not billed, and the bill says how much of the period was recorded.

mod bill;
mod class;
mod gathered;
mod hours;
mod line;
mod page;
mod policy;
mod text;

pub use bill::{Bill, Billed, Period, sum};
pub use class::{Class, Classes, ClassesError, Space};
pub use gathered::{Gathered, TwiceError};
pub use hours::{HoursError, HoursWriter, Kept, hours};
pub use line::{Hour, Line, Sums};
pub use page::page;
pub use policy::{ClassStep, Existing, steps};
pub use text::{csv, list, table};

/// A TB of rates and prices, in bytes.
pub const TB: u64 = 1_000_000_000_000;
