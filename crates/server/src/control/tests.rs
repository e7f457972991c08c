//! What cannot be stored has no effect: a command whose rows the catalogue refuses leaves
//! everything as it was, and one that fails later is in force.

use super::*;
use crate::limits::ServerLimits;
use crate::listen::Listen;
use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::Connection;
use std::path::Path;
use std::process::Command;
use store::Contents;
use tempfile::TempDir;
use uring::IoSettings;

const REASON: &str = "refused by the test";

fn opened(dir: &Path) -> Control {
    let limits = ServerLimits { memory: Bytes::mib(16), ..ServerLimits::default() };
    let settings = IoSettings { slab: limits.memory, ..IoSettings::default() };
    let shard = Shard::start(&[Listen::Unix(dir.join("nbd"))], limits, settings).unwrap();
    Control::open(Pool::open(&dir.join("pool")).unwrap(), shard, RegistrySettings::default()).unwrap()
}

/// A served pool with a LUN, a file, a snapshot and a policy.
fn served() -> (TempDir, Control) {
    let dir = tempfile::tempdir().unwrap();
    let pool = dir.path().join("pool");
    std::fs::create_dir(&pool).unwrap();
    // Through the page cache, so that it runs on any file system.
    std::fs::write(pool.join("seawall.toml"), "cache = \"page\"\n").unwrap();
    drop(Pool::create(&pool).unwrap());
    let mut control = opened(dir.path());
    for line in [
        "vserver create s",
        "volume create v -size 64MiB",
        "lun create /vol/v/a -size 1MiB",
        "volume file create /f -volume v -size 1MiB",
        "volume snapshot create v -snapshot one",
        "qos policy-group create p -max-throughput 900iops",
    ] {
        control.execute(line).unwrap();
    }
    (dir, control)
}

/// Makes the catalogue refuse every change, or accept them again.
fn refuse(dir: &Path, refuse: bool) {
    let sql = match refuse {
        true => format!("CREATE TRIGGER refuse BEFORE UPDATE ON pool BEGIN SELECT RAISE(ABORT, '{REASON}'); END"),
        false => "DROP TRIGGER refuse".into(),
    };
    Connection::open(dir.join("pool/catalogue.db")).unwrap().execute_batch(&sql).unwrap();
}

/// All that the server knows of its objects: the administration, the catalogue's rows, and the
/// bytes that each tree of the maps uses.
fn state(control: &Control) -> (String, Contents, Vec<u64>) {
    let leaves = control.administration.registry.objects().filter(|object| object.kind().is_leaf());
    let used = control.shard.used(leaves.map(qos::Object::id).collect()).unwrap();
    (format!("{:?}", control.administration), control.pool.contents().clone(), used)
}

fn line() -> impl Strategy<Value = String> {
    let lun = || select(vec!["a", "b", "c"]);
    let size = || select(vec!["1MiB", "2MiB", "3MiB"]);
    prop_oneof![
        (lun(), size()).prop_map(|(lun, size)| format!("lun create /vol/v/{lun} -size {size} -qos-policy-group p")),
        (lun(), size()).prop_map(|(lun, size)| format!("lun modify /vol/v/{lun} -size {size}")),
        (lun(), lun()).prop_map(|(lun, to)| format!("lun move-in-volume /vol/v/{lun} -new-path /vol/v/{to}")),
        lun().prop_map(|lun| format!("lun delete /vol/v/{lun}")),
        select(vec!["lun offline /vol/v/*", "lun online /vol/v/*"]).prop_map(str::to_owned),
        Just("volume snapshot create v -snapshot two".to_owned()),
        Just("volume snapshot restore v -snapshot one".to_owned()),
        Just("volume snapshot delete v -snapshot two".to_owned()),
        Just("volume clone create w -parent-volume v".to_owned()),
        select(vec!["volume rename v -newname u", "volume rename u -newname v"]).prop_map(str::to_owned),
        (1..9u32).prop_map(|iops| format!("qos policy-group modify p -max-throughput {iops}iops")),
        any::<bool>().prop_map(|fair| format!("qos fairness modify {fair}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_the_catalogue_refuses_changes_nothing(lines in prop::collection::vec((line(), any::<bool>()), 1..30)) {
        let (dir, mut control) = served();
        for (line, is_refused) in &lines {
            if !is_refused {
                let _ = control.execute(line);
                continue;
            }
            let before = state(&control);
            refuse(dir.path(), true);
            let answer = control.execute(line);
            refuse(dir.path(), false);
            prop_assert_eq!(&state(&control), &before, "{}: {:?}", line, answer);
        }
        // Nothing that was undone remains in the pool.
        let before = state(&control);
        drop(control);
        prop_assert_eq!(store::check(&dir.path().join("pool")).unwrap().troubles.len(), 0);
        let control = opened(dir.path());
        let after = state(&control);
        prop_assert_eq!((&after.1, &after.2), (&before.1, &before.2));
    }
}

/// The commands above do reach the catalogue, and its reason is reported.
#[test]
fn a_refusal_of_the_catalogue_is_told() {
    let (dir, mut control) = served();
    refuse(dir.path(), true);
    for line in [
        "lun create /vol/v/b -size 1MiB",
        "lun modify /vol/v/a -size 2MiB",
        "lun delete /vol/v/a",
        "lun offline /vol/v/a",
        "volume snapshot create v -snapshot two",
        "volume snapshot restore v -snapshot one",
        "volume snapshot delete v -snapshot one",
        "volume clone create w -parent-volume v",
        "volume rename v -newname u",
        "qos policy-group modify p -max-throughput 1iops",
        "qos fairness modify true",
    ] {
        let before = state(&control);
        let told = control.execute(line).unwrap_err();
        assert!(!matches!(told, ControlError::Afterwards(_)) && told.to_string().contains(REASON), "{line}: {told}");
        assert_eq!(state(&control), before, "{line}");
    }
    refuse(dir.path(), false);
    control.execute("lun delete /vol/v/a").unwrap();
}

/// The trail is on a full disk: the change was made before, is in force, and stays so over a
/// restart.
#[test]
fn what_fails_afterwards_is_in_force() {
    let (dir, mut control) = served();
    control.keep_trail(Audit::open(Path::new("/dev/full")).unwrap());
    let refused = control.execute("lun delete /vol/v/nothing").unwrap_err().to_string();
    assert!(refused.contains("; and that it was refused is not in the audit trail: /dev/full: "), "{refused}");
    assert!(control.events().list().iter().any(|event| event.name == "audit.write.failed"));
    for line in
        ["qos policy-group modify p -max-throughput 5iops", "lun create /vol/v/b -size 1MiB -qos-policy-group p"]
    {
        let told = control.execute(line).unwrap_err();
        assert!(matches!(told, ControlError::Afterwards(_)), "{told}");
        assert!(told.to_string().starts_with("done, but not all that follows from it: /dev/full: "), "{told}");
    }
    // The group is shared, and reports its limits once it has a member: the LUN.
    let in_force = |control: &Control| {
        let limits = control.limits().into_iter().find(|(name, _)| name == "p");
        limits.and_then(|(_, limits)| limits.ceiling_iops)
    };
    assert_eq!(in_force(&control), Some(5));
    drop(control);
    assert_eq!(in_force(&opened(dir.path())), Some(5));
}

/// Set in the process whose files the system lets no longer grow.
const UNWRITABLE: &str = "SEAWALL_UNWRITABLE";

/// The log cannot be written once: from then on the pool takes no change, whichever it is and
/// although the disk works again, and what it has stays as it was. Every write of the process has
/// to fail for that, so the test runs itself again.
#[test]
fn after_a_failed_flush_no_command_changes_anything() {
    if std::env::var_os(UNWRITABLE).is_some() {
        return in_a_process_of_its_own();
    }
    if Command::new("prlimit").output().is_err() {
        return eprintln!("skipped: there is no prlimit");
    }
    // A write beyond the limit then fails, and does not end the process.
    let script = "trap '' XFSZ && exec \"$0\" --exact --nocapture \
                  control::tests::after_a_failed_flush_no_command_changes_anything";
    let me = std::env::current_exe().unwrap();
    let output = Command::new("sh").args(["-c", script]).arg(me).env(UNWRITABLE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

fn in_a_process_of_its_own() {
    let (_dir, mut control) = served();
    let limit_files = |to: &str| {
        let of = format!("--pid={}", std::process::id());
        assert!(Command::new("prlimit").args([of, format!("--fsize={to}:")]).status().unwrap().success());
    };
    control.execute("lun show").unwrap();
    limit_files("1");
    control.change(ObjectId(1 << 20), What::Create { size: 4096 }).unwrap_err();
    limit_files("unlimited");
    let before = state(&control);
    for line in [
        "lun create /vol/v/b -size 1MiB",
        "lun delete /vol/v/a -force",
        "lun offline /vol/v/a",
        "volume rename v -newname u",
        "volume snapshot delete v -snapshot one",
        "qos policy-group modify p -max-throughput 1iops",
    ] {
        let told = control.execute(line).unwrap_err();
        assert!(!matches!(told, ControlError::Afterwards(_)), "{line}: {told}");
        assert!(told.to_string().contains("takes no change until it is opened again"), "{line}: {told}");
        assert_eq!(state(&control), before, "{line}");
    }
    control.execute("lun show").unwrap();
    control.execute("qos policy-group modify p -max-throughput 900iops").unwrap();
}
