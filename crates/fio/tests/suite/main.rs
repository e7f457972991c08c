//! The crate's public interface: command lines and job files as input, jobs and outputs as results.

mod against_fio;
mod documents;
mod messages;
mod mutation;
mod outcome;
mod published;
mod reading;
mod snapshots;
