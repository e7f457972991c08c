//! A ramp on this machine's files: opening them, running the machine, keeping what it leaves.

pub mod barrier;
mod buffers;
mod journal;
mod outputs;
mod recording;
mod routes;
mod sites;
mod standing;
mod storage;

pub use buffers::Header;
pub use outputs::{Outputs, must_be_a_folder};
pub use recording::recording;
pub use standing::{Standing, ask_to_stop, must_be_free, said};
pub use storage::Storage;
