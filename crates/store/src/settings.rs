//! The pool's settings: the contents of `seawall.toml` in its folder.

use crate::error::StoreError;
use crate::mapped::{CacheSettings, MEMBERS_MAX, MapSettings, Named};
use block::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const SETTINGS: &str = "seawall.toml";

/// Whether data goes through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum Cache {
    /// No (`O_DIRECT`): measurements show the disk.
    #[default]
    Direct,
    /// Yes.
    Page,
}

impl TryFrom<toml::Value> for Cache {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Cache, String> {
        match value.as_str() {
            Some("direct") => Ok(Cache::Direct),
            Some("page") => Ok(Cache::Page),
            _ if value.is_table() => Err("cache: must be \"direct\" or \"page\" here; the table [cache] is of the \
                                          server's own file, which --config names"
                .to_owned()),
            _ => Err(format!("cache: must be \"direct\" or \"page\", got {value}")),
        }
    }
}

/// Limits on serving a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumesSettings {
    /// Limit on requests at the kernel. More than a device's own queue (256 is common) keeps it
    /// busy; far more would only move the queue into the kernel, where waiting costs more.
    pub in_flight_limit: usize,
    /// The longest read or write in bytes: 32 MiB, the most that NBD clients may expect.
    pub longest: u32,
    /// The cache in memory; `None` for no cache.
    pub cache: Option<CacheSettings>,
}

impl Default for VolumesSettings {
    fn default() -> Self {
        VolumesSettings { in_flight_limit: 512, longest: 32 << 20, cache: None }
    }
}

/// The contents of `seawall.toml` in the pool's folder.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) cache: Cache,
    pool: NamedSettings,
    /// For the owner of the policies; see [`Settings::qos`].
    #[serde(rename = "qos")]
    _qos: toml::Table,
    /// The text of the file.
    #[serde(skip)]
    text: String,
}

/// The table `[qos]` of the file, and of the rest of it nothing.
#[derive(serde::Deserialize)]
struct OfPolicies<T> {
    #[serde(default = "Option::default")]
    qos: Option<T>,
}

impl Settings {
    /// The table `[qos]`, parsed as a `T`.
    pub(crate) fn qos<T: serde::de::DeserializeOwned + Default>(&self, dir: &Path) -> Result<T, StoreError> {
        let parsed: OfPolicies<T> = parsed(&self.text, &dir.join(SETTINGS))?;
        Ok(parsed.qos.unwrap_or_default())
    }
}

/// Parses the text of the file at `path`.
fn parsed<T: serde::de::DeserializeOwned>(text: &str, path: &Path) -> Result<T, StoreError> {
    toml::from_str(text).map_err(|error| {
        let (line, reason) = nearest::toml::wrong(text, error.span(), error.message());
        StoreError::Settings { path: path.into(), reason: format!("line {line}: {reason}") }
    })
}

/// The table `[pool]`: what a pool keeps outside of its folder, and how it treats free space.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NamedSettings {
    /// One or several files or block devices for the blocks.
    data: Option<OneOrMore>,
    /// A file or block device for the log.
    log: Option<PathBuf>,
    /// Whether free blocks are returned to the file system or device; true by default.
    give_back: Option<bool>,
    /// Limit on the memory of the maps, such as `2GiB`.
    maps_memory: Option<String>,
}

/// A path, or a list of them.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged, expecting = "must be a path, or a list of paths")]
enum OneOrMore {
    One(PathBuf),
    More(Vec<PathBuf>),
}

impl OneOrMore {
    fn paths(&self) -> &[PathBuf] {
        match self {
            OneOrMore::One(path) => std::slice::from_ref(path),
            OneOrMore::More(paths) => paths,
        }
    }
}

/// The least memory that the maps can work with: enough for 8 GiB of data.
pub const MAPS_MEMORY_MIN: Bytes = Bytes::mib(1);

/// The settings of the maps. The log takes at most a 64th of a small file system; the maps take at
/// most half of the memory, and what the server's other parts leave.
pub(crate) fn map_settings(dir: &Path, settings: &Settings) -> Result<MapSettings, StoreError> {
    let space = uring::space::space(dir).map_err(StoreError::file(dir, "ask for its space"))?;
    let most = MapSettings::default();
    let log = (space.available.0 / 64).clamp(256 << 10, most.log) / 4096 * 4096;
    let give_back = settings.pool.give_back.unwrap_or(most.give_back);
    let memory = maps_memory(dir, settings)?;
    Ok(MapSettings { named: named_by(dir, settings)?, cache: settings.cache, log, give_back, memory, ..most })
}

fn maps_memory(dir: &Path, settings: &Settings) -> Result<Option<Bytes>, StoreError> {
    let Some(said) = &settings.pool.maps_memory else {
        return Ok(uring::memory::most().map(|most| Bytes((most.0 / 2).max(MAPS_MEMORY_MIN.0))));
    };
    match said.parse::<Bytes>() {
        Ok(memory) if memory >= MAPS_MEMORY_MIN => Ok(Some(memory)),
        _ => {
            let reason = format!("[pool] maps_memory = {said:?}: must be a size of at least 1 MiB, such as \"2GiB\"");
            Err(StoreError::Settings { path: dir.join(SETTINGS), reason })
        }
    }
}

/// The memory that the maps may use if the other parts of the server leave them `most`.
///
/// # Errors
/// The settings in the pool's folder are wrong, or ask for more.
pub fn maps_within(dir: &Path, most: Bytes) -> Result<Bytes, StoreError> {
    bounded_maps(dir, &read_settings(&dir.join(SETTINGS))?, most)
}

/// The same, from settings that were read already.
pub(crate) fn bounded_maps(dir: &Path, settings: &Settings, most: Bytes) -> Result<Bytes, StoreError> {
    let memory = maps_memory(dir, settings)?.unwrap_or(most);
    match &settings.pool.maps_memory {
        Some(said) if memory > most => {
            let reason = format!(
                "[pool] maps_memory = {said:?}: must be at most the {} MiB that the server's other parts of memory leave",
                most.0 >> 20
            );
            Err(StoreError::Settings { path: dir.join(SETTINGS), reason })
        }
        _ => Ok(memory.min(most)),
    }
}

/// The path of a pool's settings.
pub fn settings_path(dir: &Path) -> PathBuf {
    dir.join(SETTINGS)
}

/// The table `[qos]` of the settings in a pool's folder, parsed as a `T`.
///
/// # Errors
/// The settings are wrong, or it is not a valid `T`.
pub fn qos_settings<T: serde::de::DeserializeOwned + Default>(dir: &Path) -> Result<T, StoreError> {
    read_settings(&dir.join(SETTINGS))?.qos(dir)
}

/// The files and devices that the settings in a pool's folder name.
///
/// # Errors
/// The settings are wrong.
pub fn named(dir: &Path) -> Result<Named, StoreError> {
    let settings = read_settings(&dir.join(SETTINGS))?;
    maps_memory(dir, &settings)?;
    named_by(dir, &settings)
}

pub(crate) fn named_by(dir: &Path, settings: &Settings) -> Result<Named, StoreError> {
    let wrong = |reason: String| StoreError::Settings { path: dir.join(SETTINGS), reason };
    let absolute = |key: &str, path: &PathBuf| match path.is_absolute() {
        true => Ok(path.clone()),
        false => Err(wrong(format!(
            "[pool] {key} = {path:?}: must be an absolute path; what is in the pool's folder needs no name"
        ))),
    };
    let data = settings.pool.data.as_ref().map_or(&[][..], OneOrMore::paths);
    if settings.pool.data.is_some() && !(1..=MEMBERS_MAX).contains(&data.len()) {
        let count = data.len();
        return Err(wrong(format!("[pool] data: must name 1 to {MEMBERS_MAX} files or devices, got {count}")));
    }
    let data = data.iter().map(|path| absolute("data", path)).collect::<Result<Vec<_>, _>>()?;
    let log = settings.pool.log.as_ref().map(|path| absolute("log", path)).transpose()?;
    let named = Named { data, log };
    if named.data.iter().any(|path| named.log.as_ref() == Some(path)) {
        return Err(wrong("[pool]: data and log must not be the same file or device".into()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = named.data.iter().find(|path| !seen.insert(*path)) {
        return Err(wrong(format!("[pool] data: {} is named twice", twice.display())));
    }
    Ok(named)
}

pub(crate) fn read_settings(path: &Path) -> Result<Settings, StoreError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(StoreError::file(path, "read the settings")(error)),
    };
    let settings: Settings = parsed(&text, path)?;
    Ok(Settings { text, ..settings })
}
