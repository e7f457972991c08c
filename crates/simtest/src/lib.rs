//! Whole-system tests of the QoS gate in virtual time: the scheduler that guards real volumes, over
//! simulated devices.
//!
//! ```text
//!   clients ──► Gate (or nothing) ──► Probe ──► simulated device
//!      │          ▲ timed edits         │
//!      └──────────┴── Scene::run ───────┴──► Recording: dispatches as the device saw them, ends as the clients did
//! ```
//! The [`Probe`] is the instrument: it sits on the device and notes what arrives there and when, so
//! a ceiling is judged by the device's own view and not by what the gate reports of itself.
//!
//! A [`Scene`] is plain data with a seed. The same scene gives the same recording, byte for byte.

mod away;
mod client;
mod print;
mod probe;
mod recording;
mod scene;
mod tree;

pub use away::Away;
pub use client::{Client, Load, Mix, Shape};
pub use probe::{Dispatch, Probe};
pub use recording::{Ended, Recording, Track, Windows};
pub use scene::{Scene, Shield};
pub use tree::{Tree, ceiling, floor, latency, throughput};
