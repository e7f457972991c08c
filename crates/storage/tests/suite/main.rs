//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

mod joined;
mod nbd_losses;
mod nbd_peers;
mod nbd_protocol;
#[cfg(feature = "psk")]
mod nbd_psk;
mod nbd_tls;
#[path = "../support/mod.rs"]
mod support;
