//! The command lines of the published documents: correct ones parse to exactly the intended
//! command, and mistyped ones are answered with the likely fix.

use ontap::Command::{self, Adaptive, PolicyGroup, Statistics, Volume};
use ontap::catalogue::*;
use ontap::value::*;

const LINES: &str = include_str!("../../../../published/commands.txt");

/// The administrators' lines with this mark in the two documents that have any, without source and
/// mark.
fn lines(mark: &str) -> Vec<&'static str> {
    let of_ontap = LINES.lines().filter_map(|line| line.strip_prefix("000 ").or(line.strip_prefix("003 ")));
    let marked = of_ontap.filter_map(|line| line.strip_prefix(mark).map(str::trim_start));
    marked.filter(|line| line.starts_with("qos ") || line.starts_with("vol")).collect()
}

fn group(name: &str) -> Option<PolicyAssignment> {
    Some(PolicyAssignment::Group(name.parse().unwrap()))
}

fn volume_modify(vserver: Option<&str>, volume: &str) -> VolumeModify {
    VolumeModify {
        volume: volume.parse().unwrap(),
        vserver: vserver.map(|v| v.parse().unwrap()),
        size: None,
        user: None,
        group: None,
        unix_permissions: None,
        qos_policy_group: None,
        qos_adaptive_policy_group: None,
    }
}

fn fixed(vserver: Option<&str>, volume: &str, policy: Option<PolicyAssignment>) -> Command {
    Volume(VolumeCommand::Modify(VolumeModify { qos_policy_group: policy, ..volume_modify(vserver, volume) }))
}

fn adaptive(vserver: Option<&str>, volume: &str, policy: Option<PolicyAssignment>) -> Command {
    let modify = volume_modify(vserver, volume);
    Volume(VolumeCommand::Modify(VolumeModify { qos_adaptive_policy_group: policy, ..modify }))
}

fn limits(iops: u64, megabytes: u64) -> Option<Throughput> {
    let limits = ThroughputLimits { iops: Some(iops), bytes_per_second: Some(megabytes * 1_000_000) };
    Some(Throughput::Limits(limits))
}

fn create(name: &str, max_throughput: Option<Throughput>, is_shared: bool) -> Command {
    PolicyGroup(PolicyGroupCommand::Create(PolicyGroupCreate {
        policy_group: name.parse().unwrap(),
        vserver: Some("svm01".parse().unwrap()),
        max_throughput,
        min_throughput: None,
        expected_latency: None,
        is_shared,
        burst_percent: None,
        burst_iops: None,
        burst_duration: None,
    }))
}

fn modify(name: &str, max_throughput: Option<Throughput>) -> Command {
    PolicyGroup(PolicyGroupCommand::Modify(PolicyGroupModify {
        policy_group: name.parse().unwrap(),
        max_throughput,
        min_throughput: None,
        expected_latency: None,
        is_shared: None,
        burst_percent: None,
        burst_iops: None,
        burst_duration: None,
    }))
}

fn adaptive_create() -> Command {
    let per_terabyte = |iops| AdaptiveRate { iops, per: PerSize::Terabyte };
    Adaptive(AdaptiveCommand::Create(AdaptiveCreate {
        policy_group: "adaptive-policy2".parse().unwrap(),
        vserver: Some("svm01".parse().unwrap()),
        expected_iops: per_terabyte(1000),
        peak_iops: per_terabyte(1500),
        expected_iops_allocation: Allocation::Allocated,
        peak_iops_allocation: Allocation::Allocated,
        absolute_min_iops: None,
        expected_latency: None,
        block_size: BlockSize::K4,
        peak_mode: None,
        burst_percent: None,
        burst_iops: None,
        burst_duration: None,
    }))
}

fn volume_performance() -> Command {
    Statistics(StatisticsShow {
        scope: StatisticsScope::Volume,
        figures: StatisticsFigures::Performance,
        node: None,
        iterations: None,
        refresh_display: false,
        rows: None,
        vserver: None,
        volume: None,
        output: Output::Text,
    })
}

/// The meaning of each line marked `ok`, in the order of the file.
fn meanings() -> Vec<Command> {
    let svm = Some("svm01");
    let one = Filter { field: "policy-group", query: Query::exact("policy1") };
    vec![
        Adaptive(AdaptiveCommand::Show(Selection::default())),
        adaptive(Some("epic"), "epic_rhel1_*", group("AqosEpicProd")),
        adaptive(Some("epic"), "epic_rhel2_*", group("AqosEpicProd")),
        create("policy1", limits(10_000, 300), false),
        PolicyGroup(PolicyGroupCommand::Show(Selection::default())),
        PolicyGroup(PolicyGroupCommand::Show(Selection {
            filters: vec![one],
            form: Form::Instance,
            ..Selection::default()
        })),
        fixed(None, "vol1", group("policy1")),
        fixed(None, "vol1", Some(PolicyAssignment::Detach)),
        modify("policy1", limits(1000, 200)),
        fixed(svm, "vol1", group("policy1")),
        volume_performance(),
        modify("policy1", limits(2000, 200)),
        fixed(svm, "vol2", group("policy1")),
        create("policy1-shared", limits(3000, 200), true),
        fixed(svm, "vol1", group("policy1-shared")),
        fixed(svm, "vol2", group("policy1-shared")),
        adaptive_create(),
        adaptive(None, "vol1", Some(PolicyAssignment::Detach)),
        adaptive(svm, "vol2", group("adaptive-policy2")),
    ]
}

#[test]
fn what_is_right_is_read_as_it_was_meant() {
    let (lines, meanings) = (lines("ok "), meanings());
    assert_eq!(lines.len(), meanings.len(), "every line has its meaning");
    for (line, meaning) in lines.into_iter().zip(meanings) {
        assert_eq!(ontap::parse(line).unwrap_or_else(|e| panic!("{line}: {e}")), meaning, "{line}");
    }
}

/// The report on a mistyped line, and the proposed line.
struct Answer {
    told: &'static [&'static str],
    proposed: &'static str,
}

const SPLIT_NAME: &str = "\"-peak-iops\" has no value: \"-allocation\" follows; did you mean \"-peak-iops-allocation\"";

const SPLIT_POLICY: &str =
    "\"-qos-adaptive-policy\" has no value: \"-group\" follows; did you mean \"-qos-adaptive-policy-group\"";

/// The answer to each line marked `typo`, in the order of the file.
const ANSWERS: [Answer; 9] = [
    Answer {
        told: &[
            "\"epic-prod1\" is unexpected: \"-policy-group\" has the value \"aqos-\" already; did you mean \"aqos-epic-prod1\"",
            SPLIT_NAME,
        ],
        proposed: "qos adaptive-policy-group modify -policy-group aqos-epic-prod1 -expected-iops 5000 -peak-iops 10000 \
                   -absolute-min-iops 4000 -peak-iops-allocation used-space",
    },
    Answer {
        told: &["did you mean \"aqos-epic-prod2\"", SPLIT_NAME],
        proposed: "qos adaptive-policy-group modify -policy-group aqos-epic-prod2 -expected-iops 6000 -peak-iops 20000 \
                   -absolute-min-iops 5000 -peak-iops-allocation used-space",
    },
    Answer {
        told: &["did you mean \"aqos-epic-bully\"", SPLIT_NAME],
        proposed: "qos adaptive-policy-group modify -policy-group aqos-epic-bully -expected-iops 3000 -peak-iops 2000 \
                   -absolute-min-iops 2000 -peak-iops-allocation used-space",
    },
    Answer {
        told: &[SPLIT_POLICY],
        proposed: "vol modify -vserver epic -volume epic_rhell_* -qos-adaptive-policy-group AqosEpicProd",
    },
    Answer {
        told: &[SPLIT_POLICY],
        proposed: "vol modify -vserver epic -volume epic_rhel2_* -qos-adaptive-policy-group AqosEpicProd",
    },
    Answer {
        told: &[SPLIT_POLICY, "\"non\" looks like a cut-off \"none\""],
        proposed: "vol modify -vserver epic -volume epic_rhel3_* -qos-adaptive-policy-group none",
    },
    Answer {
        told: &["-qos-adaptive-policy-group: \"non\" looks like a cut-off \"none\"", "did you mean \"none\"?"],
        proposed: "vol modify -vserver epic -volume epic_rhel3_* -qos-adaptive-policy-group none",
    },
    Answer {
        told: &["\"-instant\"", "did you mean \"-instance\"?"],
        proposed: "qos adaptive-policy-group show -instance",
    },
    Answer {
        told: &["\"-qos-policy-group\" has no value: \"-qos-adaptive-policy-group\" follows", "or leave it out"],
        proposed: "volume modify -volume vol1 -qos-adaptive-policy-group adaptive-policy2",
    },
];

#[test]
fn what_is_mistyped_is_answered_with_the_fix() {
    let lines = lines("typo ");
    assert_eq!(lines.len(), ANSWERS.len(), "every line has its answer");
    for (line, answer) in lines.into_iter().zip(ANSWERS) {
        let error = ontap::parse(line).expect_err(line);
        for told in answer.told {
            assert!(error.to_string().contains(told), "{error}\nlacks: {told}");
        }
        assert_eq!(error.suggestion.as_deref(), Some(answer.proposed));
        assert!(ontap::parse(answer.proposed).is_ok());
        assert!(error.usage.is_some_and(|usage| usage.contains("[-")));
    }
}
