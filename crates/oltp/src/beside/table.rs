//! The arms as text of at most 80 columns.

use super::Beside;
use super::verdict::{beside_verdicts, said};
use report::text::{millis, thousands, wrap};
use stats::Median;

const COLUMNS: usize = 80;
/// Width of the name column.
const NAME: usize = 20;

/// The whole result.
pub fn beside_table(beside: &Beside) -> String {
    let heads = ["TPM", "least", "most", "p50 ms", "p99 ms", "others"];
    let mut text = format!("{:<NAME$}{}\n", "", heads.map(|head| format!("{head:>10}")).concat());
    for arm in &beside.arms {
        let Some(tpm) = arm.median(|turn| turn.tpm) else { continue };
        let others = arm.median(|turn| turn.others_iops).map_or(0.0, |others| others.value);
        let whole = |figure: f64| thousands(figure.round() as u64);
        let played = arm.turns.iter().flatten().map(|turn| turn.tpm);
        let (least, most) = played.fold((f64::INFINITY, 0.0f64), |(least, most), tpm| (least.min(tpm), most.max(tpm)));
        let response = arm.response();
        let times = [0.5, 0.99].map(|part| millis(response.quantile(part)));
        let cells = [whole(tpm.value), whole(least), whole(most), times[0].clone(), times[1].clone(), whole(others)];
        let name = report::text::fit(&arm.name, NAME - 1);
        text += &format!("{name:<NAME$}{}\n", cells.map(|cell| format!("{cell:>10}")).concat());
    }
    let baseline = beside.baseline();
    text += &format!("\nTransactions over those of \"{}\" in the same round\n", beside.arms[baseline].name);
    for (index, arm) in beside.arms.iter().enumerate().filter(|(index, _)| *index != baseline) {
        if let Some(ratio) = beside.ratio(index, baseline) {
            text += &hanging(&format!("{:<NAME$}", report::text::fit(&arm.name, NAME - 1)), &said(&ratio));
            text += &rounds(beside, index, baseline);
        }
    }
    text.push('\n');
    for answer in beside_verdicts(beside) {
        text += &hanging(
            &format!("{:<12}", answer.outcome.to_string()),
            &format!("{}: {}", answer.question, answer.because),
        );
    }
    for note in &beside.notes {
        text += &hanging("note: ", note);
    }
    text
}

/// The ratio of every round.
fn rounds(beside: &Beside, arm: usize, baseline: usize) -> String {
    let pairs = beside.arms[arm].turns.iter().zip(&beside.arms[baseline].turns);
    let of = |(one, other): (&Option<super::Turn>, &Option<super::Turn>)| {
        let ratio = Median::of(&[one.as_ref()?.tpm / other.as_ref()?.tpm])?;
        Some(format!("{:.1}", ratio.value * 100.0))
    };
    let all: Vec<String> = pairs.map(|pair| of(pair).unwrap_or_else(|| "–".into())).collect();
    hanging(&" ".repeat(NAME), &format!("by round {}", all.join(", ")))
}

/// `text` after `first`, with further lines indented alike.
fn hanging(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let lines = wrap(text, COLUMNS - indent);
    let lead = |at: usize| if at == 0 { first.to_owned() } else { " ".repeat(indent) };
    lines.iter().enumerate().map(|(at, line)| format!("{}{line}\n", lead(at))).collect()
}
