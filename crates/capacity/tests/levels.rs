//! Two levels of simulation agree within 2 %: the machine that makes a ramp's single requests on an
//! array in virtual time, and phases over the means of the same array.
//!
//! Loads are small and cycles short, so that minutes of requests take a second. Arrays are chosen
//! so that each phase has another bottleneck: a stream of the link, the controller, the log's
//! latency, the media of a group. Cases in which the levels do not agree are left out (decision
//! 0602): disks that reorder, a controller that is filled by writers while reads follow a schedule,
//! and small writes on mirrors.

use array::{
    Array, ArrayStage, Controller, DeviceSpec, Flash, Level, Link, Model, ParallelServers, Raid, VirtualClock, WriteLog,
};
use block::{Bytes, Driver as _, ObjectId, Span};
use capacity::{Candidate, HostLoad, HostsOn, Need, size};
use ramp::{
    Accounting, BLOCK, Constants, CycleMachine, DataFile, Ladder, Layout, NoContents, RampSettings, RunSetup, Spot,
    Steps,
};

const DATA: Bytes = Bytes::gib(16);

fn settings(target: u64) -> RampSettings {
    RampSettings {
        ladder: Ladder { min: target, max: target, runs: 1, steps: Steps::AboveMinimum },
        runtime: Span::from_secs(32),
        wij_file: String::new(),
        system: String::new(),
        comment: String::new(),
        warm_up: false,
        accounting: Accounting::True,
        constants: Constants { cycle: Span::from_secs(8), ..Constants::default() },
        seed: 1,
    }
}

fn link(flow: u64) -> ArrayStage {
    ArrayStage::Link(Link {
        bandwidth: Bytes(1_600_000_000),
        latency: Span::from_micros(10),
        flow: Some(Bytes(flow)),
        flows: 16,
    })
}

fn controller(cores: u32, read: u64, write: u64) -> ArrayStage {
    let (read, write) = (Span::from_micros(read), Span::from_micros(write));
    ArrayStage::Controller(Controller { cores, read, write, ..Controller::default() })
}

/// Consistency points are so rare that none falls into a run: means have no dependence on time, and
/// always include the media's share of writes. So loads are small compared with the media.
fn log(latency: u64) -> ArrayStage {
    let (half, every) = (Bytes::gib(64), Span::from_secs(3600));
    ArrayStage::WriteLog(WriteLog { half, latency: Span::from_micros(latency), every, ..WriteLog::default() })
}

fn flash() -> Box<Model> {
    let (read, program) = (Span::from_micros(75), Span::from_micros(200));
    Box::new(Model::Flash(Flash {
        channels: 16,
        page: Bytes::kib(8),
        read,
        program,
        collection: None,
        ..Flash::default()
    }))
}

fn arrays() -> Vec<(&'static str, u64, Array)> {
    let servers = Model::ParallelServers(ParallelServers {
        servers: 256,
        service: Span::from_micros(300),
        ..ParallelServers::default()
    });
    vec![
        (
            "a pair with streams and a log",
            4000,
            Array { stages: vec![link(200_000_000), controller(8, 60, 40), log(250)], media: flash() },
        ),
        ("servers behind a link", 2000, Array { stages: vec![link(100_000_000)], media: Box::new(servers) }),
        (
            "a controller with costly writes",
            1500,
            Array { stages: vec![link(400_000_000), controller(16, 40, 160), log(20)], media: flash() },
        ),
        (
            "striped flash without a log",
            2000,
            Array {
                stages: vec![
                    link(400_000_000),
                    controller(4, 50, 80),
                    ArrayStage::Raid(Raid { level: Level::Zero, members: 8, unit: Bytes::kib(64) }),
                ],
                media: flash(),
            },
        ),
    ]
}

/// Time of a burst in seconds according to `size`.
fn cycle_as_sized(array: &Array, settings: &RampSettings) -> f64 {
    let candidate = Candidate { name: "a".into(), array: array.clone(), price: None };
    let need = Need {
        iops: settings.ladder.max as f64,
        instances: 1,
        most: 1.0,
        most_one_down: 1.0,
        response: [1.0; 2],
        growth: 0.0,
        years: 0,
        spread: None,
        constants: settings.constants,
    };
    size(&need, &[candidate])[0].all.cycle
}

#[test]
fn the_machine_and_phases_agree() {
    let mut wrong = Vec::new();
    for (name, target, array) in arrays() {
        let settings = settings(target);
        let load = settings.loads()[0];

        let hosts = [HostLoad::of(load)];
        let mut on = HostsOn::new(&array, &hosts, &settings.constants, true);
        let phases = ramp::phases(&settings, &[load], &mut on).remove(0);
        let sized = cycle_as_sized(&array, &settings);

        let wij = Layout::wij_need(load.burst);
        let spec = DeviceSpec { size: Bytes(DATA.0 + wij), ..DeviceSpec::of(Model::Array(array)) };
        let files = vec![DataFile { object: ObjectId(0), at: 0, blocks: DATA.0 / BLOCK }];
        let layout = Layout::new(files, Spot { object: ObjectId(0), at: DATA.0, bytes: wij });
        let mut clock = VirtualClock::new();
        let (device, setup) = (spec.build(1).expect("a device"), RunSetup::of(&settings, 0));
        let machine =
            CycleMachine::new(device, Box::new(NoContents), layout, &load, &setup, clock.now()).expect("a machine");
        let played = machine.run(&mut clock, Span::from_secs(60), &mut |_| true);
        assert!(played.failure.is_none(), "{name}: {:?}", played.failure);

        assert_eq!(played.cycles.len(), phases.cycles.len(), "{name}");
        let mean = |cycles: &[ramp::Cycle], of: fn(&ramp::Cycle) -> Span| {
            cycles.iter().map(|cycle| of(cycle).as_secs_f64()).sum::<f64>() / cycles.len() as f64
        };
        let reads = &played.tape[stats::Tape::READ];
        for (what, computed, played) in [
            ("journal, s", mean(&phases.cycles, |c| c.wij), mean(&played.cycles, |c| c.wij)),
            ("blocks, s", mean(&phases.cycles, |c| c.write), mean(&played.cycles, |c| c.write)),
            ("cycle, s", mean(&phases.cycles, |c| c.cycle), mean(&played.cycles, |c| c.cycle)),
            ("cycle as sized, s", sized, mean(&played.cycles, |c| c.cycle)),
            ("reads", phases.reads, reads.ops as f64),
            ("read, ms", phases.read_mean * 1e3, reads.response.mean().as_millis_f64()),
        ] {
            println!(
                "{name:<42} {what:<18} {computed:>12.4} computed {played:>12.4} played {:+.2} %",
                100.0 * (computed / played - 1.0)
            );
            if (computed / played - 1.0).abs() > 0.02 {
                wrong.push(format!("{name}: {what}: {computed:.4} computed, {played:.4} played"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
