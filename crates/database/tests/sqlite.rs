//! SQLite under the load: what setup makes, what users do to it, what the checks see, and what drop leaves.

use block::Span;
use database::{Error, Pace, Plan, Sqlite, Whistle, play};
use oltp::{Indexes, Ledger, Mix, Rows, Sizes, Table, Think};
use std::path::Path;

fn small(folder: &Path, name: &str, seed: u64) -> Sqlite {
    let database = Sqlite::new(folder.join(name), 1 << 20);
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products: 20 };
    database.setup(Rows { seed, sizes }, Indexes::All, &mut |_, _| true).unwrap();
    database
}

/// Ends a point after so many seconds that had transactions of all users.
struct Enough;

impl Pace for Enough {
    fn second(&mut self, ledger: &Ledger, _: usize, _: u32) -> bool {
        ledger.seconds().iter().map(|second| second.done).sum::<u64>() < 50
    }
}

/// A point of two users, without thinking; an hour would be allowed.
fn worked(database: &Sqlite) -> Ledger {
    let plan = Plan {
        users: 2,
        mix: Mix::V2.with_queries(),
        think: Think::default(),
        rate: None,
        warm_up: Span::ZERO,
        window: Span::from_secs(3600),
        seed: 3,
        ranges: database.ranges().unwrap(),
    };
    database.run_begins().unwrap();
    let whistle = Whistle::default();
    let ledger = play(&plan, &whistle, &|_, whistle| database.connect(1_800_000_000, whistle), &mut Enough).unwrap();
    database.run_ends(ledger.whole()).unwrap();
    ledger
}

/// What fails of the checks, and what cannot be said.
fn wrong(database: &Sqlite) -> Vec<(String, Option<bool>)> {
    let mut wrong = Vec::new();
    let all = database.check(&mut |found| {
        if found.holds != Some(true) {
            wrong.push((found.what.clone(), found.holds));
        }
    });
    assert_eq!(all.unwrap(), wrong.is_empty());
    wrong
}

fn edit(database: &Sqlite, sql: &str) {
    rusqlite::Connection::open(database.path()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn the_same_seed_makes_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let [one, same, other] = [("a", 1), ("b", 1), ("c", 2)].map(|(name, seed)| small(folder.path(), name, seed));
    let digests = one.digests().unwrap();
    assert_eq!(digests, same.digests().unwrap());
    for (mine, theirs) in digests.iter().zip(other.digests().unwrap()) {
        assert_ne!(*mine, theirs);
    }
    edit(&same, "UPDATE addresses SET town = town || 'x' WHERE address_id = 7");
    let differ = digests.iter().zip(same.digests().unwrap()).filter(|(mine, theirs)| *mine != theirs);
    assert_eq!(differ.map(|(mine, _)| mine.0).collect::<Vec<_>>(), [Table::Addresses]);
}

/// After two users nothing is wrong; each kind of damage is seen by the check that is for it.
#[test]
fn what_users_did_adds_up_and_damage_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let database = small(folder.path(), "a", 1);
    let ledger = worked(&database);
    assert!(ledger.whole().inserts[Table::Orders as usize] > 0 && ledger.first_failure().is_none(), "{ledger:?}");
    assert_eq!(wrong(&database), []);
    let damage = [
        (
            "UPDATE orders SET order_total = order_total + 1 WHERE order_id = (SELECT MAX(order_id) FROM orders)",
            "totals",
        ),
        ("UPDATE inventories SET quantity_on_hand = quantity_on_hand + 1 WHERE product_id = 1", "stock"),
        ("DELETE FROM logon WHERE logon_id = 1", "rows of logon"),
        ("UPDATE orderentry_sequences SET value = value + 1 WHERE name = 'address_seq'", "address_seq"),
    ];
    for (number, (sql, what)) in damage.into_iter().enumerate() {
        edit(&database, sql);
        let found = wrong(&database);
        assert_eq!(found.len(), number + 1, "{sql}: {found:?}");
        assert!(found.iter().any(|(said, holds)| said.starts_with(what) && *holds == Some(false)), "{what}: {found:?}");
    }
}

#[test]
fn a_run_that_was_killed_leaves_counts_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let database = small(folder.path(), "a", 1);
    database.run_begins().unwrap();
    let found = wrong(&database);
    assert_eq!(found.len(), 15, "{found:?}");
    assert!(found.iter().all(|(_, holds)| holds.is_none()));
}

#[test]
fn drop_removes_only_what_setup_made() {
    let folder = tempfile::tempdir().unwrap();
    let alone = small(folder.path(), "alone", 1);
    alone.drop_all().unwrap();
    assert!(!alone.path().exists());
    let path = folder.path().join("shared");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (7)")
        .unwrap();
    let shared = small(folder.path(), "shared", 1);
    shared.drop_all().unwrap();
    let left: i64 =
        rusqlite::Connection::open(&path).unwrap().query_row("SELECT x FROM mine", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 7);
    assert!(matches!(shared.drop_all(), Err(Error::NotOurs(_))));
}

/// Tables of the same names are neither loaded nor dropped, and a setup that is stopped leaves nothing.
#[test]
fn tables_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let database = Sqlite::new(folder.path().join("a"), 1 << 20);
    edit(&database, "CREATE TABLE Orders (mine); INSERT INTO Orders VALUES (7)");
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products: 20 };
    let rows = Rows { seed: 1, sizes };
    let refused = database.setup(rows, Indexes::All, &mut |_, _| true);
    assert!(matches!(&refused, Err(Error::Taken { table, .. }) if table == "Orders"), "{refused:?}");
    assert!(matches!(database.drop_all(), Err(Error::NotOurs(_))));
    let stopped = Sqlite::new(folder.path().join("b"), 1 << 20);
    assert!(matches!(stopped.setup(rows, Indexes::All, &mut |part, _| part < 0.5), Err(Error::Stopped)));
    assert!(!stopped.path().exists());
}
