//! What the front ends of the classic tools share: what they load, and what the kernel counts
//! meanwhile.

mod aim;
mod counters;

pub use aim::{aim, device_of, on_flash};
pub use counters::Counters;
