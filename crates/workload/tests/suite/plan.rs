//! The meaning of a plan file: defaults, every form of a load, changes that stay, scaling, and the
//! description.

use block::{Bytes, BytesPerSecond, Iops, Span};
use stats::{Criterion, Rate};
use workload::plan::{
    Burst, PHASE_DEFAULT, Peak, PlanLink, PlanNesting, PlanProcessors, PlanProtocol, PlanSettings, PlanUnits,
};
use workload::{Arrival, BlockShare, Blocks, Pattern, Plan, Range, Spacing};

/// A plan of one volume and `rest`.
fn plan(rest: &str) -> Plan {
    let head = "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\n";
    Plan::read(&format!("{head}{rest}"), "p.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

/// A plan of one workload `w` with this load, and these phases.
fn loaded(load: &str, phases: &str) -> Plan {
    plan(&format!("[[workload]]\nname = \"w\"\nlun = \"/vol/v/lun1\"\n{load}\n{phases}"))
}

fn open(rate: u64, spacing: Spacing, outstanding: u32) -> Arrival {
    Arrival::Open { rate: Iops(rate), spacing, outstanding }
}

#[test]
fn what_is_not_said_has_a_default() {
    let plan = loaded("depth = 1", "[[phase]]\nname = \"only\"");
    let spec = &plan.workloads[0].spec;
    assert_eq!((plan.seed, plan.phase_length, plan.published_iops), (1, PHASE_DEFAULT, None));
    assert_eq!((plan.about.as_str(), plan.device, plan.criteria.len()), ("", None, 0));
    assert_eq!((plan.volumes[0].size, plan.workloads[0].host.as_str()), (None, "w"));
    assert_eq!((spec.pattern, spec.read_percent, spec.connections), (Pattern::Random, 100, 1));
    assert_eq!((&spec.blocks, spec.range), (&Blocks::of(Bytes::kib(4)), Range::default()));
    assert_eq!(plan.phases[0].specs[0], *spec);
    assert_eq!(loaded("rate = 9", "[[phase]]\nname = \"p\"").workloads[0].spec.arrival, open(9, Spacing::Uniform, 256));
}

/// The same text with another seed is another plan, but for workloads with a seed of their own.
#[test]
fn a_given_seed_takes_the_place_of_the_plans() {
    let loads = "[[workload]]\nname = \"w\"\nlun = \"/vol/v/lun1\"\ndepth = 1\n[[workload]]\nname = \"own\"\n\
                 lun = \"/vol/v/lun1\"\ndepth = 1\nseed = 5\n[[phase]]\nname = \"only\"";
    let plan = plan(loads);
    let seeded = |seed| Plan::read_seeded(&plan.text, "p.toml", seed).expect("the same text");
    assert_eq!(seeded(1), plan);
    let other = seeded(2);
    let seeds = |plan: &Plan| [0, 1].map(|load| plan.phases[0].specs[load].seed);
    assert_eq!((other.seed, seeds(&other)[1]), (2, 5));
    assert_ne!(seeds(&other)[0], seeds(&plan)[0]);
}

#[test]
fn a_load_in_every_form() {
    let load = "pattern = \"sequential\"\nread_percent = 0\nblock = { 4k = 60, 1MiB = 40 }\noffset = \"1MiB\"\n\
                size = 2097152\nconnections = 3\nrequests = 0x10\nrate = 1_000\nspacing = \"poisson\"\noutstanding = 7\n\
                seed = 5\nhost = \"h\"";
    let plan = loaded(load, "[[phase]]\nname = \"only\"\nseconds = 60");
    let spec = &plan.phases[0].specs[0];
    assert_eq!((spec.pattern, spec.read_percent, spec.connections), (Pattern::Sequential, 0, 3));
    let shares = [BlockShare { size: Bytes::mib(1), weight: 40 }, BlockShare { size: Bytes::kib(4), weight: 60 }];
    assert_eq!(spec.blocks.shares(), shares);
    assert_eq!(spec.range, Range { offset: Bytes::mib(1), size: Some(Bytes::mib(2)) });
    assert_eq!((spec.arrival, spec.requests, spec.seed), (open(1000, Spacing::Poisson, 7), Some(16), 5));
    assert_eq!((plan.length(&plan.phases[0]), plan.workloads[0].host.as_str()), (Span::from_secs(60), "h"));
}

#[test]
fn what_a_phase_changes_stays_changed() {
    let phases = "[[phase]]\nname = \"a\"\nw = { connections = 0 }\n[[phase]]\nname = \"b\"\nw.connections = 2\n\
                  w.rate = 100\n[[phase]]\nname = \"c\"\n[phase.w]\nspacing = \"poisson\"\n[[phase]]\nname = \"d\"\n\
                  w = { rate = 200 }\n[[phase]]\nname = \"e\"\n[[phase]]\nname = \"f\"\nw = { depth = 3 }";
    let plan = loaded("depth = 1", phases);
    let seen: Vec<_> = plan.phases.iter().map(|phase| (phase.specs[0].connections, phase.specs[0].arrival)).collect();
    let expected = [
        (0, Arrival::Closed { depth: 1 }),
        (2, open(100, Spacing::Uniform, 256)),
        (2, open(100, Spacing::Poisson, 256)),
        (2, open(200, Spacing::Poisson, 256)),
        (2, open(200, Spacing::Poisson, 256)),
        (2, Arrival::Closed { depth: 3 }),
    ];
    assert_eq!(seen, expected);
    assert_eq!(plan.workloads[0].spec.connections, 1);
}

#[test]
fn scaling_multiplies_rates_and_caps_too() {
    let plan = loaded("rate = 1000\noutstanding = 10", "[[phase]]\nname = \"p\"");
    assert_eq!(plan.scaled(0.25).phases[0].specs[0].arrival, open(250, Spacing::Uniform, 3));
    assert_eq!(plan.scaled(0.0).workloads[0].spec.arrival, open(1, Spacing::Uniform, 1));
    assert_eq!(plan.scaled(1e30).workloads[0].spec.arrival, open(100_000_000, Spacing::Uniform, 65_536));
    assert_eq!(plan.scaled(f64::NAN).workloads[0].spec.arrival, open(1, Spacing::Uniform, 1));
}

#[test]
fn a_floor_is_a_criterion() {
    let phases =
        "[[phase]]\nname = \"p\"\n[[criterion]]\nkind = \"floor-held\"\nworkloads = [\"w\"]\nphase = \"p\"\npart = 1";
    let expected = Criterion::FloorHeld { workloads: vec!["w".into()], phase: "p".into(), part: 1.0 };
    assert_eq!(loaded("depth = 1", phases).criteria, [expected]);
}

#[test]
fn response_times_and_rates_are_criteria() {
    let of = |lines: &str| {
        let judged = "workloads = [\"w\"]\nphase = \"p\"";
        loaded("depth = 1", &format!("[[phase]]\nname = \"p\"\n[[criterion]]\n{lines}\n{judged}")).criteria
    };
    let (workloads, phase) = (vec!["w".to_owned()], "p".to_owned());
    assert_eq!(
        of("kind = \"response-within\"\npercentile = 99.9\nat_most = \"1ms\""),
        [Criterion::ResponseWithin {
            workloads: workloads.clone(),
            phase: phase.clone(),
            percentile: 99.9,
            at_most: Span::from_millis(1)
        }]
    );
    for (line, at_least) in
        [("iops = 5000", Rate::Iops(Iops(5000))), ("bytes = \"200MB\"", Rate::Bytes(Bytes(200_000_000)))]
    {
        let expected = Criterion::RateReached { workloads: workloads.clone(), phase: phase.clone(), at_least };
        assert_eq!(of(&format!("kind = \"rate-reached\"\n{line}")), [expected]);
    }
    let rate = Rate::Iops(Iops(937));
    let expected = Criterion::RateIs { workloads, phase, rate, tolerance: 0.01 };
    assert_eq!(of("kind = \"rate-is\"\niops = 937\ntolerance = 0.01"), [expected]);
}

#[test]
fn shares_of_hits_are_criteria() {
    let phases =
        "[[phase]]\nname = \"p\"\n[[phase]]\nname = \"q\"\n[[criterion]]\nworkloads = [\"w\"]\nphase = \"q\"\n";
    let of = |lines: &str| loaded("depth = 1", &format!("{phases}{lines}")).criteria;
    let (workloads, phase, baseline) = (vec!["w".to_owned()], "q".to_owned(), "p".to_owned());
    let kept = Criterion::HitShareKept { workloads: workloads.clone(), phase: phase.clone(), baseline, points: 2.0 };
    assert_eq!(of("kind = \"hit-share-kept\"\nbaseline = \"p\"\npoints = 2"), [kept]);
    let below = Criterion::HitShareBelow { workloads, phase, part: 0.5 };
    assert_eq!(of("kind = \"hit-share-below\"\npart = 0.5"), [below]);
}

#[test]
fn a_volume_may_be_a_place() {
    let plan = "title = \"t\"\n[[volume]]\nname = \"db\"\nplace = \"/dev/sdx\"\n[[workload]]\nname = \"w\"\n\
                volume = \"db\"\ndepth = 1\n[[phase]]\nname = \"p\"\n";
    let read = Plan::read(plan, "p.toml").unwrap();
    assert_eq!((&read.volumes[0].places[..], read.volumes[0].stripe), (&["/dev/sdx".to_owned()][..], None));
    assert!(!read.volumes[0].is_served() && !read.writes(0));
    assert!(read.describe().iter().any(|line| line.contains("w on /dev/sdx: ")), "{:?}", read.describe());
    let writes = Plan::read(&plan.replace("name = \"p\"\n", "name = \"p\"\nw = { read_percent = 99 }\n"), "p.toml");
    assert!(writes.unwrap().writes(0));
}

#[test]
fn a_plan_without_a_size_is_checked_when_it_gets_one() {
    let plan = loaded("depth = 1", "[[phase]]\nname = \"p\"\nw = { size = \"1GiB\" }");
    assert!(plan.clone().sized(Bytes::gib(1)).is_ok());
    let expected = "p.toml:12: w.size: must end within the target of 512 MiB, got 1 GiB from 0 B on; leave it out to go to \
                    the end";
    assert_eq!(plan.clone().sized(Bytes::mib(512)).unwrap_err().to_string(), expected);
    let by_option = plan.sized_by(Bytes::mib(512), |volume| volume.size.is_none().then(|| "--size 512MiB".into()));
    assert!(by_option.unwrap_err().to_string().starts_with("p.toml:12: --size 512MiB: w.size: must end within"));
}

/// The plan says once what a GB is, for all space in it. Sizes of volumes are rounded up to 4 KiB;
/// blocks are always binary.
#[test]
fn a_gigabyte_is_what_the_server_counts() {
    let plan = |units: &str| {
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n{units}\n[[volume]]\nname = \"v\"\nsize = \"1GB\"\n[[workload]]\n\
             name = \"w\"\nlun = \"/vol/v/lun1\"\nblock = \"8k\"\ndepth = 1\noffset = \"512MB\"\n[[phase]]\nname = \"p\"\n"
        );
        Plan::read(&text, "p.toml").unwrap_or_else(|errors| panic!("{errors}"))
    };
    // 10^9 is 244 140.6 blocks of 4 KiB; 512 x 10^6 is a whole number of sectors.
    for (units, volume, offset) in [
        ("", 244_141 * 4096, 512_000_000),
        ("units = \"decimal\"", 244_141 * 4096, 512_000_000),
        ("units = \"binary\"", 1 << 30, 512 << 20),
    ] {
        let plan = plan(units);
        assert_eq!(plan.volumes[0].size, Some(Bytes(volume)), "{units}");
        let spec = &plan.workloads[0].spec;
        assert_eq!((spec.range.offset, spec.blocks.largest()), (Bytes(offset), Bytes::kib(8)), "{units}");
    }
}

/// The plan also says how the server applies policies, with the keys of a pool's settings.
#[test]
fn the_server_takes_policies_as_the_plan_says() {
    let plan = |lines: &str| {
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n{lines}\n[[volume]]\nname = \"v\"\n[[workload]]\nname = \"w\"\n\
             lun = \"/vol/v/lun1\"\ndepth = 1\n[[phase]]\nname = \"p\"\n"
        );
        Plan::read(&text, "p.toml").unwrap_or_else(|errors| panic!("{errors}"))
    };
    let silent = plan("");
    assert_eq!(silent.settings, PlanSettings::default());
    assert!(!silent.describe().iter().any(|line| line.starts_with("the server")));
    let said = plan(
        "units = \"binary\"\nnesting = \"free\"\nburst = \"ontap\"\npeak = \"credits\"\nfair = true\ncache = \"32MiB\"\n\
         second_level = \"64MiB\"\nprotocol = \"nfs\"\nprocessors = 2\nread_time = \"33us\"\nwrite_time = \"68us\"\n\
         flow_limit = \"5Gb/s\"\nnetwork = \"150MB/s\"\nnetwork_burst = \"1250MB/s\"\nnetwork_credit = \"2GiB\"",
    );
    let expected = PlanSettings {
        units: PlanUnits::Binary,
        nesting: PlanNesting::Free,
        burst: Burst::Ontap,
        peak: Peak::Credits,
        fair: true,
        cache: Some(Bytes::mib(32)),
        second_level: Some(Bytes::mib(64)),
        protocol: PlanProtocol::Nfs,
        processors: Some(PlanProcessors { count: 2, read: Span::from_micros(33), write: Span::from_micros(68) }),
        link: PlanLink {
            flow: Some(BytesPerSecond(625_000_000)),
            network: Some(BytesPerSecond(150_000_000)),
            burst: Some(BytesPerSecond(1_250_000_000)),
            credit: Bytes::gib(2),
        },
    };
    assert_eq!(said.settings, expected);
    let line = "the server: a GB is 2^30 bytes; every level may carry a policy; a policy without a burst has ONTAP's, \
                50 % for 1 s; peaks of adaptive policies are reached on credit; SVMs take turns; pages are kept in memory; \
                what memory evicts goes to a second level; hosts speak NFS version 3; a connection carries so much a second; \
                all connections carry so much a second together";
    assert!(said.describe().contains(&line.to_owned()), "{:?}", said.describe());
}

/// A device of every kind with some figures of its own, as the simulator reads it and as the
/// description shows it.
#[test]
fn every_kind_of_device_is_read() {
    use workload::plan::DeviceFigure::{Count, Size, Time};
    let device =
        |lines: &str| loaded("depth = 1", &format!("[[phase]]\nname = \"p\"\n[device]\n{lines}")).device.unwrap();
    let disk = device("kind = \"disk\"\nrotation = \"4ms\"\nwindow = 1\nchanges = [{ at = \"10s\", percent = 50 }]");
    assert_eq!((disk.figure("rotation"), disk.figure("window")), (Some(Time(Span::from_millis(4))), Some(Count(1))));
    assert_eq!((disk.figure("track"), &disk.changes[..]), (None, &[(Span::from_secs(10), 50)][..]));
    assert_eq!(disk.to_string(), "disk with rotation 4.00 ms, window 1; 50 % from 10.0 s on");
    let flash = device("kind = \"flash\"\nchannels = 8\npage = \"16k\"");
    assert_eq!(flash.figure("page"), Some(Size(Bytes::kib(16))));
    let cloud = device("kind = \"cloud-volume\"\niops = 500\niops_credit = 0");
    assert_eq!((cloud.kind, cloud.figure("iops_credit"), cloud.iops()), ("cloud-volume", Some(Count(0)), None));
    let servers = device("kind = \"parallel-servers\"\nservers = 4\nservice = \"1ms\"\nqueue_limit = 32");
    assert_eq!(servers.iops(), Some(4000.0));
    assert_eq!(servers.to_string(), "4 parallel servers of 1.00 ms each, 4000 IOPS with queue limit 32");
}

#[test]
fn every_form_of_a_load_in_words() {
    let words = |load: &str| loaded(load, "[[phase]]\nname = \"p\"\nseconds = 120000").describe()[1].clone();
    assert_eq!(words("depth = 1"), "w on s:/vol/v/lun1: 4 KiB random, 100 % reads, 1 connection × 1 in flight");
    assert_eq!(
        words(
            "host = \"h\"\npattern = \"sequential\"\nblock = { 4k = 60, 8k = 40 }\nsize = \"1GiB\"\ndepth = 2\nrequests = 9"
        ),
        "w (host h) on s:/vol/v/lun1: 4 KiB (60 %) + 8 KiB (40 %) sequential, 100 % reads, 1 connection × 2 in flight, \
         in the first 1 GiB, 9 requests in all"
    );
    assert_eq!(
        words("rate = 500\nspacing = \"poisson\"\nconnections = 2\noffset = \"1GiB\""),
        "w on s:/vol/v/lun1: 4 KiB random, 100 % reads, 500 requests/s at random (poisson) over 2 connections, at most \
         256 in flight each, from 1 GiB on"
    );
    // The published command line's runtime=120000, which its authors may have meant in
    // milliseconds.
    let plan = loaded("depth = 1", "[[phase]]\nname = \"p\"\nseconds = 120000\nw = { connections = 0 }");
    assert_eq!(plan.describe()[2], "phase 1, p (33 h 20 min): w now silent");
    assert_eq!(plan.describe()[0], "t: 1 workload, 1 phase, 33 h 20 min in all, seed 1");
}

/// Thirty clones of a volume take one line each for their names, their LUNs, and the load that is
/// spread over them.
#[test]
fn a_name_may_stand_for_several_volumes() {
    let text = "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"prod\"\nsize = \"1GB\"\nlun = \"data\"\n\
                thin = true\n[[volume]]\nname = \"dev{01..30}\"\nclone_of = \"prod\"\n[[workload]]\nname = \"devs\"\n\
                lun = \"/vol/dev{01..30}/data\"\noffset = \"64KiB\"\nsize = \"16MiB\"\nconnections = 60\ndepth = 2\n\
                [[phase]]\nname = \"p\"\n";
    let plan = Plan::read(text, "p.toml").and_then(|plan| plan.sized(Bytes::mib(1))).unwrap();
    assert_eq!(plan.volumes.len(), 31);
    let (parent, last) = (&plan.volumes[0], &plan.volumes[30]);
    assert!(parent.thin && parent.clone_of.is_none());
    assert_eq!((last.path().as_str(), last.clone_of, last.size), ("/vol/dev30/data", Some(0), parent.size));
    assert_eq!((plan.workloads[0].volume_of(0), plan.workloads[0].volume_of(59)), (1, 30));
    assert!(plan.is_late(0));
    // What is written before a run of a thin volume: the part that loads use, which is empty here.
    let used = |volume| (plan.used(volume).offset.0, plan.used(volume).size.map(|size| size.0));
    assert_eq!((used(0).1, used(30)), (Some(0), (64 << 10, Some(16 << 20))));
    assert!(plan.describe()[1].starts_with("devs on s:/vol/dev01/data to /vol/dev30/data (30 LUNs): "));
    for (part, with, words) in [
        ("clone_of = \"prod\"", "clone_of = \"prd\"", "did you mean prod?"),
        ("clone_of = \"prod\"", "clone_of = \"prod\"\nsize = \"1GB\"", "size: must be absent beside clone_of"),
        ("dev{01..30}\"\nclone", "dev{30..01}\"\nclone", "name: must be 1 to 64 letters"),
        ("/vol/dev{01..30}/data", "/vol/dev{01..31}/data", "/vol/dev31/data"),
        ("name = \"prod\"", "name = \"dev07\"", "dev07"),
    ] {
        let refused = Plan::read(&text.replace(part, with), "p.toml").unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
