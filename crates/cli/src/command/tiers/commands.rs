//! The commands that put the load of a list on a tier.

use crate::command::{oltp, orion, ranread};
use crate::memory::Memory;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};
use tiers::{List, Tier};

/// The name of the database that is made for a tier, and of the target on an array.
pub const NAME: &str = "TIER";

/// The commands for a tier.
pub fn of(list: &List, tier: &Tier, out: &Path) -> Vec<Vec<String>> {
    if let Some(array) = &tier.array {
        return on_array(array, list, tier.row.number, out);
    }
    let load = &list.load;
    let mut commands = Vec::new();
    if let Some(database) = database_of(tier, list) {
        let words = ["oltp", "run", "--database", &database].map(str::to_owned);
        commands.push([words.to_vec(), split(&load.oltp)].concat());
    }
    let Some(path) = tier.path.as_deref() else { return commands };
    if !load.orion.trim().is_empty() {
        let test = ["-testname".to_owned(), test_name(tier, out).display().to_string()];
        commands.push([vec!["orion".to_owned()], split(&load.orion), test.to_vec()].concat());
    }
    for processes in &load.ranread {
        let words = ["ranread", "run", path, &processes.to_string(), &load.iterations.to_string()];
        commands.push(words.map(str::to_owned).to_vec());
    }
    commands
}

/// The commands for an array: they need no files, and the name of RanRead's target is arbitrary.
fn on_array(array: &str, list: &List, number: u32, out: &Path) -> Vec<Vec<String>> {
    let load = &list.load;
    let mut commands = Vec::new();
    if !load.oltp.trim().is_empty() {
        let words = ["oltp", "run", "--array", array].map(str::to_owned);
        commands.push([words.to_vec(), split(&load.oltp)].concat());
    }
    if !load.orion.trim().is_empty() {
        let test = ["-testname".to_owned(), out.join(format!("tier{number}")).display().to_string()];
        commands.push([vec!["orion".to_owned()], split(&load.orion), test.to_vec()].concat());
    }
    for processes in &load.ranread {
        let words = ["ranread", "run", NAME, &processes.to_string(), &load.iterations.to_string()];
        commands.push(words.map(str::to_owned).to_vec());
    }
    commands
}

fn split(options: &str) -> Vec<String> {
    options.split_whitespace().map(str::to_owned).collect()
}

/// The name of Orion's test of a tier, from which it derives the names of its files.
fn test_name(tier: &Tier, out: &Path) -> PathBuf {
    out.join(format!("tier{}", tier.row.number))
}

/// Writes the list of volumes for Orion, if it loads this tier.
///
/// # Errors
/// The file cannot be written.
pub fn write_volumes(list: &List, tier: &Tier, out: &Path) -> Result<()> {
    let Some(path) = tier.path.as_deref().filter(|_| !list.load.orion.trim().is_empty()) else { return Ok(()) };
    let volume = match is_folder(path) {
        true => Path::new(path).join(::ranread::DATABASE_FILE).display().to_string(),
        false => path.into(),
    };
    let volumes = test_name(tier, out).with_extension("lun");
    fs::write(&volumes, format!("{volume}\n")).with_context(|| volumes.display().to_string())
}

/// Checks the load of a list for a tier before anything is written.
///
/// # Errors
/// A command would be refused; the message names the key of the list.
pub fn check(list: &List, tier: &Tier, out: &Path, memory: &Memory) -> Result<()> {
    for words in of(list, tier, out) {
        let Some((tool, words)) = words.split_first() else { continue };
        let checked = match tool.as_str() {
            // A tier is one volume.
            "orion" => orion::check(words, 1),
            "oltp" => oltp::check(words, memory),
            _ => ranread::check(words),
        };
        checked.with_context(|| format!("load.{tool}"))?;
    }
    Ok(())
}

/// The words of a command for a repeat in virtual time. Each repeat has the next seed: with the
/// same seed all repeats would be identical, and their spread would mean nothing.
pub fn seeded(mut words: Vec<String>, repeat: u32) -> Vec<String> {
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
    // The command itself refuses what is not a number.
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
pub fn database_of(tier: &Tier, list: &List) -> Option<String> {
    let in_folder =
        |path: &String| is_folder(path).then(|| format!("sqlite:{}", Path::new(path).join(oltp::FILE).display()));
    let wanted = !list.load.oltp.trim().is_empty();
    tier.database.clone().or_else(|| tier.path.as_ref().and_then(in_folder)).filter(|_| wanted)
}

/// Whether a tier's path is a folder, or will be made as one.
fn is_folder(path: &str) -> bool {
    !path.contains("://") && (Path::new(path).is_dir() || !Path::new(path).exists())
}

#[cfg(test)]
mod tests {
    use super::seeded;

    /// Each repeat has the next seed, starting with the seed in the list.
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
