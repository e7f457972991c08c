//! Tests of the whole crate, one module per subject, in a single program: separate programs would
//! each be linked separately.

mod joined;
mod nbd_losses;
mod nbd_peers;
mod nbd_protocol;
#[cfg(feature = "psk")]
mod nbd_psk;
mod nbd_tls;
#[path = "../support/mod.rs"]
mod support;
