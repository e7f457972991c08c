//! The published verdict on write cycles: with floors the protected hosts stay below the limit in
//! every run while the neighbour exceeds it near the end; without floors at least one protected run
//! fails.

use super::{Arm, Busy, Experiment, HostRows, Window, WindowError};
use block::Span;
use report::text::count;
use stats::Outcome;

/// A question and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The question.
    pub question: &'static str,
    /// The result.
    pub outcome: Outcome,
    /// The figures behind it.
    pub because: String,
}

/// The end of a ramp: its last quarter, at least one run.
fn end_of(rows: usize) -> usize {
    rows.div_ceil(4)
}

/// The overall verdict and its parts. Cycles in which the storage did less than the protected hosts
/// need are left out. There is no verdict if a run with floors has no other cycles, if the storage
/// did more than all hosts need, or if a run had no cycle.
pub fn experiment_verdict(experiment: &Experiment) -> (Outcome, Vec<Answered>) {
    let [with, without] = &experiment.arms;
    let mut answers = vec![capacity(experiment, with, true), capacity(experiment, without, false)];
    answers.push(answered("with floors every protected run stays below the limit", held(experiment, with)));
    answers.push(answered("with floors a neighbour passes the limit near the end", passed(experiment, with)));
    answers.push(answered("without floors a protected run passes the limit", missed(experiment, without)));
    if experiment.cut_short {
        let played: usize = experiment.arms.iter().flat_map(|arm| &arm.hosts).map(|host| host.rows.len()).sum();
        let because = format!("it was ended early, after {} of all hosts together", count(played, "run", "runs"));
        answers.push(answered("every run was played", (Outcome::CannotSay, because)));
    }
    let unsaid = answers.iter().any(|answer| answer.outcome == Outcome::CannotSay);
    let failed = answers.iter().any(|answer| answer.outcome == Outcome::Fail);
    let outcome = match (unsaid, failed) {
        (true, _) => Outcome::CannotSay,
        (_, true) => Outcome::Fail,
        _ => Outcome::Pass,
    };
    (outcome, answers)
}

fn answered(question: &'static str, (outcome, because): (Outcome, String)) -> Answered {
    Answered { question, outcome, because }
}

/// In at least one cycle the storage did what the protected hosts need beside that run's
/// neighbours; if `every_run` is judged, in one cycle of each run. In the last run, in which every
/// host has its highest target, it did no more than all hosts need.
fn capacity(experiment: &Experiment, arm: &Arm, every_run: bool) -> Answered {
    let (outcome, because) = match capacity_of_runs(experiment, arm, every_run) {
        Ok(said) => (Outcome::Pass, said),
        Err(said) => (Outcome::CannotSay, said),
    };
    let because = format!("{}: {because}", arm.name);
    Answered { question: "the capacity lies between what some and what all need", outcome, because }
}

fn capacity_of_runs(experiment: &Experiment, arm: &Arm, every_run: bool) -> Result<String, String> {
    let long = |busy: &Option<Busy>| busy.filter(Busy::is_long);
    let too_little = too_little(experiment, arm);
    if let Some((run, error)) = too_little.first().filter(|_| every_run || too_little.len() == arm.busy.len()) {
        return Err(format!("run {run}: {error}"));
    }
    let (end, window) = (experiment.windows.len().saturating_sub(1), experiment.window());
    let last = || arm.busy.get(end).into_iter().flatten().enumerate();
    let judged = last().filter(|(cycle, _)| experiment.says(arm, end, *cycle)).filter_map(|(_, busy)| long(busy));
    let last = Busy::together(judged)
        .or_else(|| Busy::together(last().filter_map(|(_, busy)| long(busy))))
        .ok_or("in the last run there was not even a second in which all hosts wrote")?;
    window.check_high(last.blocks_per_second).map_err(|error| format!("run {end}: {error}"))?;
    let (low, high) = (window.low, window.high);
    let mut said = format!(
        "{:.0} blocks/s in {:.1} s of the last run, from {low:.0} to {high:.0}",
        last.blocks_per_second, last.seconds
    );
    let (out, all) = experiment.left_out(arm);
    if out > 0 {
        said += &format!("; {out} of {all} cycles are left out, in which it did less than was needed");
    }
    Ok(said)
}

/// The runs without any cycle in which the storage did enough, each with the figures of its best
/// cycle.
fn too_little(experiment: &Experiment, arm: &Arm) -> Vec<(usize, WindowError)> {
    let runs = experiment.windows.iter().zip(&arm.busy).enumerate();
    let of_run = |(run, (window, cycles)): (usize, (&Window, &Vec<Option<Busy>>))| {
        let long = cycles.iter().flatten().filter(|busy| busy.is_long());
        let most = long.map(|busy| busy.blocks_per_second).reduce(f64::max)?;
        window.check_low(most).err().map(|error| (run, error))
    };
    runs.filter_map(of_run).collect()
}

/// Every protected run below the limit.
fn held(experiment: &Experiment, arm: &Arm) -> (Outcome, String) {
    let limit = experiment.limit();
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let worst = protected(arm)
        .filter_map(|host| Some((experiment.longest(arm, host)?, host)))
        .max_by_key(|(longest, _)| *longest);
    let Some((longest, host)) = worst else { return (Outcome::CannotSay, "there is no protected host".into()) };
    let outcome = if longest < limit { Outcome::Pass } else { Outcome::Fail };
    (outcome, format!("longest cycle of them {} ({}), limit {}", seconds(longest), host.name, seconds(limit)))
}

/// A neighbour above the limit in one of its last runs.
fn passed(experiment: &Experiment, arm: &Arm) -> (Outcome, String) {
    let limit = experiment.limit();
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let ends = arm.hosts.iter().filter(|host| !host.protected).flat_map(|host| {
        let end = host.rows.len() - end_of(host.rows.len()).min(host.rows.len());
        let late = experiment.judged(arm, host).filter(move |(run, _)| *run >= end);
        late.map(move |(run, took)| (took, host.rows.get(run).map_or(0, |row| row.run), &host.name))
    });
    let Some((longest, run, name)) = ends.max_by_key(|(longest, ..)| *longest) else {
        return (Outcome::CannotSay, "there is no cycle of a neighbour near the end".into());
    };
    let outcome = if longest >= limit { Outcome::Pass } else { Outcome::Fail };
    (outcome, format!("{name} took {} in run {run}, limit {}", seconds(longest), seconds(limit)))
}

/// At least one protected run above the limit.
fn missed(experiment: &Experiment, arm: &Arm) -> (Outcome, String) {
    let limit = experiment.limit();
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let longest_of = |host: &HostRows, run: usize| {
        experiment.judged(arm, host).filter(|(of, _)| *of == run).map(|(_, took)| took).max()
    };
    let mut all: Vec<(Span, u64, &String)> = Vec::new();
    for host in protected(arm) {
        let rows = host.rows.iter().enumerate();
        all.extend(rows.filter_map(|(run, row)| Some((longest_of(host, run)?, row.run, &host.name))));
    }
    let failed = all.iter().filter(|(longest, ..)| *longest >= limit).count();
    let Some((longest, run, name)) = all.iter().max_by_key(|(longest, ..)| *longest) else {
        return (Outcome::CannotSay, "there is no cycle of a protected host".into());
    };
    // It is unknown whether a run without data would have failed.
    let outcome = match failed {
        0 if !too_little(experiment, arm).is_empty() => Outcome::CannotSay,
        0 => Outcome::Fail,
        _ => Outcome::Pass,
    };
    let said = format!(
        "{failed} of {} passed it; longest {} ({name}, run {run}), limit {}",
        all.len(),
        seconds(*longest),
        seconds(limit)
    );
    (outcome, said)
}

fn protected(arm: &Arm) -> impl Iterator<Item = &HostRows> {
    arm.hosts.iter().filter(|host| host.protected)
}

/// A run without data.
fn unseen(arm: &Arm) -> Option<String> {
    let host = arm.hosts.iter().find(|host| host.rows.is_empty() || host.rows.iter().any(|row| row.cycles == 0))?;
    Some(format!("{}: a run of {} saw no write cycle", arm.name, host.name))
}

fn seconds(span: Span) -> String {
    format!("{:.2} s", span.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::HostLoad;
    use super::*;
    use crate::reading::read_summary;
    use crate::settings::Constants;
    use crate::summary::{RampRow, summary_csv};

    /// The published tables as printed, in our columns.
    fn published(name: &str, csv: &str, protected: bool) -> HostRows {
        let mut lines = csv.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            let field = |name: &str| {
                let place = header.iter().position(|column| *column == name)?;
                fields[place].parse::<f64>().ok()
            };
            let (total, writes) = (field("total_iops").unwrap(), field("write_iops").unwrap());
            RampRow {
                run: field("run").unwrap() as u64,
                read_iops: total - writes,
                write_iops: writes,
                longest_wij: Span::from_secs_f64(field("longest_wij_time_s").unwrap_or(0.0)),
                longest_cycle: Span::from_secs_f64(field("longest_write_cycle_s").unwrap()),
                effective_write_ms: field("effective_write_latency_ms"),
                cycles: 22,
                ..RampRow::default()
            }
        };
        let rows: Vec<RampRow> = lines.map(row).collect();
        // Written and read back, as the rows of an experiment are.
        let rows = read_summary(&summary_csv(&rows)).unwrap();
        let cycles = rows.iter().map(|row| vec![Some(row.longest_cycle)]).collect();
        HostRows { name: name.into(), protected, rows, cycles }
    }

    /// Sets the duration of a run's only cycle.
    pub(in super::super) fn set(host: &mut HostRows, run: usize, took: Span) {
        host.rows[run].longest_cycle = took;
        host.cycles[run] = vec![Some(took)];
    }

    /// The published half as the half with floors; the half without is the same with one protected
    /// run at 45 s. The capacity is in the middle of the window.
    pub(in super::super) fn experiment() -> Experiment {
        let hosts = vec![
            published("epic_rhel1", include_str!("../../tests/published/aqos_rhel1.csv"), true),
            published("epic_rhel2", include_str!("../../tests/published/aqos_rhel2.csv"), true),
            published("epic_rhel3", include_str!("../../tests/published/aqos_rhel3_bully.csv"), false),
        ];
        let loads = [(75_000, true), (75_000, true), (150_000, false)];
        let loads = loads.map(|(target, protected)| HostLoad { target, protected });
        let window = Window::of(&loads, &Constants::default(), Span::from_secs(36));
        let busy = vec![vec![Some(Busy { blocks_per_second: window.aim(), seconds: 30.0 })]; 10];
        let with = Arm { name: "with floors".into(), hosts, busy };
        let mut without = Arm { name: "without floors".into(), ..with.clone() };
        set(&mut without.hosts[1], 9, Span::from_secs(45));
        Experiment {
            title: "Protected production".into(),
            about: "two databases beside a third".into(),
            constants: Constants::default(),
            windows: vec![window; 10],
            factor: 1.0,
            cut_short: false,
            arms: [with, without],
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_published_tables_give_the_published_verdict() {
        let (outcome, answers) = experiment_verdict(&experiment());
        assert_eq!(outcome, Outcome::Pass, "{answers:#?}");
        assert_eq!(answers[2].because, "longest cycle of them 35.81 s (epic_rhel1), limit 45.00 s");
        assert_eq!(answers[3].because, "epic_rhel3 took 73.66 s in run 19, limit 45.00 s");
        assert_eq!(answers[4].because, "1 of 20 passed it; longest 45.00 s (epic_rhel2, run 19), limit 45.00 s");
    }

    #[test]
    fn each_part_of_the_verdict_can_fail() {
        let judged = |change: fn(&mut Experiment)| {
            let mut experiment = experiment();
            change(&mut experiment);
            let (outcome, answers) = experiment_verdict(&experiment);
            (outcome, answers.iter().map(|answer| answer.outcome).collect::<Vec<_>>())
        };
        use Outcome::{CannotSay, Fail, Pass};
        let protected = judged(|e| set(&mut e.arms[0].hosts[0], 3, Span::from_secs(45)));
        assert_eq!(protected, (Fail, vec![Pass, Pass, Fail, Pass, Pass]));
        // In the last three of ten runs; the runs before do not count.
        let neighbour = judged(|e| (7..10).for_each(|run| set(&mut e.arms[0].hosts[2], run, Span::SECOND)));
        assert_eq!(neighbour, (Fail, vec![Pass, Pass, Pass, Fail, Pass]));
        let needless = judged(|e| set(&mut e.arms[1].hosts[1], 9, Span::from_millis(44_990)));
        assert_eq!(needless, (Fail, vec![Pass, Pass, Pass, Pass, Fail]));
        fn at(blocks_per_second: f64) -> Vec<Option<Busy>> {
            vec![Some(Busy { blocks_per_second, seconds: 3.0 })]
        }
        let fast = judged(|e| e.arms[1].busy[9] = at(600_000.0));
        assert_eq!(fast, (CannotSay, vec![Pass, CannotSay, Pass, Pass, Pass]));
        // Before the end there need not be contention, but the storage must do what the protected
        // hosts need.
        let fast = judged(|e| e.arms[1].busy[8] = at(600_000.0));
        assert_eq!(fast, (Pass, vec![Pass; 5]));
        let slow = judged(|e| e.arms[0].busy[4] = at(390_000.0));
        assert_eq!(slow, (CannotSay, vec![CannotSay, Pass, Pass, Pass, Pass]));
        // One run that missed the limit is enough, whatever is unknown of the others.
        let slow = judged(|e| e.arms[1].busy[4] = at(390_000.0));
        assert_eq!(slow, (Pass, vec![Pass; 5]));
        let slow = judged(|e| e.arms[1].busy[9] = at(390_000.0));
        assert_eq!(slow, (CannotSay, vec![Pass, Pass, Pass, Pass, CannotSay]));
        let slow = judged(|e| e.arms[1].busy.fill(at(340_000.0)));
        assert_eq!(slow, (CannotSay, vec![Pass, CannotSay, Pass, Pass, CannotSay]));
        let idle = judged(|e| e.arms[0].busy[9] = vec![None]);
        assert_eq!(idle, (CannotSay, vec![CannotSay, Pass, Pass, Pass, Pass]));
        let idle = judged(|e| e.arms[0].busy[4] = vec![None]);
        assert_eq!(idle, (Pass, vec![Pass; 5]));
        let blind = judged(|e| e.arms[1].hosts[0].rows[0].cycles = 0);
        assert_eq!(blind, (CannotSay, vec![Pass, Pass, Pass, Pass, CannotSay]));
        let empty = judged(|e| (e.arms[0].hosts[2].rows.clear(), e.arms[0].hosts[2].cycles.clear()).0);
        assert_eq!(empty, (CannotSay, vec![Pass, Pass, CannotSay, CannotSay, Pass]));
        // A cycle that missed the limit while the storage did too little does not count; another
        // cycle still does.
        fn second(e: &mut Experiment, took: u64, capacity: f64) {
            e.arms[0].busy[4].extend(at(capacity));
            e.arms[0].hosts[0].cycles[4].push(Some(Span::from_secs(took)));
        }
        assert_eq!(judged(|e| second(e, 50, 390_000.0)), (Pass, vec![Pass; 5]));
        assert_eq!(judged(|e| second(e, 50, 392_000.0)), (Fail, vec![Pass, Pass, Fail, Pass, Pass]));
        // All known cycles passed; the rest is unknown.
        let ended = judged(|e| e.cut_short = true);
        assert_eq!(ended, (CannotSay, vec![Pass, Pass, Pass, Pass, Pass, CannotSay]));
    }
}
