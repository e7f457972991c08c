//! Every refusal of every command, with its details for programs: code, kind, field, value and
//! target.

use std::collections::BTreeSet;

use admin::{AdminError, Administration, CacheMemory, Detail, Obstacle};
use block::{Bytes, ObjectId, Time};
use ontap::Problem;
use qos::RefusalKind::{self, Denied, Exists, Full, InUse, Invalid, Missing, Unsupported};
use qos::{RegistrySettings, Rule};

/// Two SVMs; `s` has a volume with a LUN, a file, a qtree and a snapshot, an empty volume, and
/// policies of both kinds.
const THERE: &[&str] = &[
    "vserver create s",
    "vserver create t",
    "volume create v -vserver s -size 8MiB",
    "volume create empty -vserver s -size 8MiB",
    "volume create w -vserver t -size 8MiB",
    "volume mount v -junction-path /v -vserver s",
    "volume qtree create q -volume v -vserver s",
    "lun create /vol/v/l -vserver s -size 1MiB",
    "lun create /vol/v/q/m -vserver s -size 1MiB",
    "volume file create /f -volume v -vserver s -size 1MiB",
    "volume snapshot create v -vserver s -snapshot one",
    "qos policy-group create f -vserver s -max-throughput 100iops",
    "qos policy-group create own -vserver s -max-throughput 100iops -is-shared false",
    "qos policy-group create floor -vserver s -min-throughput 10iops -is-shared false",
    "qos adaptive-policy-group create a -vserver s -expected-iops 10 -peak-iops 20",
    "volume modify v -vserver s -qos-policy-group f",
    "cache partition create p -size 1MiB -volumes s:v",
];

fn there() -> Administration {
    let mut administration = Administration::new(RegistrySettings::default());
    administration.partitions.memory = Some(CacheMemory { memory: Bytes::mib(2), page: Bytes::kib(4) });
    for line in THERE {
        let _ = run(&mut administration, line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    administration
}

fn run(administration: &mut Administration, line: &str) -> Result<admin::Outcome, AdminError> {
    administration.execute(line, Time::ZERO, &|_: ObjectId| 0)
}

/// A line; the code, the kind, the field, the value and the target of its refusal.
type Row = (&'static str, u32, RefusalKind, Option<&'static str>, Option<&'static str>, Option<&'static str>);

const fn row(
    line: &'static str,
    code: u32,
    kind: RefusalKind,
    field: Option<&'static str>,
    value: Option<&'static str>,
    target: Option<&'static str>,
) -> Row {
    (line, code, kind, field, value, target)
}

#[rustfmt::skip]
const OBSTACLES: &[(Obstacle, Row)] = &[
    (Obstacle::NoSvm, row("volume create x -vserver no -size 1MiB", 4, Missing, Some("vserver"), Some("no"), None)),
    (Obstacle::NoWorkload, row("qos statistics history show -workload no-wid9", 4, Missing, Some("workload"), Some("no-wid9"), None)),
    (Obstacle::WhichWorkload, row("qos statistics history show", 8454941, Invalid, Some("volume"), None, None)),
    (Obstacle::NoVolume, row("volume delete no -vserver s", 4, Missing, Some("volume"), Some("no"), Some("s"))),
    (Obstacle::NoVolume, row("volume modify no* -vserver s -size 1MiB", 4, Missing, Some("volume"), Some("no*"), Some("s"))),
    (Obstacle::NoQtree, row("volume qtree delete no -volume v -vserver s", 4, Missing, Some("qtree"), Some("no"), Some("v"))),
    (Obstacle::NoLun, row("lun delete /vol/v/no -vserver s", 4, Missing, Some("path"), Some("/vol/v/no"), Some("s"))),
    (Obstacle::NoLun, row("lun offline /vol/v/no* -vserver s", 4, Missing, Some("path"), Some("/vol/v/no*"), Some("s"))),
    (Obstacle::NoFile, row("volume file delete /no -volume v -vserver s", 4, Missing, Some("file"), Some("/no"), Some("v"))),
    (Obstacle::NoSnapshot, row("volume snapshot delete v -snapshot no -vserver s", 4, Missing, Some("snapshot"), Some("no"), Some("v"))),
    (Obstacle::NoSource, row("volume snapshot restore-file v -snapshot one -path /no -vserver s", 4, Missing, Some("path"), Some("/no"), Some("snapshot one"))),
    (Obstacle::NoSource, row("volume file clone create -volume v -source-path /no -destination-path /g -vserver s", 4, Missing, Some("path"), Some("/no"), Some("volume v"))),
    (Obstacle::NoPartition, row("cache partition modify no -size 1MiB", 4, Missing, Some("partition"), Some("no"), None)),
    (Obstacle::PartitionTaken, row("cache partition create p -size 4KiB", 1, Exists, Some("partition"), Some("p"), None)),
    (Obstacle::PartitionDefault, row("cache partition delete default", 3, Unsupported, Some("partition"), Some("default"), None)),
    (Obstacle::PartitionInUse, row("cache partition delete p", 8, InUse, Some("partition"), None, Some("p"))),
    (Obstacle::BeyondMemory, row("cache partition create r -size 2MiB", 8454936, Full, Some("size"), Some("2MiB"), None)),
    (Obstacle::PartitionSize, row("cache partition create r -size 0", 8454937, Invalid, Some("size"), Some("0B"), None)),
    (Obstacle::VolumeTwice, row("cache partition create r -size 4KiB -volumes s:v", 8454939, InUse, Some("volumes"), Some("s:v"), Some("p"))),
    (Obstacle::NotInPartition, row("cache partition modify p -remove-volumes s:empty", 8454940, Invalid, Some("volumes"), Some("s:empty"), Some("p"))),
    (Obstacle::NoNode, row("qos statistics performance show -node no", 4, Missing, Some("node"), Some("no"), None)),
    (Obstacle::JunctionTaken, row("volume mount empty -junction-path /v -vserver s", 1, Exists, Some("junction-path"), Some("/v"), Some("s"))),
    (Obstacle::Mounted, row("volume mount v -junction-path /w -vserver s", 8, InUse, Some("junction-path"), Some("/w"), Some("s:/vol/v"))),
    (Obstacle::SnapshotTaken, row("volume snapshot create v -snapshot one -vserver s", 1, Exists, Some("snapshot"), Some("one"), Some("s:/vol/v"))),
    (Obstacle::FloorsAlwaysKept, row("qos settings throughput-floors-v2 -enable false", 3, Unsupported, Some("enable"), Some("false"), None)),
    (Obstacle::NotEmpty, row("volume delete v -vserver s", 8, InUse, None, None, Some("s:/vol/v"))),
    (Obstacle::WhichSvm, row("volume create x -size 1MiB", 8454925, Invalid, Some("vserver"), None, None)),
    (Obstacle::NoVolume, row("volume delete no", 4, Missing, Some("volume"), Some("no"), None)),
    (Obstacle::NoLogins, row("security login delete bob", 8454943, Invalid, None, None, None)),
    (Obstacle::WhichRole, row("security login create bob -role readonly -vserver s", 8454944, Invalid, Some("role"), Some("s"), None)),
    (Obstacle::WhichVolume, row("qos fairness modify true -qtree q", 8454926, Invalid, Some("volume"), None, None)),
    (Obstacle::GroupIsFixed, row("volume modify empty -vserver s -qos-adaptive-policy-group f", 8454927, Invalid, Some("qos-adaptive-policy-group"), Some("f"), Some("volume s:empty"))),
    (Obstacle::GroupIsFixed, row("qos adaptive-policy-group rename f -new-name g", 8454927, Invalid, Some("qos-adaptive-policy-group"), Some("f"), Some("f"))),
    (Obstacle::GroupIsAdaptive, row("volume modify empty -vserver s -qos-policy-group a", 8454928, Invalid, Some("qos-policy-group"), Some("a"), Some("volume s:empty"))),
    (Obstacle::GroupIsAdaptive, row("qos policy-group delete a", 8454928, Invalid, Some("qos-policy-group"), Some("a"), Some("a"))),
    (Obstacle::SizeRange, row("volume create x -vserver s -size 400TB", 8454929, Invalid, Some("size"), Some("400TB"), None)),
    (Obstacle::BelowContents, row("volume modify v -vserver s -size 1MiB", 8454930, Full, Some("size"), Some("1048576"), Some("s:/vol/v"))),
    (Obstacle::NoRoom, row("lun create /vol/v/big -vserver s -size 6MiB", 8454931, Full, Some("size"), Some("6291456"), Some("s:/vol/v"))),
];

/// Obstacles that one line cannot reach from there: a volume with only snapshots, 1023 snapshots,
/// 2^31 trees, 64 partitions, no cache. The others belong to the server, the store and the hourly
/// totals.
const OBSTACLES_ELSEWHERE: &[Obstacle] = &[
    Obstacle::FilesOfClients,
    Obstacle::HasSnapshots,
    Obstacle::SnapshotsMax,
    Obstacle::SnapshotNumbers,
    Obstacle::Connected,
    Obstacle::LoginsOfSvm,
    Obstacle::Store,
    Obstacle::BeyondGoal,
    Obstacle::PartitionsMax,
    Obstacle::NoCache,
    Obstacle::NoHours,
];

#[rustfmt::skip]
const RULES: &[(Rule, Row)] = &[
    (Rule::ObjectTaken, row("volume create v -vserver s -size 1MiB", 1, Exists, None, Some("v"), Some("volume v of SVM s"))),
    (Rule::NoGroup, row("qos policy-group modify no -max-throughput 1iops", 8454903, Missing, Some("policy-group"), Some("\"no\""), Some("policy group no"))),
    (Rule::NameTaken, row("qos policy-group rename f -new-name own", 8454154, Exists, Some("new-name"), None, Some("policy group f"))),
    (Rule::FloorAboveCeiling, row("qos policy-group modify own -min-throughput 200iops", 8454194, Invalid, Some("min-throughput"), None, Some("policy group own"))),
    (Rule::ExpectedAbovePeak, row("qos adaptive-policy-group modify a -expected-iops 30", 8454274, Invalid, Some("expected-iops"), None, Some("policy group a"))),
    (Rule::NameOfFixed, row("qos adaptive-policy-group create f -vserver s -expected-iops 1 -peak-iops 2", 8454277, Exists, Some("policy-group"), None, Some("policy group f"))),
    (Rule::NameOfAdaptive, row("qos policy-group create a -vserver s", 8454278, Exists, Some("policy-group"), None, Some("policy group a"))),
    (Rule::Preset, row("qos adaptive-policy-group modify value -peak-iops 9000", 8454286, Denied, Some("policy-group"), None, Some("policy group value"))),
    (Rule::FixedTaken, row("qos policy-group create f -vserver s", 8454379, Exists, Some("policy-group"), None, Some("policy group f"))),
    (Rule::AdaptiveTaken, row("qos adaptive-policy-group create a -vserver s -expected-iops 1 -peak-iops 2", 8454380, Exists, Some("policy-group"), None, Some("policy group a"))),
    (Rule::FixedToAdaptive, row("qos adaptive-policy-group modify f -peak-iops 5", 8454327, Invalid, Some("policy-group"), None, Some("policy group f"))),
    (Rule::AdaptiveToFixed, row("qos policy-group modify a -max-throughput 5iops", 8454328, Invalid, Some("policy-group"), None, Some("policy group a"))),
    (Rule::AdaptiveKind, row("vserver modify s -qos-policy-group a", 8454912, Invalid, Some("qos-adaptive-policy-group"), None, Some("SVM s"))),
    (Rule::Moves, row("lun move-in-volume /vol/v/l -new-path /vol/empty/l -vserver s", 8454921, Invalid, None, None, Some("LUN s:/vol/v/l"))),
    (Rule::SharedImmutable, row("qos policy-group modify f -is-shared false", 8454909, Invalid, Some("is-shared"), None, Some("policy group f"))),
    (Rule::FloorOnSvm, row("vserver modify s -qos-policy-group floor", 8454911, Invalid, Some("qos-policy-group"), None, Some("SVM s"))),
    (Rule::OtherSvm, row("volume modify w -vserver t -qos-policy-group f", 8454913, Invalid, Some("qos-policy-group"), None, Some("volume t:w"))),
    (Rule::Nested, row("lun modify /vol/v/l -vserver s -qos-policy-group own", 8454914, Invalid, Some("qos-policy-group"), None, Some("LUN s:/vol/v/l"))),
    (Rule::TemplateKind, row("vserver modify s -qos-adaptive-policy-group-template f", 8454915, Invalid, Some("qos-adaptive-policy-group-template"), None, Some("SVM s"))),
    (Rule::GroupInUse, row("qos policy-group delete f", 8454917, InUse, Some("policy-group"), None, Some("policy group f"))),
    (Rule::ObjectInUse, row("vserver delete s", 8454922, InUse, None, None, Some("SVM s"))),
];

#[rustfmt::skip]
const LINES: &[Row] = &[
    row("volume create", 2, Invalid, Some("volume"), None, None),
    row("volumn create x", 2, Invalid, None, None, None),
    row("volume create x -colour red", 262179, Invalid, None, Some("-colour"), None),
    row("volume create x -size blue", 262197, Invalid, Some("size"), Some("blue"), None),
    row("volume show -fields size -instance", 8454389, Invalid, Some("fields"), None, None),
];

/// The value is not checked if it is a sentence of the rule's own.
fn check(row: &Row, detail: &Detail) {
    let (line, code, kind, field, value, target) = *row;
    assert_eq!((detail.code, detail.kind, detail.field), (code, kind, field), "{line}: {detail:?}");
    assert_eq!(detail.target.as_deref(), target, "{line}: {detail:?}");
    if value.is_some() {
        assert_eq!(detail.value.as_deref(), value, "{line}: {detail:?}");
    }
}

#[test]
fn every_obstacle_is_told_with_its_code_kind_field_value_and_target() {
    for (obstacle, row) in OBSTACLES {
        match run(&mut there(), row.0) {
            Err(error @ AdminError::Command(_)) => {
                let AdminError::Command(objection) = &error else { unreachable!() };
                assert_eq!(objection.obstacle, *obstacle, "{}: {error}", row.0);
                check(row, &error.detail());
                assert_eq!(error.detail().value.as_deref(), row.4, "{}", row.0);
            }
            other => panic!("{}: {other:?}", row.0),
        }
    }
    let met: BTreeSet<Obstacle> =
        OBSTACLES.iter().map(|(obstacle, _)| *obstacle).chain(OBSTACLES_ELSEWHERE.iter().copied()).collect();
    assert_eq!(met.into_iter().collect::<Vec<_>>(), Obstacle::ALL, "each of them has a row");
}

#[test]
fn rules_are_told_with_their_code_kind_field_and_target() {
    for (rule, row) in RULES {
        let error = run(&mut there(), row.0).expect_err(row.0);
        assert!(matches!(&error, AdminError::Refused(refusal) if refusal.rule == *rule), "{}: {error:?}", row.0);
        check(row, &error.detail());
        assert!(error.detail().value.is_some(), "{}", row.0);
    }
}

#[test]
fn lines_that_are_no_command_name_the_field() {
    for row in LINES {
        let error = run(&mut there(), row.0).expect_err(row.0);
        let problems = match &error {
            AdminError::Grammar(error) => error.problems.len(),
            other => panic!("{}: {other:?}", row.0),
        };
        assert!(problems > 0);
        check(row, &error.detail());
    }
    let empty = run(&mut there(), "").unwrap_err();
    assert!(matches!(&empty, AdminError::Grammar(error) if error.problems == [Problem::Empty]));
}

/// Our codes are not used by ONTAP, and all rules and obstacles that share a code have the same
/// kind.
#[test]
fn a_code_means_one_thing() {
    let rules = Rule::ALL.iter().map(|rule| (rule.code(), rule.kind()));
    let all: BTreeSet<(u32, RefusalKind)> =
        rules.chain(Obstacle::ALL.iter().map(|obstacle| (obstacle.code(), obstacle.kind()))).collect();
    let codes: BTreeSet<u32> = all.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes.len(), all.len(), "{all:?}");
    let ours = |code: &u32| *code >= 8454925;
    let obstacles: Vec<u32> = Obstacle::ALL.iter().map(|obstacle| obstacle.code()).filter(ours).collect();
    assert_eq!(obstacles, (8454925..8454925 + obstacles.len() as u32).collect::<Vec<_>>());
    assert!(!Rule::ALL.iter().any(|rule| ours(&rule.code())));
}
