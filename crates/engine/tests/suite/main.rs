//! All integration tests of the crate, one module for each subject, in one program so that they are
//! linked only once.

mod conductor;
mod jobs;
mod same_load;
mod unanswered;
mod worker;
