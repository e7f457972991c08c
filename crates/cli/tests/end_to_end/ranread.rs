//! `seawall ranread`: creating and removing databases, batches printed as in the original, kept
//! rows, and sweeps.

use crate::relay::Relay;
use crate::running::{Ended, RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::process::Command;

/// The program with its own results database.
fn program(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = seawall(scratch.path());
    command.env("XDG_STATE_HOME", scratch.join("state")).env(RESULTS, "kept.sqlite").arg("ranread").args(words);
    command
}

fn results(scratch: &Scratch, words: &[&str]) -> String {
    succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").arg("results").args(words))
}

/// The published query, character by character.
const PUBLISHED: &str = "SELECT RunDate,RunTime,Database,Iterations,Processes, {fn ROUND(AVG(ResponseTime),2)} As \
                         ResponseTime, {fn ROUND(AVG(IOPS),0)} As IOPS FROM PerfTools.RanRead GROUP BY Batch";

fn ranread(scratch: &Scratch, words: &[&str]) -> Ended {
    run(&mut program(scratch, words))
}

/// Makes a database of 16 MiB: every machine has more memory, so no verdict on its storage is
/// possible.
fn set_up(scratch: &Scratch) {
    let ended = ranread(scratch, &["setup", "db", "zr", "16MiB"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The kept rows of processes; none before the first batch.
fn rows(scratch: &Scratch) -> Vec<String> {
    // The file is empty while the batch creates it.
    if std::fs::metadata(scratch.join("kept.sqlite")).map_or(0, |about| about.len()) == 0 {
        return Vec::new();
    }
    let text = results(scratch, &["sql", "--csv", "SELECT Batch, Processes, Job, Iterations FROM PerfTools.RanRead"]);
    text.lines().skip(1).map(str::to_owned).collect()
}

/// The export of that kind, whole.
fn export_of(scratch: &Scratch, ending: &str) -> String {
    let name =
        scratch.listing().into_iter().find(|name| name.starts_with("PerfToolsRanRead_") && name.ends_with(ending));
    std::fs::read_to_string(scratch.join(&name.expect("it was exported"))).unwrap()
}

/// Data that dgen made for a ramp is not written without consent, neither here nor by Orion.
#[test]
fn data_for_a_ramp_is_not_written() {
    let Some(device) = crate::loop_device::LoopDevice::new(64) else { return };
    let (scratch, name) = (Scratch::new(), device.name());
    succeed(seawall(scratch.path()).args(["dgen", "--quiet", "--pctfull", "50", "--device", &name]));
    let refusal =
        format!("seawall: {name}: holds data of seawall dgen for a ramp; --destroy-data={name} overwrites it");
    let both = format!("concat:{name},null:1GiB");
    for target in [&name, &both] {
        let refused = ranread(&scratch, &["run", target, "1", "8", "--write"]);
        assert!(refused.code == Some(2) && refused.err.contains(&refusal), "{refused:?}");
    }
    std::fs::write(scratch.join("t.lun"), &name).unwrap();
    let point = "orion -run advanced -testname t -matrix point -num_small 1 -num_large 0 -duration 1 -write 50";
    let refused = run(seawall(scratch.path()).args(point.split(' ')));
    assert!(refused.code == Some(2) && refused.err.contains(&refusal), "{refused:?}");
    assert!(succeed(seawall(scratch.path()).args(["dgen", "--verify", "--device", &name])).contains(" 0 wrong"));
    for words in [&["--read-percent", "100"][..], &["--write", "--destroy-data", &name]] {
        let read = ranread(&scratch, &[&["run", &name, "1", "8"][..], words].concat());
        assert!(read.out.contains("Random read background jobs finished."), "{words:?}: {read:?}");
    }
}

/// Setup prints the original's text, with advice beside it; blocks have headers; it refuses an
/// existing database, and purge removes it.
#[test]
fn a_database_is_made_refused_twice_and_removed() {
    let scratch = Scratch::new();
    let made = ranread(&scratch, &["setup", "db", "zr", "16MiB"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.starts_with("\u{a0}\nCreating 16MiB database in db/\nDatabase created in db/\n"), "{}", made.out);
    assert!(made.out.ends_with("do ##class(PerfTools.RanRead).Run(\"db/\",1,10000)\n"), "{}", made.out);
    assert!(made.err.contains("this machine has") && made.err.contains("--array-cache"), "{}", made.err);
    let data = std::fs::read(scratch.join("db/RANREAD.DAT")).unwrap();
    assert_eq!(data.len(), 16 << 20);
    for (index, block) in data.chunks(8192).enumerate() {
        // The mark of a block, and its offset.
        assert_eq!(&block[..4], b"SWv1", "block {index}");
        assert_eq!(block[16..24], (index as u64 * 8192).to_le_bytes(), "block {index}");
    }
    let again = ranread(&scratch, &["setup", "db", "zr", "16MiB"]);
    assert!(again.code == Some(2) && again.err.contains("has a database already"), "{again:?}");
    // Nothing is created in /dev, neither folders nor files.
    let device = ranread(&scratch, &["setup", "/dev/seawall-has-none", "zr", "16MiB"]);
    assert!(device.code == Some(2) && device.err.contains("no files are made in /dev"), "{device:?}");
    assert!(device.out.is_empty() && !std::path::Path::new("/dev/seawall-has-none").exists());
    let other = ranread(&scratch, &["purge", "db", "other"]);
    assert!(other.code == Some(2) && other.err.contains("has the database ZR and not OTHER"), "{other:?}");
    assert_eq!(ranread(&scratch, &["purge", "db"]).code, Some(0));
    assert!(!scratch.join("db").exists());
}

/// The published call works; the console output is the original's; figures that averages hide are
/// on the standard error; and a database smaller than memory has no verdict.
#[test]
fn a_batch_is_told_as_the_original_tells_it() {
    let scratch = Scratch::new();
    set_up(&scratch);
    let ended = ranread(&scratch, &["do ##class(PerfTools.RanRead).Run(\"db\",3,200)"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines[3], "Starting 3 jobs in the background.");
    assert!(lines[5].starts_with("Waiting for jobs to finish"), "{}", ended.out);
    assert_eq!(lines[6], "Random read background jobs finished.");
    assert!(lines[7].starts_with("3 processes (200 iterations) average response time = "), "{}", lines[7]);
    assert!(ended.err.contains("600 requests, p50 "), "{}", ended.err);
    assert!(ended.err.contains("seawall: verdict: cannot say: what was loaded has 16 MiB"), "{}", ended.err);
    assert_eq!(rows(&scratch), ["1,3,1,200", "1,3,2,200", "1,3,3,200"]);
    let verdict = "SELECT outcome FROM verdict";
    assert_eq!(
        results(&scratch, &["sql", "--csv", verdict]),
        "outcome\ncannot_say\n",
        "nor has it one where it is kept"
    );
    // 64 KiB, half of them writes: each process makes the same number of requests.
    let mixed = ranread(&scratch, &["run", "db", "2", "100", "--block", "64k", "--read-percent", "50"]);
    assert!(mixed.err.contains("200 requests, p50 "), "{mixed:?}");
    let data = std::fs::read(scratch.join("db/RANREAD.DAT")).unwrap();
    assert!(data.chunks(8192).all(|block| &block[..4] == b"SWv1"), "what is written keeps its headers");
    let exported = ranread(&scratch, &["export", "."]);
    assert!(exported.code == Some(0) && exported.out.ends_with("Done.\n"), "{exported:?}");
    let text = export_of(&scratch, ".txt");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "RunDate\tRunTime\tDatabase\tIterations\tProcesses\tResponseTime\tIOPS\t");
    assert!(lines[1].contains("\tdb/\t200\t3\t") && lines[2].contains("\tdb/\t100\t2\t"), "{text}");
    // The published query returns the same. SQLite prints real numbers with decimals, which are
    // removed here.
    let asked = results(&scratch, &["sql", "--csv", PUBLISHED]);
    assert_eq!(asked.lines().count(), 3, "{asked}");
    for (asked, line) in asked.lines().zip(&lines) {
        assert_eq!(asked.replace(',', "\t") + "\t", **line);
    }
    assert_eq!((ranread(&scratch, &["reset"]).code, rows(&scratch).len()), (Some(0), 0));
    assert_eq!(ranread(&scratch, &["export", "."]).code, Some(2));
}

/// Another shell stops a batch, which prints what was done; without a batch there is nothing to
/// stop.
#[test]
fn stop_ends_a_batch_of_another_shell() {
    let scratch = Scratch::new();
    set_up(&scratch);
    let nothing = ranread(&scratch, &["stop"]);
    assert!(nothing.code == Some(2) && nothing.err.contains("no batch is running"), "{nothing:?}");
    let mut running = Running::start(program(&scratch, &["run", "db", "2", "--seconds", "600"]));
    wait_for_rows(&scratch, &mut running);
    let early = ranread(&scratch, &["reset"]);
    assert!(early.code == Some(2) && early.err.contains("runs a batch; stop it first"), "{early:?}");
    assert_eq!(ranread(&scratch, &["stop"]).code, Some(0));
    let (_, lines) = running.end();
    let took = lines.iter().find_map(|line| line.strip_prefix("2 processes (")?.split_once(" seconds) average"));
    assert!(took.is_some_and(|(took, _)| took.parse::<f64>().is_ok_and(|took| took < 600.0)), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("stopped before the end")), "{lines:?}");
    assert_eq!(rows(&scratch).len(), 2);
    assert_eq!(ranread(&scratch, &["export", ".", "--csv"]).code, Some(0));
    assert!(export_of(&scratch, ".csv").lines().nth(1).is_some_and(|line| line.ends_with(",stopped")));
    let state = results(&scratch, &["sql", "--csv", "SELECT state FROM runs"]);
    assert_eq!(state, "state\ncut_short\n");
}

/// A batch killed in the middle leaves its rows until the last second.
#[test]
fn a_killed_batch_leaves_its_rows() {
    let scratch = Scratch::new();
    set_up(&scratch);
    let mut running = Running::start(program(&scratch, &["run", "db", "2", "--seconds", "600"]));
    wait_for_rows(&scratch, &mut running);
    running.signal("KILL");
    running.end();
    assert_eq!(ranread(&scratch, &["export", ".", "--csv"]).code, Some(0));
    let text = export_of(&scratch, ".csv");
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with(",cut off")), "{text}");
}

/// Waits until the rows of a running batch are kept.
fn wait_for_rows(scratch: &Scratch, running: &mut Running) {
    while rows(scratch).len() < 2 {
        assert_eq!(running.ended(), None);
    }
}

/// Processes take turns at a database and an export of a server: each gets half of them, and the
/// rows name both.
#[test]
fn a_directory_and_an_export_take_turns() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    set_up(&scratch);
    let uri = server.uri(LUN);
    let both = format!("db,{uri}");
    let ended = ranread(&scratch, &["run", &both, "4", "50", "--read-percent", "100"]);
    assert!(ended.err.contains("200 requests, p50 "), "{ended:?}");
    // A database of 16 MiB and an export of 64: less than any machine's memory.
    assert!(ended.code == Some(2) && ended.err.contains("what was loaded has 80 MiB"), "{ended:?}");
    let query = "SELECT kind, name, (SELECT count(*) FROM actor WHERE actor.place = place.n) FROM place ORDER BY n";
    let kept = results(&scratch, &["sql", "--csv", query]);
    let lines: Vec<&str> = kept.lines().skip(1).collect();
    assert_eq!(lines, ["folder,db/,2", &format!("nbd,{uri},2")]);
    let database = results(&scratch, &["sql", "--csv", "SELECT DISTINCT Database FROM RanRead"]);
    assert_eq!(database.lines().nth(1), Some(format!("\"db/,{uri}\"").as_str()));
}

/// Processes take turns at several targets, and null targets keep rows like any other. The run is
/// listed, shown in 80 columns, compared with itself, put on a page, and exported with native
/// charts.
#[test]
fn batches_are_runs_like_any_other() {
    let scratch = Scratch::new();
    let two = ["run", "null:1GiB,null:2GiB", "4", "--seconds", "2"];
    for _ in 0..2 {
        let ended = ranread(&scratch, &two);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let listed = results(&scratch, &["list", "--tool", "ranread"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains("  ranread  ") && listed.contains("random reads of null:1GiB,null:2GiB"), "{listed}");
    let places = "SELECT place, count(*) FROM results WHERE run = 1 AND class = 'all' GROUP BY place ORDER BY place";
    assert_eq!(results(&scratch, &["sql", "--csv", places]), "place,count(*)\nnull:1GiB,2\nnull:2GiB,2\n");
    let shown = results(&scratch, &["show", "1"]);
    assert!(shown.contains("4 processes, 2") && shown.contains("\nprocesses            read "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let mut compare = seawall(scratch.path());
    let compared = run(compare.env(RESULTS, "kept.sqlite").args(["results", "compare", "1", "1"]));
    assert!(compared.out.contains("4 processes, processes, read"), "{compared:?}");
    succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(["report", "1", "--output", "page.html"]));
    let page = std::fs::read_to_string(scratch.join("page.html")).unwrap();
    assert!(page.contains("4 processes") && page.contains("random reads of null:1GiB,null:2GiB"));
    let written = results(&scratch, &["export", "1", "2", "--format", "xlsx", "--output", "runs.xlsx"]);
    assert_eq!(written, "2 runs written to runs.xlsx\n");
    let mut to_nowhere = seawall(scratch.path());
    let no_file = run(to_nowhere.env(RESULTS, "kept.sqlite").args(["results", "export", "1", "--format", "xlsx"]));
    assert!(no_file.code == Some(2) && no_file.err.contains("name its file with --output FILE"), "{no_file:?}");
}

#[test]
fn what_cannot_be_loaded_is_said_in_one_line() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("plain")).unwrap();
    set_up(&scratch);
    for (words, part) in [
        (&["run", "plain"][..], "plain: has no database of setup; make one with: seawall ranread setup"),
        (&["run", "nowhere"], "nowhere: is no directory"),
        (&["run", "db,db", "1"], "PROCESSES: must be at least one for each of 2 targets, got 1"),
        (&["run", "/dev/null"], "/dev/null"),
        (&["purge", "plain"], "plain: has no database of setup"),
        (&["export", "nowhere"], "export: nowhere is no directory"),
        (&["export", ".", "--sheet", "array=x"], "--sheet: needs --xlsx beside it"),
    ] {
        let ended = ranread(&scratch, words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        let errors = ended.err.lines().count();
        assert!(ended.err.contains(part) && errors == 1, "{words:?}: {}", ended.err);
    }
    std::fs::OpenOptions::new().write(true).open(scratch.join("db/RANREAD.DAT")).unwrap().set_len(8 << 20).unwrap();
    let short = ranread(&scratch, &["run", "db"]);
    assert!(short.code == Some(2) && short.err.contains("has 8 MiB and setup made 16 MiB"), "{short:?}");
}

/// In virtual time on 16 servers of 1 ms: 32 processes are the highest load at 2 ms. A second sweep
/// prints the same text.
#[test]
fn a_simulated_sweep_finds_its_knee() {
    let scratch = Scratch::new();
    let device = "[device]\nkind = \"parallel-servers\"\nservers = 16\nservice = \"1ms\"\n";
    std::fs::write(scratch.join("device.toml"), device).unwrap();
    let sweep = || {
        let mut command = seawall(scratch.path());
        command.env(RESULTS, "kept.sqlite");
        command.args(["simulate", "ranread", "--device", "device.toml", "sweep", "/db", "--iterations", "500"]);
        command.args([
            "--max-ms",
            "off",
            "--target-iops",
            "15000",
            "--page",
            "page.html",
            "--xlsx",
            "sweep.xlsx",
            "--sheet",
            "array=simulated",
        ]);
        run(&mut command)
    };
    let ended = sweep();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("pass: the highest load with an average of at most 2 ms\n"), "{}", ended.out);
    assert!(ended.out.contains("32 processes, 2.00 ms, 16,000 IOPS\n"), "{}", ended.out);
    assert!(ended.out.contains("pass: 15,000 IOPS at an average of at most 5 ms\n"), "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
    let page = std::fs::read_to_string(scratch.join("page.html")).unwrap();
    assert!(
        page.contains("Random Read IO Performance Results") && page.contains("simulated"),
        "the sheet travels with it"
    );
    let again = sweep();
    assert_eq!(again.out.replace("(run 2)", "(run 1)"), ended.out);
    // A sweep is one run with a point for each batch and what it found. No storage was read, so it
    // is not in RanRead's table.
    let kept = "SELECT clock, state, points > 6, passed FROM runs WHERE run = 1";
    assert_eq!(results(&scratch, &["sql", "--csv", kept]).lines().nth(1), Some("virtual,ended,1,2"));
    let all =
        "SELECT count(DISTINCT actor_name), max(actor) FROM results WHERE run = 1 AND point_name = '40 processes'";
    assert_eq!(results(&scratch, &["sql", "--csv", all]).lines().nth(1), Some("40,39"));
    assert!(rows(&scratch).is_empty());
    assert!(std::fs::read(scratch.join("sweep.xlsx")).unwrap().starts_with(b"PK"));
}

/// A relation of PostgreSQL is created, read through its server, found to come from caches, and
/// removed.
#[test]
fn a_relation_is_read_through_its_server() {
    if database::Private::programs().is_none() {
        return crate::requires::skip("PostgreSQL is not installed");
    }
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let server = database::Private::start(folder.path(), &[("fsync", "off")], None).unwrap();
    let ranread = |line: &str| {
        let mut command = seawall(scratch.path());
        command.env("XDG_STATE_HOME", scratch.join("state")).env(RESULTS, scratch.join("r.sqlite")).arg("ranread");
        run(command.args(line.split_whitespace()).args(["--database", &server.url()]))
    };
    let missing = ranread("run 2 50");
    assert!(missing.code == Some(2) && missing.err.contains("has no relation of ours"), "{missing:?}");
    let made = ranread("setup NAME 4MiB");
    assert!(made.code == Some(0) && made.out.contains("512 blocks of 8 KiB"), "{made:?}");
    let again = ranread("setup NAME 4MiB");
    // Nothing is started, and the advice is about this relation, not about order entry.
    assert!(again.code == Some(2) && again.err.contains("has seawall_ranread already"), "{again:?}");
    let advised = "remove it with: seawall ranread purge --database 'postgres";
    assert!(again.out.is_empty() && again.err.contains(advised), "{again:?}");
    let refused = ranread("run 2 50 --write");
    assert!(refused.code == Some(2) && refused.err.contains("nothing is written"), "{refused:?}");
    // It fits into the server's cache, so nothing can be said about the storage.
    let read = ranread("run 2 300");
    assert!(read.code == Some(2) && read.err.contains("verdict: cannot say"), "{read:?}");
    assert!(read.err.contains("600 requests") && read.err.contains("in the server's cache"), "{read:?}");
    // Remarks have lines of their own where both outputs go to one place.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_seawall"), "ranread", "run", "2", "50"]);
    command.args(["--database", &server.url()]).env("XDG_STATE_HOME", scratch.join("state")).env(RESULTS, "none");
    let both = run(command.current_dir(scratch.path()));
    let lines = |start: &str| both.out.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((lines("seawall: blocks: "), lines("Random read background jobs finished.")), (1, 1), "{both:?}");
    let purged = ranread("purge");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    assert_eq!(ranread("purge").code, Some(2));
    // A foreign table is kept; an empty relation of a killed setup is removed.
    let sql = |sql: &str| assert!(server.command("psql").args(["-qc", sql]).status().unwrap().success(), "{sql}");
    sql("CREATE TABLE seawall_ranread (id INT)");
    let others = ranread("setup NAME 4MiB");
    assert!(others.code == Some(2) && others.err.contains("that setup did not make"), "{others:?}");
    assert_eq!(ranread("purge").code, Some(2));
    sql("COMMENT ON TABLE seawall_ranread IS 'made by seawall ranread setup'");
    assert_eq!(ranread("purge").code, Some(0));
    let mut command = seawall(scratch.path());
    let wrong = run(command.args(["ranread", "run", "--database", "mysql://u:hunter2@h/d", "2", "5"]));
    assert!(
        wrong.code == Some(2) && wrong.err.contains("must be postgres://") && !wrong.err.contains("hunter2"),
        "{wrong:?}"
    );
}

/// One of the connections is cut in the middle: every read is completed, and the loss is reported
/// once for all processes.
#[test]
fn a_lost_connection_is_told_and_no_read_is_missing() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    // Nothing was written, so an answer is a hole of about 40 bytes: the cut is after the handshake
    // and before the 400th read.
    let relay = Relay::start(&server.tcp, 4096);
    let uri = format!("{}?reconnect=600", server.tcp_uri(LUN)).replace(&server.tcp, &relay.address);
    let ended = ranread(&scratch, &["run", &uri, "2", "400", "--read-percent", "100"]);
    assert!(ended.err.contains("800 requests, p50 "), "{ended:?}");
    let told = |line: &&str| line.contains("connections lost: 1, made again: 1, away for ");
    assert_eq!(ended.err.lines().filter(told).count(), 1, "{ended:?}");
    assert!(ended.err.contains("under way then: 1 read"), "{ended:?}");
    assert!(ended.err.contains("sent again: 1 read"), "{ended:?}");
}
