//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

mod conductor;
mod jobs;
mod same_load;
mod worker;
