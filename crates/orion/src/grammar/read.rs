//! Parses the words of a command line.

use super::options::{Known, OPTIONS};
use super::{Array, Error, Load, Matrix, OrionCommand, Pattern, RunKind, Settings};
use crate::ladder::LEVEL_MOST;
use block::Span;
use std::ops::RangeInclusive;

/// Longest point, in seconds: a day.
const DURATION_MOST: u64 = 86_400;
/// Sizes of requests, in KB: up to the engine's longest.
const SIZES: RangeInclusive<u64> = 1..=65_536;
/// A point settles for this fraction of its duration, but no longer than the given time.
const SETTLE_PART: u64 = 10;
const SETTLE_MOST: Span = Span::from_secs(2);
/// Options that may be repeated, each with another place.
const REPEATED: [&str; 2] = ["--destroy-data", "--even-in-use"];

/// Parses the words.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn parse(typed: &[String]) -> Result<OrionCommand, Error> {
    let words = Words::of(typed)?;
    if typed.is_empty() || words.has("-help") || words.has("--help") {
        return Ok(OrionCommand::Help);
    }
    let mut notes = Vec::new();
    let run = kind(&words, &mut notes)?;
    for (name, why) in [
        ("-hugenotneeded", "no huge pages are needed here anyway"),
        ("-storax", "it chooses among the original's libraries, and I/O is done by io_uring here"),
    ] {
        if words.has(name) {
            notes.push(format!("{name}: changes nothing: {why}"));
        }
    }
    Ok(OrionCommand::Run(Box::new(Settings {
        run,
        test_name: test_name(&words)?,
        disks: words.number("-num_disks", 1..=LEVEL_MOST.into())?.map(|disks| disks as u32),
        matrix: matrix(&words, run)?,
        small_levels: levels(&words, "--small-levels")?,
        large_levels: levels(&words, "--large-levels")?,
        load: load(&words)?,
        quick: quick(&words)?,
        small_limit: limit(&words, "--limit-ms", 10.0)?,
        large_limit: limit(&words, "--large-limit-ms", 100.0)?,
        verbose: words.has("-verbose"),
        page: words.last("--page").map(str::to_owned),
        destroy: words.all("--destroy-data"),
        even_in_use: words.all("--even-in-use"),
        words: typed.to_vec(),
        notes,
    })))
}

fn kind(words: &Words, notes: &mut Vec<String>) -> Result<RunKind, Error> {
    const KINDS: [RunKind; 5] = [RunKind::Simple, RunKind::Normal, RunKind::Advanced, RunKind::Dss, RunKind::Oltp];
    let rule = "simple, normal, advanced, dss or oltp";
    let Some(given) = words.last("-run") else {
        return Err(Error(format!(
            "-run: is missing; it must be {rule}, as in: seawall orion -run simple -testname x"
        )));
    };
    if given == "matrix" {
        notes.push("-run matrix: is called so by people and means normal: all combinations".into());
        return Ok(RunKind::Normal);
    }
    KINDS.into_iter().find(|kind| kind.word() == given).ok_or_else(|| wrong("-run", rule, given))
}

fn test_name(words: &Words) -> Result<String, Error> {
    let name = words.last("-testname").unwrap_or("orion");
    if name.is_empty() || name.ends_with('/') {
        return Err(wrong("-testname", "a name, to which .lun is added", name));
    }
    Ok(name.to_owned())
}

fn matrix(words: &Words, run: RunKind) -> Result<Matrix, Error> {
    let level = |name| words.number(name, 0..=LEVEL_MOST.into()).map(|level| level.map(|level| level as u32));
    let (small, large) = (level("-num_small")?, level("-num_large")?);
    if run != RunKind::Advanced && words.has("-matrix") {
        return Err(Error(format!("-matrix: is for -run advanced, and -run is {}; leave one out", run.word())));
    }
    let word = words.last("-matrix").unwrap_or("basic");
    let needed = |level: Option<u32>, name: &str| {
        level.ok_or_else(|| Error(format!("-matrix {word}: needs {name}; say how many requests are outstanding")))
    };
    let (matrix, takes_small, takes_large) = match word {
        "basic" => (Matrix::Basic, false, false),
        "detailed" => (Matrix::Detailed, false, false),
        "point" => {
            let (small, large) = (needed(small, "-num_small")?, needed(large, "-num_large")?);
            (Matrix::Point { small, large }, true, true)
        }
        "col" => (Matrix::Col { small: needed(small, "-num_small")? }, true, false),
        "row" => (Matrix::Row { large: needed(large, "-num_large")? }, false, true),
        "max" => {
            let (small, large) = (needed(small, "-num_small")?, needed(large, "-num_large")?);
            (Matrix::Max { small, large }, true, true)
        }
        other => return Err(wrong("-matrix", "basic, detailed, point, col, row or max", other)),
    };
    for (given, takes, name, whose) in [
        (small, takes_small, "-num_small", "point, col and max"),
        (large, takes_large, "-num_large", "point, row and max"),
    ] {
        if given.is_some() && !takes {
            return Err(Error(format!("{name}: is for -matrix {whose} of -run advanced; leave it out")));
        }
    }
    Ok(matrix)
}

fn load(words: &Words) -> Result<Load, Error> {
    let kb = |name, usual: u64| Ok::<u64, Error>(words.number(name, SIZES)?.unwrap_or(usual) << 10);
    let depth = words.number("-num_streamIO", 1..=u64::from(LEVEL_MOST))?;
    let pattern = match words.last("-type").unwrap_or("rand") {
        "rand" if depth.is_some() => return Err(Error("-num_streamIO: is for -type seq; leave it out".into())),
        "rand" => Pattern::Random,
        "seq" => Pattern::Streams { depth: depth.unwrap_or(4) as u32 },
        other => return Err(wrong("-type", "rand or seq", other)),
    };
    let stripe = words.number("-stripe", 1..=1 << 30)?;
    let array = match words.last("-simulate").unwrap_or("concat") {
        given if given.eq_ignore_ascii_case("concat") && stripe.is_some() => {
            return Err(Error("-stripe: is for -simulate raid0; leave it out".into()));
        }
        given if given.eq_ignore_ascii_case("concat") => Array::Concat,
        given if given.eq_ignore_ascii_case("raid0") => Array::Raid0 { stripe: stripe.unwrap_or(1024) << 10 },
        other => return Err(wrong("-simulate", "concat or raid0", other)),
    };
    let duration = Span::from_secs(words.number("-duration", 1..=DURATION_MOST)?.unwrap_or(60));
    let settle = match words.last("--settle") {
        None => settle(duration),
        Some(_) => Span::from_secs_f64(words.decimal("--settle", 0.0..=3600.0)?.unwrap_or(0.0)),
    };
    let load = Load {
        small: kb("-size_small", 8)? as u32,
        large: kb("-size_large", 1024)? as u32,
        pattern,
        array,
        write_percent: words.number("-write", 0..=100)?.unwrap_or(0) as u32,
        warm: words.number("-cache_size", 0..=1 << 30)?.map(|mb| mb << 20),
        duration,
        settle,
        seed: words.number("--seed", 0..=u64::MAX)?.unwrap_or(1),
        page_cache: words.has("--page-cache"),
    };
    for (name, size) in [("-size_small", load.small), ("-size_large", load.large)] {
        match load.array {
            Array::Raid0 { stripe } if !stripe.is_multiple_of(size.into()) => {
                let (stripe, size) = (stripe >> 10, size >> 10);
                let rule = "must be whole requests, so that none lies on two volumes";
                return Err(Error(format!("-stripe: {rule}, got {stripe} KB and {name} of {size} KB; change one")));
            }
            _ => {}
        }
    }
    Ok(load)
}

/// Default settling time of a point.
pub(crate) fn settle(duration: Span) -> Span {
    (duration / SETTLE_PART).min(SETTLE_MOST)
}

fn quick(words: &Words) -> Result<bool, Error> {
    let own = ["-duration", "--settle"].into_iter().find(|name| words.has(name));
    match (words.has("--quick"), own) {
        (true, Some(own)) => Err(Error(format!("--quick and {own}: both say how long a point takes; leave one out"))),
        (quick, _) => Ok(quick),
    }
}

fn limit(words: &Words, name: &str, usual: f64) -> Result<Span, Error> {
    Ok(Span::from_secs_f64(words.decimal(name, 0.001..=1e6)?.unwrap_or(usual) / 1e3))
}

/// A list such as `1,2,4-8`: in ascending order, without duplicates.
fn levels(words: &Words, name: &str) -> Result<Option<Vec<u32>>, Error> {
    let Some(given) = words.last(name) else { return Ok(None) };
    let rule = format!("numbers from 0 to {LEVEL_MOST} and ranges with an end, as in 1,2,4-8");
    let refused = || wrong(name, &rule, given);
    let level = |text: &str| text.trim().parse().ok().filter(|level| *level <= LEVEL_MOST);
    let mut levels = Vec::new();
    for part in given.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = level(from).zip(level(to)).ok_or_else(refused)?;
        if from > to {
            return Err(refused());
        }
        levels.extend(from..=to);
    }
    levels.sort_unstable();
    levels.dedup();
    Ok(Some(levels))
}

fn wrong(name: &str, rule: &str, given: &str) -> Error {
    Error(format!("{name}: must be {rule}, got {given:?}"))
}

/// Options with their values, in order.
struct Words(Vec<(&'static str, String)>);

impl Words {
    fn of(typed: &[String]) -> Result<Words, Error> {
        let mut words = Vec::new();
        let mut rest = typed.iter();
        while let Some(word) = rest.next() {
            let (name, given) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let Some(Known { name, value, .. }) = OPTIONS.iter().find(|option| option.name == name) else {
                return Err(unknown(name));
            };
            let value = match (value.is_empty(), given) {
                (true, Some(_)) => return Err(Error(format!("{name}: takes no value"))),
                (true, None) => String::new(),
                (false, Some(given)) => given.to_owned(),
                (false, None) => {
                    rest.next().cloned().ok_or_else(|| Error(format!("{name}: needs {value} behind it")))?
                }
            };
            if !value.is_empty() && !REPEATED.contains(name) && words.iter().any(|(known, _)| known == name) {
                return Err(Error(format!("{name}: is given twice; leave one out")));
            }
            words.push((*name, value));
        }
        Ok(Words(words))
    }

    fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(known, _)| *known == name).map(|(_, value)| value.clone()).collect()
    }

    fn number(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Error> {
        let Some(given) = self.last(name) else { return Ok(None) };
        let found = given.parse().ok().filter(|number| range.contains(number));
        let rule = || format!("a whole number from {} to {}", range.start(), range.end());
        found.map(Some).ok_or_else(|| wrong(name, &rule(), given))
    }

    fn decimal(&self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, Error> {
        let Some(given) = self.last(name) else { return Ok(None) };
        let found = given.parse().ok().filter(|number| range.contains(number));
        let rule = || format!("a number from {} to {}", range.start(), range.end());
        found.map(Some).ok_or_else(|| wrong(name, &rule(), given))
    }
}

fn unknown(name: &str) -> Error {
    let near =
        nearest::to(name.trim_start_matches('-'), OPTIONS.iter().map(|option| option.name.trim_start_matches('-')));
    let near = near.and_then(|near| OPTIONS.iter().find(|option| option.name.trim_start_matches('-') == near));
    let near = near.map_or(String::new(), |near| format!(" did you mean {}?", near.name));
    Error(format!("{name}: there is no such option;{near} -help lists them"))
}

#[cfg(test)]
mod tests;
