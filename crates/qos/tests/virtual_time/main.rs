//! The gate in virtual time around a small device: what it promises, checked at every 10 ms.

mod accounts;
mod bad_input;
mod bed;
mod ceilings;
mod credit;
mod edits;
mod floors;
mod properties;
mod sharing;
mod stalls;
