//! A ramp on this machine's files or on a simulated device: opens it, runs the machine, and keeps
//! the results.

mod buffers;
mod journal;
mod outputs;
mod routes;
mod simulated;
mod sites;
mod standing;
mod storage;

pub use buffers::Header;
pub use outputs::{Outputs, must_be_a_folder};
pub use simulated::SimulatedStorage;
pub use standing::{Standing, ask_to_stop, must_be_free, said};
pub use storage::{OpenedStorage, Wanted};

use anyhow::Result;
use block::{Bytes, ObjectId, OpKind};
use ramp::{Progress, RampLoad, RampSettings, RunOutcome, RunSetup};
use std::path::Path;

/// The storage of a ramp.
pub trait Storage {
    /// The names of the places with its data.
    fn names(&self) -> String;

    /// The first directory, for the facts of the machine; `None` if there is none.
    fn folder(&self) -> Option<&Path>;

    /// Size of all data.
    fn size(&self) -> Bytes;

    /// The name of a request's object.
    fn name_of(&self, object: ObjectId) -> String;

    /// Whether its time is virtual.
    fn is_simulated(&self) -> bool;

    /// Notes for readers of the figures.
    fn notes(&self) -> Vec<String>;

    /// Plays one run; `watch` gets the progress and ends the run by returning false. Returns the
    /// outcome and the I/O backend.
    ///
    /// # Errors
    /// The storage cannot be opened, or cannot take the load.
    fn play(
        &mut self,
        settings: &RampSettings,
        load: &RampLoad,
        setup: &RunSetup,
        run: u64,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(RunOutcome, String)>;
}

/// The failure of the storage that ended a run early, if there was one.
pub fn failed(outcome: &RunOutcome, storage: &dyn Storage) -> Option<String> {
    outcome.failure.as_ref().map(|failure| {
        let doing = match failure.kind {
            OpKind::Read => "a read of",
            OpKind::Write => "a write to",
            _ => "a flush of",
        };
        format!(
            "{doing} {} failed {:.1} s after its start: {}",
            storage.name_of(failure.object),
            failure.at.as_secs_f64(),
            failure.why.as_deref().unwrap_or_else(|| crate::dataset::words(failure.fault))
        )
    })
}
