//! A sample recording of the noisy neighbour: seven phases of eight seconds, and three hosts with a
//! volume each. The rates are those of the published test (about 7,000 IOPS each; one host sixteen
//! times; ceilings of 10,000, 1,000 and 2,000 IOPS; 3,000 shared) at half its size. Response times
//! follow from the depths by Little's law.

use block::{Bytes, Span, Time};
use stats::run::Times;
use stats::*;

const SECONDS_A_PHASE: u64 = 8;
const BLOCK: u64 = 4096;
/// Requests each host keeps outstanding: 2 jobs of depth 256, at half size.
const DEPTH: f64 = 256.0;
const POLICY: &str = "policy1";
const GROUP: &str = "policy1-shared";
const MB: u64 = 1_000_000;

/// A phase: its name, what it shows, the published commands, and for each host its rate in IOPS,
/// its time in the device, and what holds it back.
struct Scene {
    name: &'static str,
    about: &'static str,
    commands: &'static [&'static str],
    hosts: [Host; 3],
    ceilings: [Option<u64>; 2],
    shared: Option<u64>,
}

#[derive(Clone, Copy)]
struct Host {
    iops: f64,
    device_ms: f64,
    depth: f64,
    held_by: HeldBy,
}

/// The complete recording.
pub fn recording() -> Recording {
    let scenes = scenes();
    let phases: Vec<Phase> = scenes.iter().enumerate().map(|(i, scene)| phase(i as u64, scene)).collect();
    let mut chance = Chance(42);
    let mut volumes = [DispatchTrace::default(), DispatchTrace::default(), DispatchTrace::default()];
    let workloads = (0..3).map(|host| workload(host, &scenes, &mut volumes[host], &mut chance)).collect();
    Recording {
        origin: origin(),
        machine: machine(),
        scale: Some(Scale { factor: 0.5, published_iops: 21_000.0, measured_iops: Some(10_520.0) }),
        phases,
        workloads,
        objects: objects(&scenes, volumes),
        partitions: Vec::new(),
        verdicts: verdicts(),
        notes: vec![
            "io_uring is forbidden here (seccomp): threads with pread and pwrite serve the pool instead, which costs \
             the server about 30 % more processor time per request."
                .into(),
            "server1 was due 4,096 requests at once in “bully”; its own queue, not the network, is most of what it waits."
                .into(),
        ],
        host: run::HostRecord::default(),
    }
}

fn scenes() -> [Scene; 7] {
    use HeldBy::{CeilingIops, Depth, Disk, SharedIops};
    let host = |iops, device_ms, held_by| Host { iops, device_ms, depth: DEPTH, held_by };
    let bully = |iops, device_ms, held_by| Host { iops, device_ms, depth: DEPTH * 16.0, held_by };
    let calm = host(3_560.0, 71.9, Depth);
    let scene =
        |name, about, commands, hosts, ceilings, shared| Scene { name, about, commands, hosts, ceilings, shared };
    [
        scene("even", "three equal hosts share the disk evenly", &[], [host(3_500.0, 73.1, Depth); 3], [None; 2], None),
        scene(
            "bully",
            "server1 asks for sixteen times as much and takes nearly all; the others starve",
            &[],
            [bully(9_330.0, 439.0, Disk), host(583.0, 439.0, Disk), host(583.0, 439.0, Disk)],
            [None; 2],
            None,
        ),
        scene(
            "ceiling",
            "a policy group caps vol1, and the others breathe again",
            &[
                "qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false",
                "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
            ],
            [bully(5_000.0, 93.1, CeilingIops), host(2_750.0, 93.1, Disk), host(2_750.0, 93.1, Disk)],
            [Some(5_000), None],
            None,
        ),
        scene(
            "lower",
            "the same policy, lowered while attached",
            &["qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s"],
            [bully(500.0, 12.0, CeilingIops), calm, calm],
            [Some(500), None],
            None,
        ),
        scene(
            "raised",
            "raised again while attached",
            &["qos policy-group modify policy1 -max-throughput 2000IOPS,200MB/s"],
            [bully(1_000.0, 18.0, CeilingIops), calm, calm],
            [Some(1_000), None],
            None,
        ),
        scene(
            "own limits",
            "vol2 under the same group, which is not shared: each volume has the limit for itself",
            &["volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1"],
            [bully(1_000.0, 18.0, CeilingIops), host(1_000.0, 18.0, CeilingIops), calm],
            [Some(1_000), Some(1_000)],
            None,
        ),
        scene(
            "shared limit",
            "vol1 and vol2 under a shared group: one limit for both together",
            &[
                "qos policy-group create policy1-shared -vserver svm01 -max-throughput 3000IOPS,200MB/s -is-shared true",
                "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1-shared",
                "volume modify -volume vol2 -vserver svm01 -qos-policy-group policy1-shared",
            ],
            [bully(750.0, 16.0, SharedIops), host(750.0, 16.0, SharedIops), calm],
            [None; 2],
            Some(1_500),
        ),
    ]
}

fn phase(index: u64, scene: &Scene) -> Phase {
    // A command takes 4 ms to be durable and in force.
    let start = Span::from_secs(index * SECONDS_A_PHASE) + Span::from_millis(4) * scene.commands.len() as u64;
    let published: Vec<String> = scene.commands.iter().map(|line| (*line).to_string()).collect();
    Phase {
        stalled: Span::ZERO,
        name: scene.name.into(),
        about: scene.about.into(),
        commands: published.iter().map(|line| halved(line)).collect(),
        commands_published: published,
        start,
        end: Span::from_secs((index + 1) * SECONDS_A_PHASE),
    }
}

fn halved(line: &str) -> String {
    let halves = [("10000IOPS,300MB/s", "5000IOPS,150MB/s"), ("1000IOPS,200MB/s", "500IOPS,100MB/s")];
    let more = [("2000IOPS,200MB/s", "1000IOPS,100MB/s"), ("3000IOPS,200MB/s", "1500IOPS,100MB/s")];
    halves
        .into_iter()
        .chain(more)
        .fold(line.into(), |line, (from, to)| line.replace(&format!(" {from}"), &format!(" {to}")))
}

fn workload(host: usize, scenes: &[Scene], volume: &mut DispatchTrace, chance: &mut Chance) -> WorkloadRecord {
    let number = host + 1;
    let mut record = WorkloadRecord {
        name: format!("server{number}"),
        host: format!("server{number}"),
        object: format!("svm01:/vol/vol{number}/lun1"),
        ..WorkloadRecord::default()
    };
    for (index, scene) in scenes.iter().enumerate() {
        let mut tally = Tally { length: Span::from_secs(SECONDS_A_PHASE), ..Tally::default() };
        for second in 0..SECONDS_A_PHASE {
            let start = Span::from_secs(index as u64 * SECONDS_A_PHASE + second);
            let interval = one_second(start, scene.hosts[host], &mut tally, volume, chance);
            // The volumes are the first objects of the recording, followed by their shared group.
            let held_at = match interval.held_by {
                HeldBy::CeilingIops => Some(host as u32),
                HeldBy::SharedIops => Some(3),
                _ => None,
            };
            record.intervals.push(Interval { held_at, ..interval });
        }
        record.tallies.push(tally);
    }
    record
}

/// Makes one second of a host, and adds its requests to the phase's tally and the volume's trace.
fn one_second(start: Span, host: Host, tally: &mut Tally, volume: &mut DispatchTrace, chance: &mut Chance) -> Interval {
    let limited = matches!(host.held_by, HeldBy::CeilingIops | HeldBy::SharedIops);
    // A rate held by a limit varies by about a request, that of the disk by a few percent.
    let ops = if limited { host.iops.round() } else { (host.iops * (1.0 + 0.05 * (chance.next() - 0.5))).round() };
    let wait_ms = if limited { host.depth / ops * 1e3 - host.device_ms } else { 0.002 };
    let (mut response, mut device) = (Histogram::new(), Histogram::new());
    for _ in 0..ops as u64 {
        let in_device = Span::from_secs_f64(host.device_ms / 1e3 * (0.6 - 0.4 * chance.next().ln()));
        let queued = Span::from_secs_f64(wait_ms / 1e3 * (0.95 + 0.1 * chance.next()));
        response.record(queued + in_device);
        device.record(in_device);
        tally.queued.record(queued);
    }
    tally.response.merge(&response);
    tally.service.merge(&response);
    tally.device.merge(&device);
    for bin in 0..100u64 {
        let count = (ops * (bin + 1) as f64 / 100.0) as u64 - (ops * bin as f64 / 100.0) as u64;
        volume.add(Time::ZERO + start + Span::from_millis(10) * bin, count as u32, count * BLOCK);
    }
    let reads = (ops / 2.0) as u64;
    let writes = ops as u64 - reads;
    let counts = Counts { reads, writes, read_bytes: reads * BLOCK, write_bytes: writes * BLOCK, ..Counts::default() };
    let sum = &mut tally.counts;
    (sum.reads, sum.writes) = (sum.reads + reads, sum.writes + writes);
    (sum.read_bytes, sum.write_bytes) = (sum.read_bytes + counts.read_bytes, sum.write_bytes + counts.write_bytes);
    Interval {
        start,
        length: Span::SECOND,
        counts,
        response: Times::of(&response.summary()),
        service: Times::of(&response.summary()),
        outstanding: Some(host.depth as u32),
        waits: Waits {
            ceiling: if limited { Span::from_secs_f64(wait_ms / 1e3) } else { Span::ZERO },
            turn: if limited { Span::ZERO } else { Span::from_secs_f64(wait_ms / 1e3) },
            device: device.summary().mean,
            ..Waits::default()
        },
        held_by: host.held_by,
        ..Interval::default()
    }
}

fn objects(scenes: &[Scene], volumes: [DispatchTrace; 3]) -> Vec<ObjectRecord> {
    let mut shared = volumes[0].clone();
    shared.merge(&volumes[1]);
    let limits = |volume: usize, scene: &Scene| match (scene.shared, scene.ceilings.get(volume).copied().flatten()) {
        (Some(_), _) if volume < 2 => LimitsInForce { policy: GROUP.into(), ..LimitsInForce::default() },
        (_, Some(iops)) => LimitsInForce {
            policy: POLICY.into(),
            ceiling_iops: Some(iops),
            ceiling_bytes: Some(if iops == 5_000 { 150 * MB } else { 100 * MB }),
            ..LimitsInForce::default()
        },
        _ => LimitsInForce::default(),
    };
    let of_group = |scene: &Scene| LimitsInForce {
        policy: GROUP.into(),
        ceiling_iops: scene.shared,
        ceiling_bytes: scene.shared.map(|_| 100 * MB),
        ..LimitsInForce::default()
    };
    let volume = |(index, trace)| ObjectRecord {
        path: format!("svm01:/vol/vol{}", index + 1),
        is_group: false,
        trace,
        limits: scenes.iter().map(|scene| limits(index, scene)).collect(),
        ..ObjectRecord::default()
    };
    let mut objects: Vec<ObjectRecord> = volumes.into_iter().enumerate().map(volume).collect();
    let limits = scenes.iter().map(of_group).collect();
    objects.push(ObjectRecord { path: GROUP.into(), is_group: true, trace: shared, limits, ..ObjectRecord::default() });
    objects
}

fn verdicts() -> Vec<Verdict> {
    let verdict = |question: &str, outcome, because: &str| Verdict {
        question: question.into(),
        outcome,
        because: because.into(),
        measured: None,
    };
    vec![
        verdict(
            "No ceiling is exceeded by more than 1 % in any sliding second",
            Outcome::Pass,
            "the fullest second of dispatches held 5,000 of 5,000 (vol1, ceiling), 500 of 500 (vol1, lower), 1,000 of \
             1,000 (vol1, raised), 1,000 of 1,000 (vol2, own limits)",
        ),
        verdict(
            "vol1 and vol2 together reach the shared limit to within 1 %, and do not exceed it",
            Outcome::Pass,
            "1,500 IOPS on average and 1,500 in the fullest second, of 1,500",
        ),
        verdict(
            "The bully pushes server2 and server3 below 70 % of their even share",
            Outcome::Pass,
            "server2 had 583 of 3,500 IOPS (17 %), server3 583 of 3,500 (17 %)",
        ),
        verdict(
            "The lowered ceiling gives server2 and server3 at least 95 % of their even share back",
            Outcome::CannotSay,
            "server3 reached 3,560 of 3,500 IOPS (102 %), but the processor was busy for 97 % of the phase, so that the \
             disk was not what limited server2 (91 %)",
        ),
    ]
}

fn origin() -> Origin {
    Origin {
        transactions: false,
        title: "A noisy neighbour, measured and walled off".into(),
        plan: include_str!("noisy-neighbour.toml").into(),
        command: "seawall run plans/noisy-neighbour.toml --phase-seconds 8 --seed 42".into(),
        version: "0.1.0".into(),
        seed: 42,
        // 2026-11-21 20:19:10 UTC
        started_unix_ms: 1_795_292_350_000,
        simulated: false,
        cut_short: false,
        goes_on: false,
        labels: Vec::new(),
    }
}

fn machine() -> Machine {
    Machine {
        host: "harbour".into(),
        kernel: "Linux 6.12.9".into(),
        cpu: "AMD EPYC 7763".into(),
        cores: 2,
        memory: Bytes::gib(8),
        storage: "ext4 on /dev/nvme0n1p2 (KXG60ZNV512G)".into(),
        backend: "threads".into(),
    }
}

/// A SplitMix64 source (Steele, Lea and Flood, 2014) of numbers in (0, 1].
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}
