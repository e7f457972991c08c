//! `seawall results import`: runs of other machines and programs.

use super::file;
use crate::memory::Memory;
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use results::{Imported, Results as Database};
use stats::run::Run;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Import the runs of another results database, of fio, or of a ramp's table
///
/// A results database of another machine or an earlier time, fio's own output (--output-format=json
/// or json+), or the summary.csv of a ramp, or a short table of one as it is printed (run,
/// read_iops, write_iops, total_iops, longest_write_cycle_s, effective_write_latency_ms,
/// randread_average_ms). Runs that exist here already are skipped; the other file is not changed.
#[derive(clap::Args)]
pub struct Import {
    /// The other files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Maximum size of a text: fio's longest JSON, of 4096 jobs with all of their bins, is half as
/// large.
const TEXT_MOST: u64 = 1 << 30;

/// How a SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The message for a file of any other format.
const UNKNOWN: &str = "is no results database, no JSON of fio's and no table of a ramp";

impl Import {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let mut database = Database::open(&file(memory)?)?;
        for file in &self.files {
            let imported = match text_of(file)? {
                Some(text) => database.take_in(&[run_of(file, &text, memory)?])?,
                None => database.import(file)?,
            };
            say(file, &imported);
        }
        Ok(Answer::Yes)
    }
}

fn say(file: &Path, Imported { added, known }: &Imported) {
    for (there, here) in added {
        terminal::line(&format!("run {there} of {} is run {here} here", file.display()));
    }
    if *known > 0 {
        let were = if *known == 1 { "run of {} was" } else { "runs of {} were" };
        terminal::line(&format!("{known} {} here already", were.replace("{}", &file.display().to_string())));
    }
}

/// The text of a file; `None` for a database, and for a missing file, which is reported when it is
/// opened as a database.
fn text_of(path: &Path) -> Result<Option<String>> {
    let within = || path.display().to_string();
    if path.is_dir() {
        bail!("{}: is a folder; name a file", path.display());
    }
    if !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(TEXT_MOST + 1).read_to_end(&mut bytes)).with_context(within)?;
    if bytes.starts_with(SQLITE) {
        return Ok(None);
    }
    if bytes.len() as u64 > TEXT_MOST {
        bail!("{}: is longer than 1 GiB; neither fio's JSON nor a summary.csv is", path.display());
    }
    let text = String::from_utf8(bytes).ok();
    Ok(Some(text.with_context(|| format!("{}: {UNKNOWN}", path.display()))?))
}

/// The run in a text, with the given labels.
fn run_of(path: &Path, text: &str, memory: &Memory) -> Result<Run> {
    let within = || path.display().to_string();
    let mut run = match text.starts_with(ramp::HEADER) {
        true => ramp::imported(&ramp::read_summary(text).with_context(within)?),
        false if ramp::is_short(text) => {
            let mut run = ramp::read_short(text).with_context(within)?;
            // Tables have no names; the file name distinguishes those printed at the same time.
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            run.identity.title = format!("{name}, {}", run.identity.title);
            run
        }
        false if !text.lines().any(|line| line.starts_with('{')) => bail!("{}: {UNKNOWN}", path.display()),
        false => fio::read_json(text).with_context(within)?,
    };
    for note in &run.notes {
        terminal::complain(&format!("{}: {note}", path.display()));
    }
    if run.identity.started_unix_ms == 0 {
        // The table has no date.
        let written = path.metadata().and_then(|about| about.modified()).ok();
        let since = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        run.identity.started_unix_ms = since.map_or(0, |since| since.as_millis() as u64);
        run.notes.push("its start is when the file that it was imported from was written".into());
        terminal::complain(&format!(
            "{}: nothing in it says when that was; its run starts when the file was written",
            path.display()
        ));
    }
    run.notes.push(format!("imported from {}", path.display()));
    memory.mark(&mut run);
    Ok(run)
}
