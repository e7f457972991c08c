//! `seawall tiers`: the published table, lists with files of other tools, tiers loaded one after
//! the other, and what is wrong.

use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;

/// The program with a memory of its own.
fn tiers(scratch: &Scratch, words: &[&str]) -> Ended {
    let mut command = seawall(scratch.path());
    command.env("XDG_STATE_HOME", scratch.join("state")).env("SEAWALL_RESULTS", scratch.join("r.sqlite"));
    run(command.arg("tiers").args(words))
}

/// Without a list the published comparison, with its impossible cell and what it says; as a page
/// too.
#[test]
fn the_published_comparison_is_shown() {
    let scratch = Scratch::new();
    let shown = tiers(&scratch, &["show", "--baseline", "3", "-o", "t.html"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for part in ["Max TPS is below Avg TPS (110 < 935)", "IOPS differ 22-fold", "Against test 3", "page      t.html"] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert!(std::fs::read_to_string(scratch.join("t.html")).unwrap().contains("pass-thru"));
    let csv = tiers(&scratch, &["show", "--csv", "--xlsx", "t.xlsx"]);
    assert!(std::fs::read(scratch.join("t.xlsx")).unwrap().starts_with(b"PK"), "a workbook is a zip");
    assert_eq!(csv.out.lines().count(), 12, "{}", csv.out);
    let against = tiers(&scratch, &["show", "--csv", "--baseline", "2"]).out;
    assert!(against.lines().nth(3).unwrap().contains(",0.0,0.0,-29.1,"), "Max TPM of test 3: {against}");
    assert!(csv.out.starts_with("test,storage,spindle_type,"), "{}", csv.out);
}

/// Two folders get a database, Orion's point and a batch of RanRead each, twice; the table has the
/// medians, what the host sees, and a file of another tool beside them. The tiers are read only
/// after that.
#[test]
fn tiers_are_loaded_in_turns_and_stand_beside_old_tests() {
    let scratch = Scratch::new();
    let list = "title = \"two\"\n[load]\norion = \"-run advanced -matrix point -num_small 2 -num_large 0 -duration 1\"\n\
                ranread = [2]\niterations = 50\nsize_gb = 1\nrepeats = 2\n[[tier]]\npath = \"a\"\nstorage = \"first\"\n\
                [[tier]]\ntest = 7\npath = \"b\"\nimport = [\"old.txt\"]\n";
    std::fs::write(scratch.join("two.toml"), list).unwrap();
    std::fs::write(scratch.join("old.txt"), "Maximum Large MBPS=117.46 @ Small=0 and Large=2\n").unwrap();
    // A database of setup, only smaller, as this test needs no figures.
    for folder in ["a", "b"] {
        let words = ["ranread", "setup", folder, "TIER", "16MiB"];
        let ended = run(seawall(scratch.path()).env("XDG_STATE_HOME", scratch.join("state")).args(words));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let ran = tiers(&scratch, &["run", "two.toml"]);
    // Databases that fit into memory: of themselves the runs cannot say, and all of them were made.
    assert!(ran.code == Some(2) && ran.err.contains("test 7: verdict: cannot say"), "{ran:?}");
    let csv = tiers(&scratch, &["show", "two.toml", "--csv"]).out;
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][0], rows[1][0], rows[0][1]), (2, "1", "7", "first"), "{csv}");
    assert!(rows.iter().all(|row| row[6].parse::<f64>().is_ok_and(|iops| iops > 0.0)), "{csv}");
    assert_eq!((rows[0][7], rows[1][7], rows[0][8]), ("N/A", "117.46", "N/A"), "nothing is filled in: {csv}");
    let shown = tiers(&scratch, &["show", "two.toml", "--baseline", "1"]).out;
    let again = shown.lines().any(|line| line.trim_start().starts_with("test 7: IOPS ") && line.contains(" in "));
    assert!(again && shown.contains("Against test 1"), "{shown}");
    assert!(scratch.join("tiers/tier1.lun").exists());
}

/// Two arrays that nobody has: all fourteen columns come out in virtual time, and a cache that
/// holds the database has more of all that a database wants.
#[test]
fn arrays_are_tiers_in_virtual_time() {
    let scratch = Scratch::new();
    let list = "title = \"arrays\"\n[load]\norion = \"-run simple -num_disks 1 -duration 2\"\n\
                ranread = [4]\niterations = 200\noltp = \"--users 20 --time 60 --warm-up 10\"\n\
                [[tier]]\narray = \"usp-v-fc-raid5\"\nstorage = \"five\"\nvirtualized = \"No\"\n\
                [[tier]]\narray = \"usp-v-fc-raid10-512\"\nstorage = \"ten\"\nvirtualized = \"No\"\n";
    std::fs::write(scratch.join("arrays.toml"), list).unwrap();
    let ran = tiers(&scratch, &["run", "arrays.toml"]);
    assert!(
        ran.code == Some(0)
            && ran.out.contains("what limited order entry: storage; ")
            && !ran.out.contains("limits is elsewhere"),
        "{ran:?}"
    );
    let csv = tiers(&scratch, &["show", "arrays.toml", "--csv"]).out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    // Of the first its cache is no part of the array's file; all else is simulated or seen in it.
    let empty = |row: &[&str]| row.iter().filter(|cell| **cell == "N/A").count();
    assert_eq!((rows.len(), rows[0].len(), empty(&rows[1]), empty(&rows[2])), (3, 14, 1, 0), "{csv}");
    let column = |name: &str| rows[0].iter().position(|head| *head == name).expect(name);
    let figure = |row: usize, name: &str| -> f64 { rows[row][column(name)].parse().expect(name) };
    for (name, factor) in [("iops", 5.0), ("avg_tps", 2.0), ("max_tpm", 2.0)] {
        assert!(figure(2, name) > factor * figure(1, name), "{name}: {csv}");
    }
    assert_eq!((rows[1][column("spindle_type")], rows[2][column("raid_level")]), ("HDD", "10"), "{csv}");
}

/// Jobs of fio with the labels of a list count; what does not is listed with the reason: a test
/// that the list has not, small requests in order, and a path that is not there.
#[test]
fn jobs_with_the_labels_count() {
    let scratch = Scratch::new();
    std::fs::write(
        scratch.join("jobs.toml"),
        "title = \"jobs\"\n[[tier]]\nstorage = \"disk\"\n[[tier]]\npath = \"not/there\"\n",
    )
    .unwrap();
    for (tier, order) in [("1", "randread"), ("2", "read"), ("77", "randread")] {
        let label = format!("tier={tier}");
        let words = ["--label", "tiers=jobs", "--label", &label, "simulate", "fio", "--name=j", "--size=8m", "--bs=8k"];
        let mut command = seawall(scratch.path());
        command.env("SEAWALL_RESULTS", scratch.join("r.sqlite")).args(words);
        let ended = run(command.args(["--direct=1", &format!("--rw={order}")]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let shown = tiers(&scratch, &["show", "jobs.toml", "--csv"]).out;
    let iops = shown.lines().skip(1).map(|line| line.split(',').nth(6).unwrap()).collect::<Vec<_>>();
    assert!(iops[0].parse::<f64>().is_ok_and(|iops| iops > 0.0) && iops[1] == "N/A", "{shown}");
    let shown = tiers(&scratch, &["show", "jobs.toml"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Left out",
        "run 3 (fio): the list has no test 77",
        "run 2 (fio) of test 2: no complete point",
        "path = \"not/there\" of test 2: it does not exist",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("Seen by this host"), "{shown}");
}

#[test]
fn what_is_wrong_is_one_line() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("bad.toml"), "[[tier]]\nspeed = 3\n").unwrap();
    std::fs::write(scratch.join("bare.toml"), "[[tier]]\nstorage = \"x\"\n").unwrap();
    std::fs::write(scratch.join("none.toml"), "[[tier]]\n[[tier]]\narray = \"usp-w\"\n").unwrap();
    std::fs::write(scratch.join("typo.toml"), "[[tier]]\npath = \"dta/a\"\n").unwrap();
    std::fs::write(scratch.join("note.txt"), "hello\n").unwrap();
    for (words, says) in [
        (&["show", "no.toml"][..], "no.toml: "),
        (&["show", "bad.toml"], "bad.toml: line 2: speed: there is no such key"),
        (&["show", "--baseline", "77"], "--baseline 77: no tier has this number; there are 1, 2,"),
        (&["show", "bare.toml", "--import", "1=note.txt"], "note.txt is no file that is known"),
        (&["show", "bare.toml", "--import", "9=note.txt"], "--import 9=note.txt: no tier has this number"),
        (&["run", "bare.toml"], "no tier has a path"),
        (&["show", "none.toml"], "none.toml: test 2: array: must be one of"),
        (&["run", "typo.toml"], "test 1: path = \"dta/a\": there is no folder dta; make it first"),
        (&["run", "bare.toml", "--cpus", "0"], "must be a number of processors"),
    ] {
        let ended = tiers(&scratch, words);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{words:?}: {ended:?}");
        assert!(ended.err.contains(says) && ended.err.lines().count() == 1, "{words:?}: {}", ended.err);
    }
}

/// A mistake in the load of the list is found before any folder or database is made, and the
/// message names the file and the key.
#[test]
fn the_load_is_checked_before_anything_is_written() {
    let scratch = Scratch::new();
    for (load, says) in [
        ("orion = \"-run simple -durations 5\"", "bad.toml: load.orion: -durations: "),
        ("orion = \"-help\"", "bad.toml: load.orion: -help: measures nothing"),
        ("ranread = [0]", "bad.toml: load.ranread: "),
        ("oltp = \"--user 2\"", "bad.toml: load.oltp: oltp: unexpected argument '--user'"),
        ("oltp = \"--disable XX\"", "bad.toml: load.oltp: --disable: "),
        ("oltp = \"--csv no/such/f.csv\"", "bad.toml: load.oltp: --csv no/such/f.csv: cannot be written"),
    ] {
        std::fs::write(scratch.join("bad.toml"), format!("[load]\n{load}\n[[tier]]\npath = \"a\"\n")).unwrap();
        let ran = tiers(&scratch, &["run", "bad.toml"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{load}: {ran:?}");
        assert!(ran.err.contains(says) && ran.err.lines().count() == 1, "{load}: {ran:?}");
        assert!(!scratch.join("a").exists() && !scratch.join("tiers").exists(), "{load}");
    }
    // What needs a database is refused for an array.
    std::fs::write(
        scratch.join("bad.toml"),
        "[load]\noltp = \"--rate 5\"\n[[tier]]\npath = \"a\"\n[[tier]]\narray = \"usp-v-fc-raid5\"\n",
    )
    .unwrap();
    let ran = tiers(&scratch, &["run", "bad.toml"]);
    assert!(ran.code == Some(2) && ran.err.contains("load.oltp: --rate: needs a database"), "{ran:?}");
    assert!(!scratch.join("a").exists(), "{ran:?}");
}

/// Order entry fills the columns of transactions, disk and processors, but for the best minute of
/// less than a minute: in a folder its database is made first.
#[test]
fn order_entry_fills_its_columns() {
    let scratch = Scratch::new();
    let list = "title = \"shop\"\n[load]\norion = \"\"\nranread = []\noltp = \"--users 2 --time 1 --warm-up 0\"\nscale = 0.0001\n\
                [[tier]]\npath = \"a\"\n";
    std::fs::write(scratch.join("shop.toml"), list).unwrap();
    let ran = tiers(&scratch, &["run", "shop.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let csv = tiers(&scratch, &["show", "shop.toml", "--csv"]).out;
    let [heads, row] = [0, 1].map(|line| csv.lines().nth(line).unwrap().split(',').collect::<Vec<_>>());
    let cell = |column: &str| row[heads.iter().position(|head| *head == column).unwrap()];
    for column in ["max_tps", "avg_tps", "avg_resp", "cpu_pct"] {
        assert!(cell(column).parse::<f64>().is_ok_and(|figure| figure > 0.0), "{column}: {csv}");
    }
    // There was no minute: its most is not known, and nothing is impossible of it.
    assert_eq!(cell("max_tpm"), "N/A", "{csv}");
    // How busy the processors were is said once, by the run itself.
    let mut listed = seawall(scratch.path());
    let listed = run(listed.env("SEAWALL_RESULTS", scratch.join("r.sqlite")).args(["results", "list"])).out;
    assert!(listed.contains("tiers=shop") && !listed.contains("cpu_pct="), "{listed}");
    assert!(!ran.out.contains("Impossible"), "{ran:?}");
    let wrong = list.replace("0.0001", "0");
    std::fs::write(scratch.join("shop.toml"), wrong).unwrap();
    let refused = tiers(&scratch, &["run", "shop.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("load.scale"), "{refused:?}");
}
