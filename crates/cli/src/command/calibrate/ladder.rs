//! A short ladder of loads on a file or device, to fit a model to if nothing is recorded yet.

use super::recordings::Recordings;
use crate::command::fio;
use crate::memory::Memory;
use crate::outputs::{Kind, Output};
use crate::{dataset, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use storage::Place;

/// Sizes of requests, and numbers in flight.
const BLOCKS: [&str; 2] = ["4k", "64k"];
/// The larger of them.
const LARGEST: Bytes = Bytes::kib(64);
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Size of a file that is created.
const SIZE: Bytes = Bytes::gib(1);

/// How long each point lasts, and how often the whole ladder is run.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub seconds: u32,
    pub rounds: u32,
}

/// Runs the ladder and keeps it as a run of fio. A file that it created is removed again.
///
/// # Errors
/// The place cannot be loaded, or the results say nothing about storage.
pub fn record(place: &Path, size: Option<Bytes>, times: Times, writes: bool, memory: &Memory) -> Result<Recordings> {
    let made = !place.exists();
    if let Some(size) = size.filter(|_| !made) {
        bail!("--size {size}: {} is there, and the ladder reads all of it; leave --size out", place.display());
    }
    let size = size.unwrap_or(SIZE);
    check_place(place, size)?;
    if writes && !made {
        bail!(
            "--writes: {} is there, and what is in it would be lost; leave it out, or name a file that is not there",
            place.display()
        );
    }
    let words = words(place, made.then_some(size), times, writes);
    let Times { seconds, rounds } = times;
    let points = BLOCKS.len() * DEPTHS.len() * if writes { 2 } else { 1 };
    terminal::complain(&format!(
        "{points} points of {seconds} s each on {}, {}",
        place.display(),
        if rounds == 1 { "once".into() } else { format!("{rounds} times") }
    ));
    let memory = memory.labelled(vec![("ladder".into(), "calibrate".into())]);
    let recorded = fio::recorded(&words, &memory);
    if made && place.is_file() {
        // This command created it; a leftover file must not lose the result.
        let _ = std::fs::remove_file(place);
    }
    let (run, number) = recorded?;
    let from = number.map_or_else(|| format!("a ladder on {}", place.display()), |number| format!("run {number}"));
    Recordings::of_one(&run, from)
}

/// Checks, before anything is done, that the place is a file or device that can be read, or that a
/// file of this size can be made there.
fn check_place(place: &Path, size: Bytes) -> Result<()> {
    let named = || format!("--place {}", place.display());
    let parsed = Place::parse(&place.to_string_lossy()).map_err(|rule| anyhow!("--place: {rule}"))?;
    if !matches!(parsed, Place::Path(_)) {
        bail!("{}: must be a file or device; load an export with seawall fio and fit that run with --run", named());
    }
    if let Ok(about) = std::fs::metadata(place) {
        if about.is_dir() {
            bail!("{}: is a folder; name a file in it, which is made and removed again", named());
        }
        if !about.is_file() && !about.file_type().is_block_device() {
            bail!("{}: is neither a file nor a block device; name one that is", named());
        }
        // A device has no length of its own.
        let length = Bytes(about.len());
        if about.is_file() && length < LARGEST {
            bail!(
                "{}: must hold at least {LARGEST}, the ladder's largest request, got {length}; name a larger file",
                named()
            );
        }
        let file = match File::open(place) {
            Ok(file) => file,
            Err(error) => bail!("{}: cannot be read ({error}); name another file or device", named()),
        };
        // The file system answers reads of holes without the storage.
        if about.is_file()
            && uring::space::extents(&file, 0, length.0, 2).with_context(named)?.iter().any(|run| run.hole)
        {
            bail!("{}: has holes, which are read without the storage; name a file that is written throughout", named());
        }
        return Ok(());
    }
    Output { option: "--place", path: place, kind: Kind::Any }.check()?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let room = dataset::room(parent).with_context(named)?;
    // Some file systems report no size, and so have no known limit.
    if room.total > 0 && size.0 > room.available {
        let free = Bytes(room.available);
        bail!("{}: --size {size} is more than the {free} that are free there; give less, or another place", named());
    }
    Ok(())
}

fn words(place: &Path, size: Option<Bytes>, Times { seconds, rounds }: Times, writes: bool) -> Vec<String> {
    let mut words = vec![
        // A colon separates names in fio's list.
        format!("--filename={}", place.display().to_string().replace(':', "\\:")),
        format!("--runtime={seconds}"),
        // The beginning of a point is not typical; a tenth is enough for storage without a cache.
        format!("--ramp_time={}ms", 100 * seconds),
        "--time_based=1".into(),
        "--direct=1".into(),
        "--ioengine=libaio".into(),
        "--norandommap=1".into(),
    ];
    words.extend(size.map(|size| format!("--size={}", size.0)));
    let kinds: &[&str] = if writes { &["randread", "randwrite"] } else { &["randread"] };
    // Round by round, so that a short disturbance of the machine does not affect a point in all
    // rounds.
    for round in 1..=rounds {
        for kind in kinds {
            for block in BLOCKS {
                for depth in DEPTHS {
                    words.push(format!("--name={kind}-{block}-{depth}-{round}"));
                    words.extend([format!("--rw={kind}"), format!("--bs={block}"), format!("--iodepth={depth}")]);
                    words.push("--stonewall".into());
                }
            }
        }
    }
    words
}
