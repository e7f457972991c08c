//! fio's own recording, `write_iolog`: one line per request.
//!
//! In version 3, each line begins with a time in microseconds from the start of the run. Version 2
//! has lines that wait instead. `FILE add`, `open` and `close` manage files; a file must be added
//! before it is used.

use super::{Action, Event, TraceError};
use block::{Span, Time};
use std::str::{Lines, SplitWhitespace};

/// Shorter waits are dropped, as in fio.
const WAIT_LEAST_US: u64 = 100;

/// Reads an iolog event by event.
#[derive(Clone, Debug)]
pub struct Iolog<'t> {
    lines: Lines<'t>,
    has_times: bool,
    line: u32,
    now: Time,
    files: Vec<String>,
    failed: bool,
}

impl<'t> Iolog<'t> {
    /// A reader for a whole text.
    ///
    /// # Errors
    /// The text is not an iolog of version 2 or 3.
    pub fn new(text: &'t str) -> Result<Iolog<'t>, TraceError> {
        let mut lines = text.lines();
        let has_times = match lines.next().map(str::trim_end) {
            Some("fio version 2 iolog") => false,
            Some("fio version 3 iolog") => true,
            _ => return Err(TraceError::Unknown),
        };
        Ok(Iolog { lines, has_times, line: 1, now: Time::ZERO, files: Vec::new(), failed: false })
    }

    /// The files found so far.
    pub fn into_files(self) -> Vec<String> {
        self.files
    }

    /// The request of a line; `None` if the line is not a request.
    fn event(&mut self, line: &str) -> Result<Option<Event>, String> {
        let mut words = line.split_whitespace();
        if self.has_times {
            // fio writes lines in order of time. An earlier time counts as that of the line before.
            let due = Time::ZERO + Span::from_micros(number(&mut words, "a time in microseconds")?);
            self.now = self.now.max(due);
        }
        let Some(file) = words.next() else {
            return if self.has_times { Err("a file's name is missing after the time".into()) } else { Ok(None) };
        };
        let action = match words.next() {
            Some("add") => {
                self.index_of(file).is_none().then(|| self.files.push(file.to_owned()));
                return Ok(None);
            }
            Some("open" | "close") => return Ok(None),
            Some("wait") if !self.has_times => {
                let us = number(&mut words, "microseconds to wait")?;
                self.now += Span::from_micros(if us < WAIT_LEAST_US { 0 } else { us });
                return Ok(None);
            }
            Some("read") => Action::Read,
            Some("write") => Action::Write,
            Some("trim") => Action::Trim,
            Some("sync") => Action::Flush { data_only: false },
            Some("datasync") => Action::Flush { data_only: true },
            other => return Err(unknown(other)),
        };
        let file = self.index_of(file).ok_or_else(|| format!("{file:?} was not added before"))?;
        let due = self.now;
        if matches!(action, Action::Flush { .. }) {
            return Ok(Some(Event { due, file, action, at: 0, len: 0 }));
        }
        let at = number(&mut words, "an offset")?;
        let len = number(&mut words, "a length")?;
        let len = u32::try_from(len).ok().filter(|len| *len > 0);
        let len = len.ok_or("a length lies between 1 and 4294967295 bytes")?;
        match at.checked_add(u64::from(len)) {
            Some(_) => Ok(Some(Event { due, file, action, at, len })),
            None => Err(format!("offset {at} and length {len} lie beyond 2^64")),
        }
    }

    fn index_of(&self, file: &str) -> Option<u32> {
        self.files.iter().position(|known| known == file).map(|index| index as u32)
    }
}

impl Iterator for Iolog<'_> {
    type Item = Result<Event, TraceError>;

    /// The next request. There is none after an error.
    fn next(&mut self) -> Option<Result<Event, TraceError>> {
        while !self.failed {
            let line = self.lines.next()?;
            self.line += 1;
            if line.trim().is_empty() {
                continue;
            }
            match self.event(line) {
                Ok(None) => {}
                Ok(Some(event)) => return Some(Ok(event)),
                Err(rule) => {
                    self.failed = true;
                    return Some(Err(TraceError::Line { line: self.line, rule }));
                }
            }
        }
        None
    }
}

fn number(words: &mut SplitWhitespace<'_>, what: &str) -> Result<u64, String> {
    let word = words.next().ok_or_else(|| format!("{what} is missing"))?;
    word.parse().map_err(|_| format!("{word:?} is not {what}"))
}

fn unknown(action: Option<&str>) -> String {
    let known = "add, open, close, read, write, trim, sync, datasync, and in version 2 wait";
    match action {
        Some("wait") => "version 3 has times in front of its lines and no wait".into(),
        Some(action) => format!("unknown action {action:?}; there are {known}"),
        None => format!("an action is missing; there are {known}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u64, Action, u64, u32)>, String> {
        let log = Iolog::new(text).map_err(|error| error.to_string())?;
        let events = log.map(|event| event.map(|e| (e.due.as_nanos() / 1000, e.action, e.at, e.len)));
        events.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// The lines are what fio 3.33 wrote.
    #[test]
    fn version_3_has_times() {
        let text = "fio version 3 iolog\n31 j.0.0 add\n183 j.0.0 open\n190 j.0.0 read 0 4096\n7565 j.0.0 write 28672 4096\n\
                    215474 j.0.0 sync 61440 0\n219436 j.0.0 trim 4096 4096\n423787 j.0.0 close\n";
        let flush = Action::Flush { data_only: false };
        let expected = [
            (190, Action::Read, 0, 4096),
            (7565, Action::Write, 28_672, 4096),
            (215_474, flush, 0, 0),
            (219_436, Action::Trim, 4096, 4096),
        ];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn version_2_waits() {
        let text = "fio version 2 iolog\n/f add\n/f open\n/f read 0 512\n/f wait 1500 0\n/f write 512 512\n/f wait 99 0\n\n/f datasync\n";
        let flush = Action::Flush { data_only: true };
        assert_eq!(
            read(text).unwrap(),
            [(0, Action::Read, 0, 512), (1500, Action::Write, 512, 512), (1500, flush, 0, 0)]
        );
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, why) in [
            ("fio version 4 iolog\n", "no trace that is known"),
            ("fio version 3 iolog\n1 f read 0 1\n", "line 2: \"f\" was not added before"),
            ("fio version 3 iolog\nx f add\n", "line 2: \"x\" is not a time"),
            ("fio version 3 iolog\n1 f add\n1 f wait 5\n", "line 3: version 3 has times"),
            ("fio version 2 iolog\nf add\nf read 0 0\n", "line 3: a length lies between"),
            ("fio version 2 iolog\nf add\nf read 18446744073709551615 1\n", "line 3: offset"),
            ("fio version 2 iolog\nf add\nf eat 0 1\n", "line 3: unknown action \"eat\""),
            ("fio version 2 iolog\nf\n", "line 2: an action is missing"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.starts_with(why) || message.contains(why), "{text}: {message}");
        }
    }
}
