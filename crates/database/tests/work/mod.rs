//! Shared by the tests of all databases: setup, a point of a number of transactions, and checks.

use block::Span;
use database::{Database, Dates, PointWatcher, UserPlan, Whistle};
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
pub struct Asked {
    pub users: u32,
    pub transactions: u64,
    pub mode: Mode,
}

/// Plays it with all nine transactions.
pub fn play(database: &Database, asked: Asked) -> Ledger {
    play_mix(database, asked, TransactionMix::V2.with_queries())
}

/// Plays it with this mix: no think time, a fixed date, and a limit of one hour.
pub fn play_mix(database: &Database, asked: Asked, mix: TransactionMix) -> Ledger {
    struct Quiet;
    impl PointWatcher for Quiet {
        fn second(&mut self, _: &Ledger, _: usize, _: u32) -> bool {
            true
        }
    }
    play_watched(database, asked, mix, &mut Quiet)
}

/// The same, watched.
pub fn play_watched(database: &Database, asked: Asked, mix: TransactionMix, pace: &mut dyn PointWatcher) -> Ledger {
    let plan = UserPlan {
        users: asked.users,
        mix,
        mode: asked.mode,
        think: Think::default(),
        rate: None,
        warm_up: Span::ZERO,
        window: Span::from_secs(3600),
        transactions: Some(asked.transactions),
        dates: Dates::Fixed(1_800_000_000),
        seed: 3,
        draws: Draws { ranges: database.ranges().unwrap(), skew: None },
    };
    database.run_begins().unwrap();
    let whistle = Whistle::default();
    let ledger = database::play(&plan, &whistle, &|_, whistle| database.connect(whistle), pace).unwrap();
    database.run_ends(ledger.whole(), ledger.unsure()).unwrap();
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
