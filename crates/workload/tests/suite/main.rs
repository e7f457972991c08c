//! All integration tests of the crate, one module for each subject, in one program so that they are
//! linked only once.

mod bundled;
mod documented;
mod job_passes;
mod job_stream;
mod plan;
mod plan_errors;
mod stream;
