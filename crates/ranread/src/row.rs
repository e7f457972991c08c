//! What one process did in a batch: the row that is stored, as a line of text.
//!
//! ```text
//!   batch · started · processes · job · effort · block · read % · reads · writes · failed · bytes · elapsed · state · lat · database
//! ```
//! Fields are parted by tabs; the database stands last and has its tabs and line ends escaped. Response times are kept
//! whole, as a histogram: averages alone cannot say whether a limit was ever passed.

use crate::grammar::Effort;
use block::Span;
use stats::Histogram;
use stats::job::JobOutcome;

/// One process of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the batch.
    pub batch: u64,
    /// When the batch began, in seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// What it loaded, as it was named.
    pub database: String,
    /// Processes in the batch.
    pub processes: u32,
    /// Which of them, from 1.
    pub job: u32,
    /// How much was asked of each.
    pub effort: Effort,
    /// Bytes of a request.
    pub block: u32,
    /// Requests of a hundred that were to read.
    pub read_percent: u32,
    /// Reads that ended well.
    pub reads: u64,
    /// Writes that ended well.
    pub writes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// From the first request to the last end; the wait for the others to start is not in it.
    pub elapsed: Span,
    /// How it ended.
    pub state: State,
    /// Response times of all of its requests.
    pub lat: Histogram,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It did all that was asked.
    Whole,
    /// It was stopped, or failed; it counts what it had done.
    Stopped,
    /// Nobody knows: the row was kept while it ran, and nothing came behind it.
    Running,
}

/// A line that is no row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no row of ranread at its field {0}")]
pub struct RowError(pub &'static str);

impl Row {
    /// What a batch's processes have in common, before anything was done.
    pub fn blank(batch: u64, started_unix_s: u64, database: String, processes: u32, load: &crate::Load) -> Row {
        Row {
            batch,
            started_unix_s,
            database,
            processes,
            job: 0,
            effort: load.effort.unwrap_or(Effort::Iterations(0)),
            block: load.block,
            read_percent: load.read_percent,
            reads: 0,
            writes: 0,
            failed: 0,
            bytes: 0,
            elapsed: Span::ZERO,
            state: State::Running,
            lat: Histogram::new(),
        }
    }

    /// The row of process `job` (from 1) that did this.
    pub fn of(&self, job: u32, state: State, outcome: &JobOutcome) -> Row {
        let (reads, writes) = (&outcome.directions.read, &outcome.directions.write);
        let mut lat = reads.lat.clone();
        lat.merge(&writes.lat);
        let state = if outcome.interrupted || !outcome.is_good() { State::Stopped } else { state };
        Row {
            job,
            reads: reads.ops,
            writes: writes.ops,
            failed: reads.failed + writes.failed,
            bytes: reads.bytes + writes.bytes,
            elapsed: outcome.measured,
            state,
            lat,
            ..self.clone()
        }
    }

    /// Requests that ended well.
    pub fn done(&self) -> u64 {
        self.reads + self.writes
    }

    /// Elapsed time for each request that was done, in milliseconds; `None` where none was.
    pub fn response_ms(&self) -> Option<f64> {
        (self.done() > 0).then(|| self.elapsed.as_millis_f64() / self.done() as f64)
    }

    /// As a line, with its end.
    pub fn line(&self) -> String {
        let effort = match self.effort {
            Effort::Iterations(n) => format!("n{n}"),
            Effort::Seconds(s) => format!("s{s}"),
        };
        let state = match self.state {
            State::Whole => "whole",
            State::Stopped => "stopped",
            State::Running => "running",
        };
        let database = self.database.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
        let numbers = [self.batch, self.started_unix_s, u64::from(self.processes), u64::from(self.job)];
        let rest =
            [u64::from(self.block), u64::from(self.read_percent), self.reads, self.writes, self.failed, self.bytes];
        let join = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("\t");
        let (nanos, lat) = (self.elapsed.as_nanos(), histogram_text(&self.lat));
        format!("{}\t{effort}\t{}\t{nanos}\t{state}\t{lat}\t{database}\n", join(&numbers), join(&rest))
    }

    /// From a line.
    ///
    /// # Errors
    /// It is none; a last line that was cut off in the middle of its writing is such a one.
    pub fn read(line: &str) -> Result<Row, RowError> {
        let mut fields = line.splitn(15, '\t');
        let mut text = |name| fields.next().ok_or(RowError(name));
        let number = |name, text: &str| text.parse::<u64>().map_err(|_| RowError(name));
        let small = |name, text: &str| text.parse::<u32>().map_err(|_| RowError(name));
        let batch = number("batch", text("batch")?)?;
        let started_unix_s = number("started", text("started")?)?;
        let processes = small("processes", text("processes")?)?;
        let job = small("job", text("job")?)?;
        let effort = text("effort")?;
        let effort = match (effort.strip_prefix('n'), effort.strip_prefix('s')) {
            (Some(n), _) => Effort::Iterations(number("effort", n)?),
            (_, Some(s)) => Effort::Seconds(number("effort", s)?),
            _ => return Err(RowError("effort")),
        };
        let (block, read_percent) = (small("block", text("block")?)?, small("read %", text("read %")?)?);
        let (reads, writes) = (number("reads", text("reads")?)?, number("writes", text("writes")?)?);
        let (failed, bytes) = (number("failed", text("failed")?)?, number("bytes", text("bytes")?)?);
        let elapsed = Span::from_nanos(number("elapsed", text("elapsed")?)?);
        let state = match text("state")? {
            "whole" => State::Whole,
            "stopped" => State::Stopped,
            "running" => State::Running,
            _ => return Err(RowError("state")),
        };
        let lat = histogram(text("lat")?).ok_or(RowError("lat"))?;
        let database = unescaped(text("database")?);
        Ok(Row {
            batch,
            started_unix_s,
            database,
            processes,
            job,
            effort,
            block,
            read_percent,
            reads,
            writes,
            failed,
            bytes,
            elapsed,
            state,
            lat,
        })
    }
}

/// `sum,min,max;bucket:count,…`
fn histogram_text(lat: &Histogram) -> String {
    let filled = lat.filled().map(|(bucket, count)| format!("{bucket}:{count}")).collect::<Vec<_>>().join(",");
    let [sum, min, max] = [lat.sum(), lat.min(), lat.max()].map(Span::as_nanos);
    format!("{sum},{min},{max};{filled}")
}

fn histogram(text: &str) -> Option<Histogram> {
    let (head, filled) = text.split_once(';')?;
    let head: Vec<u64> = head.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [sum, min, max] = *head else { return None };
    let pair = |text: &str| {
        let (bucket, count) = text.split_once(':')?;
        Some((bucket.parse().ok()?, count.parse().ok()?))
    };
    let filled: Option<Vec<(u32, u64)>> = filled.split(',').filter(|text| !text.is_empty()).map(pair).collect();
    let [sum, min, max] = [sum, min, max].map(Span::from_nanos);
    Histogram::from_filled(&filled?, sum, min, max)
}

fn unescaped(text: &str) -> String {
    let (mut found, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        found.push(match (letter, if letter == '\\' { letters.next() } else { None }) {
            ('\\', Some('t')) => '\t',
            ('\\', Some('n')) => '\n',
            ('\\', Some(other)) => other,
            (letter, _) => letter,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut lat = Histogram::new();
        (1..=1000).for_each(|us| lat.record(Span::from_micros(us * 7)));
        Row {
            batch: 3,
            started_unix_s: 1_464_012_480,
            database: "/d/a\tb\\n".into(),
            processes: 20,
            job: 4,
            effort: Effort::Iterations(1000),
            block: 8192,
            read_percent: 50,
            reads: 600,
            writes: 400,
            failed: 1,
            bytes: 8_192_000,
            elapsed: Span::from_millis(7176),
            state: State::Whole,
            lat,
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = row();
        let line = row.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(Row::read(line.trim_end_matches('\n')), Ok(row.clone()));
        let timed = Row { effort: Effort::Seconds(30), state: State::Running, lat: Histogram::new(), ..row };
        assert_eq!(Row::read(timed.line().trim_end_matches('\n')), Ok(timed));
    }

    /// A line that the end of a machine cut off: nowhere along it does it read as a row, but where only the database's
    /// name is shorter.
    #[test]
    fn half_a_row_is_none() {
        let line = row().line();
        let last = line.rfind('\t').unwrap();
        for cut in 0..last {
            assert!(Row::read(&line[..cut]).is_err(), "{cut}");
        }
        assert_eq!(Row::read("1\tx"), Err(RowError("started")));
    }

    /// 7176 ms for 1000 requests; nothing done has no response time, whatever passed.
    #[test]
    fn response_time_divides_by_what_was_done() {
        assert_eq!(row().response_ms(), Some(7.176));
        assert_eq!(Row { reads: 0, writes: 500, ..row() }.response_ms(), Some(14.352));
        assert_eq!(Row { reads: 0, writes: 0, ..row() }.response_ms(), None);
    }
}
