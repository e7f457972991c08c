//! What this host can detect about the storage under a path.

use crate::classic::device_of;
use crate::machine;
use std::fs;
use std::path::{Path, PathBuf};
use tiers::{TierRow, TierWord};
use workload::plan::{Device, DeviceFigure};

/// Records what can be detected under a path.
pub fn look(path: &str, row: &mut TierRow) {
    let mut see = |word: TierWord, seen: Option<String>| {
        let seen = seen.map(|seen| seen.trim().to_owned()).filter(|seen| !seen.is_empty());
        row.words[word as usize].seen = seen;
    };
    see(TierWord::Virtualized, guest());
    if path.contains("://") {
        return see(TierWord::Storage, Some("network export".into()));
    }
    let Some(whole) = device_of(Path::new(path)) else {
        // This is a file system without a device.
        return see(TierWord::Storage, machine::file_system(Path::new(path)).map(|(kind, _)| kind));
    };
    see(TierWord::Raid, level(&whole));
    let leaves = leaves(&whole, 0);
    let Some(leaf) = leaves.first() else { return };
    let name = |leaf: &Path| leaf.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let read = |at: &str| fs::read_to_string(leaf.join(at)).unwrap_or_default().trim().to_owned();
    let model = format!("{} {}", read("device/vendor"), read("device/model"));
    // A virtual disk has a number as its vendor, and no model.
    let is_named = !model.trim().is_empty() && !model.starts_with("0x");
    let called = if is_named { model.trim().to_owned() } else { name(leaf) };
    let several = if leaves.len() > 1 { format!("{} × ", leaves.len()) } else { String::new() };
    see(TierWord::Storage, Some(format!("{several}{called}")));
    see(TierWord::Spindle, kind(&name(leaf), &read("queue/rotational")));
}

/// Records what a simulated array states about itself.
pub fn array(device: &Device, row: &mut TierRow) {
    let mut see = |word: TierWord, seen: Option<String>| row.words[word as usize].seen = seen;
    see(TierWord::Storage, Some(device.about.clone().unwrap_or_else(|| device.kind.into())));
    let of = |kind: &str, key: &str| {
        let stages = device.stages.iter().filter(|stage| stage.kind == kind);
        stages.filter_map(|stage| stage.figure(key)).next()
    };
    see(TierWord::Raid, of("raid", "level").map(|level| level.to_string()));
    let spindle = match device.stages.last().map_or(device.kind, |media| media.kind) {
        "flash" => "SSD",
        "disk" => "HDD",
        other => other,
    };
    see(TierWord::Spindle, Some(spindle.into()));
    if let Some(DeviceFigure::Size(size)) = of("cache", "size") {
        see(TierWord::Cache, Some(format!("{:.0}", size.0 as f64 / 1e9)));
    }
}

/// The disks that a device is made of.
fn leaves(device: &Path, depth: u32) -> Vec<PathBuf> {
    let beneath = fs::read_dir(device.join("slaves")).into_iter().flatten().flatten();
    let beneath: Vec<PathBuf> = beneath.filter_map(|entry| entry.path().canonicalize().ok()).collect();
    if beneath.is_empty() || depth > 8 {
        // A partition of a disk that belongs to another device.
        let is_part = device.join("partition").exists();
        return vec![if is_part { device.parent().unwrap_or(device).to_owned() } else { device.to_owned() }];
    }
    beneath.iter().flat_map(|device| leaves(device, depth + 1)).collect()
}

/// The level of a Linux RAID anywhere below a device.
fn level(device: &Path) -> Option<String> {
    if let Ok(level) = fs::read_to_string(device.join("md/level")) {
        return Some(level.trim().trim_start_matches("raid").to_owned());
    }
    let beneath = fs::read_dir(device.join("slaves")).ok()?.flatten();
    beneath.filter_map(|entry| entry.path().canonicalize().ok()).find_map(|device| level(&device))
}

/// The kind of a disk as it reports; virtual disks may report anything.
fn kind(name: &str, rotational: &str) -> Option<String> {
    let kind = match (name, rotational) {
        (name, _) if name.starts_with("nvme") => "NVMe",
        (name, _) if name.starts_with("zram") || name.starts_with("ram") => "RAM",
        (name, "1") if is_virtual(name) => "virtual (says HDD)",
        (name, "0") if is_virtual(name) => "virtual (says SSD)",
        (_, "1") => "HDD",
        (_, "0") => "SSD",
        _ => return None,
    };
    Some(kind.into())
}

fn is_virtual(name: &str) -> bool {
    ["vd", "xvd", "nbd", "rbd", "loop"].iter().any(|virtual_| name.starts_with(virtual_))
}

/// Whether this host is a virtual machine. A host cannot detect whether an array is behind another
/// one.
fn guest() -> Option<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_guest =
        cpu.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor"));
    is_guest.then(|| "guest host".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_by_their_model_unless_virtual() {
        let kinds = [("nvme0n1", "0"), ("sda", "1"), ("sdb", "0"), ("vda", "1"), ("zram0", "0"), ("sdc", "")];
        let named = kinds.map(|(name, rotational)| kind(name, rotational));
        let wanted = [Some("NVMe"), Some("HDD"), Some("SSD"), Some("virtual (says HDD)"), Some("RAM"), None];
        assert_eq!(named, wanted.map(|kind| kind.map(str::to_owned)));
    }

    /// Memory has no device, a file on a disk has one, and an export is not a path.
    #[test]
    fn the_storage_below_a_path_is_detected() {
        let seen = |path: &str| {
            let mut row = TierRow::default();
            look(path, &mut row);
            row.word(TierWord::Storage).seen.clone()
        };
        assert_eq!(seen("/proc"), Some("proc".into()));
        assert_eq!(seen("nbd://127.0.0.1/x"), Some("network export".into()));
        assert_eq!(seen("/no/such/path"), None);
        assert!(seen(env!("CARGO_MANIFEST_DIR")).is_some());
    }
}
