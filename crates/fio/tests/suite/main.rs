//! The crate as its users see it: command lines and job files in, jobs and outputs out.

mod against_fio;
mod documents;
mod messages;
mod mutation;
mod outcome;
mod published;
mod reading;
mod snapshots;
