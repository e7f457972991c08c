//! `seawall oltp`: creating, loading, verifying and removing a database; outputs, bad input, and
//! charbench's options.

use crate::running::{Ended, RESULTS, Running, run, seawall};
use crate::scratch::Scratch;

fn oltp(scratch: &Scratch, line: &str) -> Ended {
    let mut command = seawall(scratch.path());
    run(command.env(RESULTS, scratch.join("r.sqlite")).arg("oltp").args(line.split_whitespace()))
}

/// All commands in turn on a small database: the run's figures are in its text, file, page and kept
/// run.
#[test]
fn a_database_is_made_loaded_proved_and_removed() {
    let scratch = Scratch::new();
    let made = oltp(&scratch, "setup --scale 0.001 --products 20");
    assert!(made.code == Some(0) && made.out.contains("customers                    1,000\n"), "{made:?}");
    let again = oltp(&scratch, "setup --scale 0.001 --products 20");
    assert!(again.code == Some(2) && again.err.contains("has customers already"), "{again:?}");
    let worked =
        oltp(&scratch, "run --users 2 --warm-up 0 --time 1 --xml x.xml -o p.html --columns users,tpm,tps,trans");
    assert!(worked.code == Some(0) && worked.out.starts_with("Time     Users   TPM     TPS     NCR "), "{worked:?}");
    for part in ["[2/2]", "avg TPS ", "max TPM ", "failed     none", "limiter "] {
        assert!(worked.out.contains(part), "{part}: {}", worked.out);
    }
    let read = |name| std::fs::read_to_string(scratch.join(name)).unwrap();
    assert!(read("x.xml").contains("<NumberOfUsers>2</NumberOfUsers>"));
    assert!(!read("x.xml").contains("MaximumTransactionRate"), "no minute was full");
    let swept = oltp(&scratch, "sweep --to 1 --warm-up 0 --time 1");
    let line = swept.out.lines().nth(1).unwrap_or_default();
    assert_eq!(line.split_whitespace().nth(2), Some("–"), "{swept:?}");
    let mut command = seawall(scratch.path());
    command.env(RESULTS, "none").args(["charbench", "-cs", "sqlite:orders.sqlite", "-uc", "1", "-rt", "0:00.01"]);
    assert_eq!(run(&mut command).code, Some(0));
    assert!(read("results.xml").contains("<NumberOfUsers>1</NumberOfUsers>"));
    assert!(read("p.html").contains("Transactions over time"));
    let proved = oltp(&scratch, "check");
    assert!(proved.code == Some(0) && proved.out.lines().all(|line| line.starts_with("pass: ")), "{proved:?}");
    let sql = "SELECT COUNT(*) FROM settings WHERE run = 1 AND key IN ('max_tps', 'avg_resp', 'limiter')";
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", sql]));
    assert!(kept.code == Some(0) && kept.out.contains('3'), "{kept:?}");
    assert_eq!(oltp(&scratch, "drop").code, Some(0));
    assert!(!scratch.join("orders.sqlite").exists());
}

/// A database in use is not removed. A killed run is recognised as dead: its rows are accepted, and
/// then the database can be verified again, and removed.
#[test]
fn a_database_in_use_is_not_removed() {
    let scratch = Scratch::new();
    assert_eq!(oltp(&scratch, "setup --scale 0.001 --products 20").code, Some(0));
    let mut command = seawall(scratch.path());
    command.args(["oltp", "run", "--users", "1", "--warm-up", "0", "--time", "600", "--columns", "users"]);
    let mut running = Running::start({
        command.env(RESULTS, "none");
        command
    });
    running.wait_for("[1/1]");
    let refused = oltp(&scratch, "drop");
    assert!(refused.code == Some(2) && refused.err.contains("a run is under way"), "{refused:?}");
    let open = oltp(&scratch, "check");
    assert!(open.code == Some(2) && open.out.contains("a run is under way"), "{open:?}");
    running.signal("KILL");
    running.end();
    let settled = oltp(&scratch, "check");
    assert!(settled.code == Some(2) && settled.out.contains("of a run that died before it could tell"), "{settled:?}");
    let proved = oltp(&scratch, "check");
    assert!(proved.code == Some(0) && proved.out.contains("of runs that died"), "{proved:?}");
    assert_eq!(oltp(&scratch, "drop").code, Some(0));
    assert!(!scratch.join("orders.sqlite").exists());
}

/// The database file is deleted during a run, which is then stopped: the measurements are printed,
/// written and kept as cut short, and the run says that its rows could not be recorded.
#[test]
fn what_was_measured_outlives_its_database() {
    let scratch = Scratch::new();
    assert_eq!(oltp(&scratch, "setup --scale 0.001 --products 20").code, Some(0));
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite")).arg("oltp");
    command.args(["run", "--users", "1", "--warm-up", "0", "--time", "600", "--columns", "users", "--xml", "x.xml"]);
    command.args(["-o", "p.html"]);
    let mut running = Running::start(command);
    running.wait_for("[1/1]");
    std::fs::remove_file(scratch.join("orders.sqlite")).unwrap();
    running.signal("INT");
    let (status, said) = running.end();
    let all = said.join("\n");
    assert!(status.code() == Some(2) && all.contains("avg TPS "), "{all}");
    assert!(all.contains("what was measured is kept, but what this run added was not noted in the database"), "{all}");
    assert!(scratch.join("x.xml").exists());
    let page = std::fs::read_to_string(scratch.join("p.html")).unwrap();
    assert!(page.contains("Cut short: ") && page.contains(" of 600 s were measured, figures are up to there"), "{all}");
    let sql = "SELECT state, key FROM runs JOIN settings USING (run) WHERE key = 'avg_tps'";
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", sql]));
    assert!(kept.out.contains("avg_tps") && kept.out.contains("cut_short"), "{kept:?}");
}

/// The server is stopped during a run: when no user could reconnect for a second, the run ends, and
/// what was measured is printed, written and kept as cut short.
#[test]
fn a_run_ends_when_its_server_is_gone() {
    if database::Private::programs().is_none() {
        return crate::requires::skip("PostgreSQL is not installed");
    }
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let server = database::Private::start(folder.path(), &[("fsync", "off")], None).unwrap();
    let url = server.url();
    let made = oltp(&scratch, &format!("setup --scale 0.001 --products 20 --database {url}"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite")).args(["oltp", "run", "--database", &url, "--users", "2"]);
    command.args(["--warm-up", "0", "--time", "600", "--reconnect", "1", "--columns", "users", "--xml", "x.xml"]);
    let mut running = Running::start(command);
    running.wait_for("[2/2]");
    drop(server);
    let (status, said) = running.end();
    let all = said.join("\n");
    assert!(status.code() == Some(2) && all.contains("avg TPS "), "{all}");
    let last = said.last().unwrap();
    assert!(last.contains("no user could reconnect for 1 s: "), "{all}");
    assert!(last.ends_with("; what was measured is kept, but not noted in the database"), "{all}");
    assert!(scratch.join("x.xml").exists());
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args([
        "results",
        "sql",
        "SELECT 'is ' || state FROM runs",
    ]));
    assert!(kept.out.contains("is cut_short"), "{kept:?}");
}

/// charbench's own names are in messages about what was typed, not ours.
#[test]
fn charbench_names_what_was_typed() {
    let scratch = Scratch::new();
    for (line, error) in [
        ("-uc 0", "-uc: must be from 1 to 4096, got \"0\""),
        ("-di FOO", "-di: must be names of "),
        ("-r no/x.xml", "-r no/x.xml: cannot be written "),
        ("-v disk", "-v: must be columns of "),
        ("--users 0", "--users: must be from 1 to 4096, got \"0\""),
    ] {
        let ended = run(seawall(scratch.path()).arg("charbench").args(line.split(' ')));
        assert!(ended.code == Some(2) && ended.err.starts_with(&format!("seawall: {error}")), "{line}: {ended:?}");
    }
}

/// A run that is stopped in its warm-up has no figures, and is not kept.
#[test]
fn a_run_that_measured_nothing_shows_nothing() {
    let scratch = Scratch::new();
    assert_eq!(oltp(&scratch, "setup --scale 0.001 --products 20").code, Some(0));
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite")).arg("oltp");
    command.args(["run", "--users", "1", "--warm-up", "600", "--columns", "users", "-o", "p.html"]);
    let mut running = Running::start(command);
    running.wait_for("[1/1]");
    running.signal("INT");
    let (status, said) = running.end();
    let all = said.join("\n");
    assert!(status.code() == Some(2) && all.contains("stopped before anything was measured"), "{all}");
    assert!(!all.contains("avg TPS") && !scratch.join("p.html").exists(), "{all}");
    let sql = "SELECT 'runs ' || COUNT(*) FROM runs";
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", sql]));
    assert!(kept.out.contains("runs 0"), "{kept:?}");
    assert_eq!(oltp(&scratch, "check").code, Some(0));
}

/// On a simulated array: repeatable figures, a page, a file, a kept run with what host and media
/// did, and the same by `seawall simulate oltp`. With eight disks RAID 10 does more small writes
/// than RAID 5, which shows in the response times.
#[test]
fn users_work_on_an_array_in_virtual_time() {
    let scratch = Scratch::new();
    let options = "--users 40 --time 60 --warm-up 10 --host-time 200us --database-size 2GiB --buffers 256MiB";
    let worked = oltp(&scratch, &format!("run --array usp-v-fc-raid5 {options} -o p.html --xml x.xml --csv s.csv"));
    assert_eq!(worked.code, Some(0), "{worked:?}");
    assert!(worked.out.lines().all(|line| line.chars().count() <= 80), "{}", worked.out);
    let figures = |text: &str| text.lines().filter(|line| !line.starts_with("page ")).collect::<Vec<_>>().join("\n");
    let line = format!("simulate oltp --array usp-v-fc-raid5 {options}");
    let again = run(seawall(scratch.path()).args(line.split_whitespace()));
    assert_eq!(figures(&worked.out), figures(&again.out));
    let read = |name| std::fs::read_to_string(scratch.join(name)).unwrap();
    assert!(read("p.html").contains("Transactions over time") && read("x.xml").contains("<NumberOfUsers>40<"));
    assert_eq!(read("s.csv").lines().count(), 61, "a head and a line a second");
    let sql = "SELECT tool || ' ' || clock FROM runs UNION ALL SELECT key FROM settings WHERE key IN \
               ('max_tpm', 'avg_resp', 'cpu_pct', 'disk_busy_pct', 'limiter')";
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", sql]));
    for key in ["oltp virtual", "max_tpm", "avg_resp", "cpu_pct", "disk_busy_pct", "limiter"] {
        assert!(kept.out.contains(key), "{key}: {kept:?}");
    }
    let tps = |text: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix("avg TPS ")).expect("a rate");
        line.trim().parse().expect("a number")
    };
    let ten = oltp(&scratch, &format!("run --array usp-v-fc-raid10 {options}"));
    assert!(tps(&ten.out) > 1.1 * tps(&worked.out), "{} {}", ten.out, worked.out);
}

#[test]
fn bad_input_has_one_line_and_no_password() {
    let scratch = Scratch::new();
    for (line, rule) in [
        ("run", "no order-entry tables of ours"),
        ("drop", "no order-entry tables of ours"),
        ("setup --scale 0", "must be a number from 0.0001 to 1000"),
        ("run --weights XX=1", "must be v2, v1 or NAME=WEIGHT"),
        ("run --disable NCR,UCD,BP,OP,PO,BO", "no transaction is left"),
        ("run --think 9-3", "must be milliseconds"),
        ("run --columns disk", "must be columns of users"),
        ("check --database postgres://u:hunter2@host/x", "a password in the URL can be read by everybody"),
        ("check --database mysql://u:hunter2@host/x", "a password in the URL can be read by everybody"),
        ("check --database mysql://host", "no database is named"),
        ("check --database mysql:///x?socket=/nowhere", "/nowhere: No such file"),
        ("check --database oracle://u:hunter2@host/x", "must be sqlite:PATH, postgres://"),
        ("check --database postgres://host/x?pasword=hunter2", "there is no such parameter"),
        ("check --database postgres:///x?host=/nowhere", "/nowhere/.s.PGSQL.5432"),
        ("run --transactions 5 --warm-up 3", "cannot be used with"),
        ("run --array aff-a300 --think 5-9", "--think: needs a database"),
        ("run --array aff-a300 --calls procedures", "--calls: needs a database"),
        ("run --array aff-a300 --isolation serializable", "--isolation: needs a database"),
        ("run --array aff-a300 --date 5", "--date: needs a database"),
        ("run --array aff-a300 --csv a --xml ./a", "--xml ./a: is the file of --csv, too"),
        ("run --host-time 2ms", "--array"),
        ("run --processors 8", "--array"),
    ] {
        let ended = oltp(&scratch, line);
        assert!(ended.code == Some(2) && ended.err.contains(rule), "{line}: {ended:?}");
        assert!(!ended.err.contains("hunter2"), "{ended:?}");
    }
}

/// The same commands on PostgreSQL, with a password that is printed nowhere; options of SQLite are
/// refused, and the other way round.
#[test]
fn postgresql_takes_the_same_commands() {
    if database::Private::programs().is_none() {
        return crate::requires::skip("PostgreSQL is not installed");
    }
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let server = database::Private::start(folder.path(), &[("fsync", "off")], Some("hunter2")).unwrap();
    let on_server = |line: &str| {
        let mut command = seawall(scratch.path());
        command.env("PGPASSWORD", "hunter2").env(RESULTS, scratch.join("r.sqlite")).arg("oltp");
        run(command.args(line.split_whitespace()).args(["--database", &server.url()]))
    };
    let made = on_server("setup --scale 0.001 --products 20 --jobs 2");
    assert!(made.code == Some(0) && made.out.contains("customers                    1,000\n"), "{made:?}");
    for (line, rule) in
        [("run --buffers 1MiB", "shared_buffers"), ("run --calls procedures --think 5", "no pause inside")]
    {
        let refused = on_server(line);
        assert!(refused.code == Some(2) && refused.err.contains(rule), "{refused:?}");
    }
    let refused = oltp(&scratch, "run --calls procedures");
    assert!(refused.code == Some(2) && refused.err.contains("SQLite has no procedures"), "{refused:?}");
    let worked =
        on_server("run --users 2 --time 4 --warm-up 0 --calls procedures --queries --skew 1.1 -o p.html --csv s.csv");
    assert!(worked.code == Some(0) && worked.out.contains("failed     none"), "{worked:?}");
    for part in ["host       processors", "database   read", "sampled", "limiter"] {
        assert!(worked.out.contains(part), "{part}: {worked:?}");
    }
    let seconds = std::fs::read_to_string(scratch.join("s.csv")).unwrap();
    let rows: Vec<Vec<&str>> = seconds.lines().map(|line| line.split(',').collect()).collect();
    // The server's counters may be a second late: the sum is what holds.
    let sum = |name: &str| -> u64 {
        let place = rows[0].iter().position(|column| *column == name).unwrap();
        rows[1..].iter().filter_map(|row| row[place].parse::<u64>().ok()).sum()
    };
    assert!(rows.len() > 3 && sum("done") > 0 && sum("db_wal_bytes") > 0, "{seconds}");
    let worked = on_server("run --users 1 --transactions 20 --xml x.xml");
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let proved = on_server("check --digests");
    assert!(proved.code == Some(0) && proved.out.contains("pass: no row of logon is ahead"), "{proved:?}");
    for name in ["p.html", "x.xml", "r.sqlite"] {
        let text = String::from_utf8_lossy(&std::fs::read(scratch.join(name)).unwrap()).into_owned();
        assert!(!text.contains("hunter2") && text.contains("postgres://seawall@/postgres"), "{name}");
    }
    let dropped = on_server("drop");
    assert!(dropped.code == Some(0) && on_server("check").code == Some(2), "{dropped:?}");
}

/// The same commands on MariaDB, with a password that is printed nowhere; unsupported options are
/// refused.
#[test]
fn mariadb_takes_the_same_commands() {
    if database::PrivateMariadb::program().is_none() {
        return crate::requires::skip("MariaDB is not installed");
    }
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let server = database::PrivateMariadb::start(folder.path(), &[], Some("hunter2")).unwrap();
    let on_server = |line: &str| {
        let mut command = seawall(scratch.path());
        command.env("MYSQL_PWD", "hunter2").env(RESULTS, scratch.join("r.sqlite")).arg("oltp");
        run(command.args(line.split_whitespace()).args(["--database", &server.url()]))
    };
    let made = on_server("setup --scale 0.001 --products 20 --jobs 2");
    assert!(made.code == Some(0) && made.out.contains("customers                    1,000\n"), "{made:?}");
    for (line, rule) in [
        ("setup --scale 0.001", "has customers already"),
        ("run --buffers 1MiB", "innodb_buffer_pool_size"),
        ("run --memory 64MiB", "private:FOLDER"),
        ("run --calls procedures --think 5", "no pause inside"),
    ] {
        let refused = on_server(line);
        assert!(refused.code == Some(2) && refused.err.contains(rule), "{refused:?}");
    }
    let worked =
        on_server("run --users 2 --time 4 --warm-up 0 --queries --isolation serializable -o p.html --csv s.csv");
    // Readers of a row wait for its writer: that may fail, and is counted.
    assert!(matches!(worked.code, Some(0 | 1)) && worked.out.contains("avg TPS"), "{worked:?}");
    for part in ["host       processors", "database   read", "sampled", "limiter"] {
        assert!(worked.out.contains(part), "{part}: {worked:?}");
    }
    let seconds = std::fs::read_to_string(scratch.join("s.csv")).unwrap();
    let rows: Vec<Vec<&str>> = seconds.lines().map(|line| line.split(',').collect()).collect();
    let sum = |name: &str| -> u64 {
        let place = rows[0].iter().position(|column| *column == name).unwrap();
        rows[1..].iter().filter_map(|row| row[place].parse::<u64>().ok()).sum()
    };
    // The server's counters may be a second late: the sum is what holds.
    assert!(rows.len() > 3 && sum("done") > 0 && sum("db_wal_bytes") > 0 && sum("db_commits") > 0, "{seconds}");
    let worked = on_server("run --users 1 --transactions 20 --xml x.xml --calls procedures --queries");
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let swept = on_server("sweep --to 2 --time 1 --warm-up 0");
    assert!(swept.code == Some(0) && swept.out.contains("knee "), "{swept:?}");
    let proved = on_server("check --digests");
    assert!(proved.code == Some(0) && proved.out.contains("pass: no row of logon is ahead"), "{proved:?}");
    for name in ["p.html", "x.xml", "r.sqlite"] {
        let text = String::from_utf8_lossy(&std::fs::read(scratch.join(name)).unwrap()).into_owned();
        assert!(!text.contains("hunter2") && text.contains("mysql://seawall@/shop"), "{name}");
    }
    let dropped = on_server("drop");
    assert!(dropped.code == Some(0) && on_server("check").code == Some(2), "{dropped:?}");
}

/// A private server: created by setup, and started again with less cache by the next command; its
/// folder must be empty at first.
#[test]
fn a_server_of_its_own_lives_in_a_folder() {
    if database::Private::programs().is_none() {
        return crate::requires::skip("PostgreSQL is not installed");
    }
    // Not in the scratch folder, because the server's user must have access.
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let name = format!("private:{}", folder.path().join("pg").display());
    let private = |line: &str| oltp(&scratch, &format!("{line} --database {name}"));
    let made = private("setup --scale 0.001 --products 20");
    assert_eq!(made.code, Some(0), "{made:?}");
    let worked = private("run --users 2 --transactions 100 --buffers 1MiB");
    assert!(worked.code == Some(0) && worked.out.contains("failed     none"), "{worked:?}");
    let proved = private("check");
    assert_eq!(proved.code, Some(0), "{proved:?}");
    // Users in virtual time, fitted to one run and compared with another. The error depends on the
    // machine and is not checked; the output is.
    for buffers in ["1MiB", "4MiB"] {
        let worked = private(&format!("run --users 2 --warm-up 1 --time 3 --buffers {buffers}"));
        assert_eq!(worked.code, Some(0), "{worked:?}");
    }
    let calibrated = oltp(&scratch, "calibrate --run last~1 --held-out last");
    assert!(matches!(calibrated.code, Some(0 | 1)) && calibrated.err.is_empty(), "{calibrated:?}");
    for part in [
        "Fitted to: run 2, 2 users",
        "Held out: run 3, 2 users",
        "buffers of 1 MiB",
        "buffers of 4 MiB",
        "a page's read",
    ] {
        assert!(calibrated.out.contains(part), "{part}: {}", calibrated.out);
    }
    let again = calibrated.out.lines().find_map(|line| line.strip_prefix("again     seawall oltp ")).unwrap();
    let again = oltp(&scratch, &format!("{again} --warm-up 1 --time 5"));
    assert!(again.code == Some(0) && again.out.contains("avg TPS"), "{again:?}");
    let same = oltp(&scratch, "calibrate --run 2 --held-out 2 -o other.toml");
    assert!(
        same.code == Some(2) && same.err.contains("which proves nothing") && same.err.lines().count() == 1,
        "{same:?}"
    );
    std::fs::create_dir(scratch.join("mine")).unwrap();
    std::fs::write(scratch.join("mine/file"), "x").unwrap();
    let refused = oltp(&scratch, "setup --database private:mine");
    assert!(refused.code == Some(2) && refused.err.contains("not empty"), "{refused:?}");
    let refused = oltp(&scratch, "run --database sqlite:x --memory 64MiB");
    assert!(refused.code == Some(2) && refused.err.contains("private:FOLDER"), "{refused:?}");
}

/// A real PostgreSQL with two sizes of its buffers reads what the model predicts: pages per
/// transaction by the server's counters, and by `run --array --like`. Speed does not matter here.
#[test]
fn a_real_database_reads_what_the_law_says() {
    if database::Private::programs().is_none() {
        return crate::requires::skip("PostgreSQL is not installed");
    }
    let (scratch, folder) = (Scratch::new(), tempfile::tempdir().unwrap());
    let name = format!("private:{}", folder.path().join("pg").display());
    let made = oltp(&scratch, &format!("setup --scale 0.01 --products 100 --database {name}"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut both = Vec::new();
    // Runs in between are kept, too.
    for (number, buffers) in [(1, "4MiB"), (3, "16MiB")] {
        let run_it = format!("run --users 2 --warm-up 4 --time 4 --buffers {buffers} --database {name}");
        let worked = oltp(&scratch, &run_it);
        assert_eq!(worked.code, Some(0), "{worked:?}");
        let read = counted(&scratch, number, "key LIKE 'pages_read_%'");
        let asked = counted(&scratch, number, "key LIKE 'pages_asked_%'");
        let done = counted(&scratch, number, "key = 'avg_tps'") * 4.0;
        let law = format!("run --array laptop-nvme --like {number} --users 2 --buffers {buffers} --warm-up 1 --time 2");
        let law = oltp(&scratch, &law).out;
        let law = law.lines().find_map(|line| line.strip_prefix("asks ")?.trim().split(' ').next()?.parse().ok());
        both.push((read / done, read / asked, law.unwrap_or(0.0)));
    }
    for (read, _, law) in &both {
        assert!((read / law).max(law / read) < 1.5, "pages read, missed, and read by law: {both:?}");
    }
    assert!(both[1].1 < 0.8 * both[0].1, "more buffers miss less: {both:?}");
}

/// The sum of settings of a run.
fn counted(scratch: &Scratch, number: u32, which: &str) -> f64 {
    let sql = format!("SELECT SUM(number) AS sum FROM settings WHERE run = {number} AND {which}");
    let kept = run(seawall(scratch.path()).env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", &sql]));
    kept.out.lines().find_map(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{kept:?}"))
}
