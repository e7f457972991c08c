//! A trace as a simple table: a line of headings, then one line per request.
//!
//! ```text
//! time_us,file,action,offset,length
//! 0,svm01:/vol/db/lun1,read,8192,4096
//! 118,svm01:/vol/db/lun1,write,0,8192
//! 240,svm01:/vol/db/lun1,flush,0,0
//! ```
//! Times are microseconds from the start. Names contain neither commas nor quotes.

use super::{Action, Event, TraceError};
use block::{Span, Time};

/// The headings, in this order.
const HEADINGS: &str = "time_us,file,action,offset,length";

/// The files' names in order of first occurrence, and the requests.
type Table = (Vec<String>, Vec<Event>);

/// Reads the whole text if it begins with the headings.
pub(super) fn read(text: &str) -> Option<Result<Table, TraceError>> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim() == HEADINGS).then(|| events(rest))
}

fn events(text: &str) -> Result<Table, TraceError> {
    let (mut files, mut events) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let event = event(line.trim(), &mut files);
        events.push(event.map_err(|rule| TraceError::Line { line: number as u32 + 2, rule })?);
    }
    Ok((files, events))
}

fn event(line: &str, files: &mut Vec<String>) -> Result<Event, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, file, action, at, len] = fields[..] else {
        return Err(format!("has {} fields; there are 5: {HEADINGS}", fields.len()));
    };
    let number = |text: &str, what: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not {what}"));
    let due = Time::ZERO + Span::from_micros(number(time, "a time in microseconds")?);
    let action = match action {
        "read" => Action::Read,
        "write" => Action::Write,
        "trim" => Action::Trim,
        "flush" => Action::Flush { data_only: false },
        other => return Err(format!("unknown action {other:?}; there are read, write, trim and flush")),
    };
    let (at, len) = (number(at, "an offset")?, number(len, "a length")?);
    let is_flush = matches!(action, Action::Flush { .. });
    let len = u32::try_from(len).ok().filter(|len| *len > 0 || is_flush);
    let len = len.ok_or("a length lies between 1 and 4294967295 bytes")?;
    at.checked_add(len.into()).ok_or_else(|| format!("offset {at} and length {len} lie beyond 2^64"))?;
    let known = files.iter().position(|known| known == file);
    let index = known.unwrap_or_else(|| {
        files.push(file.to_owned());
        files.len() - 1
    });
    let (at, len) = if is_flush { (0, 0) } else { (at, len) };
    Ok(Event { due, file: index as u32, action, at, len })
}

#[cfg(test)]
mod tests {
    use crate::trace::Trace;

    #[test]
    fn a_table_is_read_in_the_order_of_its_times() {
        let text = "time_us,file,action,offset,length\n5,b,read,4096,512\n1, a, write, 0, 8192\n\n9,b,flush,0,0\n";
        let trace = Trace::read(text.as_bytes()).unwrap();
        assert_eq!(trace.files, ["b", "a"]);
        let rows: Vec<_> = trace.events.iter().map(|e| (e.due.as_nanos(), e.file, e.at, e.len)).collect();
        assert_eq!(rows, [(1000, 1, 0, 8192), (5000, 0, 4096, 512), (9000, 0, 0, 0)]);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (line, why) in [
            ("1,a,read,0", "line 2: has 4 fields; there are 5: time_us,file,action,offset,length"),
            ("x,a,read,0,1", "line 2: \"x\" is not a time in microseconds"),
            ("1,a,eat,0,1", "line 2: unknown action \"eat\"; there are read, write, trim and flush"),
            ("1,a,read,0,0", "line 2: a length lies between 1 and 4294967295 bytes"),
            ("1,a,read,18446744073709551615,1", "line 2: offset 18446744073709551615 and length 1 lie beyond 2^64"),
        ] {
            let text = format!("time_us,file,action,offset,length\n{line}\n");
            assert_eq!(Trace::read(text.as_bytes()).unwrap_err().to_string(), why);
        }
    }
}
