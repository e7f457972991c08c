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

/// The database of `folder`: in it, or beside it by its name.
fn database(folder: &Path) -> PathBuf {
    let within = folder.join("results.sqlite");
    if within.exists() { within } else { folder.with_extension("sqlite") }
}

/// How many phases the one run in the database of `folder` has so far.
pub fn phases_so_far(folder: &Path) -> usize {
    let Ok(results) = Results::open_existing(&database(folder)) else { return 0 };
    let runs = results.list(&Filter::default()).expect("the runs can be listed");
    runs.first().map_or(0, |run| results.load(run.id).expect("the run can be read").recording().phases.len())
}

/// The one run in the database of `folder`.
pub fn recording(folder: &Path) -> Recording {
    let results = Results::open_existing(&database(folder)).expect("the results can be opened");
    let runs = results.list(&Filter::default()).expect("the runs can be listed");
    assert_eq!(runs.len(), 1, "{runs:?}");
    results.load(runs[0].id).expect("the run can be read").recording()
}

/// The names of a run's phases.
pub fn phases(recording: &Recording) -> Vec<&str> {
    recording.phases.iter().map(|phase| phase.name.as_str()).collect()
}
