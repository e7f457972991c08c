//! Tests of the whole crate, one module per subject, in a single program: separate programs would
//! each be linked separately.

mod client_handshake;
mod fragments;
mod garbage;
mod server_handshake;
#[path = "../support/mod.rs"]
mod support;
mod transmission;
