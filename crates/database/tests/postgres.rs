//! PostgreSQL under the load, on a private server: the same rows as in SQLite and MariaDB, by
//! statements and by procedures; kinds of failures; a crash of the server; what is refused, and
//! what drop leaves.

mod mariadb;
mod work;

use database::{Database, Error, Isolation, PointWatcher, Private, Sqlite, StopSignal};
use oltp::{Counts, Failure, Indexes, Ledger, Mode, Rows, Session, Sizes, Table, TransactionMix};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use work::{JOBS, TestLoad, play, play_watched, set_up, wrong};

/// A server, unless none is installed.
fn server(password: Option<&str>) -> Option<(TempDir, Private)> {
    server_with(&[], password)
}

/// With these settings beside the usual ones.
fn server_with(more: &[(&str, &str)], password: Option<&str>) -> Option<(TempDir, Private)> {
    if Private::programs().is_none() {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped here: PostgreSQL is not installed");
        println!("skipped: PostgreSQL is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let settings =
        [("deadlock_timeout", "10ms"), ("max_connections", "40"), ("shared_buffers", "16MB"), ("fsync", "off")];
    let settings = [&settings, more].concat();
    let server = Private::start(folder.path(), &settings, password).unwrap();
    Some((folder, server))
}

/// A second start in the same folder is refused, and the first server continues.
#[test]
fn a_private_server_is_left_alone_by_others() {
    let Some((folder, server)) = server(None) else { return };
    let refused = Private::start(folder.path(), &[], None).unwrap_err().to_string();
    assert!(refused.contains("another process has the server of this folder"), "{refused}");
    assert!(server.command("psql").args(["-qc", "SELECT 1"]).output().unwrap().status.success());
    let other = folder.path().join("with space");
    std::fs::create_dir(&other).unwrap();
    let refused = Private::start(&other, &[], None).unwrap_err().to_string();
    assert!(refused.contains("may have letters, digits and"), "{refused}");
    assert!(std::fs::read_dir(&other).unwrap().next().is_none(), "nothing was made");
}

fn named(url: &str) -> Database {
    Database::named(url, &|_| None, None).unwrap()
}

fn edit(server: &Private, sql: &str) {
    let status = server.command("psql").args(["-qv", "ON_ERROR_STOP=1", "-c", sql]).status().unwrap();
    assert!(status.success(), "{sql}");
}

/// After setup, and after 2000 transactions of one user, all tables have the same rows in SQLite,
/// PostgreSQL and MariaDB (if installed), by statements and by procedures; the counts are equal
/// too.
#[test]
fn the_same_seed_makes_the_same_rows_in_every_database() {
    let Some((folder, server)) = server(None) else { return };
    edit(&server, "CREATE DATABASE other");
    let file = Database::Sqlite(Sqlite::new(folder.path().join("a"), 1 << 20));
    let other = server.url().replace("/postgres?", "/other?");
    // The server must stop before its folder is removed.
    let (_third_folder, third) = mariadb::server(None).unzip();
    let mut all =
        vec![(file, Mode::Statements), (named(&server.url()), Mode::Statements), (named(&other), Mode::Procedures)];
    if let Some(third) = &third {
        // Independent of the database's collation.
        third.run("CREATE DATABASE other CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci").unwrap();
        third.run("GRANT ALL ON other.* TO seawall@localhost").unwrap();
        let other = third.url().replace("/shop?", "/other?");
        all.extend([(named(&third.url()), Mode::Statements), (named(&other), Mode::Procedures)]);
    }
    all.iter().for_each(|(database, _)| set_up(database, 1, 100));
    let digests = || all.iter().map(|(database, _)| database.digests().unwrap()).collect::<Vec<_>>();
    let before = digests();
    for (digests, (database, _)) in before.iter().zip(&all) {
        assert_eq!(before[0], *digests, "{}", database.name());
    }
    let play_one = |(database, mode): &(Database, Mode)| {
        let ledger = play(database, TestLoad { users: 1, transactions: 2000, mode: *mode });
        assert_eq!(ledger.first_failure(), None, "{}", database.name());
        *ledger.whole()
    };
    let done: Vec<Counts> = all.iter().map(play_one).collect();
    let after = digests();
    for ((digests, counts), (database, mode)) in after.iter().zip(&done).zip(&all) {
        assert_eq!(done[0], *counts, "{} by {}", database.name(), mode.name());
        assert_eq!(after[0], *digests, "{} by {}", database.name(), mode.name());
    }
    let changed = before[0].iter().zip(&after[0]).filter(|(before, after)| before != after).count();
    // Customers, addresses, cards, inventories, orders, items and logons change; warehouses and
    // both product tables stay.
    // products stay.
    assert_eq!(changed, 7);
    for (database, _) in &all {
        assert_eq!(wrong(database), []);
    }
}

/// After the work of users by statements and by procedures all checks pass; damage is detected.
#[test]
fn what_users_did_adds_up_and_damage_is_seen() {
    let Some((_folder, server)) = server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 100);
    for mode in [Mode::Statements, Mode::Procedures] {
        let ledger = play(&database, TestLoad { users: 4, transactions: 400, mode });
        assert!(ledger.whole().inserts[Table::Orders as usize] > 0 && ledger.first_failure().is_none(), "{mode:?}");
        assert_eq!(wrong(&database), [], "{mode:?}");
    }
    let damage = [
        (
            "UPDATE orders SET order_total = order_total + 1 WHERE order_id = (SELECT MAX(order_id) FROM orders)",
            "totals",
        ),
        ("UPDATE inventories SET quantity_on_hand = quantity_on_hand + 1 WHERE product_id = 1", "stock"),
        ("DELETE FROM logon WHERE logon_id = 1", "rows of logon"),
        ("SELECT setval('address_seq', 1)", "no row of addresses is ahead"),
    ];
    for (number, (sql, what)) in damage.into_iter().enumerate() {
        edit(&server, sql);
        let found = wrong(&database);
        assert_eq!(found.len(), number + 1, "{sql}: {found:?}");
        assert!(found.iter().any(|(said, holds)| said.starts_with(what) && *holds == Some(false)), "{what}: {found:?}");
    }
}

/// A deadlock, a serialization failure, a statement timeout, and a connection closed by the server.
#[test]
fn failures_have_their_kinds() {
    let Some((_folder, server)) = server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let Database::Postgres(plain) = &database else { panic!("not a server") };
    let mut strict = plain.clone();
    strict.isolation = Isolation::RepeatableRead;
    let signal = StopSignal::default();
    let (mut one, mut two) = (strict.connect(&signal).unwrap(), strict.connect(&signal).unwrap());
    const RAISE: &str = "UPDATE orders SET order_total = order_total + 1 WHERE order_id = $1";
    one.begin().unwrap();
    one.rows("SELECT COUNT(*) FROM orders", &[]).unwrap();
    two.change(RAISE, &[1.into()]).unwrap();
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
    one.change("SET statement_timeout = 1", &[]).unwrap();
    assert_eq!(one.rows("SELECT pg_sleep(60)", &[]), Err(Failure::Timeout));
    edit(&server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'seawall user'");
    assert!(matches!(one.rows("SELECT 1", &[]), Err(Failure::Lost(_))));
}

/// Its life is that of its connection.
#[test]
fn what_a_dead_run_left_is_taken_as_it_is() {
    let Some((_folder, server)) = server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let sql = "INSERT INTO logon SELECT nextval('logon_seq'), MAX(customer_id), MAX(logon_date) FROM logon";
    work::a_run_dies(&database, &|| edit(&server, sql), &drop);
}

/// Crashes the server once after a number of transactions.
struct Crash<'a>(&'a Private, bool);

impl PointWatcher for Crash<'_> {
    fn second(&mut self, ledger: &Ledger, _: usize, _: u32) -> bool {
        let done: u64 = ledger.seconds().iter().map(|second| second.done).sum();
        if done > 50 && !self.1 {
            self.1 = true;
            self.0.crash().unwrap();
        }
        true
    }
}

/// Connections are re-established, the rest is done, and acknowledged transactions are durable.
#[test]
fn a_server_that_crashes_is_a_gap_and_no_end() {
    let Some((_folder, server)) = server(None) else { return };
    let database = named(&server.url());
    set_up(&database, 1, 20);
    let mut crash = Crash(&server, false);
    let load = TestLoad { users: 3, transactions: 60_000, mode: Mode::Statements };
    let mut limited = Limited { crash: &mut crash, after: 0 };
    let ledger = play_watched(&database, load, TransactionMix::V2, &mut limited);
    assert!(crash.1 && ledger.first_failure().is_some(), "{ledger:?}");
    let said = wrong(&database);
    assert!(said.iter().all(|(_, holds)| holds.is_none()), "{said:?}");
}

/// Ends the point after some transactions that followed the crash.
struct Limited<'a, 'b> {
    crash: &'a mut Crash<'b>,
    after: u64,
}

impl PointWatcher for Limited<'_, '_> {
    fn second(&mut self, ledger: &Ledger, seconds: usize, working: u32) -> bool {
        let done: u64 = ledger.seconds().iter().map(|second| second.done).sum();
        let was = self.crash.1;
        self.crash.second(ledger, seconds, working);
        if self.crash.1 && !was {
            self.after = done;
        }
        // Transactions in progress at the crash may still have been reported: one for each of three
        // users, and 50 more.
        !self.crash.1 || done < self.after + 53
    }
}

#[test]
fn what_is_not_ours_is_neither_loaded_nor_dropped() {
    let Some((_folder, server)) = server(None) else { return };
    let database = named(&server.url());
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products: 20 };
    let rows = Rows { seed: 1, sizes };
    let set_up = |part: f64| database.setup(rows, Indexes::All, JOBS, &mut |done, _| done < part);
    assert!(matches!(database.ranges(), Err(Error::NotOurs(_))));
    edit(&server, "CREATE TABLE orders (mine int)");
    assert!(matches!(set_up(2.0), Err(Error::Taken { table, .. }) if table == "orders"));
    assert!(matches!(database.drop_all(), Err(Error::NotOurs(_))));
    edit(&server, "DROP TABLE orders; CREATE TABLE orderentry_metadata (mine int)");
    assert!(matches!(database.check(&mut |_| {}), Err(Error::NotOurs(_))));
    edit(&server, "DROP TABLE orderentry_metadata");
    // A setup that is stopped leaves nothing that would hinder the next.
    assert!(matches!(set_up(0.5), Err(Error::Stopped)));
    set_up(2.0).unwrap();
    // A user's object depends on ours: nothing is removed, and the error says so.
    edit(&server, "CREATE VIEW mine AS SELECT * FROM orders");
    assert!(database.drop_all().unwrap_err().to_string().contains("depend"));
    assert_eq!(wrong(&database), []);
    edit(&server, "DROP VIEW mine; CREATE TABLE mine AS SELECT 7 AS x");
    database.drop_all().unwrap();
    edit(&server, "SELECT 1 / (SELECT COUNT(*) FROM mine)");
    let left = "SELECT 1 / (CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END) FROM pg_class WHERE relname ~ \
                '^(orders|customers|logon|orderentry)' OR relname ~ '_seq$'";
    edit(&server, left);
}

/// SCRAM passwords come from the environment.
#[test]
fn a_password_is_needed_where_the_server_wants_one() {
    let Some((_folder, server)) = server(Some("hunter2")) else { return };
    let with = |password: Option<&'static str>| {
        let said = move |name: &str| (name == "PGPASSWORD").then(|| password.map(str::to_owned))?;
        Database::named(&server.url(), &said, None).unwrap().engine()
    };
    assert!(with(Some("hunter2")).unwrap().starts_with("postgresql "));
    assert!(with(None).unwrap_err().to_string().contains("set PGPASSWORD"));
    let refused = with(Some("hunter3")).unwrap_err().to_string();
    assert!(refused.contains("28P01") && !refused.contains("hunter3"), "{refused}");
}

/// A certificate authority, and its certificate for `localhost` where the server expects it.
fn papers(server: &Private, folder: &Path) -> PathBuf {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let owner = std::fs::metadata(server.data()).unwrap();
    for (name, text) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
        let path = server.data().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    let file = folder.join("ca.crt");
    std::fs::write(&file, authority.pem()).unwrap();
    file
}

/// A server that accepts only encrypted TCP connections: the effect of each `sslmode`, and whose
/// certificates are refused.
#[test]
fn connections_are_encrypted_as_sslmode_says() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let Some((folder, server)) = server_with(&[("listen_addresses", "localhost"), ("port", &port)], None) else {
        return;
    };
    let socket = format!("{}&port={port}", server.url());
    let edit = |sql: &str| {
        let status = server.command("psql").env("PGPORT", &port).args(["-qv", "ON_ERROR_STOP=1", "-c", sql]).status();
        assert!(status.unwrap().success(), "{sql}");
    };
    let engine = |host: &str, parameters: &str| {
        let url = format!("postgres://seawall@{host}:{port}/postgres?{parameters}");
        named(&url).engine().map_err(|error| error.to_string())
    };
    assert!(engine("127.0.0.1", "").is_ok(), "prefer: in the clear where the server cannot");
    let refused = engine("127.0.0.1", "sslmode=require").unwrap_err();
    assert!(refused.contains("the server does not encrypt connections, and sslmode wants it"), "{refused}");
    let authority = papers(&server, folder.path());
    let rules = "local all all trust\nhostssl all all all trust\n";
    std::fs::write(server.data().join("pg_hba.conf"), rules).unwrap();
    edit("ALTER SYSTEM SET ssl = on");
    edit("SELECT pg_reload_conf()");
    let trusting = |mode: &str| format!("sslmode={mode}&sslrootcert={}", authority.display());
    // The server reloads its settings asynchronously.
    let mut clear = engine("127.0.0.1", "sslmode=disable");
    while clear.is_ok() {
        clear = engine("127.0.0.1", "sslmode=disable");
    }
    assert!(clear.as_ref().unwrap_err().contains("28000"), "{clear:?}");
    for (host, parameters) in [
        ("127.0.0.1", ""),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", &*trusting("require")),
        ("127.0.0.1", &*trusting("verify-ca")),
        ("localhost", &*trusting("verify-full")),
    ] {
        assert!(engine(host, parameters).is_ok(), "{host} {parameters}: {:?}", engine(host, parameters));
    }
    assert!(named(&format!("{socket}&sslmode=verify-full")).engine().is_ok(), "a socket is not encrypted");
    let named_else = engine("127.0.0.1", &trusting("verify-full")).unwrap_err();
    assert!(named_else.contains("TLS: ") && named_else.contains("127.0.0.1"), "{named_else}");
    let other = folder.path().join("other.crt");
    std::fs::write(
        &other,
        CertificateParams::new(Vec::new()).unwrap().self_signed(&KeyPair::generate().unwrap()).unwrap().pem(),
    )
    .unwrap();
    let unknown = engine("localhost", &format!("sslmode=verify-ca&sslrootcert={}", other.display())).unwrap_err();
    assert!(unknown.contains("TLS: ") && !unknown.contains('\n'), "{unknown}");
    let none = engine("localhost", "sslmode=verify-full&sslrootcert=/none.crt").unwrap_err();
    assert!(none.contains("/none.crt: "), "{none}");
    // All work is done over the encrypted connection: COPY, statements, watching.
    let database = named(&format!("postgres://seawall@localhost:{port}/postgres?{}", trusting("verify-full")));
    set_up(&database, 1, 100);
    let ledger = play(&database, TestLoad { users: 2, transactions: 200, mode: Mode::Statements });
    assert!(ledger.whole().commits > 0);
    assert_eq!(wrong(&database), []);
}
