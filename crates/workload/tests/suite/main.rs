//! The tests of the crate against the whole, one module for each subject, in one program: a program
//! for each would be linked for each.

mod bundled;
mod documented;
mod job_stream;
mod plan;
mod plan_errors;
mod stream;
