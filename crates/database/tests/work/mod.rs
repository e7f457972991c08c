//! Shared by the tests of all databases: setup, a point of a number of transactions, and checks.

use block::Span;
use database::{Database, Dates, OpenRun, PointWatcher, StopSignal, UserPlan};
use oltp::{Draws, Indexes, Ledger, Mode, Rows, Sizes, Think, TransactionMix};
use std::num::NonZeroUsize;

/// Connections of a setup.
pub const JOBS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Makes a small database.
pub fn set_up(database: &Database, seed: u64, products: u64) {
    let sizes = Sizes { scale: "0.001".parse().unwrap(), products };
    database.setup(Rows { seed, sizes }, Indexes::All, JOBS, &mut |_, _| true).unwrap();
}

/// The settings of a point.
#[derive(Clone, Copy)]
pub struct TestLoad {
    pub users: u32,
    pub transactions: u64,
    pub mode: Mode,
}

/// Plays it with all nine transactions.
pub fn play(database: &Database, load: TestLoad) -> Ledger {
    play_mix(database, load, TransactionMix::V2.with_queries())
}

/// Plays it with this mix: no think time, a fixed date, and a limit of one hour.
pub fn play_mix(database: &Database, load: TestLoad, mix: TransactionMix) -> Ledger {
    struct Quiet;
    impl PointWatcher for Quiet {
        fn second(&mut self, _: &Ledger, _: usize, _: u32) -> bool {
            true
        }
    }
    play_watched(database, load, mix, &mut Quiet)
}

/// The same, watched.
pub fn play_watched(database: &Database, load: TestLoad, mix: TransactionMix, pace: &mut dyn PointWatcher) -> Ledger {
    let plan = UserPlan {
        users: load.users,
        mix,
        mode: load.mode,
        think: Think::default(),
        rate: None,
        warm_up: Span::ZERO,
        window: Span::from_secs(3600),
        transactions: Some(load.transactions),
        dates: Dates::Fixed(1_800_000_000),
        seed: 3,
        draws: Draws { ranges: database.ranges().unwrap(), skew: None },
        reconnect: Span::from_secs(database::RECONNECT_S),
    };
    let open = database.run_begins(load.users).unwrap();
    let signal = StopSignal::default();
    let played = database::play(&plan, &signal, &|_, signal| database.connect(signal), pace).unwrap();
    assert_eq!(played.lost, None);
    let ledger = played.ledger;
    database.run_ends(open, ledger.whole(), ledger.unsure()).unwrap();
    ledger
}

/// The checks that fail or have no answer.
pub fn wrong(database: &Database) -> Vec<(String, Option<bool>)> {
    let mut wrong = Vec::new();
    let all = database.check(&mut |found| {
        if found.holds != Some(true) {
            wrong.push((format!("{}: {}", found.what, found.because), found.holds));
        }
    });
    assert_eq!(all.unwrap(), wrong.is_empty());
    wrong
}

/// A run that adds a row and dies: what is under way, what its row is once it is dead, and that
/// later runs are compared as ever. `add` adds the row to logons as the load does, `kill` ends the
/// run.
pub fn a_run_dies(database: &Database, add: &dyn Fn(), kill: &dyn Fn(OpenRun)) {
    let run = database.run_begins(1).unwrap();
    add();
    let found = wrong(database);
    assert!(!found.is_empty() && found.iter().all(|(_, holds)| holds.is_none()), "{found:?}");
    assert!(database.is_in_use().unwrap() && found[0].0.contains("a run is under way"), "{found:?}");
    kill(run);
    // A server sees that a connection is gone a little later.
    while database.is_in_use().unwrap() {
        StopSignal::default().wait(Span::from_millis(1));
    }
    let found = wrong(database);
    let row = found.iter().find(|(said, _)| said.starts_with("rows of logon")).unwrap();
    assert!(row.1.is_none() && row.0.contains("1 more are of a run that died"), "{found:?}");
    assert_eq!(wrong(database), []);
    play(database, TestLoad { users: 2, transactions: 50, mode: Mode::Statements });
    let mut said = Vec::new();
    assert!(database.check(&mut |found| said.push(found.what.clone())).unwrap(), "{said:?}");
    assert!(
        said.iter().any(|what| what == "rows of logon are those loaded and those counted, and 1 of runs that died")
    );
}
