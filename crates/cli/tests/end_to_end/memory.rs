//! Where runs are kept, and what is done with them there.

use crate::requires::{client, requires};
use crate::running::{Ended, RESULTS, run, seawall, succeed};
use crate::scratch::Scratch;
use std::path::Path;
use std::process::Command;

/// A job that is over at once and needs no storage.
const JOB: [&str; 6] = ["fio", "--name=quick", "--ioengine=null", "--size=1m", "--rw=randread", "--output-format=json"];

fn kept(scratch: &Scratch, words: &[&str]) -> Ended {
    run(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(words))
}

fn results(scratch: &Scratch, words: &[&str]) -> String {
    let mut command = seawall(scratch.path());
    command.env(RESULTS, "kept.sqlite").arg("results").args(words);
    succeed(&mut command)
}

/// No test writes to the file of whoever runs it: the harness says that nothing is kept.
#[test]
fn tests_never_touch_a_users_file() {
    let scratch = Scratch::new();
    let variable = |command: &Command| {
        let found = command.get_envs().find(|(name, _)| *name == RESULTS);
        found.and_then(|(_, value)| value).map(|value| value.to_owned())
    };
    assert_eq!(variable(&seawall(scratch.path())).as_deref(), Some("none".as_ref()));
    let mut command = seawall(scratch.path());
    command.env("XDG_STATE_HOME", scratch.join("state")).env("HOME", scratch.path());
    let ended = run(command.args(JOB));
    assert_eq!((ended.code, scratch.listing()), (Some(0), Vec::new()), "{}", ended.err);
}

/// Without a word about it a run lands in the user's state, in a folder that nobody else reads; and
/// what fio's output is does not change.
#[test]
fn a_run_is_kept_in_the_users_state() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let home = |command: &mut Command| {
        command.env_remove(RESULTS).env("XDG_STATE_HOME", scratch.join("state"));
    };
    let mut command = seawall(scratch.path());
    home(&mut command);
    let ended = run(command.args(JOB));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 256);
    let folder = scratch.join("state/seawall");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    // One file: its log was brought into it.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let mut list = seawall(scratch.path());
    home(&mut list);
    let listed = succeed(list.args(["results", "list"]));
    assert!(listed.lines().nth(1).is_some_and(|line| line.contains("  fio ") && line.contains("quick")), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
}

/// The database has what fio's own output says, digit for digit.
#[test]
fn what_is_kept_is_what_was_printed() {
    let scratch = Scratch::new();
    let ended = kept(&scratch, &JOB);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let read = &document["jobs"][0]["read"];
    let query = "SELECT ops, bytes, cell.measured_ns / 1000000, min_ns, max_ns FROM cell JOIN latency USING (run, point, actor, class)
        WHERE class = 'read' AND kind = 'service'";
    let rows: serde_json::Value = serde_json::from_str(&results(&scratch, &["sql", "--json", query])).unwrap();
    assert_eq!((&rows[0]["ops"], &rows[0]["bytes"]), (&read["total_ios"], &read["io_bytes"]));
    assert_eq!((&rows[0]["min_ns"], &rows[0]["max_ns"]), (&read["clat_ns"]["min"], &read["clat_ns"]["max"]));
}

/// What the host did is kept beside what was measured, second by second; on the page and in `show`
/// it is told.
#[test]
fn the_host_is_kept_with_the_run() {
    let scratch = Scratch::new();
    let job = ["fio", "--name=load", "--filename=data", "--size=1m", "--rw=randread", "--runtime=2", "--time_based"];
    let ended = kept(&scratch, &job);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let query = "SELECT count(*) AS rows, min(second) AS first, max(second) < 10 AS last, min(idle_percent + user_percent + system_percent
        + iowait_percent + steal_percent) AS least, count(available_bytes) AS memory FROM host_seconds WHERE run = 1";
    let rows: serde_json::Value = serde_json::from_str(&results(&scratch, &["sql", "--json", query])).unwrap();
    let row = &rows[0];
    assert!(row["rows"].as_u64() >= Some(1) && row["memory"] == row["rows"] && row["first"] == 0.0, "{row}");
    assert!(row["least"].as_f64().is_some_and(|sum| (99.9..100.1).contains(&sum)), "{row}");
    let shown = results(&scratch, &["show", "last"]);
    assert!(shown.contains("\nprocessors: ") && shown.contains(" available at least, "), "{shown}");
    succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(["report", "last", "--output", "page.html"]));
    let page = std::fs::read_to_string(scratch.join("page.html")).unwrap();
    assert!(page.contains("What the host did meanwhile"));
    // Nothing is loaded there, and time is virtual: nobody watches the host.
    kept(&scratch, &["simulate", "fio", "--name=load", "--filename=data", "--size=1m", "--rw=randread"]);
    let simulated = "SELECT count(*) AS rows FROM host WHERE run = 2";
    assert_eq!(results(&scratch, &["sql", "--json", simulated]).trim(), "[{\"rows\":0}]");
}

/// A run comes before its keeping: whatever is wrong with the database, one line says so, and
/// nothing else changes.
#[test]
fn a_database_that_cannot_be_written_ends_no_run() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("words"), "no database, ".repeat(500)).unwrap();
    std::fs::create_dir(scratch.join("folder")).unwrap();
    kept(&scratch, &JOB);
    // The version stands at byte 60 of a SQLite file, as four bytes.
    let mut bytes = std::fs::read(scratch.join("kept.sqlite")).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(scratch.join("kept.sqlite"), bytes).unwrap();
    for (file, why) in [
        ("words", "not a file of Seawall's results"),
        ("folder", "folder: is a folder; name a file in it"),
        ("kept.sqlite", "written in format 99 by a newer Seawall"),
        ("/proc/none/results.sqlite", "make the folder"),
    ] {
        let ended = run(seawall(scratch.path()).env(RESULTS, file).args(JOB));
        assert_eq!(ended.code, Some(0), "{file}: {}", ended.err);
        assert!(serde_json::from_str::<serde_json::Value>(&ended.out).is_ok(), "{file}: {}", ended.out);
        let said: Vec<&str> = ended.err.lines().filter(|line| line.contains("not kept")).collect();
        assert!(said.len() == 1 && said[0].contains(why), "{file}: {}", ended.err);
    }
}

/// Labels find a run, are changed and taken away; a run is deleted by any of its names.
#[test]
fn runs_are_labelled_found_and_deleted() {
    let scratch = Scratch::new();
    let labelled = |word: &str| kept(&scratch, &[&["--label", word][..], &JOB].concat());
    labelled("storage=Clariion FC");
    labelled("storage=other");
    let found = results(&scratch, &["list", "--where", "storage=Clariion FC"]);
    assert!(found.lines().count() == 2 && found.contains("[storage=Clariion FC]"), "{found}");
    assert_eq!(
        results(&scratch, &["label", "last", "storage", "raid=5"]),
        "run 2: storage taken away\nrun 2: raid=5\n"
    );
    assert_eq!(results(&scratch, &["list", "--where", "storage"]).lines().count(), 2);
    assert_eq!(results(&scratch, &["list", "--where", "colour"]), "no run that is kept is one of those\n");
    let refused = kept(&scratch, &["--label", "a=b", "reproduce", "a300"]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("--label a=b: this command keeps no run; leave it out"), "{}", refused.err);
    let uuid = results(&scratch, &["sql", "--csv", "SELECT uuid FROM runs WHERE run = 1"]);
    let uuid = &uuid.lines().nth(1).unwrap()[..8];
    assert_eq!(results(&scratch, &["delete", uuid]), "run 1 deleted: quick\n");
    assert_eq!(results(&scratch, &["list"]).lines().count(), 2);
    let gone = kept(&scratch, &["results", "show", "last~1"]);
    assert!(gone.code == Some(2) && gone.err.contains("no run is called \"last~1\""), "{}", gone.err);
    // A number is not given twice.
    kept(&scratch, &JOB);
    assert!(results(&scratch, &["show"]).starts_with("run 3: quick\n"));
    let wrong = labelled("no word");
    assert!(wrong.code == Some(2) && wrong.err.contains("must be KEY=WORD"), "{}", wrong.err);
}

/// A query of a user changes nothing, reads nothing but the database, and ends.
#[test]
fn queries_are_read_only_and_end() {
    let scratch = Scratch::new();
    kept(&scratch, &JOB);
    let refused = |query: &str, why: &str| {
        let ended = kept(&scratch, &["results", "sql", "--time", "1", query]);
        assert!(ended.code == Some(2) && ended.err.contains(why), "{query}: {}", ended.err);
    };
    for change in [
        "DELETE FROM run",
        "UPDATE run SET title = 'x'",
        "DROP TABLE run",
        "CREATE TABLE x (y)",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA user_version = 1",
        "VACUUM INTO 'copy.sqlite'",
    ] {
        refused(change, "only queries are answered here");
    }
    refused("SELECT load_extension('x')", "not authorized");
    refused("SELECT nonsense", "no such column: nonsense");
    refused("SELECT 1; SELECT 2", "one statement at a time");
    refused("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n", "took too long");
    assert!(!scratch.join("other.sqlite").exists() && !scratch.join("copy.sqlite").exists());
    let views = results(&scratch, &["sql"]);
    for view in ["runs", "results", "latencies", "minutes", "seconds", "gate_seconds", "verdicts", "settings", "cycles"]
    {
        assert!(views.lines().any(|line| line == view), "{view}: {views}");
        results(&scratch, &["sql", &format!("SELECT * FROM {view}")]);
    }
}

/// What somebody wrote into a name or a label is words wherever it comes out.
#[test]
fn hostile_words_stay_words() {
    let scratch = Scratch::new();
    let name = "--name==1+1\u{1b}[2J<script>'); DROP TABLE run; --";
    let words = ["--label", "k==cmd|'/c calc'!A1", "fio", name, "--ioengine=null", "--size=1m", "--output-format=json"];
    let ended = kept(&scratch, &words);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // The label leaves the name little room in the list.
    for (shown, words) in [("list", "[k==cmd|'/c calc'!A1]"), ("show", "<script>")] {
        let shown = results(&scratch, &[shown]);
        assert!(!shown.contains('\u{1b}') && shown.contains(words), "{shown:?}");
    }
    let csv = results(&scratch, &["export", "last"]);
    assert!(csv.lines().nth(1).is_some_and(|line| line.contains(",'=1+1")), "{csv}");
    let json = results(&scratch, &["export", "last", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[0]["actor_name"], &name["--name=".len()..]);
    assert!(Path::new(&scratch.join("kept.sqlite")).exists());
    let query = "SELECT word FROM label";
    assert_eq!(results(&scratch, &["sql", "--csv", query]), "word\n'=cmd|'/c calc'!A1\n");
}

/// Runs of fio stand side by side on a page, in which nothing of them is markup; and another
/// database takes them in.
#[test]
fn runs_are_reported_and_imported() {
    let scratch = Scratch::new();
    let named = |name: &str| {
        let words = ["fio", name, "--ioengine=null", "--size=1m", "--rw=randrw", "--output-format=json"];
        assert_eq!(kept(&scratch, &words).code, Some(0));
    };
    named("--name=one<b>");
    named("--name=two");
    let said = kept(&scratch, &["report", "1", "2", "--output", "both.html"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "page      both.html\n"), "{}", said.err);
    let page = std::fs::read_to_string(scratch.join("both.html")).unwrap();
    assert!(page.contains("one&lt;b&gt;") && page.contains("two (run 2)") && !page.contains("one<b>"));
    let import = |expected: &str| {
        let words = ["results", "import", "kept.sqlite", "--results", "other.sqlite"];
        let taken = run(seawall(scratch.path()).args(words));
        assert_eq!((taken.code, taken.out.as_str()), (Some(0), expected), "{}", taken.err);
    };
    import("run 1 of kept.sqlite is run 1 here\nrun 2 of kept.sqlite is run 2 here\n");
    import("2 runs of kept.sqlite were here already\n");
}

/// Two runs of the same job are compared; with another block size that is refused.
#[test]
fn runs_are_compared_where_they_can_be() {
    let scratch = Scratch::new();
    // In virtual time, 30 s are a moment, and 4 times as deep is another figure.
    let job = |depth: &str, block: &str| {
        let words = [
            "simulate",
            "fio",
            "--name=j",
            "--filename=f",
            "--size=1g",
            "--rw=randread",
            "--runtime=30",
            "--time_based",
        ];
        let ended = kept(&scratch, &[&words[..], &["--ioengine=io_uring", depth, block]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    };
    job("--iodepth=1", "--bs=4k");
    job("--iodepth=1", "--bs=4k");
    job("--iodepth=4", "--bs=4k");
    job("--iodepth=1", "--bs=16k");
    let same = kept(&scratch, &["results", "compare", "1", "2"]);
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);
    let deeper = kept(&scratch, &["results", "compare", "1", "3"]);
    assert!(deeper.code == Some(1) && deeper.out.contains("differs"), "{}{}", deeper.out, deeper.err);
    assert!(deeper.out.lines().all(|line| line.chars().count() <= 80), "{}", deeper.out);
    let refused = kept(&scratch, &["results", "compare", "1", "4"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("read_block_bytes is 4096 in one, 16384"),
        "{}",
        refused.err
    );
    assert!(kept(&scratch, &["results", "compare", "--anyway", "1", "4"]).out.contains("IOPS"));
}

/// What fio itself wrote stands beside runs of ours with its own figures; of what is broken the
/// place is told, and nothing is taken in.
#[test]
fn fios_own_json_is_imported() {
    requires!("fio");
    let scratch = Scratch::new();
    let mut fio = client("fio");
    fio.current_dir(scratch.path()).args(["--name=theirs", "--ioengine=null", "--size=1m", "--rw=randread", "--bs=8k"]);
    succeed(fio.args(["--output-format=json+", "--output=theirs.json"]));
    let text = std::fs::read_to_string(scratch.join("theirs.json")).unwrap();
    assert_eq!(results(&scratch, &["import", "theirs.json"]), "run 1 of theirs.json is run 1 here\n");
    assert_eq!(results(&scratch, &["import", "theirs.json"]), "1 run of theirs.json was here already\n");
    let document: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let read = &document["jobs"][0]["read"];
    let query = "SELECT ops, bytes, min_ns, max_ns, count, tool, version FROM cell JOIN latency USING (run, point, actor, class)
        JOIN run ON run.id = cell.run WHERE class = 'read' AND kind = 'service'";
    let rows: serde_json::Value = serde_json::from_str(&results(&scratch, &["sql", "--json", query])).unwrap();
    assert_eq!((&rows[0]["ops"], &rows[0]["bytes"]), (&read["total_ios"], &read["io_bytes"]));
    assert_eq!((&rows[0]["min_ns"], &rows[0]["max_ns"]), (&read["clat_ns"]["min"], &read["clat_ns"]["max"]));
    assert_eq!((&rows[0]["count"], &rows[0]["version"]), (&read["clat_ns"]["N"], &document["fio version"]));
    std::fs::write(scratch.join("bad.json"), text.replacen("\"jobname\"", "\"jobnam\"", 1)).unwrap();
    let refused = kept(&scratch, &["results", "import", "bad.json"]);
    assert!(refused.code == Some(2) && refused.err.contains("jobs[0].jobname: must be there"), "{}", refused.err);
    assert_eq!(results(&scratch, &["list"]).lines().count(), 2);
}

/// A row of a ramp's table is a point with its counts, its verdict, and its times as settings.
#[test]
fn a_ramps_summary_is_imported() {
    let scratch = Scratch::new();
    let row = ramp::RampRow {
        target: 75_000,
        write_iops: 100.0,
        reads: 5000,
        elapsed: block::Span::from_secs(10),
        longest_cycle: block::Span::from_millis(32_660),
        verdict: "fail".into(),
        system: "=epic<1>".into(),
        ..ramp::RampRow::default()
    };
    std::fs::write(scratch.join("summary.csv"), ramp::summary_csv(&[row])).unwrap();
    assert_eq!(results(&scratch, &["import", "summary.csv"]), "run 1 of summary.csv is run 1 here\n");
    let query = "SELECT ops, iops, point_name FROM results WHERE class = 'all'";
    assert_eq!(results(&scratch, &["sql", "--csv", query]), "ops,iops,point_name\n6000,600,75000 IOPS\n");
    let query = "SELECT number FROM setting WHERE key = 'longest_cycle_ms'";
    assert_eq!(results(&scratch, &["sql", "--csv", query]), "number\n32660\n");
    assert!(results(&scratch, &["list"]).contains("=epic<1>"));
    std::fs::write(scratch.join("summary.csv"), format!("{}1,2\n", ramp::HEADER)).unwrap();
    let refused = kept(&scratch, &["results", "import", "summary.csv"]);
    assert!(refused.code == Some(2) && refused.err.contains("line 2: has 2 of 28 fields"), "{}", refused.err);
}

/// No output takes the place of the results, of an input or of anything else that is not an earlier
/// output of its kind, and none is written before all of them can be.
#[test]
fn an_output_replaces_only_its_like() {
    let scratch = Scratch::new();
    assert_eq!(kept(&scratch, &JOB).code, Some(0));
    std::fs::write(scratch.join("job.fio"), "[j]\nioengine=null\nsize=1m\nrw=read\n").unwrap();
    std::os::unix::fs::symlink(scratch.join("kept.sqlite"), scratch.join("link")).unwrap();
    let before = ["kept.sqlite", "job.fio"].map(|name| std::fs::read(scratch.join(name)).unwrap());
    for (words, why) in [
        ("report 1 -o kept.sqlite", "--output kept.sqlite: is a database"),
        ("report 1 -o link", "--output link: is a database"),
        ("results export 1 -o kept.sqlite", "--output kept.sqlite: is a database"),
        ("fio job.fio --output=kept.sqlite", "--output kept.sqlite: is a database"),
        ("results export 1 -o job.fio", "--output job.fio: is there and is not an earlier output of this kind"),
        ("report 1 -o job.fio", "--output job.fio: is there and is not an HTML page"),
        ("fio job.fio --output=job.fio", "--output job.fio: is a job file of this run"),
    ] {
        let refused = kept(&scratch, &words.split(' ').collect::<Vec<_>>());
        assert!(refused.code == Some(2) && refused.err.contains(why), "{words}: {}", refused.err);
    }
    let after = ["kept.sqlite", "job.fio"].map(|name| std::fs::read(scratch.join(name)).unwrap());
    assert!(before == after, "they were left alone");
    for format in ["csv", "tsv", "json"] {
        for _ in 0..2 {
            let again = kept(&scratch, &["results", "export", "1", "--format", format, "-o", format]);
            assert_eq!(again.code, Some(0), "{format}: {}", again.err);
        }
    }
    assert_eq!(kept(&scratch, &["report", "-o", "csv"]).code, Some(2));
}

/// Repeated names of a run count once; a label that is not there is a "no", an empty one is none.
#[test]
fn runs_and_labels_are_named_once() {
    let scratch = Scratch::new();
    let empty = kept(&scratch, &["results", "list"]);
    assert_eq!(empty.code, Some(2), "{}", empty.out);
    assert_eq!(kept(&scratch, &JOB).code, Some(0));
    let absent = kept(&scratch, &["results", "label", "1", "nokey"]);
    assert_eq!((absent.code, absent.out.as_str()), (Some(1), "run 1: nokey was not there\n"));
    let blank = kept(&scratch, &["results", "label", "1", "a="]);
    assert!(blank.code == Some(2) && blank.err.contains("a word that is not empty"), "{}", blank.err);
    assert_eq!(results(&scratch, &["delete", "1", "last", "1"]), "run 1 deleted: quick\n");
    for words in [
        &["results", "show"][..],
        &["report"],
        &["spec", "fsx", "--throughput", "512", "--ssd", "2TiB", "--compare", "last"],
    ] {
        let none = kept(&scratch, words);
        assert!(none.code == Some(2) && none.err.contains("kept.sqlite: no run is kept yet"), "{}", none.err);
    }
    let folder = run(seawall(scratch.path()).args(["--results", ".", "results"]));
    assert!(folder.code == Some(2) && folder.err.contains(".: is a folder; name a file in it"), "{}", folder.err);
}
