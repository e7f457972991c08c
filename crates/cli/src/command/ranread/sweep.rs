//! A sweep: runs batches, prints a line for each load and the findings, and writes the page.

use super::batch::Field;
use super::course::{self, Loads};
use super::{Storage, sheet_of, verdict};
use crate::memory::Memory;
use crate::outputs::{Kind, Output, check_all};
use crate::play::{in_memory, now_unix_ms};
use crate::{Answer, interrupt, terminal};
use anyhow::{Result, bail};
use ranread::{Batch, Finding, Measured, Sweep, SweepOptions, SweepPlan};
use report::{Page, text};
use stats::Outcome;
use stats::run::State;

pub fn run(ask: SweepOptions, storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    let page_file = Output::of("--page", ask.page.as_ref(), Kind::Page);
    let book = Output::of("--xlsx", ask.xlsx.as_ref(), Kind::Workbook);
    check_all(&[page_file, book])?;
    let stop = interrupt::watch()?;
    let started = now_unix_ms();
    let mut field = Field::open(ask.load, storage)?;
    field.must_suffice(ask.settings.from)?;
    field.notes().iter().for_each(|note| terminal::complain(&format!("note: {note}")));
    let plan = SweepPlan::of(&ask.settings);
    let machine = field.machine();
    let sheet = sheet_of(&ask.sheet, &field, &machine);
    let loads = format!("{} to {} processes", ask.settings.from, ask.settings.to);
    let (run, mut kept) = field.begin(memory, &loads, &sheet);
    let mut climb = Climb { sweep: Sweep::new(plan.clone()), load: None };
    terminal::line(ranread::sweep_heads());
    let (run, played) = course::play(&mut field, &mut climb, (run, &mut kept), &stop, false);
    field.print_served();
    if played.is_err() || run.identity.state != State::Ended {
        course::end(run, kept, &[], None, None);
        played?;
        bail!("stopped before the sweep was over; the rows of what was done are kept, see export");
    }
    let Climb { sweep, .. } = climb;
    let points = sweep.points();
    let judged = ranread::judge(&points, &plan, sweep.ended());
    let findings = ranread::as_far_as_sure(judged, field.cannot_say().is_none());
    let limiter = ranread::limiter(&points).map(|limiter| format!("limit: {limiter}"));
    let batches = ranread::batches(&run);
    let kept = course::end(run, kept, &findings, field.cannot_say(), limiter.clone());
    terminal::line("");
    if let Some(output) = page_file {
        let doubt = field.cannot_say().map(|because| Finding {
            question: "what was read came from the storage".into(),
            outcome: Outcome::CannotSay,
            because,
        });
        let told: Vec<Finding> = findings.iter().cloned().chain(doubt).collect();
        let page = ranread::page(&points, &plan, &told, &sheet);
        let facts = text::facts(started, &machine);
        let simulated = matches!(storage, Storage::Simulated(_))
            .then(|| "In virtual time on a simulated device: no storage was measured.".to_owned());
        let cached = field.cannot_say().map(|why| format!("This may have measured a cache: {why}."));
        let banners = simulated.into_iter().chain(cached).collect();
        let page = Page { facts, banners, version: env!("CARGO_PKG_VERSION").into(), ..page };
        output.write(page.render())?;
    }
    if let Some(output) = book {
        output.write(ranread::workbook(&batches, &sheet).render()?)?;
    }
    limiter.iter().for_each(|limiter| terminal::line(limiter));
    sheet.iter().for_each(|(name, value)| terminal::line(&format!("{name}: {value}")));
    in_memory(kept).iter().for_each(|line| terminal::line(line));
    let answer = verdict(&findings);
    match field.cannot_say() {
        Some(why) => bail!("verdict: cannot say: {why}"),
        None => answer,
    }
}

/// A sweep, and the current load.
struct Climb {
    sweep: Sweep,
    load: Option<u32>,
}

impl Loads for Climb {
    fn next(&mut self) -> Option<u32> {
        let next = self.sweep.next_load();
        // A load is printed when it will not be repeated.
        if let Some(over) = self.load.filter(|load| Some(*load) != next) {
            show(&self.sweep, over);
        }
        self.load = next;
        next
    }

    fn took(&mut self, batch: &Batch, measured: Measured) {
        let whole = batch.done() > 0 && batch.state() == ranread::ProcessState::Whole;
        if let Some(load) = self.load.filter(|_| whole) {
            self.sweep.record(load, measured);
        }
    }
}

fn show(sweep: &Sweep, load: u32) {
    let points = sweep.points();
    points.iter().filter(|point| point.processes == load).for_each(|point| terminal::line(&ranread::sweep_line(point)));
}
