//! The page of a load, and of a sweep.

use crate::evidence::{ConnectionState, ServerCounts};
use crate::figures::Figures;
use crate::ledger::Ledger;
use crate::limiter::Limiter;
use crate::session::Failure;
use crate::sweep::{Step, knee};
use report::chart::Stretch;
use report::section::{
    Fact, Facts, Group, Host, HostFigures, Knee, KneeRun, Notes, Series, Table, TableCell, TableRow, Tables, Tone,
};
use report::text::{count, millis, thousands};
use report::{Page, host_figures};
use stats::run::HostRecord;

/// What was observed beside the users, second by second from the start of the window.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The host.
    pub host: &'a HostRecord,
    /// The server.
    pub server: &'a [ServerCounts],
}

/// The page of one point. The caller sets its facts and version.
pub fn page(
    figures: &Figures,
    ledger: &Ledger,
    observed: Observed<'_>,
    limiter: &Limiter,
    facts: &[(String, String)],
) -> Page {
    let mut page = Page::new("Order entry", "");
    let minute = if figures.minute_was_full {
        format!("{} in the best minute, ", thousands(figures.max_tpm))
    } else {
        "".into()
    };
    page.about = format!(
        "{}: {:.1} transactions a second, {minute}{} ms on average.",
        count(figures.users as usize, "user", "users"),
        figures.avg_tps,
        millis(figures.response)
    );
    let mut notes = vec![format!("What limited: {}; {}.", limiter.name, limiter.grounds)];
    if !figures.minute_was_full {
        notes.push("Warm-up and window were less than a minute together: Max TPM counts too few.".into());
    }
    page.add(Notes { lines: notes });
    page.add(seconds(ledger));
    page.add(transactions(figures));
    let counts = &figures.counts;
    let mut told = vec![
        Fact::of("Max TPM", thousands(figures.max_tpm)),
        Fact::of("Max TPS", thousands(figures.max_tps)),
        Fact::of("Avg TPS", format!("{:.2}", figures.avg_tps)),
        Fact::of("Avg Resp", format!("{} ms", millis(figures.response))),
    ];
    if counts.has_sql() {
        told.extend([
            Fact::of("Selects", thousands(counts.selects)),
            Fact::of("Inserts", thousands(counts.inserted())),
            Fact::of("Updates", thousands(counts.updates)),
        ]);
    }
    told.push(Fact::of("Commits", thousands(counts.commits)));
    let failures = Failure::KINDS.iter().zip(figures.failures);
    told.extend(failures.map(|(kind, count)| Fact::of(kind.replace('_', " "), thousands(count))));
    page.add(Facts { heading: "Figures".into(), facts: told });
    if !observed.host.rows.is_empty() || !observed.server.is_empty() {
        page.add(beside(observed));
    }
    page.add(list("What was run", facts));
    page
}

/// Host, devices and the server's connections over the same seconds.
fn beside(observed: Observed<'_>) -> Host {
    let mut hosts = vec![host_figures(observed.host, "The host".into())];
    let series = |at: ConnectionState| Series {
        name: at.name().into(),
        stretches: (0..).zip(observed.server).map(|(second, counts)| stretch(second, counts.part(at))).collect(),
    };
    if !observed.server.is_empty() {
        let pressure = ConnectionState::ALL.map(series).into();
        hosts.push(HostFigures { name: "Users' connections".into(), pressure, ..HostFigures::default() });
    }
    Host {
        heading: "Host and database meanwhile".into(),
        lead: "In percent of the time, over the seconds of the window: processors by kind of work, devices with requests in \
               flight, and how often users' connections were found at work or waiting."
            .into(),
        hosts,
    }
}

fn stretch(second: u32, part: Option<f64>) -> Stretch {
    Stretch { from: f64::from(second), to: f64::from(second + 1), figure: part.map(|part| part * 100.0) }
}

/// The page of a sweep.
pub fn sweep_page(steps: &[Step], limiters: &[Limiter], facts: &[(String, String)]) -> Page {
    let mut page = Page::new("Order entry: users to the knee", "");
    page.about = "More and more users: transactions a second as columns, mean response time as a line.".into();
    let figure = |of: fn(&Figures) -> f64| steps.iter().map(|step| Some(of(&step.figures))).collect();
    page.add(Knee {
        heading: "Transactions and response time".into(),
        lead: "From the knee on more users bring little.".into(),
        across: "users".into(),
        loads: steps.iter().map(|step| step.users.to_string()).collect(),
        columns: "TPS".into(),
        line: "ms, average".into(),
        runs: vec![KneeRun {
            name: String::new(),
            columns: figure(|figures| figures.avg_tps),
            line: figure(|figures| figures.response.as_millis_f64()),
        }],
        knee: knee(steps),
    });
    let row = |(step, limiter): (&Step, &Limiter)| {
        let figures = &step.figures;
        let cells = vec![
            format!("{:.1}", figures.avg_tps).into(),
            thousands(figures.max_tps).into(),
            figures.max_tpm_said().into(),
            millis(figures.response).into(),
            thousands(figures.failed()).into(),
            limiter.name.into(),
        ];
        TableRow { name: step.users.to_string(), remarks: Vec::new(), cells }
    };
    let heads = ["users", "avg TPS", "max TPS", "max TPM", "avg ms", "failed", "limiter"];
    page.add(table("All loads", &heads, steps.iter().zip(limiters).map(row).collect()));
    page.add(list("What was run", facts));
    page
}

/// Transactions second by second, as columns, with the trailing minute as a line.
fn seconds(ledger: &Ledger) -> Knee {
    // More columns than this cannot be told apart.
    let all = ledger.measured_seconds();
    let every = all.len().div_ceil(120).max(1);
    let chosen: Vec<usize> = all.clone().step_by(every).collect();
    let mean = |from: usize| {
        let part = &ledger.seconds[from..(from + every).min(all.end)];
        part.iter().map(|second| second.done).sum::<u64>() as f64 / part.len().max(1) as f64
    };
    Knee {
        heading: "Transactions over time".into(),
        lead: "Columns are transactions a second, the line is the trailing minute.".into(),
        across: "second of the window".into(),
        loads: chosen.iter().map(|second| (second - all.start + 1).to_string()).collect(),
        columns: "TPS".into(),
        line: "TPM".into(),
        runs: vec![KneeRun {
            name: String::new(),
            columns: chosen.iter().map(|second| Some(mean(*second))).collect(),
            line: chosen.iter().map(|second| Some(ledger.tpm(*second) as f64)).collect(),
        }],
        knee: None,
    }
}

fn transactions(figures: &Figures) -> Tables {
    let row = |line: &crate::Line| {
        let at = |part| TableCell::from(millis(line.response.quantile(part)));
        let tone = if line.failed > 0 { Tone::Bad } else { Tone::Plain };
        let cells = vec![
            thousands(line.response.count()).into(),
            TableCell { says: thousands(line.failed), tone },
            millis(line.response.mean()).into(),
            at(0.5),
            at(0.95),
            at(0.99),
            millis(line.response.max()).into(),
        ];
        TableRow { name: line.what.name().into(), remarks: Vec::new(), cells }
    };
    let heads = ["transaction", "done", "failed", "mean ms", "p50", "p95", "p99", "max"];
    table("Transactions", &heads, figures.lines.iter().map(row).collect())
}

fn table(heading: &str, heads: &[&str], rows: Vec<TableRow>) -> Tables {
    let group = Group { rows, ..Group::default() };
    let columns = heads.iter().map(|head| (*head).to_owned()).collect();
    let table = Table { columns, groups: vec![group], ..Table::default() };
    Tables { heading: heading.into(), tables: vec![table], ..Tables::default() }
}

fn list(heading: &str, facts: &[(String, String)]) -> Facts {
    Facts { heading: heading.into(), facts: facts.iter().map(|(name, value)| Fact::of(name, value)).collect() }
}
