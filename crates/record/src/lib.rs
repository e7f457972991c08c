//! What is kept of a run and how people see it: the results database, the figures as CSV, the table at the end of a
//! run, the HTML page, the picture, and the live view while it runs.
//!
//! ```text
//!                    ┌─► database   one SQLite file with every run, whole
//!                    ├─► csv        a row for every second and workload
//!   Recording ───────┼─► table      80 columns for the terminal
//!                    ├─► page       one self-contained HTML file
//!                    └─► picture    the IOPS over time as SVG
//!   LiveState ─────────► live       a frame for the terminal, or plain lines
//! ```
//!
//! Only [`database`] touches a file; everything else turns data into text. Nothing here reads a clock.

mod chart;
pub mod csv;
pub mod database;
mod figures;
mod floor;
mod held_by;
pub mod live;
pub mod page;
mod paint;
mod palette;
pub mod picture;
mod relation;
mod standing;
mod strip;
pub mod table;
pub mod text;

pub use database::{Error, Results, RunLine};
pub use paint::Paint;
pub use relation::{held_back, in_force};
pub use standing::Standing;
