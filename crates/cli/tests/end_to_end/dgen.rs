//! `seawall dgen`: how far it fills, what it writes, and what it refuses.

use crate::loop_device::LoopDevice;
use crate::loop_mount::LoopMount;
use crate::requires::{requires, skip};
use crate::running::{Ended, Running, run, seawall};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
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

/// 60 % of the whole, with 10 MiB of somebody's counted: never more, and at most 256 KiB less. Then
/// 80 % goes on from there, and every block is what its place says until one is damaged.
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

    // Where a file is gone, or a part of one, it is missing, and the same command puts it back.
    let of = |home: &str| mount.point().join(home).join("data0001");
    let whole = std::fs::metadata(of("dir01")).unwrap().len() / 8192;
    std::fs::remove_file(of("dir01")).unwrap();
    std::fs::File::options().write(true).open(of("dir02")).unwrap().set_len((whole - 3) * 8192).unwrap();
    let found = dgen(mount.point(), &["--verify"]);
    for says in [
        format!("dir01: {whole} blocks were written, 0 are there"),
        format!("dir02: {whole} blocks were written, {} are there", whole - 3),
        format!(" 0 wrong, {} missing", whole + 3),
    ] {
        assert!(found.code == Some(1) && found.out.contains(&says), "{says}: {found:?}");
    }
    let line = "ramp --miniops 1 --maxiops 1 --wijfile w";
    let refused = run(seawall(mount.point()).args(line.split_whitespace()));
    assert!(
        refused.code == Some(2) && refused.err.contains("are there; fill it again with seawall dgen"),
        "{refused:?}"
    );
    assert_eq!(dgen(mount.point(), &["--pctfull", "80"]).code, Some(0));
    let again = dgen(mount.point(), &["--verify"]);
    assert!(again.code == Some(0) && !again.out.contains("missing"), "{again:?}");

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

/// A share below what is in use already, be it by less than before or by a journal beside the data:
/// nothing is written, and nothing that is there is taken away.
#[test]
fn a_lower_share_takes_nothing_away() {
    let Some(mount) = LoopMount::new(64) else { return };
    assert_eq!(dgen(mount.point(), &["--pctfull", "60"]).code, Some(0));
    let homes = || ["dir01", "dir02"].map(|home| files(&mount.point().join(home)));
    let before = homes();
    let lower = dgen(mount.point(), &["--pctfull", "30"]);
    let says = "in use already; nothing was written, and nothing taken away";
    assert!(lower.code == Some(0) && lower.err.contains(says), "{}", lower.err);
    std::fs::write(mount.point().join("journal"), vec![1; 10 << 20]).unwrap();
    assert_eq!(dgen(mount.point(), &["--pctfull", "60"]).code, Some(0));
    assert!(homes() == before, "data is as it was");
}

/// 99 % would reach into the twentieth that ext4 keeps for root: what is left for others is filled,
/// and no more.
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
    // Free but not available is the reserve: a twentieth of 64 MiB, about 3 MiB. What is available
    // is nearly gone.
    assert!((words[1] - words[2]) * words[0] > 2 << 20, "the reserve is untouched: {words:?}");
    assert!(words[2] * words[0] < 256 << 10, "what others may take is filled: {words:?}");
}

/// 40 % compressible and 30 % duplicates: deduplicated at 8 KiB, the blocks that are left are 70 %
/// of them; compressed by zstd, those are 60 % of their size. Both to within 2 points. The same
/// seed gives the same bytes.
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

/// Of two that fill one place each would cut off, or write over, what the other wrote: one has it.
#[test]
fn a_place_is_filled_by_one_at_a_time() {
    let scratch = Scratch::new();
    let device = scratch.join("device");
    std::fs::write(&device, vec![0; 1 << 20]).unwrap();
    let fill = |place: [&str; 2]| {
        let options = ["--quiet", "--allow-root-filesystem", "--pctfull", "1", "--destroy-data", "device"];
        run(seawall(scratch.path()).arg("dgen").args(place).args(options))
    };
    for (path, place) in [(scratch.path(), ["--directory", "."]), (&device, ["--device", "device"])] {
        let held = std::fs::File::open(path).unwrap();
        held.try_lock().unwrap();
        let refused = fill(place);
        assert!(refused.code == Some(2) && refused.err.contains("another process has it locked"), "{refused:?}");
    }
    assert_eq!(std::fs::read(&device).unwrap(), vec![0; 1 << 20], "nothing was written");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "nothing was made");
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

/// An image of `mib` MiB of nothing, to be used as a device.
fn image(scratch: &Scratch, name: &str, mib: u64) {
    std::fs::File::create(scratch.join(name)).unwrap().set_len(mib << 20).unwrap();
}

fn device(folder: &Path, words: &str) -> Ended {
    run(seawall(folder).args(["dgen"]).args(words.split_whitespace()))
}

/// A device is left alone until it is named as one that may go, then filled to its share, and
/// filled further. The same seed and place give the same bytes, another place others; another seed
/// contradicts what is there. Every block is what its place says until one is damaged.
#[test]
fn a_device_is_filled_goes_on_and_finds_damage() {
    let scratch = Scratch::new();
    ["a", "b", "c"].iter().for_each(|name| image(&scratch, name, 64));
    let refused = device(scratch.path(), "--device a");
    assert!(refused.code == Some(2) && refused.err.contains("--destroy-data=a overwrites it"), "{}", refused.err);
    assert_eq!(std::fs::metadata(scratch.join("a")).unwrap().len(), 64 << 20);
    let made = device(scratch.path(), "--device a --destroy-data a --pctfull 50 --seed 1");
    assert!(made.code == Some(0) && made.err.contains("note: overwriting a (64 MiB)"), "{}", made.err);
    // 4095 blocks of 8 KiB, and how long that took.
    assert!(
        made.out.starts_with("a: 31.99 MiB, 50.0 % of 64 MiB; seed 1") && made.out.contains(" written in "),
        "{}",
        made.out
    );
    // 64 MiB are 8192 blocks; half of them are 4096, the label is one.
    let verified = device(scratch.path(), "--device a --verify");
    assert_eq!(
        (verified.code, verified.out.as_str()),
        (Some(0), "4,095 blocks read, 0 written by cycles since, 0 wrong\n")
    );
    assert_eq!(device(scratch.path(), "--device a --pctfull 90").code, Some(0));
    let other = device(scratch.path(), "--device a --seed 2");
    assert!(
        other.code == Some(2) && other.err.contains("--seed: the data on a was begun with 1, got 2"),
        "{}",
        other.err
    );

    assert_eq!(
        device(scratch.path(), "--device b --device c --destroy-data b --destroy-data c --pctfull 90 --seed 1").code,
        Some(0)
    );
    let [a, b, c] = ["a", "b", "c"].map(|name| std::fs::read(scratch.join(name)).unwrap());
    assert!(a == b && b[8192..16384] != c[8192..16384]);
    assert!(a[7373 * 8192..].iter().all(|&byte| byte == 0), "90 % of 8192 blocks are 7372, and nothing behind them");

    let mut damaged = a;
    damaged[8192 * 6 + 100] ^= 1;
    std::fs::write(scratch.join("a"), damaged).unwrap();
    let found = device(scratch.path(), "--device a --verify");
    assert_eq!(found.code, Some(1));
    assert!(found.out.contains("a: job 1, block 5: its header is right and its data is not"), "{}", found.out);
    // Without a seed each place has its own, and the same place the same again.
    let own = |name: &str| {
        image(&scratch, name, 1);
        let made = device(scratch.path(), &format!("--device {name} --destroy-data {name}"));
        let data = std::fs::read(scratch.join(name)).unwrap();
        std::fs::remove_file(scratch.join(name)).unwrap();
        assert_eq!(made.code, Some(0), "{}", made.err);
        data[8192..65536].to_vec()
    };
    assert!(own("d") == own("d") && own("d") != own("e"));
    let twice = device(scratch.path(), "--device b --device ./b");
    assert!(twice.code == Some(2) && twice.err.contains("is named twice"), "{}", twice.err);
}

/// A filling that is killed goes on with the same command, and ends with the same bytes as one that
/// was not.
#[test]
fn a_killed_filling_goes_on() {
    /// Far more than it takes.
    const LOOKS_MAX: usize = 10_000_000;
    use std::os::unix::fs::MetadataExt as _;
    let scratch = Scratch::new();
    image(&scratch, "a", 512);
    image(&scratch, "b", 512);
    let mut command = seawall(scratch.path());
    command.args(["dgen", "--device", "a", "--destroy-data", "a", "--compress", "0", "--seed", "7"]);
    let filling = Running::start(command);
    let begun = |_: &usize| std::fs::metadata(scratch.join("a")).unwrap().blocks() > 32 << 11;
    assert!((0..LOOKS_MAX).any(|look| begun(&look)), "it never began");
    filling.signal("KILL");
    filling.end();
    let first = device(scratch.path(), "--device a --verify");
    assert_eq!(first.code, Some(0), "what the label says is there: {}", first.out);
    assert_eq!(device(scratch.path(), "--device a").code, Some(0));
    assert_eq!(device(scratch.path(), "--device a --verify").code, Some(0));
    assert_eq!(device(scratch.path(), "--device b --destroy-data b --compress 0 --seed 7").code, Some(0));
    let [a, b] = ["a", "b"].map(|name| std::fs::read(scratch.join(name)).unwrap());
    assert!(a == b);
}

/// A killed filling of a directory goes on, too.
#[test]
fn a_killed_filling_of_a_directory_goes_on() {
    const LOOKS_MAX: usize = 10_000_000;
    let Some(mount) = LoopMount::new(600) else { return };
    let mut command = seawall(mount.point());
    command.args(["dgen", "--directory", ".", "--jobs", "1", "--pctfull", "90"]);
    let filling = Running::start(command);
    let file = mount.point().join("dir01/data0001");
    let begun = |_: &usize| std::fs::metadata(&file).is_ok_and(|about| about.len() > 16 << 20);
    assert!((0..LOOKS_MAX).any(|look| begun(&look)), "it never began");
    filling.signal("KILL");
    filling.end();
    assert_eq!(dgen(mount.point(), &["--jobs", "1", "--pctfull", "90"]).code, Some(0));
    let verified = dgen(mount.point(), &["--verify"]);
    assert!(verified.code == Some(0), "{}", verified.out);
    let (used, total) = usage(mount.point());
    assert!(used <= total * 9 / 10 && used + (512 << 10) > total * 9 / 10, "{used} of {total}");
}

/// A block device with a file system on it is left alone, and a mounted one; when it may go, what
/// it was is gone.
#[test]
fn a_block_device_with_something_on_it_is_left_alone() {
    let Some(disk) = LoopDevice::new(32) else { return };
    let mkfs = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"].into_iter().find(|path| Path::new(path).is_file());
    let Some(mkfs) = mkfs else { return skip("mkfs.ext4 is not installed") };
    assert!(Command::new(mkfs).arg("-q").arg(disk.path()).status().unwrap().success());
    let (name, folder) = (disk.name(), disk.beside().path());
    let refused = device(folder, &format!("--device {name}"));
    let says =
        format!("{name}: will not be written: it carries an ext2, ext3 or ext4 file system; --destroy-data={name}");
    assert!(refused.code == Some(2) && refused.err.contains(&says), "{}", refused.err);
    std::fs::create_dir(disk.beside().join("mount")).unwrap();
    let mount = Command::new("mount").arg(disk.path()).arg(disk.beside().join("mount")).status();
    if mount.is_ok_and(|status| status.success()) {
        let mounted = device(folder, &format!("--device {name}"));
        Command::new("umount").arg(disk.beside().join("mount")).status().unwrap();
        assert!(mounted.code == Some(2) && mounted.err.contains("it is mounted on"), "{}", mounted.err);
    }
    let wrong = device(folder, &format!("--device {name} --destroy-data /dev/null"));
    assert_eq!(wrong.code, Some(2), "another name does not count");
    assert_eq!(device(folder, &format!("--device {name} --destroy-data={name} --pctfull 50")).code, Some(0));
    assert_eq!(device(folder, &format!("--device {name} --pctfull 80")).code, Some(0), "it is ours now");
    assert_eq!(device(folder, &format!("--device {name} --verify")).code, Some(0));
}

/// NBD exports are filled and checked like devices; one with a file system on it is left alone.
#[test]
fn exports_are_filled_and_checked() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    let uri = server.uri(LUN);
    // The magic of ext4, 0xef53, at byte 1080.
    let mut head = vec![0; 64 << 20];
    head[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
    std::fs::write(scratch.join("head"), head).unwrap();
    let mut copy = crate::requires::client("qemu-img");
    copy.args(["convert", "-n", "-f", "raw", "-O", "raw"]).arg(scratch.join("head")).arg(&uri);
    assert_eq!(run(&mut copy).code, Some(0));
    let refused = device(scratch.path(), &format!("--device {uri}"));
    assert!(refused.code == Some(2) && refused.err.contains("it carries an ext2"), "{}", refused.err);
    let made = device(scratch.path(), &format!("--device {uri} --destroy-data={uri}"));
    assert_eq!(made.code, Some(0), "{}", made.err);
    // 95 % of 8192 blocks are 7782, the label is one of them.
    let verified = device(scratch.path(), &format!("--device {} --verify", server.tcp_uri(LUN)));
    assert!(verified.out.contains("7,781 blocks read, 0 written by cycles since, 0 wrong"), "{}", verified.err);
    let none = device(scratch.path(), &format!("--device {}", server.uri("nobody")));
    assert!(none.code == Some(2) && none.err.contains("nobody"), "{}", none.err);
}

/// Space that runs out under way ends it with one line, and what was written stays: behind a
/// device, whose file is sparse on a small file system, and in a directory, where somebody takes
/// the rest meanwhile.
#[test]
fn no_space_left_is_said_and_what_is_written_stays() {
    requires!("fallocate");
    const LOOKS_MAX: usize = 10_000_000;
    let Some(small) = LoopMount::new(64) else { return };
    std::fs::File::create(small.point().join("image")).unwrap().set_len(200 << 20).unwrap();
    let full = device(small.point(), "--device image --destroy-data image");
    let says = "no space is left behind it";
    assert!(full.code == Some(2) && full.err.contains(says) && full.err.lines().count() == 2, "{}", full.err);

    let Some(mount) = LoopMount::new(800) else { return };
    let mut command = seawall(mount.point());
    command.args(["dgen", "--quiet", "--directory", ".", "--jobs", "1", "--pctfull", "85"]);
    let filling = Running::start(command);
    let begun = |_: &usize| std::fs::metadata(mount.point().join("dir01/data0001")).is_ok_and(|about| about.len() > 0);
    assert!((0..LOOKS_MAX).any(|look| begun(&look)), "it never began");
    // More than is there: it takes what it can get and fails.
    let _ = Command::new("fallocate").args(["-l", "600M"]).arg(mount.point().join("thief")).status();
    let (status, lines) = filling.end();
    assert!(status.code() == Some(2) && lines.len() == 1, "{lines:?}");
    assert!(lines[0].contains("no space left after") || lines[0].contains("others filled"), "{lines:?}");
    std::fs::remove_file(mount.point().join("thief")).unwrap();
    let again = dgen(mount.point(), &["--pctfull", "85"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(dgen(mount.point(), &["--verify"]).code, Some(0));
}

/// The published line as it is printed, the program's name included.
#[test]
fn the_published_line_is_understood() {
    let Some(mount) = LoopMount::new(64) else { return };
    let line = format!("./dgen.pl --directory {} --jobs 2 --quiet --pctfull 20", mount.point().display());
    let ended = run(seawall(mount.point()).arg("dgen").args(line.split_whitespace()));
    assert!(ended.code == Some(0) && ended.out.is_empty(), "{}", ended.err);
    assert!(mount.point().join("dir02/data0001").is_file());
    // With one dash, and with a dash of a typographer.
    let copied = dgen(mount.point(), &["-verify"]);
    assert!(copied.code == Some(0) && copied.out.contains(" 0 wrong"), "{}", copied.err);
    let percent = dgen(mount.point(), &["–pctfull", "101"]);
    let says = "--pctfull: must be a whole number from 1 to 100, got \"101\"";
    assert!(percent.code == Some(2) && percent.err.contains(says), "{}", percent.err);
    let wrong = run(seawall(mount.point()).args(["dgen", "stray", "--directory", "."]));
    assert!(wrong.code == Some(2) && wrong.err.contains("stray"), "{}", wrong.err);
}
