//! The key `changes` of a device: how much of its capacity it has, and from when on.

use super::super::table::Table;
use block::Span;

/// Changes of the capacity in order of time; the last must be above zero.
pub(super) fn read(table: &Table<'_>) -> Vec<(Span, u32)> {
    const ADVICE: &str = "such as [{ at = \"10s\", percent = 50 }, { at = \"20s\", percent = 100 }]";
    if !table.has("changes") {
        return Vec::new();
    }
    let mut changes: Vec<(Span, u32)> = Vec::new();
    if !table.is_list("changes") || table.is_empty_list("changes") {
        table.wrong("changes", "a list", ADVICE);
        return Vec::new();
    }
    for change in table.tables("changes", "changes") {
        change.only(&["at", "percent"]);
        change.missing("at", "say after how long, such as 10s");
        change.missing("percent", "say how much of its capacity it has from then on");
        let (Some(at), Some(percent)) = (change.duration("at"), change.count("percent")) else { continue };
        if changes.last().is_some_and(|(before, _)| *before > at) {
            change.wrong("at", "no earlier than the change before it", "put them in the order of time");
        }
        if percent > 1000 {
            change.wrong("percent", "from 0 to 1000", "100 is its full capacity");
        }
        changes.push((at, percent));
    }
    if changes.last().is_some_and(|(_, percent)| *percent == 0) {
        table.wrong("changes", "a list whose last change is above 0 percent, or it stands still for ever", ADVICE);
    }
    changes
}
