//! A test's files, each replaced as a whole, so that readers never see a partial one.

use crate::outputs::{Kind, Output, check_all};
use anyhow::{Context as _, Result};
use orion::{MeasuredPoint, Test};
use report::{Page, text};
use stats::Machine;
use std::fs;
use std::path::Path;

/// The files of a test.
pub struct Outputs {
    stem: String,
    machine: Machine,
}

impl Outputs {
    /// Creates them: what cannot be written is known before anything is measured. The files of an
    /// earlier test with the same name and minute stay, and the names of this one get a number.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(test: &mut Test, machine: Machine) -> Result<Outputs> {
        let is_there = |test: &Test| Path::new(&file(&test.stem(), "summary.txt")).exists();
        while is_there(test) {
            test.earlier += 1;
        }
        check_all(&[Output::of("--page", test.settings.page.as_ref(), Kind::Page)])?;
        let outputs = Outputs { stem: test.stem(), machine };
        outputs.write(test, &[])?;
        Ok(outputs)
    }

    /// Writes them with the points so far, and the page if requested.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, test: &Test, points: &[MeasuredPoint]) -> Result<()> {
        let files = orion::files(test, points);
        files.iter().try_for_each(|(kind, text)| replace(&file(&self.stem, kind), text))?;
        let Some(path) = &test.settings.page else { return Ok(()) };
        let facts = text::facts(test.started_unix_s * 1000, &self.machine);
        let page = Page { facts, ..orion::page(test, points) };
        replace(path, &page.render()).context("--page")
    }

    /// Removes them again if nothing was measured.
    pub fn remove(&self, test: &Test) {
        let files = orion::files(test, &[]).map(|(kind, _)| file(&self.stem, kind));
        for path in files.iter().chain(&test.settings.page) {
            // A file that cannot be removed says that it has no points.
            let _ = fs::remove_file(path);
        }
    }
}

fn file(stem: &str, kind: &str) -> String {
    format!("{stem}_{kind}")
}

fn replace(path: &str, content: &str) -> Result<()> {
    let beside = format!("{path}.new");
    let write = || fs::write(&beside, content).and_then(|()| fs::rename(&beside, Path::new(path)));
    write().with_context(|| path.to_owned())
}
