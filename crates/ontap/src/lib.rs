//! The language of ONTAP's administrators: how values are written, how commands are formed, and how
//! answers are laid out. Text goes in, typed commands come out; plain rows go in, text comes out.
//!
//! ```text
//!   "vol modify -volume vol1 -qos-policy-group none"          [PolicyGroupRow, …]
//!        │ word        split at blanks, mind the quotes             │ show   columns, units, counts
//!        │ grammar     find the command, bind its parameters        ▼
//!        │ value       read every value                         "Name  Vserver  Class …"
//!        ▼ catalogue   the tables: one definition a command
//!   Command::Volume(VolumeCommand::Modify(VolumeModify { … }))
//! ```
//!
//! Nothing here keeps state or knows what a policy does: values are plain numbers with their unit
//! in the name, and whether `svm01` exists is for the caller to check. Facts about the language are
//! from NetApp's ONTAP 9 command reference and REST documentation.

pub mod catalogue;
pub mod grammar;
pub mod show;
pub mod value;
mod word;

pub use catalogue::Command;
pub use grammar::{CommandError, Names, Problem, complete, output_of, parse};
pub use word::{UnclosedQuote, Word};
