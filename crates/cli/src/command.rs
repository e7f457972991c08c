//! The commands, one file each: the options, their checks, and the call that carries them out.

pub mod advise;
pub mod arrays;
pub mod calibrate;
pub mod check;
pub mod demo;
pub mod dgen;
pub mod fio;
pub mod install_names;
pub mod levels;
pub mod oltp;
pub mod orion;
pub mod ramp;
pub mod ranread;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod serve;
pub mod shell;
pub mod simulate;
pub mod size;
pub mod spec;
pub mod tiers;
pub mod user;
