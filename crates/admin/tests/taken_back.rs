//! Random administrators whose changes cannot be stored. A command that is refused, or undone after
//! it succeeded, leaves the whole administration as it was. The records that it touched are those
//! that differ, and it can be run again with the same result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use admin::{Administration, CacheMemory, Outcome, Touched};
use block::{Bytes, ObjectId, Time};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use qos::RegistrySettings;

/// The bytes that every LUN and file uses.
const USED: u64 = 1 << 20;

fn run(administration: &mut Administration, line: &str) -> Result<Outcome, String> {
    administration.execute(line, Time::ZERO, &|_: ObjectId| USED).map_err(|error| error.to_string())
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c"])
}

fn leaf() -> impl Strategy<Value = String> {
    (name(), select(vec!["", "/q", "/r"]), name())
        .prop_map(|(volume, qtree, leaf)| format!("/vol/{volume}{qtree}/{leaf}"))
}

fn policy() -> impl Strategy<Value = String> {
    let parameter = select(vec!["-qos-policy-group", "-qos-adaptive-policy-group"]);
    let assigned =
        (parameter, select(vec!["f", "g", "h", "value", "none"])).prop_map(|(p, group)| format!("{p} {group}"));
    prop_oneof![Just(String::new()), assigned]
}

/// A line of an administrator who knows a few names, and often errs.
fn line() -> impl Strategy<Value = String> {
    let size = || select(vec!["1MiB", "2MiB", "3MiB", "1GiB"]);
    let force = || select(vec!["", " -force"]);
    let svm = || select(vec!["s", "t"]);
    let of_volumes = prop_oneof![
        (name(), svm(), size(), policy())
            .prop_map(|(v, s, n, p)| format!("volume create {v} -vserver {s} -size {n} {p}")),
        (name(), svm(), size(), policy())
            .prop_map(|(v, s, n, p)| format!("volume modify {v} -vserver {s} -size {n} {p}")),
        (name(), svm(), name()).prop_map(|(v, s, to)| format!("volume rename {v} -vserver {s} -newname {to}")),
        (name(), svm()).prop_map(|(v, s)| format!("volume delete {v} -vserver {s}")),
        (name(), name()).prop_map(|(v, of)| format!("volume clone create {v} -parent-volume {of} -vserver s")),
        (name(), select(vec!["q", "r"])).prop_map(|(v, q)| format!("volume qtree create {q} -volume {v} -vserver s")),
        (name(), select(vec!["q", "r"])).prop_map(|(v, q)| format!("volume qtree delete {q} -volume {v} -vserver s")),
    ];
    let of_leaves = prop_oneof![
        (leaf(), size(), policy()).prop_map(|(path, n, p)| format!("lun create {path} -vserver s -size {n} {p}")),
        (leaf(), size(), policy()).prop_map(|(path, n, p)| format!("lun modify {path} -vserver s -size {n} {p}")),
        (leaf(), leaf()).prop_map(|(path, to)| format!("lun move-in-volume {path} -new-path {to} -vserver s")),
        (leaf(), force()).prop_map(|(path, force)| format!("lun delete {path} -vserver s{force}")),
        (name(), select(vec!["offline", "online"])).prop_map(|(v, word)| format!("lun {word} /vol/{v}/* -vserver s")),
        (name(), name(), size())
            .prop_map(|(v, f, n)| format!("volume file create /{f} -volume {v} -size {n} -vserver s")),
        (name(), name()).prop_map(|(v, f)| format!("volume file delete /{f} -volume {v} -vserver s")),
    ];
    let of_snapshots = prop_oneof![
        (name(), name()).prop_map(|(v, snap)| format!("volume snapshot create {v} -snapshot {snap} -vserver s")),
        (name(), name(), name()).prop_map(|(v, of, snap)| {
            format!("volume clone create {v} -parent-volume {of} -parent-snapshot {snap} -vserver s")
        }),
        (name(), name(), name()).prop_map(|(v, snap, to)| {
            format!("volume snapshot rename {v} -snapshot {snap} -new-name {to} -vserver s")
        }),
        (name(), name()).prop_map(|(v, snap)| format!("volume snapshot delete {v} -snapshot {snap} -vserver s")),
        (name(), name(), force())
            .prop_map(|(v, snap, force)| format!("volume snapshot restore {v} -snapshot {snap} -vserver s{force}")),
    ];
    let group = || select(vec!["f", "g", "h"]);
    let of_policies = prop_oneof![
        (group(), 1..9000u32, any::<bool>()).prop_map(|(g, iops, shared)| format!(
            "qos policy-group create {g} -vserver s -max-throughput {iops}iops -is-shared {shared}"
        )),
        (group(), 1..9000u32).prop_map(|(g, iops)| format!("qos policy-group modify {g} -max-throughput {iops}iops")),
        (group(), 1..9000u32).prop_map(|(g, iops)| format!(
            "qos adaptive-policy-group create {g} -vserver s -expected-iops {iops}iops/tb -peak-iops 9000iops/tb"
        )),
        (group(), 1..9000u32).prop_map(|(g, iops)| format!("qos adaptive modify {g} -peak-iops {iops}iops/tb")),
        (group(), group()).prop_map(|(g, to)| format!("qos policy-group rename {g} -new-name {to}")),
        (group(), force()).prop_map(|(g, force)| format!("qos policy-group delete {g}{force}")),
        group().prop_map(|g| format!("vserver modify s -qos-adaptive-policy-group-template {g}")),
        any::<bool>().prop_map(|fair| format!("qos fairness modify {fair}")),
        (name(), any::<bool>()).prop_map(|(v, fair)| format!("qos fairness modify {fair} -volume {v} -vserver s")),
    ];
    let of_svms = prop_oneof![
        svm().prop_map(|s| format!("vserver create {s}")),
        svm().prop_map(|s| format!("vserver delete {s}")),
        (svm(), svm()).prop_map(|(s, to)| format!("vserver rename {s} -newname {to}")),
    ];
    let of_cache = prop_oneof![
        (name(), size(), name()).prop_map(|(p, n, v)| format!("cache partition create {p} -size {n} -volumes s:{v}")),
        (name(), size(), name()).prop_map(|(p, n, v)| format!("cache partition modify {p} -size {n} -volumes s:{v}")),
        (name(), name(), name())
            .prop_map(|(p, v, w)| format!("cache partition modify {p} -add-volumes s:{v} -remove-volumes s:{w}")),
        (name(), name()).prop_map(|(p, to)| format!("cache partition modify {p} -new-name {to}")),
        (name(), force()).prop_map(|(p, force)| format!("cache partition delete {p}{force}")),
    ];
    prop_oneof![4 => of_volumes, 6 => of_leaves, 3 => of_snapshots, 5 => of_policies, 1 => of_svms, 3 => of_cache]
}

/// The numbers under which two sets of records differ.
fn differing<K: Ord + Copy, T: PartialEq>(before: &BTreeMap<K, T>, after: &BTreeMap<K, T>) -> Vec<K> {
    let keys = before.keys().chain(after.keys()).copied();
    keys.filter(|key| before.get(key) != after.get(key)).collect()
}

fn assert_within<K: Ord + Debug>(found: &[K], told: &BTreeSet<K>, line: &str) {
    assert!(found.iter().all(|key| told.contains(key)), "{line}: {found:?} differ, told are {told:?}");
}

/// Everything that differs between two administrations is reported as touched.
fn assert_told(before: &Administration, after: &Administration, touched: &Touched, line: &str) {
    let objects = |of: &Administration| {
        let ids = of.registry.objects().map(qos::Object::id);
        let kept = |id| (of.registry.object_record(id), of.offline.contains(&id), of.details(id));
        ids.map(|id| (id, kept(id))).collect::<BTreeMap<_, _>>()
    };
    let groups = |of: &Administration| {
        let ids = of.registry.groups().map(qos::Group::id);
        ids.map(|id| (id, of.registry.group_record(id))).collect::<BTreeMap<_, _>>()
    };
    let snapshots = |of: &Administration| of.snapshots.all().map(|s| (s.id, s.clone())).collect::<BTreeMap<_, _>>();
    assert_within(&differing(&objects(before), &objects(after)), &touched.objects, line);
    assert_within(&differing(&groups(before), &groups(after)), &touched.groups, line);
    let partitions = |of: &Administration| of.partitions.all().map(|p| (p.id, p.clone())).collect::<BTreeMap<_, _>>();
    assert_within(&differing(&snapshots(before), &snapshots(after)), &touched.snapshots, line);
    assert_within(&differing(&partitions(before), &partitions(after)), &touched.partitions, line);
}

/// Lines of a case: with more of them most would find little left to change.
const LINES: usize = 60;

/// What every case begins with.
fn begun() -> Administration {
    let mut administration = Administration::new(RegistrySettings::default());
    administration.partitions.memory = Some(CacheMemory { memory: Bytes::mib(4), page: Bytes::kib(4) });
    for line in ["vserver create s", "volume create a -size 1GiB", "lun create /vol/a/a -size 1MiB"] {
        let _ = run(&mut administration, line).unwrap();
    }
    administration
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_cannot_be_kept_leaves_everything_as_it_was(
        lines in prop::collection::vec((line(), any::<bool>()), 1..LINES),
    ) {
        let mut administration = begun();
        for (line, is_kept) in &lines {
            let before = administration.clone();
            let Ok(outcome) = run(&mut administration, line) else {
                prop_assert_eq!(&administration, &before, "{} was refused", line);
                continue;
            };
            let after = administration.clone();
            assert_told(&before, &after, &outcome.undo.touched(), line);
            administration.take_back(outcome.undo);
            prop_assert_eq!(&administration, &before, "{} was taken back", line);
            if *is_kept {
                let again = run(&mut administration, line).unwrap();
                prop_assert_eq!((again.edits, again.effects), (outcome.edits, outcome.effects));
                prop_assert_eq!(&administration, &after);
            }
        }
    }
}

/// The lines above are valid, and some of each kind succeed: with nothing but refusals, the
/// property would prove little.
#[test]
fn some_of_each_command_are_done() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut done = BTreeMap::<String, u32>::new();
    let lines = line();
    for _ in 0..150 {
        let mut administration = begun();
        for _ in 0..LINES {
            let line = lines.new_tree(&mut runner).unwrap().current();
            assert!(ontap::parse(&line).is_ok(), "{line}");
            let kind = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
            *done.entry(kind).or_default() += u32::from(run(&mut administration, &line).is_ok());
        }
    }
    assert!(done.values().all(|done| *done > 0), "{done:?}");
}

/// The record of a change to one policy among many does not grow with their number.
#[test]
fn one_change_among_many_is_one_step() {
    let steps = |groups: u32| {
        let mut administration = Administration::new(RegistrySettings::default());
        let _ = run(&mut administration, "vserver create s").unwrap();
        for number in 0..groups {
            let _ = run(&mut administration, &format!("qos policy-group create p{number} -vserver s")).unwrap();
        }
        run(&mut administration, "qos policy-group modify p1 -max-throughput 5iops").unwrap().undo.len()
    };
    // Its name and policy as they were.
    assert_eq!((steps(2), steps(2000)), (1, 1));
}
