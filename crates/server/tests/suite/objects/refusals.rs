//! Changes that are refused: one line says why, and everything in force stays as it was.

use super::{connect, run, server};

/// A pattern attaches to all volumes that it matches, or to none.
#[test]
fn a_pattern_attaches_to_all_it_matches_or_to_none() {
    let mut server = server();
    run(
        &mut server.control,
        &[
            "volume create epic_rhel1_a",
            "volume create epic_rhel1_b",
            "volume create epic_rhel2_a",
            "volume modify -vserver svm01 -volume epic_rhel1_* -qos-adaptive-policy-group performance",
        ],
    );
    let shown = server.control.execute("volume show -fields qos-adaptive-policy-group").unwrap();
    let lines: Vec<_> = shown.lines().filter(|line| line.ends_with("performance")).collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines.iter().all(|line| line.contains("epic_rhel1_")), "{shown}");
    // A shared group with a floor accepts one member, so the second volume of the pattern is
    // refused, and the first with it.
    run(&mut server.control, &["qos policy-group create one -min-throughput 100IOPS"]);
    let error = server.control.execute("volume modify epic_rhel1_* -qos-policy-group one").unwrap_err().to_string();
    assert!(error.contains("epic_rhel1_b") && error.contains("one member at most"), "{error}");
    assert_eq!(server.control.execute("volume show -fields qos-adaptive-policy-group").unwrap(), shown);
}

/// Every way to break a rule from the shell: the answer is one line that names the object, the
/// rule, the value and a remedy, and everything in force stays as it was.
#[test]
fn what_is_refused_is_said_and_changes_nothing() {
    let mut server = server();
    run(
        &mut server.control,
        &[
            "qos policy-group create gold -max-throughput 900IOPS -is-shared false",
            "qos policy-group create floor -min-throughput 100IOPS -is-shared false",
            "volume modify vol2 -qos-policy-group gold",
            "qos adaptive-policy-group create bytb -vserver svm01 -expected-iops 100 -peak-iops 200",
            "vserver create svm02",
            "volume create far -vserver svm02",
        ],
    );
    connect(&server, "/vol/vol2/lun1").write(4 << 20 >> 1, &[1; 4096]).unwrap();
    let before = server.control.limits();
    let refused = [
        (
            "qos policy-group create bad -vserver svm01 -max-throughput 10IOPS -min-throughput 20IOPS",
            &["bad", "floor", "20", "10", "8454194"][..],
        ),
        ("qos policy-group modify gold -min-throughput 1000IOPS", &["gold", "floor", "1000", "900", "8454194"]),
        ("qos policy-group create gold -vserver svm01 -max-throughput 1IOPS", &["gold", "exists", "8454379"]),
        (
            "qos adaptive-policy-group create gold -vserver svm01 -expected-iops 1 -peak-iops 2",
            &["gold", "fixed", "8454277"],
        ),
        (
            "qos adaptive-policy-group create b -vserver svm01 -expected-iops 3 -peak-iops 2",
            &["b", "expected", "3", "2", "8454274"],
        ),
        ("qos adaptive-policy-group create b -vserver svm01 -expected-iops 0 -peak-iops 2", &["b", "zero", "8454273"]),
        ("qos adaptive-policy-group modify value -peak-iops 9999", &["value", "built-in", "8454286"]),
        ("qos adaptive-policy-group delete value", &["value", "built-in", "8454286"]),
        ("qos policy-group delete gold", &["gold", "in use", "8454917"]),
        ("qos policy-group delete bytb", &["bytb", "adaptive", "qos adaptive-policy-group"]),
        ("qos policy-group rename bytb -new-name b", &["bytb", "adaptive", "qos adaptive-policy-group"]),
        ("qos adaptive-policy-group delete floor", &["floor", "fixed", "qos policy-group"]),
        ("qos adaptive-policy-group rename floor -new-name b", &["floor", "fixed", "qos policy-group"]),
        ("qos policy-group modify gold -is-shared true", &["gold", "shared", "8454909"]),
        ("qos policy-group rename gold -new-name floor", &["gold", "another policy group has the name", "8454154"]),
        ("vserver modify svm01 -qos-policy-group floor", &["SVM svm01", "floor", "volumes", "8454911"]),
        ("volume modify far -vserver svm02 -qos-policy-group gold", &["svm02:far", "same SVM", "gold", "8454913"]),
        (
            "lun modify /vol/vol2/lun1 -vserver svm01 -qos-policy-group gold",
            &["/vol/vol2/lun1", "cannot both", "vol2", "8454914"],
        ),
        (
            "volume file modify /dir/disk.img -volume vol2 -vserver svm01 -qos-policy-group gold",
            &["/vol/vol2/dir/disk.img", "cannot both", "8454914"],
        ),
        (
            "volume qtree modify q1 -volume vol2 -vserver svm01 -qos-policy-group value",
            &["qtree", "q1", "adaptive", "8454912"],
        ),
        (
            "volume modify vol2 -vserver svm01 -qos-policy-group value",
            &["vol2", "value is adaptive", "-qos-adaptive-policy-group"],
        ),
        (
            "volume modify vol2 -vserver svm01 -qos-adaptive-policy-group gold",
            &["vol2", "gold is fixed", "-qos-policy-group"],
        ),
        ("volume modify vol2 -vserver svm01 -qos-policy-group nobody", &["nobody", "no such policy group", "8454903"]),
        (
            "vserver modify svm01 -qos-adaptive-policy-group-template gold",
            &["SVM svm01", "template", "gold", "8454915"],
        ),
        ("volume file create /dir -volume vol2 -vserver svm01 -size 1MB", &["dir", "in use", "(code 1)"]),
        ("volume qtree create dir -volume vol2 -vserver svm01", &["dir", "in use", "(code 1)"]),
        ("lun create /vol/vol2/q9/l -vserver svm01 -size 1MB", &["vol2 has no qtree q9", "it has: q1"]),
        (
            "volume file create /big -volume vol2 -vserver svm01 -size 1GB",
            &["vol2", "1.00GB are needed", "volume modify -size"],
        ),
        (
            "lun modify /vol/vol2/lun1 -vserver svm01 -size 1MB",
            &["svm01:/vol/vol2/lun1", "there is data beyond byte 1003520; discard it first"],
        ),
        ("lun create /vol/../../lun -vserver svm01 -size 1MB", &["/vol/../../lun", "is not a name"]),
        ("lun create /vol/vol2/.. -vserver svm01 -size 1MB", &[".."]),
        ("lun create /vol/vol2/a/../../b -vserver svm01 -size 1MB", &["/vol/vol2/a/../../b"]),
        ("lun create ../lun -vserver svm01 -size 1MB", &["../lun"]),
        ("volume file create /dir/../../disk -volume vol2 -vserver svm01 -size 1MB", &["dir/../../disk"]),
        ("volume file create ../disk -volume vol2 -vserver svm01 -size 1MB", &["../disk"]),
        ("volume create ../v -vserver svm01 -size 1MB", &["../v"]),
        ("vserver create ../../s", &["../../s"]),
        (
            "qos settings throughput-floors-v2 -enable false",
            &["throughput-floors-v2", "always kept", "-min-throughput none"],
        ),
        ("qos statistics performance show -node x", &["no node x", "seawall"]),
        ("volume qtree delete q9 -volume vol2 -vserver svm01", &["q9", "q1"]),
        ("volume file delete /nothing -volume vol2 -vserver svm01", &["/nothing", "volume file show"]),
    ];
    for (line, words) in refused {
        let error = server.control.execute(line).expect_err(line).to_string();
        assert!(!error.contains('\n'), "{line}: {error}");
        for word in words {
            assert!(error.contains(word), "{line}: {error:?} should name {word:?}");
        }
        assert_eq!(server.control.limits(), before, "{line}");
    }
    run(&mut server.control, &["qos settings throughput-floors-v2 -enable true"]);
}
