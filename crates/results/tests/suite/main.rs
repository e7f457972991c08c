//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

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
