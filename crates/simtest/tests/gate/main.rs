//! The QoS gate over every device model in virtual time. What administrators are promised is
//! measured on the device: ceilings that no sliding second exceeds, credit to the operation, equal
//! shares, floors that hold on storage of unknown speed, and the same trace for the same seed.

mod bounded;
mod bursts;
mod cases;
mod ceilings;
mod corrections;
mod credits;
mod criterion;
mod devices;
mod edits;
mod floors;
mod late_floors;
mod latency;
mod neighbours;
mod properties;
mod reported;
mod seeds;
mod shared;
mod soft;
mod trials;
