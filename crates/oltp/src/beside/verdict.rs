//! The results of the goals.

use super::Beside;
use report::text::{count, thousands};
use stats::{Median, Outcome, Verdict};
use workload::plan::{Goal, GoalKind};

/// The allowed spread of the baseline's turns: the fastest over the slowest, minus one. Above it
/// the machine itself changed too much.
const APART: f64 = 0.10;

/// The verdicts, in the order of the goals.
pub fn beside_verdicts(beside: &Beside) -> Vec<Verdict> {
    beside.goals.iter().map(|goal| verdict(beside, goal)).collect()
}

fn verdict(beside: &Beside, goal: &Goal) -> Verdict {
    let (outcome, because) = match unsaid(beside, goal) {
        Some(why) => (Outcome::CannotSay, why),
        None => judged(beside, goal),
    };
    Verdict { question: question(beside, goal), outcome, because, measured: None }
}

fn question(beside: &Beside, goal: &Goal) -> String {
    let (arm, baseline) = (&beside.arms[goal.arm].name, &beside.arms[goal.baseline].name);
    let part = format!("{:.0} %", goal.part * 100.0);
    match goal.kind {
        GoalKind::Kept => format!("\"{arm}\" keeps at least {part} of the transactions of \"{baseline}\""),
        GoalKind::Lost => format!("\"{arm}\" leaves less than {part} of the transactions of \"{baseline}\""),
    }
}

/// Why there is no verdict on a goal.
fn unsaid(beside: &Beside, goal: &Goal) -> Option<String> {
    let ratio = beside.ratio(goal.arm, goal.baseline);
    let Some(ratio) = ratio.filter(|_| !beside.cut_short) else { return Some("it was ended early".into()) };
    let rounds = beside.arms[goal.arm].turns.len();
    if !ratio.is_known() {
        return Some(format!("{} is too few: five are the least that say something", count(rounds, "round", "rounds")));
    }
    let failed: u64 = [goal.arm, goal.baseline]
        .iter()
        .flat_map(|arm| beside.arms[*arm].turns.iter().flatten())
        .map(|turn| turn.failed)
        .sum();
    if failed > 0 {
        return Some(format!("{} failed", count(failed as usize, "transaction", "transactions")));
    }
    let baseline = &beside.arms[goal.baseline];
    let tpm = || baseline.turns.iter().flatten().map(|turn| turn.tpm);
    let (least, most) = (tpm().fold(f64::INFINITY, f64::min), tpm().fold(0.0, f64::max));
    if most > least * (1.0 + APART) {
        let (name, apart) = (&baseline.name, (most / least - 1.0) * 100.0);
        return Some(format!(
            "the turns of \"{name}\" lie {apart:.0} % apart, from {} to {} TPM: more than {:.0} %, the machine itself changed",
            thousands(least.round() as u64),
            thousands(most.round() as u64),
            APART * 100.0
        ));
    }
    // If nothing is lost without the floor, the floor proves nothing.
    let lost = beside.goals.iter().filter(|other| goal.kind == GoalKind::Kept && other.kind == GoalKind::Lost);
    lost.filter_map(|other| Some((other, beside.ratio(other.arm, other.baseline)?)))
        .find(|(other, left)| left.value >= other.part)
        .map(|(other, left)| {
            format!("\"{}\" leaves {}: there is nothing to protect from", beside.arms[other.arm].name, said(&left))
        })
}

/// Judges by the interval: if the goal lies within it, more rounds are needed.
fn judged(beside: &Beside, goal: &Goal) -> (Outcome, String) {
    let Some(ratio) = beside.ratio(goal.arm, goal.baseline) else { return (Outcome::CannotSay, String::new()) };
    let because = said(&ratio);
    let (yes, no) = match goal.kind {
        GoalKind::Kept => (ratio.low >= goal.part, ratio.high < goal.part),
        GoalKind::Lost => (ratio.high < goal.part, ratio.low >= goal.part),
    };
    match (yes, no) {
        (true, _) => (Outcome::Pass, because),
        (_, true) => (Outcome::Fail, because),
        _ => (Outcome::CannotSay, format!("{because}; the bound lies within: more rounds would tell")),
    }
}

/// `91.3 % in the median of rounds, 90.2 to 92.8 % with 94 % confidence`.
pub(super) fn said(ratio: &Median) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|part| part * 100.0);
    if ratio.confidence == 0.0 {
        return format!("{value:.1} % in one round, which says nothing of others");
    }
    format!(
        "{value:.1} % in the median of rounds, {low:.1} to {high:.1} % with {:.0} % confidence",
        ratio.confidence * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::super::{BesideArm, Turn};
    use super::*;

    /// Arms with these transactions per minute, round by round; the second must have less than 70 %
    /// of the first, the third at least 90 %.
    fn beside(tpm: [&[f64]; 3]) -> Beside {
        let turn = |tpm: &f64| Some(Turn { tpm: *tpm, ..Turn::default() });
        let arm = |(name, tpm): (&str, &[f64])| BesideArm {
            name: name.into(),
            turns: tpm.iter().map(turn).collect(),
            ..BesideArm::default()
        };
        let goal = |kind, arm, part| Goal { kind, arm, baseline: 0, part };
        Beside {
            arms: ["alone", "bully", "floor"].into_iter().zip(tpm).map(arm).collect(),
            goals: vec![goal(GoalKind::Lost, 1, 0.7), goal(GoalKind::Kept, 2, 0.9)],
            ..Beside::default()
        }
    }

    const ALONE: [f64; 5] = [1000.0, 1020.0, 1050.0, 1000.0, 1010.0];

    fn outcomes(beside: &Beside) -> Vec<(Outcome, String)> {
        beside_verdicts(beside).into_iter().map(|verdict| (verdict.outcome, verdict.because)).collect()
    }

    /// 500 of 1000 and 950 of 1000. If one round of five is below the bound, it cannot be said; if
    /// all are, it fails.
    #[test]
    fn the_interval_decides() {
        let (half, most) = ([500.0; 5], [980.0; 5]);
        let good = outcomes(&beside([&ALONE, &half, &most]));
        assert_eq!(good.iter().map(|one| one.0).collect::<Vec<_>>(), [Outcome::Pass, Outcome::Pass]);
        // 500 / 1010 = 49.5 %, from 500 / 1050 to 500 / 1000.
        assert!(good[0].1.starts_with("49.5 % in the median of rounds, 47.6 to 50.0 % with 94 %"), "{}", good[0].1);
        let unsure = outcomes(&beside([&ALONE, &half, &[980.0, 980.0, 900.0, 980.0, 980.0]]));
        assert_eq!(unsure[1].0, Outcome::CannotSay, "{unsure:?}");
        assert!(unsure[1].1.contains("the bound lies within"), "{unsure:?}");
        assert_eq!(outcomes(&beside([&ALONE, &half, &[600.0; 5]]))[1].0, Outcome::Fail);
    }

    #[test]
    fn what_cannot_be_said_has_its_reason() {
        let (half, most) = ([500.0; 5], [980.0; 5]);
        // 1102 of 1000 is more than 10 % apart, 1100 is not.
        let mut wild = ALONE;
        wild[2] = 1102.0;
        let found = outcomes(&beside([&wild, &half, &most]));
        assert!(found.iter().all(|one| one.0 == Outcome::CannotSay), "{found:?}");
        assert!(found[0].1.contains("from 1,000 to 1,102 TPM"), "{found:?}");
        wild[2] = 1100.0;
        assert_eq!(outcomes(&beside([&wild, &half, &[1000.0; 5]]))[0].0, Outcome::Pass);
        let kind = outcomes(&beside([&ALONE, &[990.0; 5], &most]));
        assert_eq!((kind[0].0, kind[1].0), (Outcome::Fail, Outcome::CannotSay));
        assert!(kind[1].1.contains("nothing to protect from"), "{kind:?}");
        let few = outcomes(&beside([&ALONE[..4], &half[..4], &most[..4]]));
        assert!(few[0].1.starts_with("4 rounds is too few"), "{few:?}");
        let mut failed = beside([&ALONE, &half, &most]);
        failed.arms[2].turns[0].as_mut().unwrap().failed = 3;
        assert_eq!(outcomes(&failed)[1], (Outcome::CannotSay, "3 transactions failed".into()));
        let early = Beside { cut_short: true, ..beside([&ALONE, &half, &most]) };
        assert_eq!(outcomes(&early)[0], (Outcome::CannotSay, "it was ended early".into()));
    }
}
