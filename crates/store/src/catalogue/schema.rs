//! The tables of a catalogue, and how its file is recognised.

/// `application_id` of our files ("SEAW"): another program's database is not mistaken for a pool.
pub(super) const APPLICATION_ID: i64 = 0x5345_4157;

/// The format that this program writes, and the only one that it reads.
pub(super) const FORMAT: u32 = 16;

/// The tables. A catalogue must have them to the letter, so that any change to this text is another
/// format.
pub(super) const SCHEMA: &str = "
    CREATE TABLE object (
        id        INTEGER PRIMARY KEY,
        kind      TEXT NOT NULL CHECK (kind IN ('svm', 'volume', 'qtree', 'lun', 'file', 'client_file')),
        parent    INTEGER REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL,
        policy    INTEGER,
        template  INTEGER,
        fair      INTEGER NOT NULL,
        offline   INTEGER NOT NULL,
        os_type   TEXT,
        created   INTEGER NOT NULL,
        junction  TEXT,
        placed    INTEGER NOT NULL,
        origin    INTEGER,
        origin_snapshot TEXT,
        node      INTEGER,
        generation INTEGER
    ) STRICT;
    CREATE TABLE policy_group (
        id        INTEGER PRIMARY KEY,
        svm       INTEGER NOT NULL REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        uuid      TEXT NOT NULL,
        settings  TEXT NOT NULL
    ) STRICT;
    CREATE TABLE snapshot (
        id        INTEGER PRIMARY KEY,
        volume    INTEGER NOT NULL REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        created   INTEGER NOT NULL,
        comment   TEXT NOT NULL
    ) STRICT;
    CREATE TABLE snapshot_leaf (
        tree      INTEGER PRIMARY KEY,
        snapshot  INTEGER NOT NULL REFERENCES snapshot (id) DEFERRABLE INITIALLY DEFERRED,
        kind      TEXT NOT NULL CHECK (kind IN ('volume', 'lun', 'file')),
        qtree     TEXT,
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL,
        os_type   TEXT
    ) STRICT;
    CREATE TABLE cache_partition (
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL,
        memory_only INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE cache_volume (
        volume    INTEGER PRIMARY KEY REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        partition INTEGER NOT NULL REFERENCES cache_partition (id) DEFERRABLE INITIALLY DEFERRED
    ) STRICT;
    CREATE TABLE pool (
        number      INTEGER NOT NULL,
        generation  INTEGER NOT NULL,
        digest      INTEGER NOT NULL,
        fair        INTEGER NOT NULL,
        last_object INTEGER NOT NULL
    ) STRICT;
    ";
