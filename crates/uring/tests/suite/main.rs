//! Tests of the whole crate, one module per subject, in a single program: separate programs would
//! each be linked separately.

#[path = "../backends/mod.rs"]
mod backends;
mod files;
mod histories;
mod sockets;
mod turns;
mod views;
