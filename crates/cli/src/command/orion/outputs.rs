//! A test's files, each written whole in one step, so that whoever reads one meanwhile reads a whole one.

use anyhow::{Context as _, Result};
use orion::{Measured, Test};
use report::{Page, text};
use stats::Machine;
use std::fs;
use std::path::Path;

/// The files of a test.
pub struct Outputs {
    stem: String,
}

impl Outputs {
    /// Begins them: what cannot be written is known before anything is measured.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(test: &Test) -> Result<Outputs> {
        let outputs = Outputs { stem: test.stem() };
        outputs.put(test, &[])?;
        Ok(outputs)
    }

    /// Writes them with the points so far.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&mut self, test: &Test, points: &[Measured]) -> Result<()> {
        self.put(test, points)
    }

    fn put(&self, test: &Test, points: &[Measured]) -> Result<()> {
        let files = orion::files(test, points);
        files.iter().try_for_each(|(kind, text)| replace(&format!("{}_{kind}", self.stem), text))
    }
}

/// Writes the page of a test.
///
/// # Errors
/// It cannot be written.
pub fn page(path: &str, test: &Test, points: &[Measured], machine: &Machine) -> Result<()> {
    let facts = text::facts(test.started_unix_s * 1000, machine);
    let page = Page { facts, ..orion::page(test, points) };
    replace(path, &page.render()).with_context(|| "--page")
}

fn replace(path: &str, content: &str) -> Result<()> {
    let beside = format!("{path}.new");
    let write = || fs::write(&beside, content).and_then(|()| fs::rename(&beside, Path::new(path)));
    write().with_context(|| path.to_owned())
}
