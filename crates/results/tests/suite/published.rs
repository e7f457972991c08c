//! The published query of RanRead, character by character, over stored runs.

use block::Span;
use results::{Answer, Error, Results, SqlValue};
use stats::run::{Cell as Kept, Class, Point, Run, RunActor, RunPlace, Setting, State, Value};
use std::path::Path;

/// The query as it was published.
const QUERY: &str = "SELECT RunDate,RunTime,Database,Iterations,Processes, {fn ROUND(AVG(ResponseTime),2)} As \
                     ResponseTime, {fn ROUND(AVG(IOPS),0)} As IOPS FROM PerfTools.RanRead GROUP BY Batch";

/// A run of batches, each with the requests and milliseconds of its processes.
fn ranread(started_unix_ms: u64, batches: &[&[(u64, u64)]]) -> Run {
    let mut run = Run::default();
    run.identity.tool = "ranread".into();
    run.identity.started_unix_ms = started_unix_ms;
    run.places = vec![RunPlace { kind: "folder".into(), name: "/usr/iris/db/zranread/".into(), size: None }];
    let processes = batches.iter().map(|batch| batch.len()).max().unwrap_or(0);
    run.actors = vec![RunActor::default(); processes];
    for (number, batch) in (0u32..).zip(batches) {
        let start = Span::from_secs(u64::from(number) * 3600);
        run.points.push(Point { start, end: start + Span::SECOND, ..Point::default() });
        let value = Value::Number(batch.len() as f64);
        run.settings.push(Setting { point: Some(number), actor: None, key: "processes".into(), value });
        for (actor, (ops, ms)) in (0u32..).zip(*batch) {
            let cell = |class| Kept { ops: *ops, ..Kept::new(number, actor, class, Span::from_millis(*ms)) };
            run.cells.extend([cell(Class::ALL), cell(Class::READ)]);
        }
    }
    run
}

fn asked(path: &Path, sql: &str) -> Result<Answer, Error> {
    Results::open_existing(path).unwrap().query(sql, || false)
}

fn words(answer: &Answer) -> Vec<String> {
    let shown = |cell: &SqlValue| match cell {
        SqlValue::Null => "-".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(words) => words.clone(),
        SqlValue::Bytes(_) => panic!("no bytes here"),
    };
    answer.rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

/// 2016-05-23 14:08:00 UTC.
const STARTED: u64 = 1_464_012_480_000;

/// Twenty processes of 7176 ms for 1000 reads are 7.18 ms and 2787 IOPS, as published. Two of 4000
/// and 8000 ms an hour later in the same run are 6 ms and the mean of 500 and 250. In another run
/// one of two did nothing, so only the other counts: 1000 in 2 s. Simulated runs and those of other
/// tools are not in the table; a run that was killed is there as far as it came.
#[test]
fn the_published_query_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("it's a file?mode=memory.sqlite");
    let mut results = Results::open(&path).unwrap();
    results.save(&ranread(STARTED, &[&[(1000, 7176); 20], &[(1000, 4000), (1000, 8000)]])).unwrap();
    let mut simulated = ranread(STARTED, &[&[(1000, 1)]]);
    simulated.identity.simulated = true;
    results.save(&simulated).unwrap();
    let mut other = ranread(STARTED, &[&[(1000, 1)]]);
    other.identity.tool = "fio".into();
    results.save(&other).unwrap();
    let mut killed = ranread(STARTED + 999, &[&[(1000, 2000), (0, 0)]]);
    killed.identity.state = State::Running;
    results.save(&killed).unwrap();
    let found = asked(&path, QUERY).unwrap();
    let columns = ["RunDate", "RunTime", "Database", "Iterations", "Processes", "ResponseTime", "IOPS"];
    assert_eq!(found.columns, columns);
    let wanted = [
        "2016-05-23 14:08:00 /usr/iris/db/zranread/ 1000 20 7.18 2787",
        "2016-05-23 15:08:00 /usr/iris/db/zranread/ 1000 2 6 375",
        "2016-05-23 14:08:00 /usr/iris/db/zranread/ 1000 2 2 500",
    ];
    assert_eq!(words(&found), wanted);
    // Each row, with and without the schema's name.
    let rows = "SELECT Batch, Job, Iterations, ResponseTime, IOPS FROM {} WHERE Batch > 1 ORDER BY Batch, Job";
    let wanted = ["2 1 1000 4 500", "2 2 1000 8 250", "3 1 1000 2 500", "3 2 1000 - -"];
    for name in ["PerfTools.RanRead", "perftools.ranread", "RanRead"] {
        assert_eq!(words(&asked(&path, &rows.replace("{}", name)).unwrap()), wanted, "{name}");
    }
    assert_eq!(
        words(&asked(&path, "SELECT '{fn ROUND(1,2)} PerfTools.RanRead'").unwrap()),
        ["{fn ROUND(1,2)} PerfTools.RanRead"]
    );
}

/// One of two processes was stopped at half of its requests: the query has the mean, 750, as the
/// export has, whichever row it reads; each row has its own requests, and says that the batch was
/// stopped. Batches of a run that was killed are cut off.
#[test]
fn a_stopped_batch_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut results = Results::open(&path).unwrap();
    let mut stopped = ranread(STARTED, &[&[(1000, 4000), (500, 2000)], &[(1, 1)]]);
    let value = Value::Word("stopped".into());
    stopped.settings.push(Setting { point: Some(0), actor: None, key: "batch".into(), value });
    results.save(&stopped).unwrap();
    let found = words(&asked(&path, QUERY).unwrap());
    assert_eq!(found[0], "2016-05-23 14:08:00 /usr/iris/db/zranread/ 750 2 4 500");
    let rows = "SELECT Batch, Job, Iterations, Requests, State FROM RanRead ORDER BY Batch, Job";
    let wanted = ["1 1 750 1000 stopped", "1 2 750 500 stopped", "2 1 1 1 cut off"];
    assert_eq!(words(&asked(&path, rows).unwrap()), wanted);
}

/// The published name gives access neither to writing nor to other files.
#[test]
fn the_published_name_is_for_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    Results::open(&path).unwrap().save(&ranread(STARTED, &[&[(1, 1)]])).unwrap();
    for sql in [
        "DELETE FROM PerfTools.run",
        "INSERT INTO PerfTools.note VALUES (1, 1, 'x')",
        "CREATE TABLE PerfTools.x (y)",
        "DROP VIEW PerfTools.RanRead",
        "DETACH PerfTools",
        "ATTACH 'PerfTools' AS other",
        "PRAGMA PerfTools.user_version = 1",
    ] {
        assert!(matches!(asked(&path, sql), Err(Error::NotAQuery | Error::Query { .. })), "{sql}");
    }
    for sql in ["", " ", ";", "-- nothing", "/* nothing */"] {
        assert!(matches!(asked(&path, sql), Err(Error::NoQuery)), "{sql}");
    }
    let why = asked(&path, "SELECT {fn TRUNCATE(1.5, 0)} FROM PerfTools.RanRead").unwrap_err().to_string();
    assert_eq!(why, "the query is wrong: no such function: TRUNCATE");
    assert_eq!(words(&asked(&path, "SELECT count(*) FROM PerfTools.run").unwrap()), ["1"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else was made");
}

/// Queries made for other databases compute correctly: ODBC's `LOG` is the natural logarithm,
/// SQLite's the one to base 10. Undefined results are NULL.
#[test]
fn mathematics_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    Results::open(&path).unwrap().save(&ranread(STARTED, &[&[(1, 1)]])).unwrap();
    let sql = "SELECT {fn ROUND({fn LOG(EXP(2))}, 9)}, log(1000), {fn LOG10('100')}, log(2, 8), {fn SQRT(9)}, \
               {fn POWER(2, 10)}, {fn FLOOR(2.5)}, {fn CEILING(2.5)}, sqrt(-1), ln(0), sqrt('nine'), sqrt(NULL)";
    assert_eq!(words(&asked(&path, sql).unwrap()), ["2 3 2 3 3 1024 2 3 - - - -"]);
}
