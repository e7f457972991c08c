//! `seawall calibrate`: a model of storage, from recordings.

use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;

/// The ladder of these tests as fio options: a stage for each depth and size.
fn ladder(first: &[&str], rw: &str, depths: &[u32]) -> Vec<String> {
    let mut words: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
    words.extend(["--ioengine=libaio", "--direct=1", "--norandommap=1"].map(String::from));
    for block in ["4k", "64k"] {
        for depth in depths {
            words.extend([format!("--name={rw}{block}x{depth}"), format!("--rw={rw}"), format!("--bs={block}")]);
            words.extend([format!("--iodepth={depth}"), "--stonewall".into()]);
        }
    }
    words
}

/// Records reads of a device in virtual time, as run 1 of `kept.sqlite`.
fn record(scratch: &Scratch, device: &str, rw: &str, depths: &[u32]) {
    let first = ["simulate", "fio", "--device", device, "--size=10g", "--runtime=1", "--time_based=1"];
    let mut command = seawall(scratch.path());
    let ended = run(command.args(["--results", "kept.sqlite"]).args(ladder(&first, rw, depths)));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

fn calibrate(scratch: &Scratch, words: &[&str]) -> Ended {
    run(seawall(scratch.path()).args(["--results", "kept.sqlite", "calibrate"]).args(words))
}

/// A known drive, recorded through the engine in virtual time, is recovered; the output has the
/// error and the number of fitted values, and the result plays a plan.
#[test]
fn a_known_drive_comes_out_again_and_plays_a_plan() {
    let scratch = Scratch::new();
    let known = "[device]\nkind = \"flash\"\nchannels = 12\npage = 16384\nread = \"120us\"\n";
    std::fs::write(scratch.join("known.toml"), known).expect("written");
    record(&scratch, "known.toml", "randread", &[1, 4, 16, 64]);
    let said = calibrate(&scratch, &["--run", "1", "-o", "mine.toml"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
    for words in ["recorded simul.", "Points held out", "with 3 fitted numbers", "predicted: 3 fitted numbers"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let text = std::fs::read_to_string(scratch.join("mine.toml")).expect("an array");
    let number = |key: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).expect(key);
        line.trim_matches('"').trim_end_matches("ns").parse().expect(key)
    };
    for (key, is, within) in [("channels", 12.0, 0.09), ("page", 16_384.0, 0.0), ("read", 120_000.0, 0.03)] {
        let found = number(key);
        assert!((found / is - 1.0f64).abs() <= within, "{key}: {found}, put in {is}\n{text}");
    }
    assert!(text.contains("fitted: calibrated from run 1"), "{text}");
    let shown = run(seawall(scratch.path()).args(["arrays", "show", "mine.toml"]));
    assert!(shown.out.contains("calibrated from run 1") && !shown.out.contains("no source"), "{}", shown.out);
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/floor.toml");
    let words = ["simulate", plan, "--array", "mine.toml", "--phase-seconds", "2", "--out", "played"];
    let played = run(seawall(scratch.path()).args(words));
    assert!(played.out.contains("flash with channels"), "{played:?}");
    // The second time the file exists.
    let again = calibrate(&scratch, &["--run", "1", "-o", "mine.toml"]);
    assert!(again.code == Some(2) && again.err.contains("--output mine.toml: is there already"), "{again:?}");
}

/// A model that does not fit the recording gives exit code 1, and is written all the same.
#[test]
fn an_error_above_its_bound_is_a_no() {
    let scratch = Scratch::new();
    record(&scratch, "disk", "randread", &[1, 4, 16, 64]);
    let said = calibrate(&scratch, &["--run", "1", "--model", "parallel-servers", "--within", "1"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("MISSED") && said.out.contains("at most 1 %"), "{}", said.out);
    assert!(scratch.join("calibrated.toml").is_file());
}

/// A plan's closed loops are recordings too: the number of requests in flight is read from the
/// plan.
#[test]
fn a_plans_run_is_a_recording() {
    let scratch = Scratch::new();
    let mut plan = String::from(
        "title = \"ladder\"\nphase_seconds = 1\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nsize = \"10GB\"\nlun = \"l\"\n\
         [[workload]]\nname = \"w\"\nlun = \"/vol/v/l\"\ndepth = 1\n[device]\nkind = \"parallel-servers\"\nservers = 6\n\
         service = \"300us\"\n",
    );
    for depth in [1, 2, 4, 8, 16, 32] {
        plan += &format!("[[phase]]\nname = \"d{depth}\"\nw = {{ depth = {depth} }}\n");
    }
    std::fs::write(scratch.join("ladder.toml"), plan).expect("written");
    let ran = run(seawall(scratch.path()).args(["--results", "kept.sqlite", "simulate", "ladder.toml", "--out", "o"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = calibrate(&scratch, &["--run", "last"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = std::fs::read_to_string(scratch.join("calibrated.toml")).expect("an array");
    assert!(text.contains("kind = \"parallel-servers\"") && text.contains("servers = 6\n"), "{text}");
}

#[test]
fn what_says_nothing_of_storage_is_refused_in_one_line() {
    let scratch = Scratch::new();
    record(&scratch, "flash", "randread", &[1]);
    let refused = |words: &[&str], says: &str| {
        let ended = calibrate(&scratch, words);
        assert!(ended.code == Some(2) && ended.err.contains(says), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    };
    refused(&["--run", "1"], "run 1: needs at least 6 points that differ in depth, block size or mix, got 2");
    refused(&["--run", "9"], "9");
    refused(&["--run", "1,1"], "named already");
    let mut command = seawall(scratch.path());
    let buffered = ladder(&["simulate", "fio", "--size=1g", "--runtime=1", "--time_based=1"], "randwrite", &[1, 2, 4]);
    let buffered: Vec<String> = buffered.into_iter().filter(|word| !word.starts_with("--direct")).collect();
    run(command.args(["--results", "kept.sqlite"]).args(buffered));
    refused(&["--run", "2"], "run 2: went through the page cache");
    let mut command = seawall(scratch.path());
    run(command.args(["--results", "kept.sqlite"]).args(ladder(
        &["simulate", "fio", "--size=1g", "--runtime=1", "--time_based=1"],
        "randwrite",
        &[1, 2, 4, 8],
    )));
    refused(&["--run", "3", "--model", "flash"], "flash needs reads");
    std::fs::write(scratch.join("there"), "precious".repeat(8192)).expect("written");
    refused(&["--place", "there", "--writes"], "what is in it would be lost");
    refused(&[], "<--run <RUN[,RUN…]>|--place <FILE>>");
    refused(&["--run", "1", "--place", "there"], "cannot be used with");
    std::fs::write(scratch.join("small"), [7; 3686]).expect("written");
    refused(
        &["--place", "small"],
        "--place small: must hold at least 64 KiB, the ladder's largest request, got 3.60 KiB",
    );
    refused(&["--place", "."], "seawall: --place .: is a folder; name a file in it, which is made and removed again");
    refused(&["--place", "/dev/null"], "seawall: --place /dev/null: is neither a file nor a block device");
    for export in ["nbd://localhost:1/x", "null:1GiB"] {
        refused(
            &["--place", export],
            &format!("seawall: --place {export}: must be a file or device; load an export with"),
        );
    }
    std::fs::File::create(scratch.join("holes")).and_then(|file| file.set_len(1 << 20)).expect("made");
    refused(&["--place", "holes"], "seawall: --place holes: has holes, which are read without the storage");
    refused(&["--place", "there", "--size", "1GiB"], "seawall: --size 1 GiB: there is there, and the ladder reads all");
    for option in ["--rounds=2", "--seconds=2", "--size=1GiB", "--writes"] {
        refused(&["--run", "1", option], "cannot be used with");
    }
    refused(&["--place", "none/file"], "seawall: --place none/file: cannot be written (No such file");
    assert!(!scratch.join("none").exists());
    refused(&["--place", "new", "--size", "524288TiB"], "seawall: --place new: --size 512 PiB is more than the ");
    assert!(!scratch.join("new").exists());
}

/// The ladder on a real file: twelve points, a file that is removed again, a kept run, and an array
/// that can be played. Its speed is not checked.
#[test]
fn a_ladder_on_a_file_becomes_an_array() {
    let scratch = Scratch::new();
    // A colon separates names in fio's options, but is an ordinary character here.
    let said = calibrate(&scratch, &["--place", "a:file", "--size", "16MiB", "--seconds", "1", "--within", "1000"]);
    if said.err.contains("direct") && said.code == Some(2) {
        return crate::requires::skip("this file system has no direct I/O");
    }
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    assert_eq!(
        scratch.listing().into_iter().filter(|name| ["a", "file", "a:file"].contains(&name.as_str())).count(),
        0
    );
    assert!(said.out.contains("read 4 KiB, depth 32") && said.out.contains("read 64 KiB, depth 1"), "{}", said.out);
    let listed = run(seawall(scratch.path()).args([
        "--results",
        "kept.sqlite",
        "results",
        "list",
        "--where",
        "ladder=calibrate",
    ]));
    assert!(listed.out.contains("fio"), "{listed:?}");
    let played = "simulate fio --device calibrated.toml --name=a --size=1g --rw=randread --runtime=1 --time_based=1";
    assert_eq!(run(seawall(scratch.path()).args(played.split(' '))).code, Some(0));
}
