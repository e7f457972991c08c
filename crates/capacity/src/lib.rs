//! What load arrays can carry: hosts on an array phase by phase, published tables beside simulated
//! ones, what a file system may do according to its documentation, and which array carries a load.
//!
//! ```text
//!   array ──► HostsOn: what each host gets in each phase ──► ramp::phases ──► rows
//!   published cells ──► Comparison ◄── rows                      error, fitted or predicted, targets
//! ```
//! A published cell never reaches a simulation. Fitted figures are in the files of arrays, and a
//! test fits them again from the rows that they name.

mod buffers;
mod calibration;
mod comparison;
mod fsx;
mod genio;
mod hosts_on;
mod order_entry;
mod published;
mod shop_calibration;
mod shop_run;
mod size;
mod tier_table;
mod workshop;

pub use buffers::Buffered;
pub use calibration::{
    CALIBRATION_POINTS_MIN, Calibrated, CalibrationLane, CalibrationPoint, CalibrationShape, LeftOut, calibrate,
    calibration_apart, calibration_points,
};
pub use comparison::{Basis, Column, Comparison, Curve, Drawn, Fitted, Given, Line, Row, Target};
pub use fsx::{Deployment, FLOWS, FileSystem, Governed, PhaseDone, Resource, Used, compare, phases, seconds};
pub use genio::{Fit, PairRow, Ramps, Trial, a_pair, adaptive_qos, fit, held_out, nearest_step, setups};
pub use hosts_on::{HostLoad, HostsOn};
pub use order_entry::{Carried, carried, fit_two, play_shop};
pub use published::{Cells, PublishedError};
pub use shop_calibration::{PlayedShop, ShopCalibration, calibrate_shop};
pub use shop_run::{ShopRun, StoredRun};
pub use size::{
    Candidate, Need, Play, Played, Sized as SizedArray, Standing, cheapest, choice, money, played, size, size_page,
    size_text,
};
pub use tier_table::{TIER_MISSING, TIER_SHOP, fit_tiers, suspects, tier_table};
pub use workshop::{WalkStep, WalkSteps, walk_through, workshop};

/// The median; 0 if there are no figures.
fn median(figures: &[f64]) -> f64 {
    stats::Median::of(figures).map_or(0.0, |median| median.value)
}
