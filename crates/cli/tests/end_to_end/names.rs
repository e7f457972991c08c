//! The names of the classic tools.

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use std::process::Command;

/// Linked by a classic name the program is that tool; what else has such a name is not touched, and
/// nothing is half done.
#[test]
fn linked_by_a_classic_name_it_is_that_tool() {
    let scratch = Scratch::new();
    let nowhere = run(seawall(scratch.path()).args(["install-names", "bin"]));
    assert!(nowhere.code == Some(2) && nowhere.err.contains("bin: is no folder; make it"), "{nowhere:?}");
    let installed = run(seawall(scratch.path()).args(["install-names", "."]));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(installed.out.contains("./RampRun.pl is seawall ramp\n"), "{}", installed.out);
    for (name, arguments, words) in [
        ("fio", &["--version"][..], "fio-3."),
        ("dgen.pl", &["-help"], "Usage"),
        ("RampRun.pl", &["-help"], "miniops"),
        ("orion", &["-help"], "-num_disks"),
        ("orion", &["--version"], "ORION: ORacle IO Numbers -- Version 11.2 (Seawall "),
        ("RampRun", &["--version"], "RampRun (Seawall "),
        ("charbench", &["--version"], "charbench (Seawall "),
    ] {
        let ended = run(Command::new(scratch.join(name)).args(arguments).current_dir(scratch.path()));
        assert!(ended.code == Some(0) && ended.out.contains(words), "{name}: {ended:?}");
    }
    // Again: all are there.
    let again = run(seawall(scratch.path()).args(["install-names", "."]));
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""));
    std::fs::remove_file(scratch.join("dgen.pl")).unwrap();
    std::fs::remove_file(scratch.join("fio")).unwrap();
    std::fs::write(scratch.join("fio"), "mine").unwrap();
    let refused = run(seawall(scratch.path()).args(["install-names", "."]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("./fio: is something else already"), "{}", refused.err);
    assert!(!scratch.join("dgen.pl").exists() && std::fs::read(scratch.join("fio")).unwrap() == b"mine");
}
