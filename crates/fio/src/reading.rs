//! Reads fio's JSON (`json`, `json+`) as a run, whether fio (any version) or this program wrote it.
//!
//! Only what is in the document is used. Latencies come from `json+` alone, whose bins are a
//! histogram. Percentiles without a histogram are not a distribution and are left out.

use crate::dialect::Dialect;
use crate::number;
use block::Span;
use serde_json::{Map, Value};
use stats::Histogram;
use stats::run::{Cell, Class, Event, Identity, Kind, Point, Run, RunActor, State};
use std::collections::BTreeMap;

/// Maximum number of jobs in one document; fio itself stops at 4096.
const JOBS_MOST: usize = 65_536;

/// Maximum number of requests in a histogram. At a thousand million per second this is 36 years,
/// and three such histograms can be added.
const REQUESTS_MOST: u64 = 1 << 60;

/// Why a text is not JSON of fio's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// It is not JSON, or is cut off.
    #[error("is no JSON of fio's, or was cut short: line {line}, column {column} cannot be read")]
    Syntax {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A member is missing or has the wrong type.
    #[error("{at}: must be {rule}; the file is no JSON of fio's, was changed by hand or cut short")]
    Field {
        /// Its path in the document, such as `jobs[0].read.total_ios`.
        at: String,
        /// What is expected there.
        rule: &'static str,
    },
}

/// The run that a document describes. Anything that fio printed before the document is skipped. Of
/// several documents, which `--status-interval` makes, the last has the figures of the whole run.
///
/// # Errors
/// It is not a document of fio's; the error has the position.
pub fn read_json(text: &str) -> Result<Run, ReadingError> {
    let before = text.lines().position(|line| line.starts_with('{')).unwrap_or(0);
    let begin: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let syntax =
        |error: serde_json::Error| ReadingError::Syntax { line: before + error.line(), column: error.column() };
    let (document, earlier) = last_document(&text[begin..]).map_err(syntax)?;
    let root = At { path: String::new(), value: &document };
    let jobs = root.member("jobs")?.list()?;
    if jobs.is_empty() || jobs.len() > JOBS_MOST {
        return Err(ReadingError::Field { at: "jobs".into(), rule: "a list of one job to 65536" });
    }
    let mut run = Run::default();
    if earlier > 0 {
        run.notes.push(format!("the last of {} reports in the file; those before it were interim", earlier + 1));
    }
    let global = root.options("global options");
    for (number, job) in jobs.iter().enumerate() {
        add(&mut run, number as u32, job, &global)?;
    }
    let longest = run.cells.iter().map(|cell| cell.measured).max().unwrap_or_default();
    run.points.push(Point { name: "run".into(), end: longest, ..Point::default() });
    run.identity = identity(&root, &run, longest);
    if run.cells.iter().all(|cell| cell.latencies.is_empty()) {
        run.notes
            .push("fio kept no histograms, so latencies are not known here: it does with --output-format=json+".into());
    }
    Ok(run)
}

/// The last whole document of a text that begins with one, and how many come before it. Lines
/// between them are skipped, and so is a last one that was cut short.
fn last_document(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let (mut last, mut count, mut at) = (Value::Null, 0, 0);
    loop {
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match documents.next() {
            Some(Ok(document)) => (last, count) = (document, count + 1),
            Some(Err(error)) if count == 0 => return Err(error),
            _ => break,
        }
        at += documents.byte_offset();
        match text[at..].find("\n{") {
            Some(next) => at += next + 1,
            None => break,
        }
    }
    Ok((last, usize::saturating_sub(count, 1)))
}

fn identity(root: &At<'_>, run: &Run, longest: Span) -> Identity {
    let mut names: Vec<&str> = run.actors.iter().map(|actor| actor.name.as_str()).collect();
    names.dedup();
    // fio's timestamp is when it wrote the document, which is at the end.
    let ended = root.optional("timestamp_ms").and_then(|at| at.value.as_u64());
    let failed = run.events.iter().any(|event| event.kind == "failure");
    Identity {
        tool: "fio".into(),
        title: names.join(", "),
        version: root.optional("fio version").and_then(|at| at.value.as_str()).unwrap_or_default().into(),
        started_unix_ms: ended.unwrap_or_default().saturating_sub(longest.as_millis_f64() as u64),
        state: if failed { State::CutShort } else { State::Ended },
        ..Identity::default()
    }
}

/// The classes of requests, by the names of a job's members.
const CLASSES: [(&str, Class); 3] = [("read", Class::READ), ("write", Class::WRITE), ("trim", Class::TRIM)];

fn add(run: &mut Run, actor: u32, job: &At<'_>, global: &BTreeMap<String, String>) -> Result<(), ReadingError> {
    let name = job.member("jobname")?.text()?.to_owned();
    let group = job.optional("groupid").map(|at| at.whole()).transpose()?;
    let group = group.map(|group| u32::try_from(group).unwrap_or(u32::MAX));
    run.actors.push(RunActor { name, group, ..RunActor::default() });
    let mut cells = Vec::new();
    for (name, class) in CLASSES {
        if let Some(part) = job.optional(name) {
            cells.extend(cell(actor, class, &part)?);
        }
    }
    // With unified_rw_reporting all directions have one section.
    let mixed = job.optional("mixed").map(|part| cell(actor, Class::ALL, &part)).transpose()?.flatten();
    let failed = job.optional("total_err").map(|at| at.whole()).transpose()?;
    let measured = cells.iter().chain(&mixed).map(|cell: &Cell| cell.measured).max().unwrap_or_default();
    let mut all = Cell { failed, bytes: Some(0), ..Cell::new(0, actor, Class::ALL, measured) };
    for part in &cells {
        let too_many = || ReadingError::Field { at: job.path.clone(), rule: "counts of less than 2^64 in all" };
        all.ops = all.ops.checked_add(part.ops).ok_or_else(too_many)?;
        all.bytes = Some(all.bytes.unwrap_or(0).checked_add(part.bytes.unwrap_or(0)).ok_or_else(too_many)?);
        for (kind, histogram) in &part.latencies {
            match all.latencies.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => sum.merge(histogram),
                None => all.latencies.push((*kind, histogram.clone())),
            }
        }
    }
    run.cells.push(mixed.map_or(all, |mixed| Cell { failed, ..mixed }));
    run.cells.append(&mut cells);
    if let Some(error) = job.optional("error").map(|at| at.whole()).transpose()?.filter(|error| *error != 0) {
        run.events.push(Event {
            point: Some(0),
            actor: Some(actor),
            at: measured,
            kind: "failure".into(),
            name: format!("error {error}"),
            number: Some(error as f64),
        });
    }
    let mut options = global.clone();
    options.extend(job.options("job options"));
    settings(run, actor, &options);
    Ok(())
}

/// What a job did of one class; `None` if nothing.
fn cell(actor: u32, class: Class, part: &At<'_>) -> Result<Option<Cell>, ReadingError> {
    let ops = part.member("total_ios")?.whole()?;
    if ops == 0 {
        return Ok(None);
    }
    let ms = part.member("runtime")?.whole()?;
    let measured = ms.checked_mul(1_000_000).map(Span::from_nanos);
    let measured = measured.ok_or_else(|| part.wrong("runtime", "milliseconds of less than 500 years"))?;
    let mut cell = Cell { ops, ..Cell::new(0, actor, class, measured) };
    cell.bytes = Some(part.member("io_bytes")?.whole()?);
    cell.short = part.optional("short_ios").map(|at| at.whole()).transpose()?;
    for (name, kind) in [("lat_ns", Kind::Response), ("clat_ns", Kind::Service)] {
        let histogram = part.optional(name).map(|at| histogram(&at)).transpose()?.flatten();
        cell.latencies.extend(histogram.map(|histogram| (kind, histogram)));
    }
    Ok(Some(cell))
}

/// What a mean must be.
const MEAN: &str = "between min and max, and of less than 500 years in all";

/// A histogram from bins (nanoseconds to count) and from the minimum, maximum and mean given with
/// them; `None` without bins.
fn histogram(times: &At<'_>) -> Result<Option<Histogram>, ReadingError> {
    let Some(bins) = times.optional("bins") else { return Ok(None) };
    if bins.object()?.is_empty() {
        return Ok(None);
    }
    let figure = |name: &'static str| {
        let figure = times.member(name)?.value.as_f64().filter(|ns| (0.0..u64::MAX as f64).contains(ns));
        figure.ok_or_else(|| times.wrong(name, "nanoseconds, not negative"))
    };
    let (least, most, mean) = (figure("min")?, figure("max")?, figure("mean")?);
    if least > mean || mean > most {
        return Err(times.wrong("mean", MEAN));
    }
    let mut filled: BTreeMap<u32, u64> = BTreeMap::new();
    let mut count = 0u64;
    for (key, times) in bins.object()? {
        let wrong = |rule| bins.wrong(key, rule);
        let ns: u64 = key.parse().map_err(|_| wrong("a time in whole nanoseconds"))?;
        let times = times.as_u64().ok_or_else(|| wrong("a whole number, not negative"))?;
        count = count.saturating_add(times);
        if count > REQUESTS_MOST {
            return Err(wrong("counts of at most 2^60 in all"));
        }
        // A bin is named by its middle, which may be above the longest time in it or below the
        // shortest.
        let ns = Span::from_nanos(ns.clamp(least as u64, most as u64));
        *filled.entry(Histogram::bucket(ns)).or_default() += times;
    }
    if count == 0 {
        return Ok(None);
    }
    let sum = mean * count as f64;
    if sum >= u64::MAX as f64 {
        return Err(times.wrong("mean", MEAN));
    }
    let filled: Vec<(u32, u64)> = filled.into_iter().filter(|(_, count)| *count > 0).collect();
    let [sum, least, most] = [sum, least, most].map(|ns| Span::from_nanos(ns as u64));
    Ok(Histogram::from_filled(&filled, sum, least, most))
}

/// Options have the names under which seawall keeps its own jobs, so that runs can be compared;
/// other options keep fio's names.
fn settings(run: &mut Run, actor: u32, options: &BTreeMap<String, String>) {
    let actor = Some(actor);
    for (key, word) in options {
        match key.as_str() {
            "rw" | "readwrite" => {
                let random = word.starts_with("rand");
                let mix = word.strip_prefix("rand").unwrap_or(word).split(':').next().unwrap_or_default();
                let mix = if ["rw", "readwrite"].contains(&mix) { "readwrite" } else { mix };
                run.set(actor, "mix", mix);
                run.set(actor, "order", if random { "random" } else { "sequential" });
            }
            "bs" | "blocksize" => {
                let sizes: Vec<&str> = word.split(',').collect();
                for (place, name) in ["read", "write", "trim"].iter().enumerate() {
                    let size = sizes.get(place).or(sizes.last()).filter(|size| !size.is_empty());
                    let bytes = size.and_then(|size| number::whole(size, Dialect::default()).ok());
                    if let Some(bytes) = bytes {
                        run.set(actor, &format!("{name}_block_bytes"), bytes as f64);
                    }
                }
            }
            "iodepth" => match word.parse::<u32>() {
                Ok(depth) => run.set(actor, "depth", f64::from(depth)),
                Err(_) => run.set(actor, key, word.as_str()),
            },
            "rwmixread" => match word.parse::<u32>() {
                Ok(percent) => run.set(actor, "read_percent", f64::from(percent)),
                Err(_) => run.set(actor, key, word.as_str()),
            },
            _ => run.set(actor, key, word.as_str()),
        }
    }
}

/// A value and its path.
struct At<'v> {
    path: String,
    value: &'v Value,
}

impl<'v> At<'v> {
    fn wrong(&self, name: &str, rule: &'static str) -> ReadingError {
        ReadingError::Field { at: self.below(name), rule }
    }

    fn below(&self, name: &str) -> String {
        let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }

    fn optional(&self, name: &str) -> Option<At<'v>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(At { path: self.below(name), value })
    }

    fn member(&self, name: &'static str) -> Result<At<'v>, ReadingError> {
        self.optional(name).ok_or_else(|| self.wrong(name, "there"))
    }

    fn list(&self) -> Result<Vec<At<'v>>, ReadingError> {
        let list = self.value.as_array().ok_or_else(|| self.itself("a list"))?;
        let at = |(number, value)| At { path: format!("{}[{number}]", self.path), value };
        Ok(list.iter().enumerate().map(at).collect())
    }

    fn object(&self) -> Result<&'v Map<String, Value>, ReadingError> {
        self.value.as_object().ok_or_else(|| self.itself("an object"))
    }

    fn text(&self) -> Result<&'v str, ReadingError> {
        self.value.as_str().ok_or_else(|| self.itself("a text"))
    }

    fn whole(&self) -> Result<u64, ReadingError> {
        self.value.as_u64().ok_or_else(|| self.itself("a whole number, not negative"))
    }

    fn itself(&self, rule: &'static str) -> ReadingError {
        ReadingError::Field { at: self.path.clone(), rule }
    }

    /// The options that are texts.
    fn options(&self, name: &str) -> BTreeMap<String, String> {
        let options = self.optional(name).and_then(|at| at.value.as_object());
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        options.into_iter().flatten().filter_map(text).collect()
    }
}
