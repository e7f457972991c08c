//! A sweep: batch after batch, a line a load, the answers, and the page.

use super::batch::Field;
use super::{Storage, sheet_of, verdict, write};
use crate::memory::Memory;
use crate::play::{in_memory, now_unix_ms};
use crate::{Answer, interrupt, terminal};
use anyhow::{Result, bail};
use ranread::{Sweep, SweepAsk, SweepPlan};
use report::{Page, text};

pub fn run(ask: SweepAsk, storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let started = now_unix_ms();
    let mut field = Field::open(ask.load, storage)?;
    field.must_suffice(ask.settings.from)?;
    field.notes().iter().for_each(|note| terminal::complain(&format!("note: {note}")));
    let plan = SweepPlan::of(&ask.settings);
    let machine = field.machine();
    let sheet = sheet_of(&ask.sheet, &field, &machine);
    let loads = format!("{} to {} processes", ask.settings.from, ask.settings.to);
    let mut keeper = field.keeper(memory, &loads, &sheet);
    let mut sweep = Sweep::new(plan.clone());
    terminal::line(ranread::sweep_heads());
    let (mut last, mut batches) = (None, 0);
    while let Some(load) = sweep.next_load() {
        if let Some(shown) = last.filter(|last| *last != load) {
            show(&sweep, shown);
        }
        last = Some(load);
        let (batch, measured) = field.play(load, batches, &mut keeper, &stop, false)?;
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
    if let Some(path) = &ask.page {
        let page = ranread::page(&points, &plan, &findings, &sheet);
        let facts = text::facts(started, &machine);
        let simulated = matches!(storage, Storage::Simulated(_))
            .then(|| "In virtual time on a simulated device: no storage was measured.".to_owned());
        let cached = field.cannot_say().map(|why| format!("This may have measured a cache: {why}."));
        let banners = simulated.into_iter().chain(cached).collect();
        let page = Page { facts, banners, version: env!("CARGO_PKG_VERSION").into(), ..page };
        write("--page", path, page.render().as_bytes())?;
    }
    if let Some(path) = &ask.xlsx {
        write("--xlsx", path, &ranread::workbook(&keeper.batches(), &sheet).render()?)?;
    }
    let limiter = ranread::limiter(&points).map(|limiter| format!("limit: {limiter}"));
    limiter.iter().for_each(|limiter| terminal::line(limiter));
    sheet.iter().for_each(|(name, value)| terminal::line(&format!("{name}: {value}")));
    let kept = keeper.end(&findings, field.cannot_say(), limiter);
    in_memory(kept).iter().for_each(|line| terminal::line(line));
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
