//! The arrays that come with the program: the files of `arrays/`, each a table `[device]` with a
//! source for every figure, and file systems by the tables in their documentation.

use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use capacity::{FLOWS, FileSystem};
use stage::device::spec_of;
use std::path::Path;
use workload::plan::Device;

/// The files, by name.
const ARRAYS: [(&str, &str); 14] = [
    ("aff-a300", include_str!("../../../arrays/aff-a300.toml")),
    ("aff-a700", include_str!("../../../arrays/aff-a700.toml")),
    ("ams-sata-raid5", include_str!("../../../arrays/ams-sata-raid5.toml")),
    ("clariion-fc-raid5", include_str!("../../../arrays/clariion-fc-raid5.toml")),
    ("cloud-volume-burst", include_str!("../../../arrays/cloud-volume-burst.toml")),
    ("fsx-128", include_str!("../../../arrays/fsx-128.toml")),
    ("laptop-nvme", include_str!("../../../arrays/laptop-nvme.toml")),
    ("usp-v-clariion", include_str!("../../../arrays/usp-v-clariion.toml")),
    ("usp-v-clariion-512", include_str!("../../../arrays/usp-v-clariion-512.toml")),
    ("usp-v-fc-raid10", include_str!("../../../arrays/usp-v-fc-raid10.toml")),
    ("usp-v-fc-raid10-512", include_str!("../../../arrays/usp-v-fc-raid10-512.toml")),
    ("usp-v-fc-raid5", include_str!("../../../arrays/usp-v-fc-raid5.toml")),
    ("usp-v-ssd-raid10", include_str!("../../../arrays/usp-v-ssd-raid10.toml")),
    ("usp-v-ssd-raid5-512", include_str!("../../../arrays/usp-v-ssd-raid5-512.toml")),
];

/// The names of all arrays: those with a file and the file systems.
pub fn names() -> Vec<String> {
    let systems = FileSystem::smallest().map(|(name, _)| name).filter(|name| file(name).is_none());
    let mut names: Vec<String> = ARRAYS.iter().map(|(name, _)| name.to_string()).chain(systems).collect();
    names.sort_by_key(|name| {
        let (kind, number) = name.rsplit_once('-').unwrap_or((name, ""));
        (kind.to_string(), number.parse::<u64>().unwrap_or(0), name.clone())
    });
    names
}

/// The text of the array of that name.
pub fn text(name: &str) -> Option<String> {
    let made = || FileSystem::smallest().find(|(known, _)| known == name)?.1.array_file(FLOWS).ok();
    file(name).map(String::from).or_else(made)
}

fn file(name: &str) -> Option<&'static str> {
    ARRAYS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The array with that name in the catalogue, the usual device of that kind, or the table
/// `[device]` of a file. `option` is the option in which the word was given.
///
/// # Errors
/// The word is none of these, or the file is wrong.
pub fn device(option: &str, word: &str) -> Result<Device> {
    let is_kind = Device::usual_kinds().any(|kind| kind == word);
    let path = Path::new(word);
    let own = text(word);
    let name = own.as_ref().map(|_| word.to_owned());
    let (text, file) = match own {
        Some(text) => (text, word),
        None if is_kind => (format!("[device]\nkind = \"{word}\"\n"), option),
        None if path.is_file() => {
            let text = std::fs::read_to_string(path);
            (text.map_err(|error| anyhow!("{option} {word}: cannot be read: {error}"))?, word)
        }
        None if path.is_dir() => bail!("{option} {word}: is a folder; name a file with a table [device]"),
        None if word.contains('/') || path.extension().is_some_and(|end| end == "toml") => {
            bail!("{option} {word}: no such file; name one with a table [device], or an array of seawall arrays list")
        }
        None => {
            let names = names();
            let kinds: Vec<&str> = Device::usual_kinds().collect();
            let known: Vec<&str> = kinds.iter().copied().chain(names.iter().map(String::as_str)).collect();
            let meant = meant(word, &known);
            bail!(
                "{option}: must be one of {}, an array of seawall arrays list, or a file with a table [device], got \
                 {word:?}{meant}",
                kinds.join(", ")
            );
        }
    };
    let device = Device { name, ..Device::read(&text, file).map_err(|errors| anyhow!("{errors}"))? };
    // Reports an impossible array. No rule depends on the size.
    spec_of(&device, Bytes::gib(1))?;
    Ok(device)
}

/// The array of that name in the catalogue, or that a file describes: what is no array with stages
/// is refused. `option` is where the word was typed.
///
/// # Errors
/// It is none, or the file is wrong.
pub fn array(option: &str, word: &str) -> Result<Device> {
    let is_file = word.contains('/') || Path::new(word).exists() || word.ends_with(".toml");
    let is_kind = Device::kinds().any(|kind| kind == word);
    if text(word).is_none() && !is_file && !is_kind {
        let names = names();
        let meant = meant(word, &names.iter().map(String::as_str).collect::<Vec<_>>());
        bail!("{option} {word}: must be an array of seawall arrays list, or a file with a table [device]{meant}");
    }
    device(option, word).with_context(|| format!("{option} {word}")).map_err(once(option, word))
}

/// What was probably meant, as a question behind a message: the nearest name, or one that the word
/// is a part of.
fn meant(word: &str, known: &[&str]) -> String {
    let within = || known.iter().copied().find(|name| name.split('-').any(|part| part.eq_ignore_ascii_case(word)));
    nearest::to(word, known.iter().copied())
        .or_else(within)
        .map_or(String::new(), |name| format!("; did you mean {name}?"))
}

/// Leaves out an introduction that the message behind it repeats.
fn once(option: &str, word: &str) -> impl Fn(anyhow::Error) -> anyhow::Error {
    let about = format!("{option} {word}");
    move |error| {
        let said = error.root_cause().to_string();
        if said.starts_with(&about) { anyhow!("{said}") } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every array can be built, and each figure has a source that begins with one of the words for
    /// how reliable it is.
    #[test]
    fn every_figure_of_the_catalogue_has_its_source() {
        for name in names() {
            let name = name.as_str();
            let array = Device::read(&text(name).expect(name), name).expect(name);
            assert!(array.about.is_some(), "{name} says what it is");
            for stage in &array.stages {
                for (key, _) in &stage.said {
                    let source = stage.sources.iter().find(|(of, _)| of == key);
                    let source = source.unwrap_or_else(|| panic!("{name}: {}: {key} has no source", stage.kind));
                    let words = ["published", "derived", "fitted", "recalled", "assumed"];
                    assert!(words.iter().any(|word| source.1.starts_with(word)), "{name}: {source:?}");
                }
            }
            spec_of(&array, Bytes::gib(100)).expect(name).build(1).expect(name);
        }
    }

    /// Both generations exist, each size once, under their common names.
    #[test]
    fn file_systems_of_every_size_are_arrays() {
        let names = names();
        for (generation, sizes) in [("fsx", "128 256 512 1024 2048 4096"), ("fsx2", "384 768 1536 3072 6144")] {
            let named: Vec<String> = sizes.split(' ').map(|size| format!("{generation}-{size}")).collect();
            let found: Vec<&String> = names.iter().filter(|name| name.split('-').next() == Some(generation)).collect();
            assert_eq!(found, named.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_of_a_name_leads_to_it() {
        let error = |word| array("--array", word).expect_err("it is none").to_string();
        assert!(error("a300").ends_with("; did you mean aff-a300?"), "{}", error("a300"));
        assert!(error("aff-a30").ends_with("; did you mean aff-a300?"), "{}", error("aff-a30"));
        assert!(!error("nosuch").contains("did you mean"), "{}", error("nosuch"));
    }

    /// Of one that needs figures no usual device can be made, so it is not offered.
    #[test]
    fn what_is_offered_can_be_used() {
        for kind in Device::usual_kinds() {
            device("--array", kind).expect(kind);
        }
        let named = device("--array", "aff-a300").expect("it comes with the program").to_string();
        assert!(named.starts_with("aff-a300, array: link, controller"), "{named}");
        let said = device("--array", "parallel-servers").expect_err("it needs figures").to_string();
        assert!(said.starts_with("--array: must be one of disk, flash, cloud-volume, host, an array"), "{said}");
    }

    /// A file in the folder that is not embedded would be missing from the catalogue.
    #[test]
    fn every_file_of_the_folder_is_in_the_catalogue() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../arrays");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder of arrays")
            .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        files.sort();
        assert_eq!(files, ARRAYS.map(|(name, _)| name));
    }
}
