//! A point as text.

use crate::evidence::{ConnectionState, Evidence};
use crate::figures::Figures;
use crate::limiter::Limiter;
use crate::session::Failure;
use block::Bytes;
use report::text::{millis, percent, thousands, wrap};

/// Width of a narrow terminal in columns.
const COLUMNS: usize = 80;

/// The figures of a point as lines, none wider than such a terminal.
pub fn summary(figures: &Figures, seen: &Evidence, limiter: &Limiter) -> String {
    let head = ["done", "failed", "mean ms", "p50", "p95", "p99", "max"];
    let mut lines = vec![format!("{:<6}{}", "", head.map(|head| format!("{head:>10}")).concat())];
    for line in &figures.lines {
        let at = |part| millis(line.response.quantile(part));
        let cells = [
            thousands(line.response.count()),
            thousands(line.failed),
            millis(line.response.mean()),
            at(0.5),
            at(0.95),
            at(0.99),
            millis(line.response.max()),
        ];
        lines.push(format!("{:<6}{}", line.what.short(), cells.map(|cell| format!("{cell:>10}")).concat()));
    }
    let counts = &figures.counts;
    let tpm = if figures.minute_was_full { "" } else { " (less than a minute: too few)" };
    lines.extend([
        String::new(),
        format!("users      {}, measured for {:.0} s", figures.users, figures.window.as_secs_f64()),
        format!("avg TPS    {:.1}", figures.avg_tps),
        format!("max TPS    {}", thousands(figures.max_tps)),
        format!("max TPM    {}{tpm}", thousands(figures.max_tpm)),
        format!("avg resp   {} ms", millis(figures.response)),
        format!(
            "DML        {} selects, {} inserts, {} updates, {} commits",
            thousands(counts.selects),
            thousands(counts.inserted()),
            thousands(counts.updates),
            thousands(counts.commits)
        ),
        format!("failed     {}", failures(figures)),
    ]);
    let told = [("host", host(seen)), ("database", server(seen)), ("sampled", found(seen))];
    told.into_iter().for_each(|(name, said)| lines.extend(said.into_iter().flat_map(|said| named(name, &said))));
    lines.extend(named("limiter", &format!("{}: {}", limiter.name, limiter.grounds)));
    lines.join("\n") + "\n"
}

/// A name and a text, wrapped to the width of a terminal.
fn named(name: &str, said: &str) -> Vec<String> {
    let room = 11;
    let lead = |at| if at == 0 { name } else { "" };
    wrap(said, COLUMNS - room).iter().enumerate().map(|(at, line)| format!("{:<room$}{line}", lead(at))).collect()
}

fn host(seen: &Evidence) -> Option<String> {
    let cpu = seen.cpu.map(|part| format!("processors {:.0} %", part * 100.0));
    let own = seen.own_cores.map(|cores| format!("this program {cores:.2} of {}", seen.cores));
    let device = seen.device.as_ref().map(|(name, busy)| format!("{name} busy {:.0} %", busy * 100.0));
    let pressure = seen.io_pressure.map(|part| format!("waiting for I/O {:.0} %", part * 100.0));
    let all: Vec<String> = [cpu, own, device, pressure].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn server(seen: &Evidence) -> Option<String> {
    let server = seen.server.as_ref()?;
    let cores = seen.database_cores.map(|cores| format!(", {cores:.2} processors")).unwrap_or_default();
    let hits =
        server.hits().map(|part| format!(" ({} % of blocks were in its cache)", percent(part))).unwrap_or_default();
    let device = seen.device_read.map(|bytes| format!(", devices read {}", Bytes(bytes))).unwrap_or_default();
    let syncs = server.wal_syncs.map(|syncs| format!(" in {} syncs", thousands(syncs))).unwrap_or_default();
    let checkpoints = server
        .checkpoints
        .map(|count| format!(", {}", report::text::count(count as usize, "checkpoint", "checkpoints")))
        .unwrap_or_default();
    let (read, log) = (Bytes(server.read), Bytes(server.wal));
    Some(format!("read {read}{hits}{device}; log {log}{syncs}{checkpoints}{cores}"))
}

/// The states in which connections were found, the most important first.
fn found(seen: &Evidence) -> Option<String> {
    let server = seen.server.as_ref()?;
    let mut all: Vec<(f64, ConnectionState)> =
        ConnectionState::ALL.into_iter().filter_map(|at| Some((server.part(at)?, at))).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let said: Vec<String> = all
        .iter()
        .filter(|(part, _)| *part >= 0.005)
        .map(|(part, at)| format!("{} {:.0} %", at.name(), part * 100.0))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Failures by kind.
pub(crate) fn failures(figures: &Figures) -> String {
    let told = Failure::KINDS.iter().zip(figures.failures).filter(|(_, count)| *count > 0);
    let told: Vec<String> =
        told.map(|(kind, count)| format!("{} {}", thousands(count), kind.replace('_', " "))).collect();
    if told.is_empty() { "none".into() } else { told.join(", ") }
}
