//! Describes a plan in plain language, so that users can compare it with what they meant.

use super::{Phase, Plan, Workload};
use crate::spec::{Arrival, Pattern, Spacing, Spec};
use block::{Span, count};

pub(super) fn describe(plan: &Plan) -> Vec<String> {
    let mut lines = vec![headline(plan)];
    lines.extend(plan.workloads.iter().map(|workload| line_of_workload(plan, workload)));
    let said = plan.settings.describe();
    if !said.is_empty() {
        lines.push(format!("the server: {}", said.join("; ")));
    }
    let mut before: Vec<&Spec> = plan.workloads.iter().map(|workload| &workload.spec).collect();
    for (index, phase) in plan.phases.iter().enumerate() {
        lines.push(line_of_phase(plan, index, phase, &before));
        before = phase.specs.iter().collect();
    }
    if let Some(device) = &plan.device {
        lines.push(format!("simulated device: {device}"));
    }
    lines
}

fn headline(plan: &Plan) -> String {
    let whole: Span = plan.phases.iter().map(|phase| plan.length(phase)).sum();
    let phases = count(plan.phases.len(), "phase", "phases");
    let workloads = count(plan.workloads.len(), "workload", "workloads");
    format!("{}: {workloads}, {phases}, {} in all, seed {}", plan.title, long(whole), plan.seed)
}

fn line_of_workload(plan: &Plan, workload: &Workload) -> String {
    let storage = plan.storage(workload);
    let host = if workload.host == workload.name { String::new() } else { format!(" (host {})", workload.host) };
    format!("{}{host} on {storage}: {}", workload.name, load(&workload.spec))
}

fn line_of_phase(plan: &Plan, index: usize, phase: &Phase, before: &[&Spec]) -> String {
    let mut parts: Vec<_> = Some(phase.about.clone()).filter(|about| !about.is_empty()).into_iter().collect();
    for (workload, (spec, before)) in plan.workloads.iter().zip(phase.specs.iter().zip(before)) {
        if spec != *before {
            parts.push(format!("{} now {}", workload.name, load(spec)));
        }
    }
    parts.extend(phase.commands.iter().map(|command| format!("runs `{command}`")));
    let parts = if parts.is_empty() { "as before".into() } else { parts.join("; ") };
    format!("phase {}, {} ({}): {parts}", index + 1, phase.name, long(plan.length(phase)))
}

/// A load in words, such as `4 KiB random, 50 % reads, 2 connections × 256 in flight`.
fn load(spec: &Spec) -> String {
    if spec.connections == 0 {
        return "silent".into();
    }
    let pattern = match spec.pattern {
        Pattern::Random => "random",
        Pattern::Sequential => "sequential",
    };
    let mut text = format!("{} {pattern}, {} % reads", blocks(spec), spec.read_percent);
    if let Some(writes) = spec.flush_every {
        text += &format!(", a flush every {}", count(writes as usize, "write", "writes"));
    }
    let connections = count(spec.connections as usize, "connection", "connections");
    text += &match spec.arrival {
        Arrival::Closed { depth } => {
            let pace = spec.pace.map_or(String::new(), |pace| format!(", at most {} requests/s each", pace.0));
            format!(", {connections} × {depth} in flight{pace}")
        }
        Arrival::Open { rate, spacing, outstanding } => {
            let spacing = match spacing {
                Spacing::Uniform => "evenly",
                Spacing::Poisson => "at random (poisson)",
            };
            format!(", {} requests/s {spacing} over {connections}, at most {outstanding} in flight each", rate.0)
        }
    };
    text + &range(spec) + &spec.requests.map_or(String::new(), |requests| format!(", {requests} requests in all"))
}

fn blocks(spec: &Spec) -> String {
    match spec.blocks.shares() {
        [only] => only.size.to_string(),
        shares => {
            let shares: Vec<_> = shares.iter().map(|share| format!("{} ({} %)", share.size, share.weight)).collect();
            shares.join(" + ")
        }
    }
}

fn range(spec: &Spec) -> String {
    match (spec.range.offset.0, spec.range.size) {
        (0, None) => String::new(),
        (0, Some(size)) => format!(", in the first {size}"),
        (_, None) => format!(", from {} on", spec.range.offset),
        (_, Some(size)) => format!(", in {size} from {} on", spec.range.offset),
    }
}

/// A duration in words: `8 s`, `2 min 30 s`, `33 h 20 min`.
fn long(span: Span) -> String {
    let seconds = span.as_nanos() / Span::SECOND.as_nanos();
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let said: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if said.is_empty() { "0 s".into() } else { said.join(" ") }
}
