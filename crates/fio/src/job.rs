//! A job after its sections were joined: one clone with all its options.

use crate::error::Place;
use crate::naming::{self, Namer};
use crate::options::Options;

/// The recording that comes by the standard input.
pub const STANDARD_INPUT: &str = "-";

/// One clone of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, in reports and for those that wait for it.
    pub name: String,
    /// Its section's name, which its files bear: two sections whose names are set alike have files
    /// of their own.
    pub section: String,
    /// Which of the clones of its section, from 0.
    pub number: u32,
    /// Its report group, from 0.
    pub group: u32,
    /// The jobs of a stage start together, when all of the stages before ended; from 0. A stonewall
    /// begins one.
    pub stage: u32,
    /// The seed of all its chance.
    pub seed: u64,
    /// Its options, all of them.
    pub options: Options,
    /// What its own section set, by fio's names, in order; a report repeats it.
    pub given: Vec<(String, String)>,
    /// Where it stands.
    pub place: Place,
}

impl Job {
    /// The recording that it runs again: of several, with colons between, clones take turns.
    pub fn recording(&self) -> Option<String> {
        let names = naming::split(self.options.target.read_iolog.as_deref()?);
        let turn = (self.number as usize).checked_rem(names.len())?;
        names.into_iter().nth(turn)
    }

    /// Where its own recording goes, if it makes one: of clones each has a file.
    pub fn recorded_to(&self) -> Option<String> {
        let given = self.options.target.write_iolog.as_ref()?;
        Some(if self.number == 0 { given.clone() } else { format!("{given}.{}", self.number) })
    }

    /// The paths of its files.
    pub fn paths(&self) -> Vec<String> {
        Namer { target: &self.options.target, section: &self.section, number: self.number }.paths()
    }
}
