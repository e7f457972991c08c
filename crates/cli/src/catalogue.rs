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
    let is_kind = word != "array" && Device::kinds().any(|kind| kind == word);
    let path = Path::new(word);
    let (text, file) = match text(word) {
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
            let mut known: Vec<&str> = Device::kinds().collect();
            known.extend(names.iter().map(String::as_str));
            let meant = nearest::to(word, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
            let kinds = Device::kinds().filter(|kind| *kind != "array").collect::<Vec<_>>().join(", ");
            bail!(
                "{option}: must be one of {kinds}, an array of seawall arrays list, or a file with a table [device], \
                 got {word:?}{}",
                meant.unwrap_or_default()
            );
        }
    };
    let device = Device::read(&text, file).map_err(|errors| anyhow!("{errors}"))?;
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
        let meant = nearest::to(word, names.iter().map(String::as_str)).map(|near| format!("; did you mean {near}?"));
        let meant = meant.unwrap_or_default();
        bail!("{option} {word}: must be an array of seawall arrays list, or a file with a table [device]{meant}");
    }
    device(option, word).with_context(|| format!("{option} {word}")).map_err(once(option, word))
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
