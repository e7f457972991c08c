//! The order-entry load of a database: schema, rows, transactions, measurements, and conclusions
//! from them.
//!
//! ```text
//!   Scale, seed ──► Rows ──► a database ◄── User::perform ◄── Weights
//!                                               │
//!                                            Ledger ──► Figures ──► results.xml, lines, table, page; a Run
//! ```
//! All SQL of the load is here. An adapter behind [`Session`] connects, waits and reads the clock.

mod beside;
mod chance;
mod charbench;
mod check;
mod demand;
mod evidence;
mod figures;
mod generate;
mod kept;
mod keys;
mod ledger;
mod limiter;
mod mix;
mod page;
mod procedure;
mod scale;
mod schema;
mod seconds;
mod session;
mod shop;
mod statement;
mod stored;
mod sweep;
mod text;
mod transaction;
mod user;
mod visits;
mod wording;
mod words;
mod xml;

pub use beside::{Beside, BesideArm, Turn, beside_page, beside_run, beside_table, beside_verdicts};
pub use chance::Chance;
pub use charbench::{Charbench, CharbenchError, Columns, StandsFor, THINK_MOST_MS, unfold};
pub use check::{Check, Expected, checks};
pub use demand::{Demand, ShopDemand};
pub use evidence::{ConnectionState, Evidence, ServerCounts, StoredCounts};
pub use figures::{Figures, Line};
pub use generate::{Rows, digest};
pub use kept::{LoadSettings, add_point, load_run, stored_key};
pub use ledger::{Done, Ledger, Second};
pub use limiter::{Limiter, limiter};
pub use mix::{MixError, TransactionMix};
pub use page::{Observed, page, sweep_page};
pub use procedure::{PROCEDURES, create_procedures};
pub use scale::{SchemaScale, Sizes};
pub use schema::{
    Constraints, Dialect, Indexes, SEQUENCES_TABLE, Sequence, Table, constraints, create, create_views, indexes, insert,
};
pub use seconds::seconds_csv;
pub use session::{Counts, Draws, Failure, Mode, Ranges, Row, Session, Think, Value, Waits};
pub use shop::{Shop, Shopping};
pub use stored::Stored;
pub use sweep::{Step, goes_on, knee};
pub use text::summary;
pub use transaction::Transaction;
pub use user::{Performed, User};
pub use visits::{EachTransaction, ShopPages, VisitedPages};
pub use wording::{Unnumbered, in_mariadb};
pub use xml::results_xml;
