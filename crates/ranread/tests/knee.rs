//! Sweeps in virtual time on devices whose knee is known from theory.
//!
//! `c` servers that are busy with each request for `s` milliseconds do at most `c / s` requests per
//! millisecond. With `P` processes at depth 1 there are always `P` requests in the system, so by
//! Little's law their mean response time is `s` up to `P = c` and `P × s / c` beyond. It is within
//! a limit of `R` ms up to `P = R × c / s`. If service times are random, this holds for their mean.

use array::{DeviceSpec, Flash, Model, ParallelServers, VirtualClock};
use block::{Bytes, Span};
use engine::job::Simulation;
use ranread::{
    Aim, Batch, BatchEvidence, Effort, Limits, Load, Measured, ProcessRow, ProcessState, Series, Sweep, SweepPlan,
    jobs, knee,
};

const SIZE: Bytes = Bytes::gib(10);

fn batch(spec: &DeviceSpec, processes: u32, seconds: u64, seed: u64) -> Batch {
    let load = Load {
        targets: vec!["db".into()],
        effort: Some(Effort::Seconds(seconds)),
        block: ranread::BLOCK,
        read_percent: 100,
        seed,
        page_cache: false,
        destroy: Vec::new(),
        even_in_use: Vec::new(),
    };
    let aims = [Aim::Simulated { name: "db".into(), size: SIZE }];
    let simulation = Simulation::of(&jobs(&load, &aims, processes, seed)).expect("it can be simulated");
    let device = spec.build(seed).expect("it is a device");
    let outcomes = simulation.run(device, &VirtualClock::new(), &mut || false, &mut |_, _| Ok(None));
    let blank = ProcessRow::blank(0, "db".into(), processes, &load);
    let rows: Vec<ProcessRow> =
        (1..).zip(&outcomes).map(|(job, outcome)| blank.of(job, ProcessState::Whole, outcome)).collect();
    Batch { rows }
}

fn swept(spec: &DeviceSpec, plan: &SweepPlan, seconds: u64, seed: u64) -> Sweep {
    let mut sweep = Sweep::new(plan.clone());
    let mut number = seed << 16;
    while let Some(load) = sweep.next_load() {
        let batch = batch(spec, load, seconds, number);
        sweep.record(load, Measured::of(&batch, BatchEvidence::default()));
        number += 1;
    }
    sweep
}

fn plan(average_ms: f64) -> SweepPlan {
    SweepPlan {
        loads: Series::Published.loads(1, 200),
        stop_ms: 10.0,
        limits: Limits { average_ms, most_ms: None },
        target: None,
        precision: 0.02,
        repeats: 8,
    }
}

/// 16 servers of 1 ms each: the limit of 2 ms holds up to exactly 32 processes.
#[test]
fn the_knee_of_fixed_servers_is_found_to_the_process() {
    let servers = ParallelServers { servers: 16, service: Span::from_millis(1), ..ParallelServers::default() };
    let model = Model::ParallelServers(ParallelServers { size_unit: None, ..servers });
    let spec = DeviceSpec { size: SIZE, ..DeviceSpec::of(model) };
    let sweep = swept(&spec, &plan(2.0), 1, 1);
    let points = sweep.points();
    let found = knee(&points, plan(2.0).limits).expect("a load is inside");
    assert_eq!(found.processes, 32, "{:?}", points.iter().map(|point| point.processes).collect::<Vec<_>>());
    // 16 requests per millisecond; those in flight at the end of the second take up to 2 ms more.
    assert!((found.iops().mean / 16_000.0 - 1.0).abs() < 0.003, "{:?}", found.iops());
}

/// Eight channels of flash; each request goes to a random one, depending on its offset, and
/// requests to the same channel wait. The closed network of P requests over c equal channels with
/// fixed service has a throughput between `c P / (P + c − 1)` per service time, which exponential
/// service would have, and `min(P, c)`. The knee for one seed is compared with that of a long run,
/// in which 15 times as many requests leave hardly any randomness. `cargo xtask soak tools` runs a
/// hundred seeds.
#[test]
fn the_knee_is_found_within_five_percent_for_95_percent_of_seeds() {
    let flash = Flash {
        channels: 8,
        page: Bytes::kib(8),
        read: Span::from_millis(5),
        collection: None,
        pause: None,
        ..Flash::default()
    };
    let spec = DeviceSpec { size: SIZE, ..DeviceSpec::of(Model::Flash(flash)) };
    let limit = 40.0;
    let long = |processes| batch(&spec, processes, 30, 7).response_ms().unwrap_or(f64::MAX);
    let theory = (50..70).take_while(|&processes| long(processes) <= limit).last().expect("some load is inside");
    // 40 ms are eight service times of 5 ms: with exponential service P + 7 = 64, without any
    // waiting P = 64.
    assert!((57..=64).contains(&theory), "{theory}");
    let near_knee =
        SweepPlan { loads: Series::Every(20).loads(40, 100), stop_ms: 45.0, precision: 0.05, ..plan(limit) };
    let near = |seed| {
        let sweep = swept(&spec, &near_knee, 2, seed);
        let points = sweep.points();
        let found = knee(&points, plan(limit).limits).map_or(0, |knee| knee.processes);
        (f64::from(found) / f64::from(theory) - 1.0).abs() <= 0.05
    };
    let seeds = std::env::var("SEAWALL_KNEE_SEEDS").map_or(25, |text| text.parse::<u64>().expect("a number"));
    let hits = (1..=seeds).filter(|&seed| near(seed)).count() as u64;
    assert!(hits * 100 >= seeds * 95, "{hits} of {seeds} around {theory}");
}
