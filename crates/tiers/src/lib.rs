//! Storage tiers in one table: the fourteen columns in which a published comparison ranks storage
//! by what a database gets out of it.
//!
//! ```text
//!   list (TOML) ──► rows: words, given or measured ────┐
//!   runs that were kept, files of other tools ─────────┼──► Table ──► text, CSV, page, workbook
//!                                                      └──► what is impossible, what the columns say, differences
//! ```
//! A figure is never estimated: what no run and no file provides is N/A. Several runs of a tier are
//! repeats: the table shows their median and spread.
//!
//! The columns, their meaning and their sources are described by [`Column::about`].

pub mod column;
mod difference;
mod import;
mod lint;
mod list;
mod page;
mod reading;
mod runs;
mod table;
mod text;
mod workbook;

pub use column::{Column, TierFigure, TierWord};
pub use difference::{Against, differences};
pub use import::{ImportError, import};
pub use lint::{Impossible, impossible};
pub use list::{List, ListError, Load, Tier};
pub use page::page;
pub use reading::{Limiter, limiter, readings};
pub use runs::TierRun;
pub use table::{Limit, Sample, TierRow, TierTable, Told};
pub use text::{csv, text};
pub use workbook::workbook;
