//! The bundled plan equals the published walk-through.

use block::{Bytes, Iops, Span};
use stats::Criterion;
use workload::{Arrival, Pattern, Plan};

const NOISY_NEIGHBOUR: &str = include_str!("../../../../plans/noisy-neighbour.toml");

fn plan() -> Plan {
    Plan::read(NOISY_NEIGHBOUR, "noisy-neighbour.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn three_hosts_have_the_published_load() {
    let plan = plan();
    assert_eq!((plan.svm.as_str(), plan.published_iops), ("svm01", Some(Iops(21_000))));
    for (index, workload) in plan.workloads.iter().enumerate() {
        assert_eq!(workload.name, format!("server{}", index + 1));
        assert_eq!(workload.host, workload.name);
        assert_eq!(plan.volumes[workload.volumes[0]].path(), format!("/vol/vol{}/lun1", index + 1));
        let spec = &workload.spec;
        assert_eq!((spec.pattern, spec.read_percent), (Pattern::Random, 50));
        assert_eq!(spec.blocks.shares()[0].size, Bytes::kib(4));
        assert_eq!((spec.connections, spec.arrival), (2, Arrival::Closed { depth: 256 }));
        // Two jobs recovered to 7 000 while 20 000 were free.
        assert_eq!(spec.pace, Some(Iops(7_000 / 2)));
    }
    assert_eq!(plan.workloads.len(), 3);
}

#[test]
fn the_bully_stays_one_from_its_phase_on_and_grows_sixteenfold() {
    let plan = plan();
    let connections: Vec<_> =
        plan.phases.iter().map(|phase| phase.specs.iter().map(|spec| spec.connections).collect::<Vec<_>>()).collect();
    assert_eq!(connections[0], [2, 2, 2]);
    assert!(connections[1..].iter().all(|phase| *phase == [32, 2, 2]), "{connections:?}");
    assert!(plan.phases.iter().all(|phase| plan.length(phase) == Span::from_secs(8)));
}

#[test]
fn the_commands_are_the_published_ones() {
    let plan = plan();
    let commands: Vec<_> = plan.phases.iter().map(|phase| (phase.name.as_str(), phase.commands.join("\n"))).collect();
    let expected = [
        ("even", ""),
        ("bully", ""),
        (
            "ceiling",
            "qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false\n\
             volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
        ),
        ("lower", "qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s"),
        ("raised", "qos policy-group modify policy1 -max-throughput 2000IOPS,200MB/s"),
        ("own limits", "volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1"),
        (
            "shared limit",
            "qos policy-group create policy1-shared -vserver svm01 -max-throughput 3000IOPS,200MB/s -is-shared true\n\
             volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1-shared\n\
             volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1-shared",
        ),
        (
            // An addition: the published walk-through has no floors.
            "floors",
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group none\n\
             qos policy-group create floors -vserver svm01 -min-throughput 5000IOPS -is-shared false\n\
             volume modify -volume vol2 -vserver svm01 -qos-policy-group floors\n\
             volume modify -volume vol3 -vserver svm01 -qos-policy-group floors",
        ),
    ];
    assert_eq!(commands, expected.map(|(name, lines)| (name, lines.to_owned())));
}

#[test]
fn the_criteria_ask_for_walls_noise_recovery_and_floors() {
    let victims = || vec!["server2".to_owned(), "server3".to_owned()];
    let restored = |phase: &str| Criterion::Restored {
        workloads: victims(),
        phase: phase.into(),
        baseline: "even".into(),
        part: 0.95,
        most: Some(1.10),
    };
    let expected = [
        Criterion::CeilingHeld { tolerance: 0.01 },
        Criterion::SharedSum { phase: "shared limit".into(), tolerance: 0.01 },
        Criterion::Starved { workloads: victims(), phase: "bully".into(), baseline: "even".into(), part: 0.70 },
        restored("lower"),
        restored("raised"),
        Criterion::FloorHeld { workloads: victims(), phase: "floors".into(), part: 0.99 },
    ];
    assert_eq!(plan().criteria, expected);
}

#[test]
fn the_simulated_device_does_what_the_published_system_did() {
    // 21 servers of 1 ms each.
    assert_eq!(plan().device.and_then(|device| device.iops()), Some(21_000.0));
}

#[test]
fn it_runs_on_the_volumes_of_a_demo_and_not_on_one_smaller_than_a_block() {
    let sized = plan().sized(Bytes::mib(512)).unwrap();
    assert!(sized.volumes.iter().all(|volume| volume.size == Some(Bytes::mib(512))));
    let errors = plan().sized(Bytes(2048)).unwrap_err();
    let expected = "noisy-neighbour.toml:47: server1.block: must fit into the range of 2 KiB, got 4 KiB; make the block \
                    smaller or the range larger";
    assert_eq!(errors.0[0].to_string(), expected);
    assert_eq!(errors.0.len(), 3, "one for each workload, not for each phase: {errors}");
}

#[test]
fn scaling_multiplies_depths_and_leaves_connections() {
    // 256 × 3.5 / 21 = 42.67, rounded to 43; a factor near zero still leaves one request in flight.
    let factor = 3500.0 / 21_000.0;
    let scaled = plan().scaled(factor);
    for phase in &scaled.phases {
        assert!(phase.specs.iter().all(|spec| spec.arrival == Arrival::Closed { depth: 43 }));
        // 3500 × 3500 / 21 000 = 583.3.
        assert!(phase.specs.iter().all(|spec| spec.pace == Some(Iops(583))));
    }
    assert_eq!(scaled.phases[1].specs[0].connections, 32);
    assert_eq!(scaled.workloads[0].spec.arrival, Arrival::Closed { depth: 43 });
    assert_eq!(plan().scaled(1e-9).workloads[0].spec.arrival, Arrival::Closed { depth: 1 });
    assert_eq!(plan().scaled(1.0), plan());
}

#[test]
fn it_describes_itself_in_plain_language() {
    let lines = plan().describe();
    assert_eq!(lines[0], "A noisy neighbour, measured and walled off: 3 workloads, 8 phases, 1 min 4 s in all, seed 1");
    assert_eq!(
        lines[1],
        "server1 on svm01:/vol/vol1/lun1: 4 KiB random, 50 % reads, 2 connections × 256 in flight, \
                          at most 3500 requests/s each"
    );
    assert_eq!(lines[4], "phase 1, even (8 s): three hosts ask for the same");
    assert_eq!(
        lines[5],
        "phase 2, bully (8 s): server1 sends sixteen times as much; server1 now 4 KiB random, 50 % reads, \
         32 connections × 256 in flight, at most 3500 requests/s each"
    );
    assert_eq!(
        lines[7],
        "phase 4, lower (8 s): the policy is lowered while it is attached; \
         runs `qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s`"
    );
    assert_eq!(lines[12], "simulated device: 21 parallel servers of 1.00 ms each, 21000 IOPS");
    assert_eq!(lines.len(), 13);
}
