//! What was typed, before it is interpreted: sections with their options in order, from job files
//! and from the command line.

use crate::error::Place;

/// One `option` or `option=value` as typed, with its variables replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option as typed.
    pub option: String,
    /// Its value; `None` if it has none.
    pub value: Option<String>,
    /// Its position.
    pub place: Place,
}

/// A section of a job file, or what follows a `--name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The job's name, or `global`.
    pub name: String,
    /// Whether it sets defaults for the sections after it.
    pub is_global: bool,
    /// Its settings in order, with those of included files in place.
    pub settings: Vec<Setting>,
    /// Its position.
    pub place: Place,
}

impl Section {
    /// The name of its job: the last one that it sets, or else its own.
    pub fn job_name(&self) -> &str {
        let given = self.settings.iter().rev().find(|setting| setting.option == "name");
        given.and_then(|setting| setting.value.as_deref()).unwrap_or(&self.name)
    }
}

/// Sections that share their defaults: one job file, or the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The job file; `None` for the command line.
    pub file: Option<String>,
    /// The sections in order.
    pub sections: Vec<Section>,
}
