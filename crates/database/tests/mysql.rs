//! MariaDB under the load, on a private server: kinds of failures, a crash of the server, its
//! counters, what is refused, and what drop leaves. That its rows equal those of the other
//! databases is tested beside PostgreSQL.

mod mariadb;
mod work;

use block::Span;
use database::{Database, Error, Isolation, PointWatcher, PrivateMariadb, ServerWatch, StopSignal};
use oltp::{
    ConnectionState, Failure, Indexes, Ledger, Mode, Rows, ServerCounts, Session, Sizes, Table, TransactionMix,
};
use work::{JOBS, TestLoad, play, play_watched, set_up, wrong};

fn named(url: &str) -> Database {
    Database::named(url, &|_| None, None).unwrap()
}

/// After the users' work all checks pass; damage is detected.
#[test]
fn what_users_did_adds_up_and_damage_is_seen() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 100);
    for mode in [Mode::Statements, Mode::Procedures] {
        let ledger = play(&database, TestLoad { users: 4, transactions: 800, mode });
        assert_eq!(ledger.first_failure(), None, "{mode:?}");
        assert!(ledger.whole().inserts[Table::Orders as usize] > 0, "{mode:?}: {:?}", ledger.whole());
        assert_eq!(wrong(&database), [], "{mode:?}");
    }
    let damage = [
        ("UPDATE orders SET order_total = order_total + 1 ORDER BY order_id DESC LIMIT 1", "totals"),
        ("UPDATE inventories SET quantity_on_hand = quantity_on_hand + 1 WHERE product_id = 1", "stock"),
        ("DELETE FROM logon WHERE logon_id = 1", "rows of logon"),
        ("ALTER SEQUENCE address_seq RESTART 1", "no row of addresses is ahead"),
    ];
    for (number, (sql, what)) in damage.into_iter().enumerate() {
        server.run(sql).unwrap();
        let found = wrong(&database);
        assert_eq!(found.len(), number + 1, "{sql}: {found:?}");
        assert!(found.iter().any(|(said, holds)| said.starts_with(what) && *holds == Some(false)), "{what}: {found:?}");
    }
}

/// Each choice of indexes creates exactly those. InnoDB adds an index for a reference that has
/// none: with `primary` those of addresses, cards and orders to customers, of inventories to
/// warehouses, and of items to products (the others are prefixes of a key).
#[test]
fn indexes_are_those_that_were_asked_for() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products: 20 };
    for (which, keys, others) in [(Indexes::All, 10, 18), (Indexes::Primary, 10, 5), (Indexes::None, 1, 0)] {
        database.setup(Rows { seed: 1, sizes }, which, JOBS, &mut |_, _| true).unwrap();
        let count = |what: &str, wanted: u32| {
            server.run(&format!(
                "SELECT IF(COUNT(DISTINCT table_name, index_name) = {wanted}, 1, (SELECT 1 UNION SELECT 2)) FROM \
                 information_schema.statistics WHERE table_schema = 'shop' AND index_name {what} 'PRIMARY'"
            ))
        };
        count("=", keys).unwrap_or_else(|error| panic!("{which:?}: keys: {error}"));
        count("<>", others).unwrap_or_else(|error| panic!("{which:?}: others: {error}"));
        assert_eq!(wrong(&database), [], "{which:?}");
        database.drop_all().unwrap();
    }
}

/// A deadlock, a serialization failure, a lock timeout, a statement timeout, and a connection
/// closed by the server.
#[test]
fn failures_have_their_kinds() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let Database::Mysql(plain) = &database else { panic!("not a server of MariaDB") };
    let mut strict = plain.clone();
    strict.isolation = Isolation::RepeatableRead;
    let signal = StopSignal::default();
    let (mut one, mut two) = (strict.connect(&signal).unwrap(), strict.connect(&signal).unwrap());
    const RAISE: &str = "UPDATE orders SET order_total = order_total + 1 WHERE order_id = $1";
    one.change("SET SESSION innodb_snapshot_isolation = 1", &[]).unwrap();
    one.begin().unwrap();
    one.rows("SELECT COUNT(*) FROM orders", &[]).unwrap();
    assert_eq!(two.change(RAISE, &[1.into()]), Ok(1));
    assert_eq!(one.change(RAISE, &[1.into()]), Err(Failure::Serialization));
    one.rollback();
    // Each has locked one row and wants the other's, so exactly one becomes the victim.
    one.begin().unwrap();
    two.begin().unwrap();
    one.change(RAISE, &[2.into()]).unwrap();
    two.change(RAISE, &[3.into()]).unwrap();
    let [first, second] = std::thread::scope(|scope| {
        let first = scope.spawn(|| one.change(RAISE, &[3.into()]).inspect_err(|_| one.rollback()));
        let second = two.change(RAISE, &[2.into()]).inspect_err(|_| two.rollback());
        [first.join().unwrap(), second]
    });
    assert!([&first, &second].contains(&&Err(Failure::Deadlock)) && first != second, "{first:?} {second:?}");
    one.rollback();
    // A procedure whose second statement times out leaves no open transaction.
    two.begin().unwrap();
    two.change("UPDATE orders SET order_total = order_total + 1", &[]).unwrap();
    let open = "SELECT warehouse_id FROM orders WHERE order_status <= 4 ORDER BY order_id LIMIT 1";
    let place = one.rows(open, &[]).unwrap()[0][0].clone();
    one.change("SET SESSION innodb_lock_wait_timeout = 1", &[]).unwrap();
    let call = one.rows("CALL orderentry_next_order($1, $2, NULL, NULL)", &[place, 5.into()]);
    assert_eq!(call, Err(Failure::Timeout));
    assert_eq!(one.rows("SELECT @@in_transaction", &[]).unwrap(), [[0.into()]]);
    two.rollback();
    one.change("SET SESSION max_statement_time = 0.001", &[]).unwrap();
    assert_eq!(one.rows("SELECT COUNT(*) FROM orders a JOIN orders b JOIN orders c", &[]), Err(Failure::Timeout));
    two.rollback();
    let id = two.rows("SELECT CONNECTION_ID()", &[]).unwrap()[0][0].number().unwrap();
    server.run(&format!("KILL {id}")).unwrap();
    assert!(matches!(two.rows("SELECT 1", &[]), Err(Failure::Lost(_))));
}

/// Watches the server from the first second on, and ends the point after the third.
struct Looked<'a>(&'a Database, Option<ServerWatch>);

impl PointWatcher for Looked<'_> {
    fn begins(&mut self) {
        self.1 = self.0.watch().unwrap();
    }

    fn second(&mut self, _: &Ledger, seconds: usize, _: u32) -> bool {
        seconds < 3
    }
}

/// The server's counters match the users' work: commits are theirs, the log grows with them, and
/// each of three users is seen in each look.
#[test]
fn a_server_shows_what_it_does() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let mut looked = Looked(&database, None);
    let load = TestLoad { users: 3, transactions: 10_000_000, mode: Mode::Statements };
    let ledger = play_watched(&database, load, TransactionMix::V2, &mut looked);
    let seconds = looked.1.unwrap().end().seconds;
    let sum = ServerCounts::sum(&seconds).unwrap();
    // Its seconds are not those of the ledger, which has all commits and so more.
    assert!(sum.commits > 0 && sum.commits <= ledger.whole().commits, "{sum:?}");
    assert!(sum.wal > 0 && sum.hit > 0 && sum.cpu.is_some(), "{sum:?}");
    assert_eq!(sum.checkpoints, None);
    assert!(sum.part(ConnectionState::Other).is_some_and(|part| part > 0.0), "{sum:?}");
    let looks: u64 = sum.found.iter().sum();
    assert!((10..=33 * seconds.len() as u64).contains(&looks), "{looks} of {} seconds", seconds.len());
}

/// A user who waits for another's transaction is seen waiting for a lock.
#[test]
fn a_lock_is_seen() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let signal = StopSignal::default();
    let (mut one, mut two) = (database.connect(&signal).unwrap(), database.connect(&signal).unwrap());
    const RAISE: &str = "UPDATE orders SET order_total = order_total + 1 WHERE order_id = $1";
    one.begin().unwrap();
    one.change(RAISE, &[1.into()]).unwrap();
    let watch = database.watch().unwrap().unwrap();
    let sum = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| two.change(RAISE, &[1.into()]));
        // Two whole seconds of looks, the second of which has only the wait.
        signal.wait(Span::from_millis(2500));
        let seen = watch.end();
        one.commit().unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(1));
        *seen.seconds.last().unwrap()
    });
    // Of two connections one waits for a lock; the other, which holds it, is between statements.
    let [locked, client] = [ConnectionState::Locked, ConnectionState::Client].map(|at| sum.part(at).unwrap());
    assert!((0.4..=0.6).contains(&locked) && (0.4..=0.6).contains(&client), "{sum:?}");
}

/// Its life is that of its connection.
#[test]
fn what_a_dead_run_left_is_taken_as_it_is() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let sql = "INSERT INTO logon SELECT NEXTVAL(logon_seq), MAX(customer_id), MAX(logon_date) FROM logon";
    work::a_run_dies(&database, &|| server.run(sql).unwrap(), &drop);
}

/// Crashes the server after some transactions, and ends the point when there were more afterwards.
struct Crash<'a> {
    server: &'a PrivateMariadb,
    after: Option<u64>,
}

impl PointWatcher for Crash<'_> {
    fn second(&mut self, ledger: &Ledger, _: usize, _: u32) -> bool {
        let done: u64 = ledger.seconds().iter().map(|second| second.done).sum();
        match self.after {
            None if done > 50 => {
                self.server.crash().unwrap();
                self.after = Some(done);
                true
            }
            None => true,
            // Transactions in progress at the crash may still have been reported: one for each of
            // three users, and 50 more.
            Some(after) => done < after + 53,
        }
    }
}

/// Connections are re-established, the rest is done, and acknowledged transactions are durable.
#[test]
fn a_server_that_crashes_is_a_gap_and_no_end() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    // Acknowledged transactions must be durable.
    server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1").unwrap();
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let mut crash = Crash { server: &server, after: None };
    let load = TestLoad { users: 3, transactions: 10_000_000, mode: Mode::Statements };
    let ledger = play_watched(&database, load, TransactionMix::V2, &mut crash);
    assert!(crash.after.is_some() && ledger.first_failure().is_some(), "{:?}", ledger.whole());
    let said = wrong(&database);
    assert!(said.iter().all(|(_, holds)| holds.is_none()), "{said:?}");
}

#[test]
fn what_is_not_ours_is_neither_loaded_nor_dropped() {
    let Some((_folder, server)) = mariadb::server(None) else { return };
    let database = named(&server.url());
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products: 20 };
    let rows = Rows { seed: 1, sizes };
    let set_up = |part: f64| database.setup(rows, Indexes::All, JOBS, &mut |done, _| done < part);
    assert!(matches!(database.ranges(), Err(Error::NotOurs(_))));
    server.run("CREATE TABLE orders (mine int)").unwrap();
    assert!(matches!(set_up(2.0), Err(Error::Taken { table, .. }) if table == "orders"));
    assert!(matches!(database.drop_all(), Err(Error::NotOurs(_))));
    server.run("DROP TABLE orders").unwrap();
    server.run("CREATE TABLE orderentry_metadata (mine int)").unwrap();
    assert!(matches!(database.check(&mut |_| {}), Err(Error::NotOurs(_))));
    server.run("DROP TABLE orderentry_metadata").unwrap();
    // A setup that is stopped or refused leaves nothing that would hinder the next.
    assert!(matches!(set_up(0.5), Err(Error::Stopped)));
    server.run("SET GLOBAL local_infile = OFF").unwrap();
    assert!(set_up(2.0).unwrap_err().to_string().contains("SET GLOBAL local_infile = ON"));
    server.run("SET GLOBAL local_infile = ON").unwrap();
    set_up(2.0).unwrap();
    // A user's object depends on ours: nothing is removed, and the error says so.
    server.run("CREATE TABLE mine (x BIGINT, FOREIGN KEY (x) REFERENCES orders (order_id)) ENGINE = InnoDB").unwrap();
    assert!(matches!(database.drop_all(), Err(Error::Needed { table, .. }) if table == "shop.mine"));
    assert_eq!(wrong(&database), []);
    server.run("DROP TABLE mine").unwrap();
    server.run("CREATE TABLE mine AS SELECT 7 AS x").unwrap();
    // An interrupted setup can be removed as well.
    server.run("DROP VIEW products").unwrap();
    server.run("DROP TABLE logon").unwrap();
    database.drop_all().unwrap();
    let only = "SELECT IF(COUNT(*) = 1 AND MIN(table_name) = 'mine', 1, (SELECT 1 UNION SELECT 2)) FROM \
                information_schema.tables WHERE table_schema = 'shop'";
    server.run(only).unwrap();
}

/// Passwords come from the environment and are never repeated.
#[test]
fn a_password_is_needed_where_the_server_wants_one() {
    let Some((_folder, server)) = mariadb::server(Some("hunter2")) else { return };
    let with = |password: Option<&'static str>| {
        let said = move |name: &str| (name == "MYSQL_PWD").then(|| password.map(str::to_owned))?;
        Database::named(&server.url(), &said, None).unwrap().engine()
    };
    assert!(with(Some("hunter2")).unwrap().starts_with("mariadb 1"));
    assert!(with(None).unwrap_err().to_string().contains("set MYSQL_PWD"));
    let refused = with(Some("hunter3")).unwrap_err().to_string();
    assert!(refused.contains("1045") && !refused.contains("hunter3"), "{refused}");
}

/// By a port as by a socket; a port is known to be free only once it is bound.
#[test]
fn a_server_is_reached_by_its_port() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = ["--skip-networking=0", "--bind-address=127.0.0.1", &format!("--port={port}")];
    let Some((_folder, _server)) = mariadb::server_with(&options, None) else { return };
    let database = named(&format!("mysql://seawall@127.0.0.1:{port}/shop"));
    set_up(&database, 1, 20);
    assert_eq!(wrong(&database), []);
    assert!(database.is_local() && database.folder().is_some() && database.log_folder().is_some());
}

/// MySQL has no sequences; the server's kind is checked before anything else.
#[test]
fn mysql_is_refused_by_name() {
    let Some((_folder, server)) = mariadb::server_with(&["--version=8.0.36"], None) else { return };
    let refused = named(&server.url()).engine().unwrap_err().to_string();
    assert!(refused.ends_with("the server is MySQL 8.0.36; the load needs MariaDB, which has sequences"), "{refused}");
}
