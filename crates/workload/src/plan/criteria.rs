//! The criteria of a plan. Each kind is a row of the table of kinds.

use super::advice;
use super::error::Problem;
use super::table::{Found, Table};
use block::{Bytes, Iops, Span};
use stats::{Criterion, HeldBy, Rate};

/// The names that criteria may refer to.
pub(super) struct Names<'n> {
    pub(super) phases: &'n [&'n str],
    pub(super) workloads: &'n [&'n str],
}

/// Reads one kind. A new kind needs a new row, and a variant of [`Criterion`].
type Reader = fn(&Table<'_>, &Names<'_>) -> Option<Criterion>;
const KINDS: [(&str, Reader); 11] = [
    ("ceiling-held", ceiling_held),
    ("shared-sum", shared_sum),
    ("starved", starved),
    ("restored", restored),
    ("floor-held", floor_held),
    ("response-within", response_within),
    ("rate-reached", rate_reached),
    ("rate-is", rate_is),
    ("held-by", held_by),
    ("hit-share-kept", hit_share_kept),
    ("hit-share-below", hit_share_below),
];

/// Reads a table `[[criterion]]`.
pub(super) fn read(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.missing("kind", "choose one, such as ceiling-held or starved");
    table.choice("kind", &KINDS)?(table, names)
}

fn ceiling_held(table: &Table<'_>, _: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "tolerance"]);
    Some(Criterion::CeilingHeld { tolerance: tolerance(table, CEILING)? })
}

fn shared_sum(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "phase", "tolerance"]);
    let (phase, tolerance) = (phase(table, "phase", names), tolerance(table, CEILING));
    Some(Criterion::SharedSum { phase: phase?, tolerance: tolerance? })
}

fn starved(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    let Compared { workloads, phase, baseline, part } = compared(table, names, &[])?;
    Some(Criterion::Starved { workloads, phase, baseline, part })
}

fn restored(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    let most = table.number("most", 1.0, 100.0, "1.05 means 105 %");
    let Compared { workloads, phase, baseline, part } = compared(table, names, &["most"])?;
    Some(Criterion::Restored { workloads, phase, baseline, part, most })
}

fn floor_held(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "part"]);
    let (workloads, phase, part) = (workloads(table, names), phase(table, "phase", names), part(table));
    Some(Criterion::FloorHeld { workloads: workloads?, phase: phase?, part: part? })
}

fn response_within(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "percentile", "at_most"]);
    const PERCENTILE: &str = "say how many of a hundred requests, 99.9 or 100 for all";
    table.missing("percentile", PERCENTILE);
    table.missing("at_most", "say within which time, such as \"1ms\"");
    let (workloads, phase) = (workloads(table, names), phase(table, "phase", names));
    let (percentile, at_most) = (table.number("percentile", 0.0, 100.0, PERCENTILE), table.duration("at_most"));
    if at_most == Some(Span::ZERO) {
        table.wrong("at_most", "above zero", "say within which time, such as \"1ms\"");
    }
    Some(Criterion::ResponseWithin { workloads: workloads?, phase: phase?, percentile: percentile?, at_most: at_most? })
}

fn rate_reached(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "iops", "bytes"]);
    let (workloads, phase, at_least) = rated(table, names)?;
    Some(Criterion::RateReached { workloads, phase, at_least })
}

fn rate_is(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "iops", "bytes", "tolerance"]);
    let (rated, tolerance) =
        (rated(table, names), tolerance(table, "say how far from the rate it may be, 0.01 for 1 %"));
    let (workloads, phase, rate) = rated?;
    Some(Criterion::RateIs { workloads, phase, rate, tolerance: tolerance? })
}

fn held_by(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "cause"]);
    table.missing("cause", "say what holds it back, such as flow, burst, link, disk or cpu");
    let words = HeldBy::ALL.map(|cause| (cause.key(), cause));
    let (workloads, phase, cause) =
        (workloads(table, names), phase(table, "phase", names), table.choice("cause", &words));
    Some(Criterion::HeldBy { workloads: workloads?, phase: phase?, cause: cause? })
}

fn hit_share_kept(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "baseline", "points"]);
    table.missing("points", "say how many hundredths of the pages it may find less of, such as 2");
    let (workloads, points) =
        (workloads(table, names), table.number("points", 0.0, 100.0, "2 are two of a hundred pages"));
    let (phase, baseline) = (phase(table, "phase", names)?, phase(table, "baseline", names)?);
    if phase == baseline {
        table.wrong("baseline", "another phase than the one judged", "name the phase to compare with");
    }
    Some(Criterion::HitShareKept { workloads: workloads?, phase, baseline, points: points? })
}

fn hit_share_below(table: &Table<'_>, names: &Names<'_>) -> Option<Criterion> {
    table.only(&["kind", "workloads", "phase", "part"]);
    let (workloads, phase, part) = (workloads(table, names), phase(table, "phase", names), part(table));
    Some(Criterion::HitShareBelow { workloads: workloads?, phase: phase?, part: part? })
}

fn rated(table: &Table<'_>, names: &Names<'_>) -> Option<(Vec<String>, String, Rate)> {
    if !table.has("bytes") {
        table.missing("iops", "say how many operations a second, or how many bytes");
    } else if table.has("iops") {
        table.wrong("iops", "absent beside bytes", "ask for each in a criterion of its own");
    }
    let (workloads, phase) = (workloads(table, names), phase(table, "phase", names));
    let rate = match table.has("bytes") {
        true => table.space("bytes").map(Rate::Bytes),
        false => table.whole("iops").map(|rate| Rate::Iops(Iops(rate))),
    };
    if matches!(rate, Some(Rate::Bytes(Bytes(0)) | Rate::Iops(Iops(0)))) {
        let key = if table.has("bytes") { "bytes" } else { "iops" };
        table.wrong(key, "above zero", "every workload has at least nothing; say what it is to have");
    }
    Some((workloads?, phase?, rate?))
}

/// A phase that is compared with another.
struct Compared {
    workloads: Vec<String>,
    phase: String,
    baseline: String,
    part: f64,
}

fn compared(table: &Table<'_>, names: &Names<'_>, more: &[&str]) -> Option<Compared> {
    table.only(&[&["kind", "workloads", "phase", "baseline", "part"], more].concat());
    let (workloads, part) = (workloads(table, names), part(table));
    let (phase, baseline) = (phase(table, "phase", names), phase(table, "baseline", names));
    let compared = Compared { workloads: workloads?, phase: phase?, baseline: baseline?, part: part? };
    if compared.phase == compared.baseline {
        table.wrong("baseline", "another phase than the one judged", "name the phase to compare with");
    }
    Some(compared)
}

/// What a tolerance of a ceiling is.
const CEILING: &str = "say how much of the ceiling it may miss, 0.01 for 1 %";

fn tolerance(table: &Table<'_>, advice: &'static str) -> Option<f64> {
    table.missing("tolerance", advice);
    table.number("tolerance", 0.0, 1.0, "0.01 means 1 %")
}

fn part(table: &Table<'_>) -> Option<f64> {
    table.missing("part", "say which part it is held against, 0.95 for 95 %");
    table.part("part")
}

fn phase(table: &Table<'_>, key: &str, names: &Names<'_>) -> Option<String> {
    table.missing(key, "name one of the phases");
    let found = table.text(key)?;
    known(table, key, found, Kind { what: "phase", names: names.phases })
}

fn workloads(table: &Table<'_>, names: &Names<'_>) -> Option<Vec<String>> {
    table.missing("workloads", "name those it is about, such as [\"server2\"]");
    let found = table.texts("workloads");
    if table.is_empty_list("workloads") {
        table.wrong("workloads", "at least one workload", "name those it is about, such as [\"server2\"]");
    }
    if let Some((_, twice)) =
        found.iter().enumerate().find(|(at, name)| found[..*at].iter().any(|n| n.value == name.value))
    {
        let (key, given) = (table.full("workloads"), format!("{:?} twice", twice.value));
        let (rule, advice) = ("each workload once".into(), "leave one out".into());
        table.note(twice.line, Problem::Value { key, rule, given, advice });
    }
    let kind = Kind { what: "workload", names: names.workloads };
    let all: Vec<_> = found.into_iter().map(|name| known(table, "workloads", name, kind)).collect();
    all.into_iter().collect()
}

/// The kind of thing that a name refers to.
#[derive(Clone, Copy)]
struct Kind<'n> {
    what: &'static str,
    names: &'n [&'n str],
}

fn known(table: &Table<'_>, key: &str, found: Found<&str>, kind: Kind<'_>) -> Option<String> {
    if kind.names.contains(&found.value) {
        return Some(found.value.to_owned());
    }
    let advice = advice::advice(found.value, kind.names);
    let (key, given) = (table.full(key), found.value.to_owned());
    table.note(found.line, Problem::UnknownName { key, what: kind.what, given, advice });
    None
}
