//! Runs of other files are imported once; a file of another kind is refused and leaves no trace.

use results::{Error, Filter, Imported, Results};
use stats::run::Run;
use std::path::Path;

fn run(title: &str, started_unix_ms: u64) -> Run {
    let mut run = Run::default();
    (run.identity.title, run.identity.started_unix_ms) = (title.into(), started_unix_ms);
    run
}

fn files(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

#[test]
fn runs_of_another_file_are_taken_in_once() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    let mut other = Results::open(&there).unwrap();
    for run in [run("a", 1), run("b", 2)] {
        other.save(&run).unwrap();
    }
    drop(other);
    let before = std::fs::read(&there).unwrap();
    let mut results = Results::open(&here).unwrap();
    results.save(&run("mine", 3)).unwrap();
    assert_eq!(results.import(&there).unwrap(), Imported { added: vec![(1, 2), (2, 3)], known: 0 });
    assert_eq!(results.import(&there).unwrap(), Imported { added: Vec::new(), known: 2 });
    assert_eq!(results.load(3).unwrap(), run("b", 2));
    drop(results);
    assert_eq!((files(dir.path()), std::fs::read(&there).unwrap()), (vec!["here".into(), "there".into()], before));
}

#[test]
fn what_is_no_file_of_results_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut results = Results::open(&at("here")).unwrap();
    std::fs::write(at("words"), "{\"jobs\": []} ".repeat(500)).unwrap();
    rusqlite::Connection::open(at("cats")).unwrap().execute_batch("CREATE TABLE cats (name)").unwrap();
    assert!(matches!(results.import(&at("none")), Err(Error::NoFile { .. })));
    assert!(matches!(results.import(&at("words")), Err(Error::NotResults { .. })));
    assert!(matches!(results.import(&at("cats")), Err(Error::NotResults { .. })));
    assert_eq!(results.list(&Filter::default()).unwrap(), []);
    drop(results);
    assert_eq!(files(dir.path()), ["cats", "here", "words"]);
}
