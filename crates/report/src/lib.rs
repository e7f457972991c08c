//! Presents a run to people: CSV of its figures, the table at its end, the HTML page, the picture,
//! the workbook, and the live view.
//!
//! ```text
//!                    ┌─► csv        a row for every second and workload
//!   Recording ───────┼─► table      80 columns for the terminal
//!                    ├─► picture    the IOPS over time as SVG
//!                    └─► run_page ──┐
//!   a ramp, an advice, a table … ───┴─► Page of Sections ──► one self-contained HTML file
//!   LiveState ─────────► live       a frame for the terminal, or plain lines
//! ```
//!
//! Data goes in and text comes out. Nothing here touches a file or reads a clock; storing runs
//! belongs to `results`.

pub mod chart;
pub mod csv;
pub mod diagram;
mod difference;
pub mod growth;
mod host;
pub mod live;
mod markup;
mod page;
mod paint;
mod palette;
pub mod picture;
mod relation;
mod run;
pub mod section;
mod sheet;
mod standing;
pub mod table;
pub mod text;
mod words;
pub mod workbook;

pub use difference::{DifferenceWords, differences, place_of};
pub use host::host_lines;
pub use page::{Page, Second, Seconds};
pub use paint::Paint;
pub use relation::{held_back, in_force};
pub use run::{host_figures, run_page};
pub use standing::Standing;
pub use words::MEGABYTES;
