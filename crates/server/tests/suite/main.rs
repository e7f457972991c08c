//! The integration tests of the crate, one module for each subject, in one program: separate
//! programs would each have to be linked.

mod agreement;
mod cached;
mod calls;
mod check;
mod control;
mod crowd;
mod descriptors;
mod documented;
mod events;
mod held;
mod hostile;
mod link;
mod nfs;
mod objects;
mod offline;
mod protocol;
#[cfg(feature = "psk")]
mod psk;
mod secrets;
mod sessions;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod views;
