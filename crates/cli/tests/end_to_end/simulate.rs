//! `seawall simulate`: virtual time.

use crate::plan;
use crate::reader::SIGPIPE;
use crate::results::{file, recording};
use crate::running::{RESULTS, run, seawall};
use crate::scratch::Scratch;
use crate::server::read_text;
use block::Span;
use stats::run::Hits;
use stats::{HeldBy, Outcome};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

/// The repository's plans.
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");

/// The noisy neighbour in virtual time, twice: the same figures byte for byte, and every criterion
/// held.
#[test]
fn the_same_plan_gives_the_same_figures_and_holds_every_criterion() {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/noisy-neighbour.toml");
    let figures = ["one", "two"].map(|out| {
        let ended =
            run(seawall(scratch.path()).args(["simulate", &plan, "--out", out]).env(RESULTS, format!("{out}.sqlite")));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains(" criteria held\n"), "{}", ended.out);
        read_text(&file(&scratch.join(out), ".csv"))
    });
    assert_eq!(figures[0], figures[1]);
    let recording = recording(&scratch.join("one"));
    assert!(recording.origin.simulated && !recording.origin.cut_short);
    assert!(recording.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Pass), "{:?}", recording.verdicts);
    // Published: about 7000 each in the even load, and again once the noisy one has 1000 of the
    // 21 000: two jobs a host do no more by themselves, though 20 000 are left for two.
    let phase = |name: &str| recording.phases.iter().position(|phase| phase.name == name).expect("the phase");
    for (name, victims) in [("even", 0..3), ("lower", 1..3)] {
        let iops = recording.workloads[victims].iter().map(|workload| workload.tallies[phase(name)].iops());
        let iops: Vec<f64> = iops.collect();
        assert!(iops.iter().all(|iops| (6_300.0..=7_700.0).contains(iops)), "{name}: {iops:?}");
    }
    let lower = recording.phases[phase("lower")].start;
    let victim = recording.workloads[1].intervals.iter().find(|interval| interval.start >= lower + Span::SECOND);
    assert_eq!(victim.map(|interval| interval.held_by), Some(HeldBy::Pace));
    // Eight seconds a phase, three workloads, and the header.
    assert_eq!(figures[0].lines().count(), recording.phases.len() * 8 * 3 + 1);
}

/// The published workshop: the rates that were published and what held each step, as its criteria
/// have them; and by Little's law each step by 1 MiB has its 128 requests in flight, so none is
/// passed over.
#[test]
fn the_workshop_comes_to_what_was_published() {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/fsx-workshop.toml");
    let ended = run(seawall(scratch.path()).args(["simulate", &plan, "--out", "out"]).env(RESULTS, "out.sqlite"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("All 11 criteria held\n"), "{}", ended.out);
    let recording = recording(&scratch.join("out"));
    for (name, rate) in [("memory, one connection", 625e6), ("memory, nconnect=16", 1250e6), ("baseline", 150e6)] {
        let index = recording.phases.iter().position(|phase| phase.name == name).unwrap();
        let tally = &recording.workloads[0].tallies[index];
        let (median, least) = (tally.response.quantile(0.5).as_secs_f64(), 128.0 * 1_048_576.0 / rate);
        assert!((median / least - 1.0).abs() < 0.02, "{name}: {median} s of {least} s");
    }
    let spec = ["spec", "fsx", "--throughput", "128", "--ssd", "1024GiB", "--compare", "1"];
    let spec = run(seawall(scratch.path()).args(spec).env(RESULTS, "out.sqlite"));
    assert_eq!(spec.code, Some(0), "{spec:?}");
    for (phase, held) in
        [("memory, one connection", "its connection"), ("4 KiB reads", "the CPU"), ("baseline", "the network")]
    {
        let line = spec.out.lines().find(|line| line.starts_with(phase)).unwrap_or_default();
        assert!(line.ends_with(held), "{phase}: {}", spec.out);
    }
}

/// Another seed gives other figures, so the test above compares something.
#[test]
fn another_seed_gives_other_figures() {
    let scratch = Scratch::new();
    let figures = ["seed = 7", "seed = 8"].map(|seed| {
        let out = scratch.join(&seed.replace(' ', ""));
        let plan = plan::write(&scratch, &plan::PLAN.replace("seed = 7", seed));
        let ended = run(seawall(scratch.path())
            .arg("simulate")
            .arg(plan)
            .arg("--out")
            .arg(&out)
            .env(RESULTS, out.with_extension("sqlite")));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        read_text(&file(&out, ".csv"))
    });
    assert_ne!(figures[0], figures[1]);
}

/// A criterion that cannot hold (the victims have all they had, while the bully is at it) gives
/// exit code 1 and says which.
#[test]
fn a_criterion_that_does_not_hold_gives_exit_code_one() {
    let scratch = Scratch::new();
    let plan = read_text(&Path::new(PLANS).join("noisy-neighbour.toml"));
    let wish = "[[criterion]]\nkind = \"restored\"\nworkloads = [\"server2\"]\nphase = \"bully\"\nbaseline = \"even\"\npart = 0.95\n";
    let text = plan.replacen("\n[[criterion]]", &format!("\n{wish}\n[[criterion]]"), 1);
    let plan = plan::write(&scratch, &text);
    let ended = run(seawall(scratch.path())
        .arg("simulate")
        .arg(plan)
        .args(["--phase-seconds", "3"])
        .env(RESULTS, "results.sqlite"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let recording = recording(scratch.path());
    let failed = recording.verdicts.iter().find(|verdict| verdict.outcome == Outcome::Fail).expect("one failed");
    assert!(failed.question.contains("bully") && ended.out.contains("did not hold"), "{failed:?}");
}

/// Each kind of device plays the same plan; what its figures must be for one host with 16 requests
/// outstanding follows from the kind's own: a disk does some hundred operations a second, flash and
/// servers many thousand, a cloud volume what its limit says. Halved capacity halves what 8 servers
/// do.
#[test]
fn every_kind_of_device_can_be_simulated() {
    let scratch = Scratch::new();
    let servers = plan::PLAN.split_once("[device]").unwrap().1;
    let device = |lines: &str| plan::PLAN.replace(servers, &format!("\n{lines}\n"));
    let kinds = [
        // 8.3 ms a turn and a short seek at most, of 16 requests the nearest; and never faster than
        // half a millisecond.
        ("kind = \"disk\"", 100.0, 2000.0),
        // 16 at a time of 75 µs (reads) to 375 µs (half a page programmed): 43 000 to 213 000, less
        // what channels share.
        ("kind = \"flash\"", 20_000.0, 213_000.0),
        // The first 16 pass at once; then the limit holds.
        ("kind = \"cloud-volume\"\niops = 700", 650.0, 750.0),
        // 16 / (100 µs + 16 x 11.8 µs) = 55 400 with all 16 in every turn, less what comes during
        // one and what it is away.
        ("kind = \"host\"", 35_000.0, 56_000.0),
        ("kind = \"parallel-servers\"\nservers = 8\nservice = \"500us\"", 15_900.0, 16_100.0),
        (
            "kind = \"parallel-servers\"\nservers = 8\nservice = \"500us\"\nchanges = [{ at = \"0s\", percent = 50 }]",
            7_900.0,
            8_100.0,
        ),
    ];
    for (index, (lines, least, most)) in kinds.into_iter().enumerate() {
        let out = scratch.join(&index.to_string());
        let plan = plan::write(&scratch, &device(lines));
        let ended = run(seawall(scratch.path())
            .arg("simulate")
            .arg(plan)
            .arg("--out")
            .arg(&out)
            .env(RESULTS, out.with_extension("sqlite")));
        assert_eq!(ended.code, Some(0), "{lines}: {ended:?}");
        let iops = recording(&out).workloads[0].intervals[1].iops();
        assert!((least..=most).contains(&iops), "{lines}: {iops}");
    }
    let wrong = plan::write(&scratch, &device("kind = \"disk\"\nseek_shortest = \"20ms\""));
    let ended = run(seawall(scratch.path()).arg("simulate").arg(wrong));
    assert_eq!((ended.code, ended.err.lines().count()), (Some(2), 1), "{ended:?}");
    let line = 1 + device("kind = \"disk\"").lines().position(|line| line == "kind = \"disk\"").unwrap() + 1;
    let said = format!("plan.toml:{line}: [device]: disk: seek_shortest must not be more than seek_longest");
    assert!(ended.err.contains(&said), "{}", ended.err);
}

/// A client that keeps one request outstanding in a device of 500 µs gets 2000 operations a second
/// at most, so a floor of 4000 is missed in every second. By Little's law it needs two requests
/// outstanding at the device's best, and five at the 1.25 ms that they may take beside the
/// neighbour. Table, CSV and page say so.
#[test]
fn a_floor_that_its_owner_is_too_shallow_for_is_explained_everywhere() {
    let scratch = Scratch::new();
    let neighbour = "[[volume]]\nname = \"vol2\"\nsize = \"16MiB\"\n\n[[workload]]\nname = \"neighbour\"\n\
                     lun = \"/vol/vol2/lun1\"\ndepth = 64\n\n[[phase]]";
    let text = plan::PLAN
        .replacen("[[phase]]", neighbour, 1)
        .replace("connections = 2\ndepth = 8", "depth = 1")
        .replace("-max-throughput 500IOPS", "-min-throughput 4000IOPS");
    let ended = run(seawall(scratch.path()).arg("simulate").arg(plan::write(&scratch, &text)));
    // Its one criterion is about a ceiling, and there is none.
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let needs = |number: &str| number.parse::<u32>().is_ok_and(|number| (2..=5).contains(&number));
    let told = ended.out.split_once("    floor missed in 3 of 3 seconds: needs ").expect(&ended.out).1;
    let (number, rest) = told.split_once(' ').unwrap();
    assert!(needs(number) && rest.starts_with("requests at the server at all times\n"), "{}", ended.out);
    assert_eq!(ended.out.matches("floor missed").count(), 1, "the neighbour has none: {}", ended.out);
    let figures = read_text(&file(scratch.path(), ".csv"));
    let rows = |host: &'static str| {
        figures.lines().filter(move |line| line.starts_with(['2', '3', '4', '5']) && line.contains(host))
    };
    let explained = |line: &str| line.rsplit_once(",needs_outstanding,").is_some_and(|(_, number)| needs(number));
    assert!(rows("server1").skip(1).all(explained), "{figures}");
    assert!(rows("neighbour").all(|line| line.ends_with(",not_set,")), "{figures}");
    assert!(read_text(&file(scratch.path(), ".html")).contains("class=\"floor\""));
}

/// Without a ceiling in force nobody can say whether one holds: exit code 2 and a line, in virtual
/// time and on real storage, and the results are kept.
#[test]
fn what_cannot_be_said_is_no_success() {
    let scratch = Scratch::new();
    let (before, commands) = plan::PLAN.split_once("commands = [").unwrap();
    let without = format!("{before}{}", commands.split_once("]\n").unwrap().1);
    let plan = plan::write(&scratch, &without);
    for command in ["simulate", "run"] {
        let ended = run(seawall(scratch.path())
            .arg(command)
            .arg(&plan)
            .args(["--out", command])
            .env(RESULTS, format!("{command}.sqlite")));
        assert_eq!(ended.code, Some(2), "{command}: {ended:?}");
        assert_eq!(ended.err, "seawall: cannot say: no ceiling was in force for a whole second\n", "{command}");
        assert!(ended.out.contains("1 of 1 cannot be said"), "{}", ended.out);
        let recording = recording(&scratch.join(command));
        assert!(recording.verdicts[0].outcome == Outcome::CannotSay && !recording.origin.cut_short);
    }
}

/// Every plan of the repository with phases plays to its end in virtual time: an answer, not a
/// failure. Plans of hosts, which have runs, play in `hosts.rs`.
#[test]
fn every_bundled_plan_plays() {
    let scratch = Scratch::new();
    let mut played = 0;
    for entry in std::fs::read_dir(Path::new(PLANS)).unwrap().flatten() {
        if !read_text(&entry.path()).contains("[[phase]]") {
            continue;
        }
        let ended = run(seawall(scratch.path()).args(["simulate", "--phase-seconds", "2"]).arg(entry.path()));
        assert!(ended.has_verdict(), "{}: {ended:?}", entry.path().display());
        played += 1;
    }
    assert!(played >= 5, "{played}");
}

/// Production and thirty clones of it: those are under no policy until they are put under one,
/// whatever their parent is under. Shared, it is one budget of exactly 3000; production has what it
/// had alone.
#[test]
fn clones_inherit_no_limit_and_a_policy_gives_production_its_share_back() {
    let recording = all_held("dev-clones.toml");
    let phase = |name: &str| recording.phases.iter().position(|phase| phase.name == name).expect("the phase");
    let limits = |path: &str, name: &str| {
        let object = recording.objects.iter().find(|object| object.path == path).expect(path);
        object.limits.get(phase(name)).and_then(|limits| limits.ceiling_iops)
    };
    for clone in (1..=30).map(|number| format!("svm01:/vol/dev{number:02}")) {
        assert_eq!(["clones", "each", "all"].map(|name| limits(&clone, name)), [None, Some(200), None], "{clone}");
    }
    assert_eq!(["alone", "clones", "all"].map(|name| limits("svm01:/vol/prod", name)), [Some(12_000); 3]);
    let iops = |workload: usize, name: &str| recording.workloads[workload].tallies[phase(name)].iops().round();
    // 256 requests in flight of 256 + 30 × 32 have 21 % of 21 000.
    assert!((4_200.0..4_650.0).contains(&iops(0, "clones")), "{}", iops(0, "clones"));
    assert_eq!(["alone", "each", "all"].map(|name| iops(0, name)), [12_000.0; 3]);
    assert_eq!(["each", "all"].map(|name| iops(1, name)), [30.0 * 200.0, 3_000.0]);
}

/// Three service classes: 150 IOPS on 100 GB and 15 000 on 10 TB to the operation, 937 of 64 KiB;
/// the first customer falls from the whole store to a third without a class, and with one has the
/// same from the first minute on.
#[test]
fn classes_keep_their_promise_as_volumes_grow_and_customers_come() {
    let recording = all_held("tiers.toml");
    let iops = |workload: usize, name: &str| {
        let phase = recording.phases.iter().position(|phase| phase.name == name).expect("the phase");
        recording.workloads[workload].tallies[phase].iops()
    };
    let is = |workload, name: &str, expected: f64| {
        let got = iops(workload, name);
        assert!((got - expected).abs() <= 1.0 + expected / 1000.0, "{name}: {got} and not {expected}");
    };
    is(0, "one, no class", 40_000.0);
    assert!((13_000.0..15_000.0).contains(&iops(0, "three, no class")), "{}", iops(0, "three, no class"));
    for (workload, expected) in [(0, 150.0), (1, 400.0), (2, 50.0)] {
        is(workload, "100 GB", expected);
    }
    for phase in ["one, 10 TB", "two, 10 TB", "three, 10 TB"] {
        is(0, phase, 15_000.0);
    }
    is(0, "64 KiB", 937.5);
}

/// A database's working set in one cache with a scan, and in a partition of its own: the criteria
/// are the plan's. The share is kept with the run, and comes back.
#[test]
fn a_partition_keeps_a_scan_from_pushing_a_database_out() {
    let recording = all_held("cache-partitions.toml");
    let share = |workload, name| hit_share(&recording, workload, name);
    assert!(share(0, "alone") > 0.99 && share(0, "partitions") > 0.97, "all of the working set is there");
    assert!(share(0, "one cache") < 0.5, "{}", share(0, "one cache"));
    // 28 MiB read again and again fit into the whole cache, and not into what the partition leaves
    // of it.
    assert!(share(1, "one cache") > 0.9 && share(1, "partitions") < 0.9);
    // By partition: alone in its own the database loses nothing, and the default one has 8 MiB.
    let last = recording.phases.len() as u32 - 1;
    let mut done = recording.partitions.iter().filter(|done| done.point == last);
    let (default, database) = (done.next().unwrap(), done.next().unwrap());
    assert_eq!(
        (&*default.name, default.size, &*database.name, database.size),
        ("default", 8 << 20, "database", 24 << 20)
    );
    assert_eq!((database.resident, database.evicted), (20 << 20, 0));
    assert!(default.evicted > 0 && default.resident <= default.size, "{default:?}");
}

/// On real storage the criteria hold as they do in virtual time, and the shares are those that were
/// simulated: of 2400 reads at a fifth chance is 0.8 points, of the difference 1.2.
#[test]
fn a_cache_does_in_simulation_what_it_does_for_real() {
    let shares = ["simulate", "run"].map(|how| {
        let scratch = Scratch::new();
        let plan = format!("{PLANS}/cache-partitions.toml");
        let arguments = [how, &plan, "--phase-seconds", "5", "--out", "results", "--quiet"];
        let ended = run(seawall(scratch.path()).args(arguments).env(RESULTS, "results/results.sqlite"));
        assert_eq!(ended.code, Some(0), "{how}: {ended:?}");
        let recording = recording(&scratch.join("results"));
        ["alone", "one cache", "partitions"].map(|phase| hit_share(&recording, 0, phase))
    });
    let [simulated, real] = shares;
    println!("simulated {simulated:?}, real {real:?}");
    assert!(simulated.iter().zip(real).all(|(a, b)| (a - b).abs() < 0.05), "{simulated:?} and {real:?}");
}

/// What part of a workload's reads was answered from the cache in a phase, its first second left
/// out.
fn hit_share(recording: &stats::Recording, workload: usize, phase: &str) -> f64 {
    let phase = recording.phases.iter().find(|known| known.name == phase).expect("the phase");
    let within = phase.start + Span::SECOND..phase.end;
    let seconds = recording.workloads[workload].intervals.iter().filter(|second| within.contains(&second.start));
    let mut sum = Hits::default();
    seconds.for_each(|second| sum += second.cached);
    sum.share().expect("it reads")
}

/// The run of a plan of the repository in virtual time, all of whose criteria held.
fn all_held(plan: &str) -> stats::Recording {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/{plan}");
    let ended = run(seawall(scratch.path())
        .args(["simulate", &plan, "--out", "results"])
        .env(RESULTS, "results/results.sqlite"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains(" criteria held\n"), "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80 || line.contains('/')), "{}", ended.out);
    let recording = recording(&scratch.join("results"));
    assert!(recording.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Pass), "{:?}", recording.verdicts);
    recording
}

/// A reader who leaves before the end, as in `seawall … | head`, costs nothing: the results are
/// there all the same, nothing is complained of, and the end is that of every program whose reader
/// left.
#[test]
fn a_reader_who_leaves_costs_nothing() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.arg("simulate").arg(plan::write(&scratch, plan::PLAN)).env(RESULTS, "results.sqlite");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.signal(), ended.stderr.as_slice()), (Some(SIGPIPE), &b""[..]));
    assert!(!recording(scratch.path()).origin.cut_short);
}

/// fio's job files run in virtual time by the same runner: minutes of a device in a moment, the
/// same JSON twice, and the figures that the device has by its definition.
#[test]
fn jobs_of_fio_run_in_virtual_time() {
    let scratch = Scratch::new();
    let device = "[device]\nkind = \"parallel-servers\"\nservers = 4\nservice = \"1ms\"\n";
    std::fs::write(scratch.join("device.toml"), device).unwrap();
    let job = "[global]\nsize=1g\nioengine=io_uring\niodepth=8\nruntime=5m\ntime_based\n[a]\nrw=randread\nfilename=one\n\
               [b]\nstonewall\nrw=randwrite\nrate_iops=100\nfilename=two\n";
    std::fs::write(scratch.join("jobs.fio"), job).unwrap();
    let reports = [(); 2].map(|()| {
        let mut command = seawall(scratch.path());
        let ended =
            run(command.args(["simulate", "fio", "--device", "device.toml", "--output-format=json", "jobs.fio"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let mut report: serde_json::Value = serde_json::from_str(&ended.out).expect("one document");
        for time in ["time", "timestamp", "timestamp_ms"] {
            report[time].take();
        }
        report
    });
    assert_eq!(reports[0], reports[1]);
    // Four at a time, a millisecond each: 4000 a second, and eight at a time take two; an open loop
    // below that, one.
    let [reads, writes] = [("read", 0), ("write", 1)].map(|(direction, job)| &reports[0]["jobs"][job][direction]);
    let ended = reads["total_ios"].as_u64().unwrap();
    // Those that are in flight at the end still come home.
    assert!((300 * 4000..=300 * 4000 + 8).contains(&ended), "{ended}");
    assert_eq!(writes["total_ios"], 300 * 100);
    assert_eq!(reads["clat_ns"]["percentile"]["50.000000"].as_u64().unwrap().div_ceil(10_000), 200);
    assert_eq!(writes["lat_ns"]["max"], 1_000_000);
    assert!(!scratch.join("one").exists(), "nothing is laid out");
}

/// Three jobs of a flow have 3 : 2 : 1 of the requests in virtual time, but for the one that each
/// may be ahead and what is made after the first has ended; two whose depths differ a hundredfold
/// too.
#[test]
fn jobs_share_by_flow_in_virtual_time() {
    let scratch = Scratch::new();
    let made = |arguments: &[&str]| -> Vec<u64> {
        let line = ["simulate", "fio", "--device=disk", "--output-format=json", "--size=1g", "--rw=randread"];
        let load = ["--ioengine=io_uring", "--time_based", "--runtime=60"];
        let ended = run(seawall(scratch.path()).args(line).args(load).args(arguments));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        json["jobs"].as_array().unwrap().iter().map(|job| job["read"]["total_ios"].as_u64().unwrap()).collect()
    };
    let shared = ["--iodepth=8", "--name=a", "--flow=3", "--name=b", "--flow=2", "--name=c", "--flow=1"];
    let uneven = ["--name=a", "--iodepth=100", "--flow=1", "--name=b", "--iodepth=1", "--flow=2", "--flow_sleep=1ms"];
    for (arguments, weights) in [(&shared[..], &[3, 2, 1][..]), (&uneven, &[1, 2])] {
        let made = made(arguments);
        let (all, sum) = (made.iter().sum::<u64>(), weights.iter().sum::<u64>());
        assert!(all > 1000, "{made:?}");
        // What is in flight at the end comes home: the depths.
        for (made, weight) in made.iter().zip(weights) {
            assert!((made * sum).abs_diff(weight * all) <= sum * 16, "{made} of {all}, weight {weight} of {sum}");
        }
    }
}

/// With `rate_ignore_thinktime` a request that falls due in a pause is due at its end, as in fio:
/// of 200 a second, with 10 ms after every four, four take three intervals of 5 ms and the pause,
/// 25 ms.
#[test]
fn a_pause_that_a_rate_forgets_takes_no_more_than_itself() {
    let scratch = Scratch::new();
    let line = ["simulate", "fio", "--device=flash", "--output-format=json", "--name=j", "--rw=randread", "--size=1g"];
    let paces = ["--rate_iops=200", "--thinktime=10ms", "--thinktime_blocks=4", "--rate_ignore_thinktime=1"];
    let ended = run(seawall(scratch.path()).args(line).args(paces).args(["--runtime=1", "--time_based"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["jobs"][0]["read"]["total_ios"].as_u64(), Some(160), "40 times four in a second");
}

/// What virtual time has not is refused before anything runs.
#[test]
fn jobs_that_need_what_a_simulated_device_has_not_are_refused() {
    let scratch = Scratch::new();
    for (arguments, words) in [
        (&["--name=j", "--rw=randread"][..], "needs size="),
        (&["--name=j", "--rw=write", "--size=1m", "--verify=crc32c"], "verify: a simulated device keeps no data"),
        (&["--name=j", "--rw=read", "--size=1m", "--exec_prerun=true"], "no program runs in virtual time"),
    ] {
        let ended = run(seawall(scratch.path()).args(["simulate", "fio"]).args(arguments));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    let ended = run(seawall(scratch.path()).args(["simulate", "fio", "--device=disc", "--name=j"]));
    assert!(ended.code == Some(2) && ended.err.contains("--device: must be one of"), "{ended:?}");
}

/// A ramp's command line as it is typed for a real database, half an hour a run: the same rows
/// twice. A flash device ends its cycles in time; a disk that does some hundred operations a second
/// does not, and that is a "no".
#[test]
fn a_ramp_in_virtual_time_gives_the_same_rows_and_a_verdict() {
    let scratch = Scratch::new();
    let ramp = |device: &str, out: &str| {
        let line = format!(
            "simulate ramp --device {device} --data 20GiB -miniops 500 --maxiops 1000 --numruns 1 --runtime 30 --wijfile \
             /epic/GENIO.WIJ --disable-warmup --output {out}"
        );
        run(seawall(scratch.path()).args(line.split_whitespace()))
    };
    let rows = ["one", "two"].map(|out| {
        let ended = ramp("flash", out);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.err.contains("1 run of 30 min, 30 min in all"), "{}", ended.err);
        assert!(ended.err.contains("in virtual time, 20 GiB of data on: flash"), "{}", ended.err);
        ["summary.csv", "cycles.csv", "seconds.csv"].map(|name| read_text(&scratch.join(out).join(name)))
    });
    assert_eq!(rows[0], rows[1], "to the last digit");
    assert!(rows[0][0].lines().skip(1).all(|row| row.contains(" (simulated),")), "{}", rows[0][0]);
    // 22 cycles begin in 30 minutes, one every 80 s from the 80th second on; and the header.
    assert_eq!(rows[0][1].lines().count(), 22 + 1);
    let slow = ramp("disk", "slow");
    assert_eq!(slow.code, Some(1), "{slow:?}");
    assert!(slow.out.contains("verdict   fail, 0 of 1 run passed"), "{}", slow.out);
    let line = "simulate ramp --page-cache --wijfile w --miniops 1 --maxiops 2";
    let refused = run(seawall(scratch.path()).args(line.split_whitespace()));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--page-cache: makes no sense in virtual time; leave it out"), "{}", refused.err);
}
