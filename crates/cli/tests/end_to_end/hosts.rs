//! Plans of hosts: the published experiment in virtual time, whose verdict is a matter of
//! arithmetic, and its shape with real hosts, whose figures are a matter of the machine.

use crate::results::{self, phases};
use crate::running::{Ended, RESULTS, Running, run, seawall, until};
use crate::scratch::Scratch;
use crate::server::read_text;
use std::path::Path;

/// The repository's plans.
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");

fn published() -> String {
    read_text(&Path::new(PLANS).join("protected-production.toml"))
}

/// The plan with the words changed, in virtual time at the rates that its device fits.
fn simulated(scratch: &Scratch, changes: &[(&str, &str)], scale: &str) -> Ended {
    let mut text = published();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    std::fs::write(scratch.join("plan.toml"), text).unwrap();
    run(seawall(scratch.path()).args(["simulate", "plan.toml", "--quiet", "--scale", scale]))
}

/// What is printed before the files' names.
fn result(ended: &Ended) -> String {
    ended.out.split("\npage ").next().unwrap_or_default().to_owned()
}

/// The published verdict: with floors every protected cycle stays below the limit (4.5 s of 8)
/// while the neighbour passes it, without floors protected runs fail. The factor is found by bursts
/// on the simulated storage.
#[test]
fn floors_hold_the_published_experiment() {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/protected-production.toml");
    let ended = run(seawall(scratch.path()).args(["simulate", &plan]).env(RESULTS, "results.sqlite"));
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    let one = result(&ended);
    assert!(one.contains("\nverdict: pass\n") && one.contains("of the published rates the storage moved"), "{one}");
    assert!(one.lines().all(|line| line.chars().count() <= 80), "{one}");
    let rows = |half: &str| -> Vec<Vec<f64>> {
        let part = one.split(half).nth(1).unwrap();
        let cells =
            |line: &str| line.split_whitespace().map(|cell| cell.trim_end_matches('*').parse().unwrap()).collect();
        part.lines().skip(3).take(4).map(cells).collect()
    };
    // Run, then total, WIJ, cycle and latency of each host.
    let (with, without) = (rows("\nWith floors;"), rows("\nWithout floors;"));
    assert!(with.iter().all(|row| row.len() == 13 && row[3] < 4.5 && row[7] < 4.5), "{with:?}");
    assert!(with[3][11] >= 4.5, "the neighbour pays: {with:?}");
    assert!(without.iter().any(|row| row[3] >= 4.5 || row[7] >= 4.5), "{without:?}");
    // Everybody gets the rates that were asked of the generator in either half: that proves nothing
    // about floors.
    assert!((with[3][1] / without[3][1] - 1.0).abs() < 0.02, "{with:?} {without:?}");
    // The results database has the same: four runs of each half as phases, the cycles, the lines,
    // the verdict.
    let recording = results::recording(scratch.path());
    assert!(recording.origin.simulated && !recording.origin.cut_short && recording.origin.seed == 1);
    assert_eq!(recording.origin.plan, published());
    // The halves take turns, each first in every other run.
    let turns = [
        ("with", 0),
        ("without", 0),
        ("without", 1),
        ("with", 1),
        ("with", 2),
        ("without", 2),
        ("without", 3),
        ("with", 3),
    ];
    assert_eq!(phases(&recording), turns.map(|(half, run)| format!("{half} floors, run {run}")));
    assert_eq!(recording.phases[0].commands_published[1], recording.phases[0].commands[1], "to the letter");
    assert!(recording.phases[0].commands[0].starts_with("qos adaptive-policy-group create"), "fitted, as it ran");
    assert_eq!(recording.phases[3].commands, recording.phases[0].commands[1..], "attached again for each run");
    assert!(recording.verdicts.len() == 5 && recording.verdicts.iter().all(|v| v.outcome == stats::Outcome::Pass));
    for (host, workload) in recording.workloads.iter().enumerate() {
        // Two cycles in 24 s, of each of eight runs.
        assert_eq!((workload.tallies.len(), workload.cycles.len()), (8, 16), "{}", workload.name);
        let longest =
            |phase| workload.cycles.iter().filter(|cycle| cycle.phase == phase).map(|cycle| cycle.cycle).max();
        for (phase, (half, run)) in turns.into_iter().enumerate() {
            let row = if half == "with" { &with[run] } else { &without[run] };
            let seconds = longest(phase as u32).unwrap().as_secs_f64();
            assert!((seconds - row[3 + 4 * host]).abs() <= 0.005_001, "{phase}: {seconds}, {row:?}");
            assert!((workload.tallies[phase].iops() - row[1 + 4 * host]).abs() < 1.0);
        }
    }
    let volume = recording.objects.iter().find(|object| object.path == "epic:/vol/epic_rhel1_db2").unwrap();
    assert_eq!(volume.used_end.map(|used| used.0), Some(256 << 20), "the journal is on the first");
    assert!(volume.limits[7].floor_iops.is_some() && volume.limits[6].floor_iops.is_none());
    // Listed and shown by the command for that, and good for an advice.
    let list = run(seawall(scratch.path()).arg("results").env(RESULTS, "results.sqlite"));
    assert!(list.out.contains("   1  20") && list.out.contains("  pass  "), "{}", list.out);
    let shown = run(seawall(scratch.path()).args(["results", "show", "1"]).env(RESULTS, "results.sqlite")).out;
    assert!(shown.contains("2 write cycles, the longest") && shown.contains("All 5 criteria held"), "{shown}");
    let cycles =
        run(seawall(scratch.path()).args(["results", "show", "1", "--csv", "cycles"]).env(RESULTS, "results.sqlite"))
            .out;
    // A head, and two cycles of three hosts in eight runs.
    assert_eq!(cycles.lines().count(), 1 + 2 * 3 * 8, "{cycles}");
    let words = ["advise", "--recording", "results.sqlite", "--workload", "epic_rhel1"];
    let advice = run(seawall(scratch.path()).args(words)).out;
    assert!(advice.contains("each of 4 volumes"), "{advice}");
}

/// A server whose processor is the limit, and is away for 20 ms every 5 s: throughput bends softly,
/// and a stall makes every floor late at once. Bursts come out of reads that ask for less than
/// their floors, so nothing of that is a floor's need for a smaller window: with floors all hosts
/// together move as much, within a twentieth, and the protected are no slower.
#[test]
fn floors_cost_a_busy_server_nothing() {
    let scratch = Scratch::new();
    let device = "kind = \"parallel-servers\"\nservers = 2\nservice = \"83us\"\nsize_unit = 8192";
    let host = "kind = \"host\"\nturn = \"100us\"\nrequest = \"6us\"\nsize_unit = 8192\nabsent_every = \"5s\"\n\
                absent_length = \"20ms\"\nqueue_limit = 512";
    let ended = simulated(&scratch, &[(device, host), ("runs = 4", "runs = 3")], "0.203");
    let found = result(&ended);
    let words: Vec<&str> = found.split_whitespace().collect();
    let moved: Vec<f64> =
        words.windows(2).filter(|two| two[1] == "blocks/s").map(|two| two[0].parse().unwrap()).collect();
    let [with, without] = moved[..] else { panic!("{found}{}", ended.err) };
    assert!(with >= 0.95 * without, "{found}");
    let longest = |line: &str| -> Vec<f64> {
        let line = found.lines().find(|found| found.starts_with(line) && found.contains(" s ")).unwrap();
        line.split_whitespace().filter_map(|word| word.parse().ok()).take(2).collect()
    };
    for host in ["epic_rhel1", "epic_rhel2"] {
        let [with, without] = longest(host)[..] else { panic!("{found}") };
        assert!(with <= 1.02 * without, "{host}: {found}");
    }
}

/// Lines that attach nothing protect nobody: exit code 1, and both halves have the same tables. So
/// the same plan gives the same figures, and it is the floors that make the difference above.
#[test]
fn without_floors_in_either_half_nobody_is_protected() {
    let scratch = Scratch::new();
    let changes = [("-qos-adaptive-policy-group AqosEpicProd", "-qos-adaptive-policy-group none")];
    let ended = simulated(&scratch, &changes, "0.0329");
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("fail        with floors every protected run stays below the limit"), "{}", ended.out);
    let lines: Vec<&str> = ended.out.lines().collect();
    let with = lines.iter().position(|line| line.starts_with("With floors")).unwrap();
    let without = lines.iter().position(|line| line.starts_with("Without floors")).unwrap();
    // Bursts are drawn anew in each half, so that the last digits may differ.
    let cycles = |at: usize| -> Vec<f64> {
        let row = |line: &&str| line.split_whitespace().nth(3).unwrap().trim_end_matches('*').parse().unwrap();
        lines[at + 3..at + 7].iter().map(row).collect()
    };
    for (one, other) in cycles(with).iter().zip(cycles(without)) {
        assert!((one / other - 1.0).abs() < 0.02, "{}", ended.out);
    }
}

/// Storage that carries all of it, and storage that cannot carry the protected hosts, say nothing
/// of floors: exit code 2, with the numbers. All need 4 · (0.75 + 2 · 20 / 45) · T, at a hundredth
/// of T = 75 000: 4916.7.
#[test]
fn outside_of_the_bounds_nothing_is_said() {
    let scratch = Scratch::new();
    let fast = simulated(&scratch, &[], "0.01");
    assert_eq!(fast.code, Some(2), "{}", fast.out);
    assert!(fast.err.contains("cannot say") && fast.err.contains("all hosts wrote"), "{}", fast.err);
    assert!(fast.out.contains("verdict: cannot say"), "{}", fast.out);
    let slow = simulated(&scratch, &[("runs = 4", "runs = 1")], "0.05");
    assert!(slow.code == Some(2) && slow.err.contains("no floor could have held"), "{}", slow.err);
}

/// The second plan comes to the published verdict too: a journal on a volume of its own.
#[test]
fn the_plan_with_journals_apart_comes_to_the_same_verdict() {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/protected-production-journal.toml");
    let ended = run(seawall(scratch.path()).args(["simulate", &plan, "--quiet", "--scale", "0.0329"]));
    assert!(ended.code == Some(0) && ended.out.contains("\nverdict: pass"), "{}\n{}", ended.out, ended.err);
    assert!(result(&ended).lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
}

/// The plan with short runs at a load that any machine carries.
fn short(runs: u32) -> String {
    published()
        .replace("runs = 4", &format!("runs = {runs}"))
        .replace("cycle_seconds = 8", "cycle_seconds = 1")
        .replace("run_seconds = 24", "run_seconds = 2")
        .replace("256MiB", "8MiB")
}

/// Three hosts against a server: the shape of the result. Both halves have every host's rows,
/// cycles and seconds; how far apart the hosts began is told; nothing but the page stays behind.
#[test]
fn hosts_begin_together() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("plan.toml"), short(2)).unwrap();
    let words = ["run", "plan.toml", "--out", "out", "--dir", "pool", "--scale", "0.004"];
    let ended = run(seawall(scratch.path()).args(words).env(RESULTS, "out.sqlite"));
    // So little load does not keep storage busy for a second, so that nothing can be said; a
    // stalled machine may see else.
    assert!(ended.code == Some(2) || ended.code == Some(1), "{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("each run was begun by all hosts within"), "{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("not comparable with published figures"), "{}", ended.out);
    assert!(!scratch.join("pool").exists());
    let left: Vec<_> = std::fs::read_dir(scratch.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.len() == 1 && left[0].extension().is_some_and(|end| end == "html"), "{left:?}");
    let recording = results::recording(&scratch.join("out"));
    // 75 000 · 0.004 = 300; the neighbour goes from 300 in two steps to 600.
    let asked: Vec<&str> = recording.phases.iter().map(|phase| phase.about.as_str()).collect();
    let first = "asked: epic_rhel1 300, epic_rhel2 300, epic_rhel3 450 IOPS";
    let second = "asked: epic_rhel1 300, epic_rhel2 300, epic_rhel3 600 IOPS";
    assert_eq!(asked, [first, first, second, second]);
    assert!(recording.phases.windows(2).all(|two| two[0].end <= two[1].start), "one after the other");
    assert!(recording.workloads.iter().all(|workload| workload.intervals.len() >= 4 * 2));
    // Whole in the results database too: two runs of each half, a cycle in each, response times and
    // all.
    let recording = results::recording(&scratch.join("out"));
    assert_eq!(phases(&recording).len(), 4);
    for workload in &recording.workloads {
        assert_eq!((workload.cycles.len(), workload.tallies.len()), (4, 4), "{}", workload.name);
        assert!(workload.tallies.iter().all(|tally| tally.response.count() > 0 && tally.counts.writes > 0));
    }
    let volumes: Vec<_> = recording.objects.iter().filter(|object| object.used_end.is_some()).collect();
    assert!(volumes.len() == 12 && volumes.iter().all(|volume| volume.used_end >= volume.used_start));
}

/// Three hosts under way in their second run, with their pool in `pool`.
fn in_the_second_run(scratch: &Scratch) -> Running {
    std::fs::write(scratch.join("plan.toml"), short(100)).unwrap();
    let mut command = seawall(scratch.path());
    command.args(["run", "plan.toml", "--out", "out", "--dir", "pool", "--keep", "--scale", "0.004"]);
    command.env(RESULTS, "out.sqlite");
    let mut hosts = Running::start(command);
    hosts.wait_for("run 2 of 100");
    hosts
}

/// Ctrl-C in the second run of three hosts: they end with what they measured, the first run's rows
/// and the results are there and marked as cut short, the pool is closed as after any run. Exit
/// code 2.
#[test]
fn a_stop_ends_the_hosts_and_keeps_what_they_measured() {
    let scratch = Scratch::new();
    let hosts = in_the_second_run(&scratch);
    hosts.signal("INT");
    let (status, lines) = hosts.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.ends_with("marked as cut short: stopped by hand"), "{lines:?}");
    let recording = results::recording(&scratch.join("out"));
    assert!(recording.origin.cut_short && phases(&recording)[0] == "with floors, run 0", "{:?}", phases(&recording));
    assert!(recording.workloads.iter().all(|workload| !workload.cycles.is_empty() && !workload.intervals.is_empty()));
    assert!(recording.verdicts.iter().any(|verdict| verdict.question == "every run was played"));
    assert!(lines.iter().any(|line| line == "verdict: cannot say"), "{lines:?}");
    let page = read_text(&results::file(&scratch.join("out"), ".html"));
    assert!(page.contains("Verdict: cannot say") && page.contains("it was ended early"));
    let checked = run(seawall(scratch.path()).args(["check", "pool"]));
    assert!(checked.code == Some(0) && checked.out.contains("nothing is wrong"), "{}{}", checked.out, checked.err);
}

/// A host that loses its storage in the second run ends the run of all: the line says which and
/// why, and what was played before is kept.
#[test]
fn a_host_that_loses_its_storage_ends_the_run_of_all() {
    let scratch = Scratch::new();
    let hosts = in_the_second_run(&scratch);
    let offline = "lun offline -vserver epic -path /vol/epic_rhel2_db1/data";
    let told = run(seawall(scratch.path()).args(["shell", "--pool", "pool", "-c", offline]));
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let (status, lines) = hosts.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.contains("marked as cut short: epic_rhel2: "), "{lines:?}");
    assert!(last.contains("epic_rhel2_db1/data"), "{lines:?}");
    let recording = results::recording(&scratch.join("out"));
    assert!(recording.origin.cut_short && phases(&recording)[0] == "with floors, run 0", "{:?}", phases(&recording));
    assert!(recording.workloads.iter().all(|workload| workload.tallies.len() == phases(&recording).len()));
}

/// Killed once some runs are in the database: they stay there, as the run of a program that is
/// gone. How often it is written depends on how long that takes.
#[test]
fn what_a_killed_experiment_played_is_kept() {
    let scratch = Scratch::new();
    let hosts = in_the_second_run(&scratch);
    until("two halves of a run are kept", || results::phases_so_far(&scratch.join("out")) >= 2);
    hosts.signal("KILL");
    hosts.end();
    let recording = results::recording(&scratch.join("out"));
    assert!(phases(&recording).len() >= 2, "{:?}", phases(&recording));
    assert!(recording.workloads.iter().all(|workload| !workload.cycles.is_empty() && !workload.intervals.is_empty()));
}

/// Ctrl-C before the first run, while volumes are filled or the factor is measured: nothing was
/// measured that could be kept, and nothing stays behind, neither pool nor folder. Exit code 2.
#[test]
fn a_stop_before_the_first_run_leaves_nothing() {
    for moment in ["filling", "Two protected databases"] {
        let scratch = Scratch::new();
        std::fs::write(scratch.join("plan.toml"), published().replace("256MiB", "16MiB")).unwrap();
        let before = scratch.listing();
        let mut command = seawall(scratch.path());
        command.args(["run", "plan.toml"]);
        let mut hosts = Running::start(command);
        hosts.wait_for(moment);
        hosts.signal("INT");
        let (status, lines) = hosts.end();
        assert_eq!(status.code(), Some(2), "{moment}: {lines:?}");
        assert!(lines.last().is_some_and(|last| last.contains("stopped")), "{moment}: {lines:?}");
        assert_eq!(scratch.listing(), before, "{moment}: {lines:?}");
    }
}

/// Ctrl-C in virtual time: what was played so far is shown and kept, marked as cut short. Exit code
/// 2.
#[test]
fn a_stop_of_a_simulation_keeps_the_runs_so_far() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("plan.toml"), published().replace("runs = 4", "runs = 100")).unwrap();
    let mut command = seawall(scratch.path());
    command.args(["simulate", "plan.toml", "--out", "out", "--scale", "0.01"]).env(RESULTS, "out.sqlite");
    let mut hosts = Running::start(command);
    hosts.wait_for("run 2 of 100");
    hosts.signal("INT");
    let (status, lines) = hosts.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert!(lines.last().is_some_and(|last| last.ends_with("marked as cut short: stopped by hand")), "{lines:?}");
    let recording = results::recording(&scratch.join("out"));
    assert!(recording.origin.cut_short && recording.origin.simulated, "{lines:?}");
    let played = phases(&recording);
    assert!(played[0] == "with floors, run 0" && played.len() < 100, "{played:?}");
    let arms = "SELECT DISTINCT point, arm FROM results WHERE point < 3 ORDER BY point";
    let arms = run(seawall(scratch.path()).env(RESULTS, "out.sqlite").args(["results", "sql", "--csv", arms]));
    assert_eq!(arms.out.lines().nth(1), Some("0,with floors"), "{arms:?}");
    // 75 000 · 0.01; a hundredth of the way from 75 000 to 150 000.
    assert_eq!(recording.phases[0].about, "asked: epic_rhel1 750, epic_rhel2 750, epic_rhel3 758 IOPS");
    assert!(recording.notes.iter().any(|note| note.contains("it reaches 91.7 % of the IOPS that are asked")));
    assert!(read_text(&results::file(&scratch.join("out"), ".html")).contains("it was ended early"));
}

/// What is wrong with a plan of hosts is said before anything is made.
#[test]
fn a_wrong_plan_makes_nothing() {
    let scratch = Scratch::new();
    for (from, to, says) in [
        ("runs = 4", "runs = 0", "plan.toml:20: runs: must be from 1 to 100, got 0"),
        ("vol modify -vserver epic -volume epic_rhel1_*", "vol modfy -volume epic_rhel1_*", "plan.toml:57: command"),
    ] {
        let text = published().replace(from, to);
        std::fs::write(scratch.join("plan.toml"), text).unwrap();
        let ended = run(seawall(scratch.path()).args(["run", "plan.toml", "--dir", "pool"]));
        assert!(ended.code == Some(2) && ended.err.contains(says), "{}", ended.err);
        assert!(!scratch.join("pool").exists());
    }
    std::fs::write(scratch.join("plan.toml"), published()).unwrap();
    let ended = run(seawall(scratch.path()).args(["run", "plan.toml", "--phase-seconds", "3"]));
    assert!(ended.code == Some(2) && ended.err.contains("--phase-seconds"), "{}", ended.err);
}
