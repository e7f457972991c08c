//! A job after its sections were combined: one clone with all its options.

use crate::error::Place;
use crate::naming::{self, Namer};
use crate::options::Options;

/// The name of a recording that comes from the standard input.
pub const STANDARD_INPUT: &str = "-";

/// One clone of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, in reports and for jobs that wait for it.
    pub name: String,
    /// The name of its section, which is part of its files' names: sections that set the same job
    /// name have different files.
    pub section: String,
    /// The number of the clone within its section, from 0.
    pub number: u32,
    /// Its report group, from 0.
    pub group: u32,
    /// Its stage, from 0. The jobs of a stage start together when those of all earlier stages have
    /// ended. A stonewall begins a stage.
    pub stage: u32,
    /// The seed of all its random choices.
    pub seed: u64,
    /// All its options.
    pub options: Options,
    /// The settings of its own section, by fio's names and in order, for the report.
    pub given: Vec<(String, String)>,
    /// Its position in the input.
    pub place: Place,
}

impl Job {
    /// The recording that it replays. If several are given, separated by colons, clones take turns.
    pub fn recording(&self) -> Option<String> {
        let names = naming::split(self.options.target.read_iolog.as_deref()?);
        let turn = (self.number as usize).checked_rem(names.len())?;
        names.into_iter().nth(turn)
    }

    /// The file of its own recording, if it makes one; each clone has its own file.
    pub fn recorded_to(&self) -> Option<String> {
        let given = self.options.target.write_iolog.as_ref()?;
        Some(if self.number == 0 { given.clone() } else { format!("{given}.{}", self.number) })
    }

    /// The paths of its files.
    pub fn paths(&self) -> Vec<String> {
        Namer { target: &self.options.target, section: &self.section, number: self.number }.paths()
    }
}
