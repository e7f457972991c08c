//! Parses the words of a command line.

use super::words::{Known, Words, switch, valued};
use super::{
    Command, Effort, ExportOptions, GrammarError, Load, PurgeOptions, RunOptions, Settings, SetupOptions, SweepOptions,
    call,
};
use crate::BLOCK;
use crate::sweep::{Limits, Series, Target};
use block::Bytes;
use std::ops::RangeInclusive;

const COMMANDS: [&str; 8] = ["help", "setup", "run", "sweep", "stop", "reset", "export", "purge"];

const LOAD: [Known; 10] = [
    valued("iterations"),
    valued("seconds"),
    valued("block"),
    valued("read-percent"),
    switch("write"),
    valued("seed"),
    switch("page-cache"),
    valued("destroy-data"),
    valued("even-in-use"),
    valued("target"),
];
const LIMITS: [Known; 2] = [valued("average-ms"), valued("max-ms")];
const SWEEP: [Known; 11] = [
    valued("from"),
    valued("to"),
    valued("step"),
    valued("stop-ms"),
    valued("target-iops"),
    valued("target-ms"),
    valued("precision"),
    valued("repeats"),
    valued("page"),
    valued("xlsx"),
    valued("sheet"),
];

const SETUP_EXAMPLE: &str = "setup /usr/iris/db/zranread ZRANREAD 100 1";
const RUN_EXAMPLE: &str = "run /usr/iris/db/zranread 20 10000";
const SWEEP_EXAMPLE: &str = "sweep /usr/iris/db/zranread --from 1 --to 200";
const EXPORT_EXAMPLE: &str = "export /usr/iris/db/zranread";
const PURGE_EXAMPLE: &str = "purge /usr/iris/db/zranread ZRANREAD";

/// Maximum iterations of a process: numbers up to two to the power of 53 are exact in text and
/// tables.
const ITERATIONS_MOST: u64 = 1 << 53;
/// Maximum seconds of a batch: a week.
const SECONDS_MOST: u64 = 7 * 86_400;
/// Maximum number of processes: each is a thread.
const PROCESSES_MOST: u64 = 4096;
/// The largest database.
const SIZE_MOST: Bytes = Bytes(1 << 50);
/// The smallest database: fewer blocks leave no random choice.
const SIZE_LEAST: Bytes = Bytes(1 << 20);

/// Parses these words.
///
/// # Errors
/// They are not a valid command.
pub fn parse(typed: &[String]) -> Result<Command, GrammarError> {
    let words = unfolded(typed)?;
    let Some((command, rest)) = words.split_first() else { return Ok(Command::Help) };
    match command.trim_start_matches("--") {
        "help" => {
            let words = Words::of(rest, "help", &[])?;
            words.at_most(0, "help", "help").map(|()| Command::Help)
        }
        "setup" => setup(rest).map(Command::Setup),
        "run" => run(rest).map(Command::Run),
        "sweep" => sweep(rest).map(Command::Sweep),
        "stop" => Words::of(rest, "stop", &[])?.at_most(0, "stop", "stop").map(|()| Command::Stop),
        "reset" => Words::of(rest, "reset", &[])?.at_most(0, "reset", "reset").map(|()| Command::Reset),
        "export" => export(rest).map(Command::Export),
        "purge" => purge(rest).map(Command::Purge),
        other => {
            let near = nearest::to(other, COMMANDS.into_iter());
            let near = near.and_then(|near| COMMANDS.into_iter().find(|name| *name == near));
            Err(GrammarError::Command { typed: other.into(), near })
        }
    }
}

/// Splits a published call into the command word and values, whether or not a shell has split it
/// already.
fn unfolded(typed: &[String]) -> Result<Vec<String>, GrammarError> {
    let Some(first) = typed.first() else { return Ok(Vec::new()) };
    let parted = first.eq_ignore_ascii_case("do");
    let (text, rest) = match parted {
        true => {
            let end = typed.iter().position(|word| word.starts_with("--")).unwrap_or(typed.len());
            (typed[..end].join(" "), &typed[end..])
        }
        false => (first.clone(), &typed[1..]),
    };
    match call::unfold(&text) {
        Some(words) => Ok([words?, rest.to_vec()].concat()),
        None => Ok(typed.to_vec()),
    }
}

fn setup(typed: &[String]) -> Result<SetupOptions, GrammarError> {
    let words = Words::of(typed, "setup", &[&[valued("array-cache"), valued("seed")]])?;
    words.at_most(4, "setup", SETUP_EXAMPLE)?;
    let directory = needed(&words, 0, "setup", "DIRECTORY NAME SIZE_GB", SETUP_EXAMPLE)?;
    let (size, size_said) = size(words.value(2).unwrap_or("1"))?;
    let log_level = words.value(3).map_or(Ok(1), |given| number("LOGLEVEL", given, 0..=3))?;
    let cache = |given: &str| given.parse::<Bytes>().map_err(|_| value("--array-cache", "a size, as in 64GiB", given));
    Ok(SetupOptions {
        directory,
        name: name(words.value(1).unwrap_or("ZRanRead"))?,
        size,
        size_said,
        log_level: log_level as u32,
        array_cache: words.option("array-cache").map(cache).transpose()?,
        seed: seed(&words)?,
    })
}

fn run(typed: &[String]) -> Result<RunOptions, GrammarError> {
    let words = Words::of(typed, "run", &[&LOAD, &LIMITS])?;
    words.at_most(3, "run", RUN_EXAMPLE)?;
    let target = needed(&words, 0, "run", "DIRECTORY PROCESSES ITERATIONS", RUN_EXAMPLE)?;
    let processes = words.value(1).map_or(Ok(1), |given| number("PROCESSES", given, 1..=PROCESSES_MOST))?;
    let asked = words.has("average-ms") || words.has("max-ms");
    let limits = if asked { Some(limits(&words)?) } else { None };
    Ok(RunOptions { load: load(&words, &target, words.value(2))?, processes: processes as u32, limits })
}

fn sweep(typed: &[String]) -> Result<SweepOptions, GrammarError> {
    let words = Words::of(typed, "sweep", &[&LOAD, &LIMITS, &SWEEP])?;
    words.at_most(1, "sweep", SWEEP_EXAMPLE)?;
    let target = needed(&words, 0, "sweep", "DIRECTORY", SWEEP_EXAMPLE)?;
    let whole = |name, default, range| {
        words.option(name).map_or(Ok(default), |given| number(&format!("--{name}"), given, range))
    };
    let from = whole("from", 1, 1..=PROCESSES_MOST)?;
    let to = whole("to", 200, from..=PROCESSES_MOST)?;
    let series = match words.option("step") {
        None | Some("published") => Series::Published,
        Some(given) => Series::Every(number("--step", given, 1..=PROCESSES_MOST)? as u32),
    };
    let precision = words.option("precision").map_or(Ok(2.0), |given| decimal("--precision", given, 0.1..=50.0))?;
    let target_of = |iops: &str| -> Result<Target, GrammarError> {
        let ms = words.option("target-ms").map_or(Ok(5.0), |given| decimal("--target-ms", given, 0.001..=1e6))?;
        Ok(Target { iops: decimal("--target-iops", iops, 1.0..=1e9)?, ms })
    };
    if words.has("target-ms") && !words.has("target-iops") {
        return Err(GrammarError::Form { option: "target-ms".into(), rule: "needs --target-iops beside it" });
    }
    let settings = Settings {
        from: from as u32,
        to: to as u32,
        series,
        stop_ms: words.option("stop-ms").map_or(Ok(10.0), |given| decimal("--stop-ms", given, 0.001..=1e6))?,
        limits: limits(&words)?,
        target: words.option("target-iops").map(target_of).transpose()?,
        precision: precision / 100.0,
        repeats: whole("repeats", 8, 1..=100)? as u32,
    };
    let mut load = load(&words, &target, None)?;
    if load.effort.is_none() {
        load.effort = Some(Effort::Seconds(10));
    }
    let file = |name| words.option(name).map(str::to_owned);
    Ok(SweepOptions { load, settings, page: file("page"), xlsx: file("xlsx"), sheet: sheet(&words)? })
}

fn export(typed: &[String]) -> Result<ExportOptions, GrammarError> {
    let words = Words::of(typed, "export", &[&[switch("csv"), valued("xlsx"), valued("sheet")]])?;
    words.at_most(1, "export", EXPORT_EXAMPLE)?;
    let directory = needed(&words, 0, "export", "DIRECTORY", EXPORT_EXAMPLE)?;
    let xlsx = words.option("xlsx").map(str::to_owned);
    if xlsx.is_none() && words.has("sheet") {
        return Err(GrammarError::Form { option: "sheet".into(), rule: "needs --xlsx beside it" });
    }
    Ok(ExportOptions { directory, csv: words.has("csv"), xlsx, sheet: sheet(&words)? })
}

fn purge(typed: &[String]) -> Result<PurgeOptions, GrammarError> {
    let words = Words::of(typed, "purge", &[])?;
    words.at_most(2, "purge", PURGE_EXAMPLE)?;
    let directory = needed(&words, 0, "purge", "DIRECTORY", PURGE_EXAMPLE)?;
    Ok(PurgeOptions { directory, name: words.value(1).map(name).transpose()? })
}

fn load(words: &Words, target: &str, iterations: Option<&str>) -> Result<Load, GrammarError> {
    if words.has("write") && words.has("read-percent") {
        return Err(GrammarError::Both("write", "read-percent"));
    }
    if iterations.is_some() && words.has("iterations") {
        return Err(GrammarError::Both("iterations", "the third value"));
    }
    let iterations = iterations.or_else(|| words.option("iterations"));
    let effort = match (iterations, words.option("seconds")) {
        (Some(_), Some(_)) => return Err(GrammarError::Both("seconds", "iterations")),
        (Some(given), None) => Some(Effort::Iterations(number("ITERATIONS", given, 1..=ITERATIONS_MOST)?)),
        (None, Some(given)) => Some(Effort::Seconds(number("--seconds", given, 1..=SECONDS_MOST)?)),
        (None, None) => None,
    };
    let block = match words.option("block") {
        None => BLOCK,
        Some(given) => match given.parse::<Bytes>() {
            Ok(Bytes(size @ (8192 | 65_536))) => size as u32,
            _ => return Err(value("--block", "8k or 64k", given)),
        },
    };
    let read_percent = match words.has("write") {
        true => 0,
        false => words.option("read-percent").map_or(Ok(100), |given| number("--read-percent", given, 0..=100))?,
    };
    let first: Vec<String> = match joined(target) {
        true => vec![target.to_owned()],
        false => target.split(',').map(str::to_owned).collect(),
    };
    let targets = [first, words.all("target")].concat();
    if targets.iter().any(String::is_empty) {
        return Err(value("DIRECTORY", "directories, devices or exports with a comma between them", target));
    }
    Ok(Load {
        targets,
        effort,
        block,
        read_percent: read_percent as u32,
        seed: seed(words)?,
        page_cache: words.has("page-cache"),
        destroy: words.all("destroy-data"),
        even_in_use: words.all("even-in-use"),
    })
}

/// The limits of response times; "off" removes one.
fn limits(words: &Words) -> Result<Limits, GrammarError> {
    let usual = Limits::default();
    let most_ms = match words.option("max-ms") {
        None => usual.most_ms,
        Some("off") => None,
        Some(given) => Some(decimal("--max-ms", given, 0.001..=1e6)?),
    };
    let average = words.option("average-ms").map(|given| decimal("--average-ms", given, 0.001..=1e6));
    Ok(Limits { average_ms: average.transpose()?.unwrap_or(usual.average_ms), most_ms })
}

fn sheet(words: &Words) -> Result<Vec<(String, String)>, GrammarError> {
    words.all("sheet").iter().map(|given| sheet_line(given)).collect()
}

fn sheet_line(given: &str) -> Result<(String, String), GrammarError> {
    let rule = "a name and its words, as in array=\"AFF A300, 2 controllers\"";
    let (name, words) = given.split_once('=').ok_or_else(|| value("--sheet", rule, given))?;
    Ok((name.trim().to_owned(), words.trim().to_owned()))
}

fn seed(words: &Words) -> Result<u64, GrammarError> {
    words.option("seed").map_or(Ok(1), |given| number("--seed", given, 0..=u64::MAX))
}

/// A number of gigabytes as in the original, or a size with its unit.
fn size(given: &str) -> Result<(Bytes, String), GrammarError> {
    let plain = given.bytes().all(|digit| digit.is_ascii_digit());
    let typed = if plain { format!("{given}GB") } else { given.to_owned() };
    let rule = format!("a number of GB from 1 to {}, or a size of at least 1MiB with its unit", SIZE_MOST.0 >> 30);
    let wrong = || value("SIZE_GB", &rule, given);
    let Bytes(bytes) = typed.parse().map_err(|_| wrong())?;
    if !(SIZE_LEAST.0..=SIZE_MOST.0).contains(&bytes) {
        return Err(wrong());
    }
    Ok((Bytes(bytes / u64::from(BLOCK) * u64::from(BLOCK)), typed))
}

fn name(given: &str) -> Result<String, GrammarError> {
    let letters = given.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_');
    match letters && given.len() <= 64 && given.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => Ok(given.to_ascii_uppercase()),
        false => Err(value("NAME", "up to 64 letters, digits, - and _, the first a letter", given)),
    }
}

fn needed(
    words: &Words,
    at: usize,
    command: &'static str,
    what: &'static str,
    example: &'static str,
) -> Result<String, GrammarError> {
    words.value(at).map(str::to_owned).ok_or(GrammarError::Missing { command, what, example })
}

fn number(what: &str, given: &str, range: RangeInclusive<u64>) -> Result<u64, GrammarError> {
    let found = given.replace('_', "").parse().ok().filter(|number| range.contains(number));
    found.ok_or_else(|| value(what, &format!("a whole number from {} to {}", range.start(), range.end()), given))
}

fn decimal(what: &str, given: &str, range: RangeInclusive<f64>) -> Result<f64, GrammarError> {
    let found = given.parse().ok().filter(|number| range.contains(number));
    found.ok_or_else(|| value(what, &format!("a number from {} to {}", range.start(), range.end()), given))
}

fn value(what: &str, rule: &str, given: &str) -> GrammarError {
    GrammarError::Value { what: what.into(), rule: rule.into(), given: given.into() }
}

/// Whether a target combines several places; the commas of its list do not separate targets.
fn joined(target: &str) -> bool {
    ["concat:", "striped:"].iter().any(|word| target.starts_with(word))
}
