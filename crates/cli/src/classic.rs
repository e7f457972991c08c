//! What the front ends of the classic tools share: their targets, and the kernel's counters.

mod aim;
mod counters;

pub use aim::{aim, device_of, on_flash};
pub use counters::Counters;
