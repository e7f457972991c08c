//! The tables of a ramp: rows are added as runs end, so that they remain if a later run fails.

use anyhow::{Context as _, Result, bail};
use ramp::{
    HEADER, RampRow, RunOutcome, SECONDS_HEADER, TimelineSecond, cycles_csv, cycles_header, next_number, seconds_csv,
};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder of outputs.
pub struct Outputs {
    folder: PathBuf,
    /// Number of the first run.
    pub first_run: u64,
}

/// Fails if the folder's place is taken by something else.
pub fn must_be_a_folder(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!("--output: {} is a file; name a folder", folder.display());
    }
    Ok(())
}

impl Outputs {
    /// Creates the folder, and finds the last run of an earlier ramp: numbers continue.
    pub fn open(folder: &str) -> Result<Outputs> {
        let folder = PathBuf::from(folder);
        must_be_a_folder(&folder)?;
        std::fs::create_dir_all(&folder).with_context(|| format!("--output {}", folder.display()))?;
        let summary = folder.join("summary.csv");
        let text = match std::fs::read_to_string(&summary) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| summary.display().to_string()),
        };
        match next_number(&text) {
            Ok(first_run) => Ok(Outputs { folder, first_run }),
            Err(first) => bail!(
                "--output: {} is no summary of seawall ramp (it begins with {first:?}); name another folder",
                summary.display()
            ),
        }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Records facts about the ramp, for later readers of its tables.
    pub fn about(&self, lines: &[String]) -> Result<()> {
        let path = self.folder.join("about.txt");
        std::fs::write(&path, lines.join("\n") + "\n").with_context(|| path.display().to_string())
    }

    /// Adds a run.
    pub fn add(&self, row: &RampRow, outcome: &RunOutcome, period: block::Span) -> Result<()> {
        self.append("summary.csv", HEADER, &row.line())?;
        self.append("cycles.csv", cycles_header(), &cycles_csv(row.run, &outcome.cycles, period, row.comparable))?;
        self.append("seconds.csv", SECONDS_HEADER, &seconds_csv(&TimelineSecond::of(row.run, outcome), row.comparable))
    }

    /// Writes the page of the runs so far.
    pub fn page(&self, page: &str) -> Result<()> {
        let path = self.folder.join("page.html");
        std::fs::write(&path, page).with_context(|| path.display().to_string())
    }

    fn append(&self, name: &str, header: &str, lines: &str) -> Result<()> {
        let path = self.folder.join(name);
        let write = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            if file.metadata()?.len() == 0 {
                file.write_all(header.as_bytes())?;
            }
            file.write_all(lines.as_bytes())
        };
        write().with_context(|| path.display().to_string())
    }
}
