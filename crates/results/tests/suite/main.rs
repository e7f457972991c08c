//! All integration tests of the crate, one module for each subject, in one program so that they are
//! linked only once.

#[path = "../support/busy.rs"]
mod busy;
mod database;
mod documentation;
mod earlier;
mod growth;
mod host;
mod import;
mod published;
mod seen;
mod views;
