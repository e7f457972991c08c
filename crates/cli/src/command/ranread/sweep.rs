//! A sweep: batch after batch, a line a load, the answers, and the page.

use super::batch::Field;
use super::{Storage, verdict};
use crate::play::now_unix_ms;
use crate::{Answer, interrupt, machine, terminal};
use anyhow::{Context as _, Result, bail};
use ranread::{Sweep, SweepAsk, SweepPlan};
use report::{Page, text};
use stats::Machine;

pub fn run(ask: SweepAsk, storage: Storage<'_>) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let started = now_unix_ms();
    let mut field = Field::open(ask.load, storage)?;
    field.must_suffice(ask.settings.from)?;
    field.notes().iter().for_each(|note| terminal::complain(&format!("note: {note}")));
    let plan = SweepPlan::of(&ask.settings);
    let mut sweep = Sweep::new(plan.clone());
    terminal::line(ranread::sweep_heads());
    let (mut last, mut batches) = (None, 0);
    while let Some(load) = sweep.next_load() {
        if let Some(shown) = last.filter(|last| *last != load) {
            show(&sweep, shown);
        }
        last = Some(load);
        let (batch, measured) = field.play(load, batches, &stop, false)?;
        batches += 1;
        if stop.is_asked() || batch.done() == 0 || batch.rows.iter().any(|row| row.state != ranread::State::Whole) {
            bail!("stopped before the sweep was over; the rows of what was done are kept, see export");
        }
        sweep.record(load, measured);
    }
    last.iter().for_each(|last| show(&sweep, *last));
    let points = sweep.points();
    let findings = ranread::judge(&points, &plan, sweep.ended());
    terminal::line("");
    let machine = match storage {
        Storage::Real => machine::look(None, ""),
        Storage::Simulated(_) => Machine { backend: "virtual time".into(), ..Machine::default() },
    };
    let sheet = sheet(&ask.sheet, &field, &machine);
    if let Some(path) = &ask.page {
        let page = ranread::page(&points, &plan, &findings, &sheet);
        let facts = text::facts(started, &machine);
        let simulated = matches!(storage, Storage::Simulated(_))
            .then(|| "In virtual time on a simulated device: no storage was measured.".to_owned());
        let cached = field.cannot_say().map(|why| format!("This may have measured a cache: {why}."));
        let banners = simulated.into_iter().chain(cached).collect();
        let page = Page { facts, banners, version: env!("CARGO_PKG_VERSION").into(), ..page };
        std::fs::write(path, page.render()).with_context(|| format!("--page {path}"))?;
    }
    if let Some(limiter) = ranread::limiter(&points) {
        terminal::line(&format!("limit: {limiter}"));
    }
    sheet.iter().for_each(|(name, value)| terminal::line(&format!("{name}: {value}")));
    let answer = verdict(&findings)?;
    match field.cannot_say() {
        Some(why) => bail!("verdict: cannot say: {why}"),
        None => Ok(answer),
    }
}

fn show(sweep: &Sweep, load: u32) {
    let points = sweep.points();
    points.iter().filter(|point| point.processes == load).for_each(|point| terminal::line(&ranread::sweep_line(point)));
}

/// What was told of the storage, and what the machine tells of itself.
fn sheet(told: &[(String, String)], field: &Field<'_>, machine: &Machine) -> Vec<(String, String)> {
    let mut sheet = told.to_vec();
    sheet.extend(field.sheet());
    if machine.cores > 0 {
        let server = format!("{}, {} × {}, {}", machine.host, machine.cores, machine.cpu, machine.kernel);
        sheet.extend([("Server".into(), server), ("Memory".into(), machine.memory.to_string())]);
    }
    sheet.retain(|(_, value)| !value.is_empty());
    sheet
}
