//! The integration tests of the crate, one module for each subject, in one program: separate
//! programs would each have to be linked.

mod lines;
mod published;
mod published_shows;
