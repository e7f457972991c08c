//! Puts every tier of a list under the same load: Orion, RanRead and order entry, one tier after
//! the other, repeated as often as the list requires.

use super::commands::{self, NAME, database_of, seeded};
use super::cpus::Capped;
use super::labels;
use crate::classic::{Counters, device_of};
use crate::command::{oltp, orion, ranread};
use crate::memory::Memory;
use crate::{Answer, catalogue, interrupt, terminal};
use anyhow::{Context as _, Result, bail};
use block::Span;
use results::Filter;
use std::fs;
use std::path::Path;
use tiers::{Column, List, Tier, TierFigure};

/// Puts the list's load on all tiers that have a path, a database or an array. Runs are kept with
/// the labels by which the table finds them. If a run fails or its verdict is "cannot say", a line
/// reports it and the remaining runs continue; the result is then `None`.
///
/// # Errors
/// There is nothing to load, or the runs cannot be kept.
pub fn run(
    list: &List,
    out: &Path,
    cpus: Option<f64>,
    repeats: Option<u32>,
    memory: &Memory,
) -> Result<Option<Answer>> {
    let is_loaded = |tier: &&Tier| tier.path.is_some() || tier.database.is_some() || tier.array.is_some();
    let loaded: Vec<&Tier> = list.tiers.iter().filter(is_loaded).collect();
    if loaded.is_empty() {
        bail!("no tier has a path, a database or an array; say in the list where each can be loaded");
    }
    if let Some(cpus) = cpus.filter(|_| loaded.iter().any(|tier| tier.array.is_some())) {
        bail!("--cpus {cpus}: limits this host, and some tier is an array in virtual time; leave it out");
    }
    let load = &list.load;
    if load.orion.trim().is_empty() && load.ranread.is_empty() && load.oltp.trim().is_empty() {
        bail!("[load] names none of orion, ranread and oltp: there is nothing to put on the tiers");
    }
    let Some(file) = memory.file() else {
        bail!("--results none: the table is made of runs that were kept; name a file");
    };
    loaded.iter().try_for_each(|tier| must_have_a_place(tier))?;
    loaded.iter().filter_map(|tier| cpus.or(tier.cpus)).try_for_each(|cpus| Capped::to(cpus).map(drop))?;
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    for tier in &loaded {
        prepare(tier, list)?;
    }
    let stop = interrupt::watch()?;
    let (mut good, mut sure) = (true, true);
    let repeats = repeats.unwrap_or(list.load.repeats);
    // The tiers take turns, so that changes over time affect all of them alike.
    for repeat in 1..=repeats {
        for tier in &loaded {
            let number = tier.row.number;
            terminal::complain(&format!("test {number}, {repeat} of {repeats}"));
            let _capped = cpus.or(tier.cpus).map(Capped::to).transpose()?;
            let mut memory = memory.labelled(labels(list, number));
            if tier.array.is_none() {
                memory = memory.labelled(vec![("vcpu".to_owned(), vcpus(cpus.or(tier.cpus)))]);
            }
            commands::write_volumes(list, tier, out)?;
            for words in commands::of(list, tier, out) {
                if stop.is_asked() {
                    bail!("stopped before the end; what was run is kept, and shown by tiers show");
                }
                let words = if tier.array.is_some() { seeded(words, repeat) } else { words };
                match one(&words, (list, tier), &memory, &file)? {
                    Ok(answer) => good &= answer == Answer::Yes,
                    Err(error) => {
                        sure = false;
                        let why = crate::error_line::of(&error);
                        why.lines().for_each(|line| terminal::complain(&format!("test {number}: {line}")));
                    }
                }
            }
        }
    }
    Ok(sure.then_some(if good { Answer::Yes } else { Answer::No }))
}

/// The number of processors that the load has, for a label.
fn vcpus(capped: Option<f64>) -> String {
    let all = || std::thread::available_parallelism().map_or(0.0, |all| all.get() as f64);
    capped.unwrap_or_else(all).to_string()
}

/// Runs one command on one tier and labels its run with what the kernel counted meanwhile, unless
/// the run has these figures. The inner result is the command's answer.
fn one(words: &[String], (list, tier): (&List, &Tier), memory: &Memory, file: &Path) -> Result<Result<Answer>> {
    let last = || -> Result<Option<i64>> {
        let database = results::Results::open(file)?;
        let own = labels(list, tier.row.number).into_iter().map(|(key, word)| (key, Some(word))).collect();
        let lines = database.list(&Filter { labels: own, last: Some(1), ..Filter::default() })?;
        Ok(lines.first().map(|line| line.id))
    };
    if let Some(array) = &tier.array {
        return Ok(simulated(words, array, memory));
    }
    let before = last()?;
    let device = tier.path.as_deref().and_then(|path| device_of(Path::new(path)));
    let (counters, busy) = (Counters::now(), device.as_deref().and_then(busy));
    let clock = uring::Clock::new();
    let began = clock.now();
    let answer = match words {
        [tool, words @ ..] if tool == "orion" => orion::load(words, memory),
        [tool, words @ ..] if tool == "oltp" => oltp::load(words, memory),
        [_, words @ ..] => ranread::load(words, memory),
        [] => return Ok(Ok(Answer::Yes)),
    };
    let passed = clock.now().since(began);
    let cpu = Counters::now().cpu_busy_since(&counters);
    let disk = device.as_deref().and_then(self::busy).zip(busy).map(|(after, before)| after.saturating_sub(before));
    let disk = disk.filter(|_| passed > Span::ZERO).map(|disk| disk.as_secs_f64() / passed.as_secs_f64());
    if let Some(run) = last()?.filter(|run| Some(*run) != before) {
        let mut database = results::Results::open_existing(file)?;
        let own = database.load(run)?.settings;
        for (figure, part) in [(TierFigure::DiskBusy, disk), (TierFigure::Cpu, cpu)] {
            let key = Column::Figure(figure).key();
            // What a run says of itself is of its window alone.
            let Some(part) = part.filter(|_| own.iter().all(|setting| setting.key != key)) else { continue };
            database.label(run, key, Some(&format!("{:.1}", (100.0 * part).min(100.0))))?;
        }
    }
    Ok(answer)
}

/// Runs one command on an array in virtual time.
fn simulated(words: &[String], array: &str, memory: &Memory) -> Result<Answer> {
    let device = catalogue::device("array", array)?;
    match words {
        [tool, words @ ..] if tool == "orion" => orion::simulate(words, &device, memory),
        [tool, words @ ..] if tool == "oltp" => oltp::load(words, memory),
        [_, words @ ..] => ranread::simulate(words, &device, memory),
        [] => Ok(Answer::Yes),
    }
}

/// How long a device has been busy with requests since the machine started.
fn busy(device: &Path) -> Option<Span> {
    let stat = fs::read_to_string(device.join("stat")).ok()?;
    stat.split_whitespace().nth(9)?.parse().ok().map(Span::from_millis)
}

/// Refuses a path whose folder does not exist. A database will be made there, and a typing error
/// in the path would put it on the wrong disk.
fn must_have_a_place(tier: &Tier) -> Result<()> {
    let Some(path) = tier.path.as_deref().filter(|path| !path.contains("://")) else { return Ok(()) };
    let above = Path::new(path).parent().filter(|above| !above.as_os_str().is_empty());
    match above.filter(|above| !above.is_dir()) {
        None => Ok(()),
        Some(above) => {
            bail!("test {}: path = {path:?}: there is no folder {}; make it first", tier.row.number, above.display())
        }
    }
}

/// Makes the databases of a tier that do not exist yet.
fn prepare(tier: &Tier, list: &List) -> Result<()> {
    if tier.array.is_some() {
        return Ok(());
    }
    let test = || format!("test {}", tier.row.number);
    if !list.load.orion.trim().is_empty() || !list.load.ranread.is_empty() {
        prepare_ranread(tier, list).with_context(test)?;
    } else if let Some(path) = tier.path.as_deref().filter(|path| !path.contains("://") && !Path::new(path).exists()) {
        storage::make_folder(Path::new(path)).with_context(test)?;
    }
    let Some(database) = database_of(tier, list) else { return Ok(()) };
    if oltp::is_set_up(&database).with_context(test)? {
        return Ok(());
    }
    terminal::complain(&format!("test {}: order entry's database is made", tier.row.number));
    let words = ["setup", "--database", &database, "--scale", &list.load.scale.to_string()].map(str::to_owned);
    oltp::load(&words, &Memory::default()).map(drop).with_context(test)
}

fn prepare_ranread(tier: &Tier, list: &List) -> Result<()> {
    let Some(path) = tier.path.as_deref().filter(|path| !path.contains("://")) else { return Ok(()) };
    let place = Path::new(path);
    if place.is_file() || place.join(::ranread::MANIFEST_FILE).exists() || place.exists() && !place.is_dir() {
        return Ok(());
    }
    let words = ["setup", path, NAME, &list.load.size_gb.to_string()].map(str::to_owned);
    ranread::load(&words, &Memory::default()).map(drop)
}
