-- Version 6: what the host and the devices under the storage did meanwhile, a row for each minute, the seconds in its block.

-- Times of processors are sums over all of them. Unpacked by host_rows(rows); see host.rs.
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    user_ns INTEGER,
    nice_ns INTEGER,
    system_ns INTEGER,
    irq_ns INTEGER,
    softirq_ns INTEGER,
    steal_ns INTEGER,
    iowait_ns INTEGER,
    idle_ns INTEGER,
    cpu_some_ns INTEGER,
    io_some_ns INTEGER,
    io_full_ns INTEGER,
    memory_some_ns INTEGER,
    memory_full_ns INTEGER,
    available_bytes INTEGER,
    cached_bytes INTEGER,
    dirty_bytes INTEGER,
    writeback_bytes INTEGER,
    rows BLOB NOT NULL,
    UNIQUE (run, n)
) STRICT;

-- Unpacked by device_rows(rows); see host.rs.
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    name TEXT NOT NULL,
    n INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    busy_ns INTEGER NOT NULL,
    in_queue_ns INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    write_bytes INTEGER NOT NULL,
    write_ns INTEGER NOT NULL,
    rows BLOB NOT NULL,
    UNIQUE (run, name, n)
) STRICT;
