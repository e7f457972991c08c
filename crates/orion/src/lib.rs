//! Orion: the calibration of storage for a database known from Oracle: a matrix of small random
//! loads beside large ones, and a summary of the best of each.
//!
//! ```text
//!   words, X.lun ──► Settings ──► Grid (which points) ──► jobs of `workload` for one point after the other ──► engine
//!                                                                                                         │
//!      summary, matrices, histograms, trace, percentiles, page, run  ◄── Measured (one a point) ◄── outcomes ┘
//!                                                                          └──► proofs, a few a point
//! ```
//! A point keeps a number of small and a number of large requests outstanding, and makes a new one
//! whenever one ends. The files are the original's as far as their form is known. In addition, each
//! point proves that it measured what it says. Nothing here touches a file, reads a clock or starts
//! a thread.

mod best;
mod console;
mod grammar;
mod histogram;
mod jobs;
pub mod kept;
mod ladder;
mod luns;
mod matrix;
mod page;
mod percentiles;
mod point;
mod proof;
mod summary;
mod test;
mod trace;

pub use best::{Best, Limits};
pub use console::{VERSION, banner, point_lines};
pub use grammar::{Array, Error, Load, Matrix, OrionCommand, Pattern, RunKind, Settings, help, parse};
pub use jobs::{JobRole, OrionVolume, VolumeKind, check, jobs};
pub use ladder::{Grid, LoadPoint, grid};
pub use luns::{lun_file, luns};
pub use page::page;
pub use point::MeasuredPoint;
pub use proof::{Proof, Question, proofs, verdicts};
pub use summary::{beyond, results};
pub use test::{Test, files};
