//! What the block layer counts for the devices behind a run's files.

use block::{Span, Time};
use stats::job::DiskUse;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use storage::major_minor;

/// The devices behind some files, as they stood at the start.
pub(crate) struct Disks {
    began: Time,
    before: Vec<DiskUse>,
}

impl Disks {
    /// Looks at the devices behind `paths` now. A file system without one (in memory, over a network) has none.
    pub(crate) fn watch(paths: &[PathBuf], now: Time) -> Disks {
        let mut numbers: Vec<(u64, u64)> = paths.iter().filter_map(|path| device_of(path)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let lines = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let of = |&(major, minor): &(u64, u64)| lines.lines().find_map(|line| parse(line, Some((major, minor))));
        Disks { began: now, before: numbers.iter().filter_map(of).collect() }
    }

    /// What was counted since.
    pub(crate) fn since(&self, now: Time) -> Vec<DiskUse> {
        let lines = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let now_of = |name: &str| lines.lines().filter_map(|line| parse(line, None)).find(|disk| disk.name == name);
        let difference = |before: &DiskUse| {
            let after = now_of(&before.name)?;
            let less = |a: [u64; 2], b: [u64; 2]| [a[0].wrapping_sub(b[0]), a[1].wrapping_sub(b[1])];
            let less_span = |a: Span, b: Span| a.saturating_sub(b);
            Some(DiskUse {
                name: after.name,
                ios: less(after.ios, before.ios),
                merges: less(after.merges, before.merges),
                sectors: less(after.sectors, before.sectors),
                ticks: [less_span(after.ticks[0], before.ticks[0]), less_span(after.ticks[1], before.ticks[1])],
                in_queue: less_span(after.in_queue, before.in_queue),
                busy: less_span(after.busy, before.busy),
                over: now.since(self.began),
            })
        };
        self.before.iter().filter_map(difference).collect()
    }
}

/// The number of the device that a path is, or that its file system is on.
fn device_of(path: &std::path::Path) -> Option<(u64, u64)> {
    let about = std::fs::metadata(path).ok().or_else(|| std::fs::metadata(path.parent()?).ok())?;
    let device = if about.file_type().is_block_device() { about.rdev() } else { about.dev() };
    Some(major_minor(device))
}

/// Reads a line of `/proc/diskstats` (the kernel's `Documentation/admin-guide/iostats.rst`) if it is the wanted device.
fn parse(line: &str, wanted: Option<(u64, u64)>) -> Option<DiskUse> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    if wanted.is_some_and(|wanted| Some(wanted) != number(0).zip(number(1))) {
        return None;
    }
    Some(DiskUse {
        name: (*words.get(2)?).to_owned(),
        ios: [number(3)?, number(7)?],
        merges: [number(4)?, number(8)?],
        sectors: [number(5)?, number(9)?],
        ticks: [Span::from_millis(number(6)?), Span::from_millis(number(10)?)],
        busy: Span::from_millis(number(12)?),
        in_queue: Span::from_millis(number(13)?),
        over: Span::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let line = " 254       0 vda 100 1 800 50 200 2 1600 70 0 90 120 0 0 0 0 0 0";
        let disk = parse(line, Some((254, 0))).unwrap();
        assert_eq!((disk.name.as_str(), disk.ios, disk.merges, disk.sectors), ("vda", [100, 200], [1, 2], [800, 1600]));
        assert_eq!((disk.busy, disk.in_queue), (Span::from_millis(90), Span::from_millis(120)));
        assert_eq!(parse(line, Some((254, 1))), None);
    }
}
