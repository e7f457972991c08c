//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

mod client_handshake;
mod fragments;
mod garbage;
mod server_handshake;
#[path = "../support/mod.rs"]
mod support;
mod transmission;
