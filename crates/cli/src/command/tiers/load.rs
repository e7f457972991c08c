//! Every tier of a list under the same load: Orion, RanRead and order entry, one tier after the
//! other, as often as the list says.

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

/// What the database of a tier is called, and the file in it that is read.
const NAME: &str = "TIER";

/// Puts the list's load on all of its tiers that have a path. Runs are kept with the labels by
/// which the table finds them. One that could not, or cannot say, is told and leaves the others to
/// go on; `None` where there was such a one.
///
/// # Errors
/// There is nothing to load, or nowhere to keep what comes of it.
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
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    for tier in &loaded {
        prepare(tier, list)?;
    }
    let stop = interrupt::watch()?;
    let (mut good, mut sure) = (true, true);
    let repeats = repeats.unwrap_or(list.load.repeats);
    // The tiers take turns, so that what changes with time meets all of them.
    for repeat in 1..=repeats {
        for tier in &loaded {
            let number = tier.row.number;
            terminal::complain(&format!("test {number}, {repeat} of {repeats}"));
            let _capped = cpus.or(tier.cpus).map(Capped::to).transpose()?;
            let mut memory = memory.labelled(labels(list, number));
            if tier.array.is_none() {
                memory = memory.labelled(vec![("vcpu".to_owned(), vcpus(cpus.or(tier.cpus)))]);
            }
            for words in commands(list, tier, out)? {
                if stop.is_asked() {
                    bail!("stopped before the end; what was run is kept, and shown by tiers show");
                }
                let words = if tier.array.is_some() { seeded(words, repeat) } else { words };
                match one(&words, (list, tier), &memory, &file)? {
                    Ok(answer) => good &= answer == Answer::Yes,
                    Err(error) => {
                        sure = false;
                        let why = crate::complaint::of(&error);
                        why.lines().for_each(|line| terminal::complain(&format!("test {number}: {line}")));
                    }
                }
            }
        }
    }
    Ok(sure.then_some(if good { Answer::Yes } else { Answer::No }))
}

/// Processors that the load has, as a label.
fn vcpus(capped: Option<f64>) -> String {
    let all = || std::thread::available_parallelism().map_or(0.0, |all| all.get() as f64);
    capped.unwrap_or_else(all).to_string()
}

/// One command on one tier, with what the kernel counted meanwhile said of its run; within, what it
/// answered.
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
        for (figure, part) in [(TierFigure::DiskBusy, disk), (TierFigure::Cpu, cpu)] {
            let Some(part) = part else { continue };
            database.label(run, Column::Figure(figure).key(), Some(&format!("{:.1}", (100.0 * part).min(100.0))))?;
        }
    }
    Ok(answer)
}

/// One command on an array, in virtual time.
fn simulated(words: &[String], array: &str, memory: &Memory) -> Result<Answer> {
    let device = catalogue::device("array", array)?;
    match words {
        [tool, words @ ..] if tool == "orion" => orion::simulate(words, &device, memory),
        [tool, words @ ..] if tool == "oltp" => oltp::load(words, memory),
        [_, words @ ..] => ranread::simulate(words, &device, memory),
        [] => Ok(Answer::Yes),
    }
}

/// The time in which a device had requests, since the machine was started.
fn busy(device: &Path) -> Option<Span> {
    let stat = fs::read_to_string(device.join("stat")).ok()?;
    stat.split_whitespace().nth(9)?.parse().ok().map(Span::from_millis)
}

/// What a tier's commands are.
fn commands(list: &List, tier: &Tier, out: &Path) -> Result<Vec<Vec<String>>> {
    if let Some(array) = &tier.array {
        return Ok(commands_on(array, list, tier.row.number, out));
    }
    let mut commands = Vec::new();
    if let Some(database) = database_of(tier, list) {
        let options = list.load.oltp.split_whitespace().map(str::to_owned);
        commands.push(
            ["oltp", "run", "--database"].map(str::to_owned).into_iter().chain([database]).chain(options).collect(),
        );
    }
    let Some(path) = tier.path.as_deref() else { return Ok(commands) };
    let is_folder = Path::new(path).is_dir();
    if !list.load.orion.trim().is_empty() {
        let test = out.join(format!("tier{}", tier.row.number));
        let volume =
            if is_folder { Path::new(path).join(::ranread::DATABASE_FILE).display().to_string() } else { path.into() };
        let volumes = test.with_extension("lun");
        fs::write(&volumes, format!("{volume}\n")).with_context(|| volumes.display().to_string())?;
        let options = list.load.orion.split_whitespace().map(str::to_owned);
        let test = ["-testname".to_owned(), test.display().to_string()];
        commands.push(["orion".to_owned()].into_iter().chain(options).chain(test).collect());
    }
    for processes in &list.load.ranread {
        let words = ["ranread", "run", path, &processes.to_string(), &list.load.iterations.to_string()];
        commands.push(words.map(str::to_owned).to_vec());
    }
    Ok(commands)
}

/// The same on an array: it needs no files, and RanRead's one target is of no name.
fn commands_on(array: &str, list: &List, number: u32, out: &Path) -> Vec<Vec<String>> {
    let load = &list.load;
    let options = |given: &str| given.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut commands = Vec::new();
    if !load.oltp.trim().is_empty() {
        let words = ["oltp", "run", "--array", array].map(str::to_owned);
        commands.push([words.to_vec(), options(&load.oltp)].concat());
    }
    if !load.orion.trim().is_empty() {
        let test = ["-testname".to_owned(), out.join(format!("tier{number}")).display().to_string()];
        commands.push([vec!["orion".to_owned()], options(&load.orion), test.to_vec()].concat());
    }
    for processes in &load.ranread {
        let words = ["ranread", "run", NAME, &processes.to_string(), &load.iterations.to_string()];
        commands.push(words.map(str::to_owned).to_vec());
    }
    commands
}

/// A command's words for a repeat in virtual time, each with the next seed: the same one would be
/// played again to the byte, and repeats that cannot differ say nothing of how far they lie apart.
fn seeded(mut words: Vec<String>, repeat: u32) -> Vec<String> {
    const SEED: &str = "--seed";
    let more = u64::from(repeat) - 1;
    let given = |words: &[String], at: usize| match words[at].split_once('=') {
        Some((_, seed)) => seed.parse().ok(),
        None => words.get(at + 1).and_then(|seed| seed.parse().ok()),
    };
    let Some(at) = words.iter().position(|word| word.split('=').next() == Some(SEED)) else {
        words.extend([SEED.to_owned(), (1 + more).to_string()]);
        return words;
    };
    // What is no number is refused by the command.
    if let Some(seed) = given(&words, at).map(|seed: u64| seed.wrapping_add(more).to_string()) {
        if words[at] == SEED {
            words[at + 1] = seed;
        } else {
            words[at] = format!("{SEED}={seed}");
        }
    }
    words
}

/// The database that order entry loads: the one that the list names, or a file in the tier's
/// folder.
fn database_of(tier: &Tier, list: &List) -> Option<String> {
    let in_folder = |path: &String| {
        let is_folder = !path.contains("://") && Path::new(path).is_dir();
        is_folder.then(|| format!("sqlite:{}", Path::new(path).join(oltp::FILE).display()))
    };
    let wanted = !list.load.oltp.trim().is_empty();
    tier.database.clone().or_else(|| tier.path.as_ref().and_then(in_folder)).filter(|_| wanted)
}

/// Refuses a path that is in no folder: what is made for a tier is a database, and on the disk of
/// whatever a slip named.
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

/// Makes the databases of a tier, unless they are there.
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

#[cfg(test)]
mod tests {
    use super::seeded;

    /// Each repeat has the next seed, from the one that the list gives on.
    #[test]
    fn repeats_have_seeds_of_their_own() {
        let of = |words: &str, repeat| seeded(words.split(' ').map(str::to_owned).collect(), repeat).join(" ");
        assert_eq!(of("ranread run TIER 4 100", 1), "ranread run TIER 4 100 --seed 1");
        assert_eq!(of("ranread run TIER 4 100", 3), "ranread run TIER 4 100 --seed 3");
        assert_eq!(of("oltp run --seed 7 --users 2", 2), "oltp run --seed 8 --users 2");
        assert_eq!(of("oltp run --seed=7 --users 2", 2), "oltp run --seed=8 --users 2");
        assert_eq!(of("orion --seed seven", 2), "orion --seed seven");
    }
}
