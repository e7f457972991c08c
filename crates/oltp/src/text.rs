//! A point as text.

use crate::figures::Figures;
use crate::limiter::Limiter;
use crate::session::Failure;
use report::text::{millis, thousands, wrap};

/// Columns of a terminal that has no more.
const COLUMNS: usize = 80;

/// The figures of a point, a line each, none longer than a terminal.
pub fn summary(figures: &Figures, limiter: &Limiter) -> String {
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
    let said = format!("{}: {}", limiter.name, limiter.grounds);
    let mut lead = "limiter    ";
    for line in wrap(&said, COLUMNS - lead.len()) {
        lines.push(format!("{lead}{line}"));
        lead = "           ";
    }
    lines.join("\n") + "\n"
}

/// Failures by kind.
pub(crate) fn failures(figures: &Figures) -> String {
    let told = Failure::KINDS.iter().zip(figures.failures).filter(|(_, count)| *count > 0);
    let told: Vec<String> =
        told.map(|(kind, count)| format!("{} {}", thousands(count), kind.replace('_', " "))).collect();
    if told.is_empty() { "none".into() } else { told.join(", ") }
}
