-- Version 7: how long the responses of each minute took, so that percentiles of any stretch of a run are known, and which
-- arm of an experiment a point belongs to.

-- Apart from `minute` and `block`, so that a query reads what it asks for. Unpacked by times_buckets(response); see block.rs.
CREATE TABLE times (
    minute INTEGER PRIMARY KEY REFERENCES minute ON DELETE CASCADE,
    response BLOB NOT NULL
) STRICT;

-- Views are asked by the names of actors: with it only the minutes of those are read.
CREATE INDEX actor_name ON actor (run, name);

-- Of points alone that have one.
CREATE TABLE point_arm (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    point INTEGER NOT NULL,
    arm TEXT NOT NULL,
    PRIMARY KEY (run, point)
) STRICT, WITHOUT ROWID;
