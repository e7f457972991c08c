//! The tables `[[volume]]` of a plan, and the volumes that a workload names.

use super::advice;
use super::error::Problem;
use super::read::Unique;
use super::table::{Found, Table};
use super::{Volume, unfold};
use crate::spec::BLOCK_MIN;
use block::Bytes;

/// Volumes are multiples of this many bytes, the granularity of LUNs and of the initial fill.
const VOLUME_BLOCK: u64 = 4096;

/// Reads the volumes of one table; `before` are those of the tables above it.
pub(super) fn read(table: &Table<'_>, before: &[Volume], names: &mut Unique) -> Vec<Volume> {
    table.only(&["name", "size", "lun", "thin", "clone_of", "place", "stripe"]);
    table.missing("name", "name the volume, such as vol1");
    let given = table.names("name");
    for name in &given {
        names.note_if_taken(table, "[[volume]]", Some(Found { value: name, line: table.line_of("name") }));
    }
    // Rounded up to whole blocks, as in the administrators' commands.
    let size = table.space("size").and_then(|size| {
        let blocks = size.0.checked_next_multiple_of(VOLUME_BLOCK).filter(|bytes| *bytes > 0);
        if blocks.is_none() {
            table.wrong("size", "a size above zero", "100GB and 512MiB are common");
        }
        blocks.map(Bytes)
    });
    let lun = table.name("lun").map_or("lun1", |lun| lun.value);
    let (places, stripe) = places(table);
    let thin = table.flag("thin").unwrap_or_default();
    if given.len() > 1 && !places.is_empty() {
        table.wrong("place", "absent where a name stands for several volumes", "give each a table of its own");
    }
    let clone_of = parent(table, before);
    let one = Volume { name: String::new(), size, lun: lun.to_owned(), places, stripe, thin, clone_of };
    let one = match clone_of.map(|parent| &before[parent]) {
        Some(parent) => Volume { size: parent.size, lun: parent.lun.clone(), ..one },
        None => one,
    };
    let names = if given.is_empty() { vec![String::new()] } else { given };
    names.into_iter().map(|name| Volume { name, ..one.clone() }).collect()
}

/// Index of the volume that this one is a clone of.
fn parent(table: &Table<'_>, before: &[Volume]) -> Option<usize> {
    let found = table.text("clone_of")?;
    for key in ["size", "lun", "thin", "place", "stripe"] {
        if table.has(key) {
            table.wrong(key, "absent beside clone_of", "a clone is as its parent is");
        }
    }
    let may_be = |volume: &Volume| volume.is_served() && volume.clone_of.is_none();
    let index = before.iter().position(|volume| volume.name == found.value && may_be(volume));
    if index.is_none() {
        let known: Vec<&str> = before.iter().filter(|volume| may_be(volume)).map(|v| v.name.as_str()).collect();
        note_unknown(table, "clone_of", "volume above it with something of its own", found, &known);
    }
    index
}

/// The places of a volume on other storage, and its stripe length.
fn places(table: &Table<'_>) -> (Vec<String>, Option<Bytes>) {
    let places: Vec<String> = table.text_or_texts("place").iter().map(|place| place.value.to_owned()).collect();
    if table.has("place") && table.has("lun") {
        let advice = "the plan's own server has no part in a place; leave one of the two out";
        table.wrong("lun", "absent beside place", advice);
    }
    if places.is_empty() && table.is_empty_list("place") {
        table.wrong("place", "one place or more", "name them, or leave place out");
    }
    let stripe = table.size("stripe");
    if stripe.is_some_and(|stripe| stripe.0 == 0 || !stripe.0.is_multiple_of(BLOCK_MIN.0)) {
        let advice = "64KiB is common; leave it out for one place behind the other";
        table.wrong("stripe", format!("a multiple of {BLOCK_MIN} above zero"), advice);
    }
    if stripe.is_some() && !table.has("place") {
        table.wrong("stripe", "absent where no place is named", "stripes go over several places");
    }
    (places, stripe)
}

/// Indices of the volumes that a workload names, itself or by their LUNs; the first volume if that
/// is wrong.
pub(super) fn named(table: &Table<'_>, volumes: &[Volume]) -> Vec<usize> {
    let (key, what) = if table.has("volume") { ("volume", "volume") } else { ("lun", "LUN") };
    table.missing(key, "name the LUN it uses, such as /vol/vol1/lun1, or its volume");
    if key == "volume" && table.has("lun") {
        table.wrong("lun", "absent beside volume", "a volume has one LUN; leave one of the two out");
    }
    let Some(found) = table.text(key) else { return vec![0] };
    let name = |volume: &Volume| match key {
        "volume" => volume.name.clone(),
        _ if volume.is_served() => volume.path(),
        _ => String::new(),
    };
    let names: Vec<String> = volumes.iter().map(name).collect();
    let mut indices = Vec::new();
    for given in unfold(found.value) {
        match names.iter().position(|name| *name == given) {
            Some(index) => indices.push(index),
            None => {
                let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
                if known.is_empty() && !names.is_empty() {
                    table.wrong(key, "left out here", "volumes with a place have no LUN; name one by volume");
                } else {
                    note_unknown(table, key, what, Found { value: &given, line: found.line }, &known);
                }
                return vec![0];
            }
        }
    }
    if indices.len() > 1 && indices.iter().any(|index| !volumes[*index].is_served()) {
        table.wrong(key, "one volume where it has a place", "give each a workload of its own");
    }
    indices
}

fn note_unknown(table: &Table<'_>, key: &str, what: &'static str, found: Found<&str>, known: &[&str]) {
    // Leaves out volumes whose own name was wrong.
    let known: &[&str] = &known.iter().copied().filter(|name| !name.is_empty()).collect::<Vec<_>>();
    let (key, given, advice) = (table.full(key), found.value.to_owned(), advice::advice(found.value, known));
    table.note(found.line, Problem::UnknownName { key, what, given, advice });
}
