//! `seawall dgen`: how far it fills, what it writes, and what it refuses.

use crate::loop_mount::LoopMount;
use crate::requires::requires;
use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

fn dgen(folder: &Path, options: &[&str]) -> Ended {
    run(seawall(folder).args(["dgen", "--quiet", "--directory", "."]).args(options))
}

/// Bytes in use, and all of them, as the system tells.
fn usage(folder: &Path) -> (u64, u64) {
    let out = Command::new("stat").args(["-f", "-c", "%S %b %f"]).arg(folder).output().unwrap();
    let words: Vec<u64> =
        String::from_utf8_lossy(&out.stdout).split_whitespace().map(|word| word.parse().unwrap()).collect();
    ((words[1] - words[2]) * words[0], words[1] * words[0])
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// 60 % of the whole, with 10 MiB of somebody's counted: never more, and at most 256 KiB less. Then 80 % goes on from
/// there, and every block is what its place says until one is damaged.
#[test]
fn it_fills_to_the_share_goes_on_and_finds_damage() {
    requires!("stat");
    let Some(mount) = LoopMount::new(160) else { return };
    std::fs::write(mount.point().join("other"), vec![1; 10 << 20]).unwrap();
    for percent in [60, 80] {
        let ended = dgen(mount.point(), &["--jobs", "3", "--pctfull", &percent.to_string()]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let (used, total) = usage(mount.point());
        let target = total * percent / 100;
        assert!(used <= target && used + (256 << 10) > target, "{used} of {target}");
    }
    assert_eq!(dgen(mount.point(), &["--verify"]).code, Some(0));
    assert!(["dir01", "dir02", "dir03"].iter().all(|name| mount.point().join(name).is_dir()));
    let refused = dgen(mount.point(), &["--jobs", "4"]);
    assert!(refused.code == Some(2) && refused.err.contains("--jobs: the data in . was begun with 3, got 4"));

    let file = mount.point().join("dir02/data0001");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[8192 * 5 + 100] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let found = dgen(mount.point(), &["--verify"]);
    assert_eq!(found.code, Some(1));
    assert!(
        found.out.contains("dir02/data0001: job 2, block 5: its header is right and its data is not"),
        "{}",
        found.out
    );
}

/// 99 % would reach into the twentieth that ext4 keeps for root: what is left for others is filled, and no more.
#[test]
fn roots_reserve_stays() {
    requires!("stat");
    let Some(mount) = LoopMount::new(64) else { return };
    let ended = dgen(mount.point(), &["--pctfull", "99"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("space kept for root"), "{}", ended.err);
    let out = Command::new("stat").args(["-f", "-c", "%S %f %a"]).arg(mount.point()).output().unwrap();
    let words: Vec<u64> =
        String::from_utf8_lossy(&out.stdout).split_whitespace().map(|word| word.parse().unwrap()).collect();
    // Free but not available is the reserve: a twentieth of 64 MiB, about 3 MiB. What is available is nearly gone.
    assert!((words[1] - words[2]) * words[0] > 2 << 20, "the reserve is untouched: {words:?}");
    assert!(words[2] * words[0] < 256 << 10, "what others may take is filled: {words:?}");
}

/// 40 % compressible and 30 % duplicates: deduplicated at 8 KiB, the blocks that are left are 70 % of them; compressed
/// by zstd, those are 60 % of their size. Both to within 2 points. The same seed gives the same bytes.
#[test]
fn its_data_compresses_and_deduplicates_as_asked() {
    requires!("zstd");
    let Some(mount) = LoopMount::new(160) else { return };
    let options = ["--jobs", "1", "--pctfull", "70", "--compress", "40", "--duplicates", "30", "--seed", "9"];
    assert_eq!(dgen(mount.point(), &options).code, Some(0));
    let all = files(&mount.point().join("dir01")).concat();
    let mut unique = HashSet::new();
    let left: Vec<u8> = all.chunks(8192).filter(|block| unique.insert(block.to_vec())).flatten().copied().collect();
    let saved = 100.0 * (1.0 - left.len() as f64 / all.len() as f64);
    assert!((saved - 30.0).abs() < 2.0, "{saved} % duplicates");

    let file = mount.beside().join("left");
    std::fs::write(&file, &left).unwrap();
    let packed = Command::new("zstd").args(["-q", "-c"]).arg(&file).output().unwrap().stdout.len();
    let saved = 100.0 * (1.0 - packed as f64 / left.len() as f64);
    assert!((saved - 40.0).abs() < 2.0, "{saved} % compressible");

    let Some(other) = LoopMount::new(160) else { return };
    assert_eq!(dgen(other.point(), &options).code, Some(0));
    let again = files(&other.point().join("dir01")).concat();
    let both = all.len().min(again.len());
    assert!(both > 50 << 20 && all[..both] == again[..both]);
}

/// The file system that holds / is refused, and somebody's folders are left alone.
#[test]
fn it_refuses_what_it_should_not_fill() {
    let scratch = Scratch::new();
    let root = run(seawall(Path::new("/")).args(["dgen", "--directory", "/"]));
    assert_eq!(root.code, Some(2));
    assert!(root.err.contains("root file system") && root.err.contains("--allow-root-filesystem"), "{}", root.err);
    std::fs::create_dir(scratch.join("dir01")).unwrap();
    let taken = dgen(scratch.path(), &["--allow-root-filesystem", "--pctfull", "100"]);
    assert!(taken.code == Some(2) && taken.err.contains("dir01: is there already"), "{}", taken.err);
    let none = dgen(scratch.path(), &["--verify"]);
    assert!(none.code == Some(2) && none.err.contains("holds no data of seawall dgen"), "{}", none.err);
}
