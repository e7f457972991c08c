//! The verdict that the publication draws from write cycles: with floors the protected hosts stay below the limit in
//! every run while the neighbour passes it near the end; without floors at least one protected run fails.

use super::{Arm, Busy, Experiment, HostRows, Window};
use block::Span;
use stats::Outcome;

/// A question and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// What was asked.
    pub question: &'static str,
    /// The answer.
    pub outcome: Outcome,
    /// The figures that it rests on.
    pub because: String,
}

/// The end of a ramp: its last quarter, at least one run.
fn end_of(rows: usize) -> usize {
    rows.div_ceil(4)
}

/// The whole verdict and what it is made of. Nothing can be said where the storage's capacity lay outside of the window of
/// a run in either half, or a run saw no cycle.
pub fn experiment_verdict(experiment: &Experiment) -> (Outcome, Vec<Answered>) {
    let limit = experiment.limit();
    let [with, without] = &experiment.arms;
    let mut answers = vec![capacity(experiment, with), capacity(experiment, without)];
    answers.push(answered("with floors every protected run stays below the limit", held(with, limit)));
    answers.push(answered("with floors a neighbour passes the limit near the end", passed(with, limit)));
    answers.push(answered("without floors a protected run passes the limit", missed(without, limit)));
    if experiment.cut_short {
        let played: usize = experiment.arms.iter().flat_map(|arm| &arm.hosts).map(|host| host.rows.len()).sum();
        let because = format!("it was ended early, after {played} runs of all hosts together");
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

/// In every run the storage did what the protected hosts need beside that run's neighbours; in the last, when everybody asks
/// for most, no more than all need.
fn capacity(experiment: &Experiment, arm: &Arm) -> Answered {
    let (outcome, because) = match capacity_of_runs(&experiment.windows, &arm.busy) {
        Ok(said) => (Outcome::Pass, said),
        Err(said) => (Outcome::CannotSay, said),
    };
    let because = format!("{}: {because}", arm.name);
    Answered { question: "the capacity lies between what some and what all need", outcome, because }
}

fn capacity_of_runs(windows: &[Window], busy: &[Option<Busy>]) -> Result<String, String> {
    let of_run = |run: usize| busy.get(run).copied().flatten().filter(Busy::is_long);
    let end = windows.len().saturating_sub(1);
    for (run, window) in windows[..end].iter().enumerate() {
        // Where they hardly ever wrote at the same time there was room enough.
        if let Some(busy) = of_run(run) {
            window.check_low(busy.blocks_per_second).map_err(|error| format!("run {run}: {error}"))?;
        }
    }
    let last = of_run(end).ok_or("in the last run there was not even a second in which all hosts wrote")?;
    let window = &windows[end];
    window.check(last.blocks_per_second).map_err(|error| format!("run {end}: {error}"))?;
    let (low, high) = (window.low, window.high);
    Ok(format!(
        "{:.0} blocks/s in {:.1} s of the last run, from {low:.0} to {high:.0}",
        last.blocks_per_second, last.seconds
    ))
}

/// Every protected run below the limit.
fn held(arm: &Arm, limit: Span) -> (Outcome, String) {
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let worst =
        protected(arm).filter_map(|host| Some((host.longest_cycle()?, host))).max_by_key(|(longest, _)| *longest);
    let Some((longest, host)) = worst else { return (Outcome::CannotSay, "there is no protected host".into()) };
    let outcome = if longest < limit { Outcome::Pass } else { Outcome::Fail };
    (outcome, format!("longest cycle of them {} ({}), limit {}", seconds(longest), host.name, seconds(limit)))
}

/// A neighbour above the limit in one of its last runs.
fn passed(arm: &Arm, limit: Span) -> (Outcome, String) {
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let ends = arm.hosts.iter().filter(|host| !host.protected).flat_map(|host| {
        let end = host.rows.len() - end_of(host.rows.len()).min(host.rows.len());
        host.rows[end..].iter().map(move |row| (row.longest_cycle, row.run, &host.name))
    });
    let Some((longest, run, name)) = ends.max_by_key(|(longest, ..)| *longest) else {
        return (Outcome::CannotSay, "there is no neighbour".into());
    };
    let outcome = if longest >= limit { Outcome::Pass } else { Outcome::Fail };
    (outcome, format!("{name} took {} in run {run}, limit {}", seconds(longest), seconds(limit)))
}

/// At least one protected run above the limit.
fn missed(arm: &Arm, limit: Span) -> (Outcome, String) {
    if let Some(unseen) = unseen(arm) {
        return (Outcome::CannotSay, unseen);
    }
    let all: Vec<(Span, u64, &String)> = protected(arm)
        .flat_map(|host| host.rows.iter().map(move |row| (row.longest_cycle, row.run, &host.name)))
        .collect();
    let failed = all.iter().filter(|(longest, ..)| *longest >= limit).count();
    let Some((longest, run, name)) = all.iter().max_by_key(|(longest, ..)| *longest) else {
        return (Outcome::CannotSay, "there is no protected host".into());
    };
    let outcome = if failed > 0 { Outcome::Pass } else { Outcome::Fail };
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

/// A run of which nothing is known.
fn unseen(arm: &Arm) -> Option<String> {
    let host = arm.hosts.iter().find(|host| host.rows.is_empty() || host.rows.iter().any(|row| row.cycles == 0))?;
    Some(format!("{}: a run of {} saw no write cycle", arm.name, host.name))
}

fn seconds(span: Span) -> String {
    format!("{:.2} s", span.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{HostLoad, Window};
    use super::*;
    use crate::reading::read_summary;
    use crate::settings::Constants;
    use crate::summary::{Row, summary_csv};

    /// The published tables as they are printed, in our columns.
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
            Row {
                run: field("run").unwrap() as u64,
                read_iops: total - writes,
                write_iops: writes,
                longest_wij: Span::from_secs_f64(field("longest_wij_time_s").unwrap_or(0.0)),
                longest_cycle: Span::from_secs_f64(field("longest_write_cycle_s").unwrap()),
                effective_write_ms: field("effective_write_latency_ms"),
                cycles: 22,
                ..Row::default()
            }
        };
        let rows: Vec<Row> = lines.map(row).collect();
        // Through the file's form, as the rows of an experiment come.
        HostRows { name: name.into(), protected, rows: read_summary(&summary_csv(&rows)).unwrap() }
    }

    /// The published half as the half with floors; without, the same with one protected run at 45 s. The capacity is in
    /// the middle of the window.
    pub(in super::super) fn experiment() -> Experiment {
        let hosts = vec![
            published("epic_rhel1", include_str!("../../tests/published/aqos_rhel1.csv"), true),
            published("epic_rhel2", include_str!("../../tests/published/aqos_rhel2.csv"), true),
            published("epic_rhel3", include_str!("../../tests/published/aqos_rhel3_bully.csv"), false),
        ];
        let loads = [(75_000, true), (75_000, true), (150_000, false)];
        let loads = loads.map(|(target, protected)| HostLoad { target, protected });
        let window = Window::of(&loads, &Constants::default(), Span::from_secs(36));
        let busy = vec![Some(Busy { blocks_per_second: window.aim(), seconds: 30.0 }); 10];
        let with = Arm { name: "with floors".into(), hosts, busy };
        let mut without = Arm { name: "without floors".into(), ..with.clone() };
        without.hosts[1].rows[9].longest_cycle = Span::from_secs(45);
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
        let protected = judged(|e| e.arms[0].hosts[0].rows[3].longest_cycle = Span::from_secs(45));
        assert_eq!(protected, (Fail, vec![Pass, Pass, Fail, Pass, Pass]));
        // In the last three of ten runs; the runs before do not count.
        let neighbour =
            judged(|e| e.arms[0].hosts[2].rows[7..].iter_mut().for_each(|r| r.longest_cycle = Span::SECOND));
        assert_eq!(neighbour, (Fail, vec![Pass, Pass, Pass, Fail, Pass]));
        let needless = judged(|e| e.arms[1].hosts[1].rows[9].longest_cycle = Span::from_millis(44_990));
        assert_eq!(needless, (Fail, vec![Pass, Pass, Pass, Pass, Fail]));
        fn at(blocks_per_second: f64) -> Option<Busy> {
            Some(Busy { blocks_per_second, seconds: 3.0 })
        }
        let fast = judged(|e| e.arms[1].busy[9] = at(600_000.0));
        assert_eq!(fast, (CannotSay, vec![Pass, CannotSay, Pass, Pass, Pass]));
        // Before the end nobody has to be in anybody's way, but what the protected need has to be there.
        let fast = judged(|e| e.arms[1].busy[8] = at(600_000.0));
        assert_eq!(fast, (Pass, vec![Pass; 5]));
        let slow = judged(|e| e.arms[0].busy[4] = at(390_000.0));
        assert_eq!(slow, (CannotSay, vec![CannotSay, Pass, Pass, Pass, Pass]));
        let idle = judged(|e| e.arms[0].busy[9] = None);
        assert_eq!(idle, (CannotSay, vec![CannotSay, Pass, Pass, Pass, Pass]));
        let idle = judged(|e| e.arms[0].busy[4] = None);
        assert_eq!(idle, (Pass, vec![Pass; 5]));
        let blind = judged(|e| e.arms[1].hosts[0].rows[0].cycles = 0);
        assert_eq!(blind, (CannotSay, vec![Pass, Pass, Pass, Pass, CannotSay]));
        let empty = judged(|e| e.arms[0].hosts[2].rows.clear());
        assert_eq!(empty, (CannotSay, vec![Pass, Pass, CannotSay, CannotSay, Pass]));
        // All that was seen passed; nobody knows of the rest.
        let ended = judged(|e| e.cut_short = true);
        assert_eq!(ended, (CannotSay, vec![Pass, Pass, Pass, Pass, Pass, CannotSay]));
    }
}
