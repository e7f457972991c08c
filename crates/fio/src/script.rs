//! What was typed, before it means anything: sections with their options in order, from job files
//! and command line alike.

use crate::error::Place;

/// One `option` or `option=value`, as typed but with its variables expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option as typed.
    pub option: String,
    /// Its value; `None` where it stands alone.
    pub value: Option<String>,
    /// Where it stands.
    pub place: Place,
}

/// A section of a job file, or what stands behind a `--name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The job's name, or `global`.
    pub name: String,
    /// Sets defaults for the sections behind it.
    pub is_global: bool,
    /// What it sets, in order, included files in their place.
    pub settings: Vec<Setting>,
    /// Where it begins.
    pub place: Place,
}

impl Section {
    /// The name of its job: the one it sets last, or else its own.
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
    /// In order.
    pub sections: Vec<Section>,
}
