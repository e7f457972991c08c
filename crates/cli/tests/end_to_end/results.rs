//! What a run left in its folder of results.

use results::{Filter, Results};
use stats::Recording;
use std::path::{Path, PathBuf};

/// The one file in `folder` that ends so.
pub fn file(folder: &Path, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = entries.flatten().map(|entry| entry.path());
    let found: Vec<_> = found.by_ref().filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "files that end in {ending}: {found:?}");
    found[0].clone()
}

/// The one run in the database of `folder`: in it, or beside it by its name.
pub fn recording(folder: &Path) -> Recording {
    let within = folder.join("results.sqlite");
    let path = if within.exists() { within } else { folder.with_extension("sqlite") };
    let results = Results::open_existing(&path).expect("the results can be opened");
    let runs = results.list(&Filter::default()).expect("the runs can be listed");
    assert_eq!(runs.len(), 1, "{runs:?}");
    results.load(runs[0].id).expect("the run can be read").recording()
}

/// The names of a run's phases.
pub fn phases(recording: &Recording) -> Vec<&str> {
    recording.phases.iter().map(|phase| phase.name.as_str()).collect()
}
