//! A ramp on this machine's files or a simulated device: opening it, running the machine, keeping
//! what it leaves.

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

/// What a ramp works on.
pub trait Storage {
    /// What its data lies on, by name.
    fn names(&self) -> String;

    /// The first directory, for what the machine's storage is; `None` where there is none.
    fn folder(&self) -> Option<&Path>;

    /// All of its data.
    fn size(&self) -> Bytes;

    /// What a request's object stands for.
    fn name_of(&self, object: ObjectId) -> String;

    /// Whether its time is a virtual one.
    fn is_simulated(&self) -> bool;

    /// What a reader of the figures must know of it.
    fn notes(&self) -> Vec<String>;

    /// Plays one run; `watch` is shown how it stands and ends it by returning false. What it left,
    /// and what I/O ran on.
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

/// What ended a run early, where it was its storage.
pub fn failed(outcome: &RunOutcome, storage: &dyn Storage) -> Option<String> {
    outcome.failure.map(|failure| {
        let doing = match failure.kind {
            OpKind::Read => "a read of",
            OpKind::Write => "a write to",
            _ => "a flush of",
        };
        format!(
            "{doing} {} failed {:.1} s after its start: {}",
            storage.name_of(failure.object),
            failure.at.as_secs_f64(),
            crate::dataset::words(failure.fault)
        )
    })
}
