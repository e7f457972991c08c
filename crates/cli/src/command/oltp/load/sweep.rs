//! A sweep over numbers of users, until more users bring little.

use super::{Ending, Field, Played, Schedule, all_of, end, write};
use crate::command::oltp::Sweep;
use crate::memory::Memory;
use crate::outputs::Output;
use crate::{Answer, terminal};
use ::oltp::{Step, goes_on, sweep_page};
use anyhow::Result;
use block::Span;

impl Sweep {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        self.work.page().iter().try_for_each(Output::check)?;
        let mut field = Field::open(&self.work, Schedule::default(), "a sweep over users", memory)?;
        let (mut steps, mut limiters) = (Vec::<Step>::new(), Vec::new());
        let mut users = 1;
        let mut last = Ok(());
        terminal::line("   users   avg TPS   max TPM    avg ms    failed  limiter");
        while users <= self.to && goes_on(&steps) && !field.stop.is_asked() && !field.trouble.is_some() {
            match field.play(users, None) {
                Err(error) => {
                    last = Err(error);
                    break;
                }
                Ok(Played { figures, limiter, .. }) => {
                    let (tps, tpm) = (format!("{:.1}", figures.avg_tps), figures.max_tpm_said());
                    let (ms, failed) = (report::text::millis(figures.response), figures.failed());
                    // A point that was cut short is not compared with others.
                    let whole = figures.window >= Span::from_secs(self.work.time);
                    let name = if whole { limiter.name } else { "cut short" };
                    terminal::line(&format!("{users:>8}{tps:>10}{tpm:>10}{ms:>10}{failed:>10}  {name}"));
                    if whole {
                        steps.push(Step { users, figures });
                        limiters.push(limiter);
                    }
                }
            }
            users *= 2;
        }
        if steps.iter().any(|step| !step.figures.minute_was_full) {
            terminal::complain(
                "note: – in max TPM: warm-up and window were less than a minute together, too short for it",
            );
        }
        let facts = field.facts();
        let ending = Ending { stopped: field.stop.is_asked(), trouble: field.trouble, reconnect: field.work.reconnect };
        let last = end(last, field.run, field.kept, &ending);
        if steps.is_empty() && last.is_err() {
            return last.map(|()| Answer::Yes);
        }
        if let Some(at) = ::oltp::knee(&steps) {
            terminal::line(&format!(
                "knee     {}, {:.1} TPS",
                report::text::count(steps[at].users as usize, "user", "users"),
                steps[at].figures.avg_tps
            ));
        }
        let written = if steps.is_empty() {
            Ok(())
        } else {
            let mut page = sweep_page(&steps, &limiters, &facts);
            if ending.is_early() || last.is_err() {
                page.cut_short(&format!("{} were measured", report::text::count(steps.len(), "point", "points")));
            }
            write(self.work.page(), page, "")
        };
        all_of([written, ending.told(), last])?;
        Ok(if steps.iter().any(|step| step.figures.failed() > 0) { Answer::No } else { Answer::Yes })
    }
}
