//! The verdict on a run, with the figures for it.

use crate::sheet::Sheet;
use crate::{Standing, standing};
use stats::Outcome;

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunVerdict {
    /// The overall outcome; `None` without criteria.
    pub outcome: Option<Outcome>,
    /// The outcome as a sentence.
    pub sentence: String,
    /// The criteria with their outcomes.
    pub answers: Vec<Answer>,
    /// Whether they are targets, which are reached or missed; criteria hold or do not hold.
    pub targets: bool,
}

/// A criterion and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The outcome.
    pub outcome: Outcome,
    /// The criterion.
    pub question: String,
    /// The figures for the outcome.
    pub because: String,
}

impl RunVerdict {
    /// The verdict from these criteria.
    pub fn of(verdicts: &[stats::Verdict]) -> RunVerdict {
        let standing = Standing::of(verdicts);
        let answer = |verdict: &stats::Verdict| Answer {
            outcome: verdict.outcome,
            question: verdict.question.clone(),
            because: verdict.because.clone(),
        };
        RunVerdict {
            outcome: standing.outcome(),
            sentence: standing.sentence(),
            answers: verdicts.iter().map(answer).collect(),
            targets: false,
        }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet) {
        let mark = self.outcome.map_or(String::new(), |outcome| format!("{} ", standing::mark(outcome)));
        sheet.section(&format!("verdict {}", class(self.outcome)), &format!("{mark}{}", self.sentence), |sheet| {
            if self.answers.is_empty() {
                return;
            }
            sheet.out.open("ul", &[]);
            for answer in &self.answers {
                sheet.out.open("li", &[("class", class(Some(answer.outcome)))]);
                let words = match answer.outcome {
                    Outcome::Pass if self.targets => "reached",
                    Outcome::Fail if self.targets => "missed",
                    outcome => standing::words(outcome),
                };
                let badge = format!("{} {words}", standing::mark(answer.outcome));
                sheet.out.text("span", &[("class", "badge")], &badge);
                sheet.out.open("div", &[]);
                sheet.out.text("strong", &[], &answer.question);
                sheet.out.text("p", &[], &answer.because);
                sheet.out.close("div");
                sheet.out.close("li");
            }
            sheet.out.close("ul");
        });
    }
}

fn class(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::CannotSay) => "cannot",
        Some(Outcome::Fail) => "fail",
        None => "none",
    }
}
