//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

mod lines;
mod published;
mod published_shows;
