//! Order entry in virtual time, on an array that one does not have.

use super::Run;
use crate::command::reproduce::array_of;
use crate::stage::device::built;
use crate::{Answer, catalogue, terminal};
use ::oltp::{Figures, Shop, Shopping};
use anyhow::{Result, bail};
use array::VirtualClock;
use block::{Bytes, Driver as _, Span, Wait, drive};
use report::text::{millis, thousands};

/// Bytes of a page.
const PAGE: Bytes = Bytes::kib(8);

pub fn run(asked: &Run, array: &str) -> Result<Answer> {
    let work = &asked.work;
    let not_here = [
        ("--rate", asked.rate.is_some()),
        ("--transactions", asked.transactions.is_some()),
        ("--columns", asked.columns.is_some()),
        ("--csv", asked.csv.is_some()),
        ("--xml", asked.xml.is_some()),
        ("--output", work.output.is_some()),
        ("--think", work.think != (0, 0)),
        ("--skew", work.skew.is_some()),
        ("--memory", work.memory.is_some()),
    ];
    if let Some((option, _)) = not_here.iter().find(|(_, given)| *given) {
        bail!("{option}: needs a database; leave it out with --array {array}");
    }
    let device = catalogue::device("--array", array)?;
    let buffers = work.buffers.unwrap_or(Bytes::gib(1));
    let database = asked.database_size.unwrap_or(Bytes(30_000_000_000));
    let (least, most) = work.think_between;
    let shop = Shop {
        users: asked.users,
        mix: work.mix()?,
        think: Span::from_micros((least + most) as u64 * 500),
        host: asked.host_time,
        processors: asked.processors,
        missing: (1.0 - buffers.0 as f64 / database.0 as f64).max(0.0),
        database,
        page: PAGE,
    };
    let (warm_up, window) = (Span::from_secs(work.warm_up), Span::from_secs(work.time));
    let mut clock = VirtualClock::new();
    let target = built(&device, shop.size(), work.seed)?;
    let mut users = Shopping::new(shop, target, work.seed, clock.now(), [warm_up, window]);
    let end = clock.now() + warm_up + window;
    drive(&mut clock, std::slice::from_mut(&mut users), |now, _| if now >= end { Wait::End } else { Wait::Until(end) });
    let figures = Figures::of(&users.finish(clock.now()), shop.users);
    terminal::print(&text(&figures, &shop, &device.to_string()));
    if let Ok(array) = array_of(&device) {
        let (name, used) = capacity::carried(&array, &shop).limit;
        terminal::line(&format!("limiter    {name}, {:.0} % used (by means)", 100.0 * used));
    }
    Ok(Answer::Yes)
}

fn text(figures: &Figures, shop: &Shop, device: &str) -> String {
    let head = ["done", "mean ms", "p50", "p95", "p99", "max"];
    let mut lines = vec![format!("{:<6}{}", "", head.map(|head| format!("{head:>12}")).concat())];
    for line in &figures.lines {
        let at = |part| millis(line.response.quantile(part));
        let (mean, max) = (millis(line.response.mean()), millis(line.response.max()));
        let cells = [thousands(line.response.count()), mean, at(0.5), at(0.95), at(0.99), max];
        lines.push(format!("{:<6}{}", line.what.short(), cells.map(|cell| format!("{cell:>12}")).concat()));
    }
    let demand = shop.mix.demand();
    let tpm = if figures.minute_was_full { "" } else { " (less than a minute: too few)" };
    lines.extend([
        String::new(),
        format!("users      {}, measured for {:.0} s of virtual time", figures.users, figures.window.as_secs_f64()),
        format!("avg TPS    {:.1}", figures.avg_tps),
        format!("max TPS    {}", thousands(figures.max_tps)),
        format!("max TPM    {}{tpm}", thousands(figures.max_tpm)),
        format!("avg resp   {} ms", millis(figures.response)),
        format!(
            "asks       {:.2} reads, {:.2} changed pages, {:.2} commits a transaction",
            demand.pages * shop.missing,
            demand.changed * shop.missing,
            demand.commits
        ),
    ]);
    let said = format!("{} of database on: {device}", shop.database);
    let wrapped = report::text::wrap(&said, 69);
    lines.extend(
        wrapped.iter().enumerate().map(|(at, line)| format!("{:<11}{line}", if at == 0 { "storage" } else { "" })),
    );
    lines.join("\n") + "\n"
}
