-- Version 9: what the partitions of a server's cache did in each point.
CREATE TABLE cache_partition (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    point INTEGER NOT NULL,
    name TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    resident_bytes INTEGER NOT NULL,
    found INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    evicted INTEGER NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
