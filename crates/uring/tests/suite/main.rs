//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

#[path = "../backends/mod.rs"]
mod backends;
mod files;
mod histories;
mod sockets;
mod turns;
mod views;
