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

CREATE VIEW host_minutes AS
WITH known AS (
    SELECT *, nullif(user_ns + nice_ns + system_ns + irq_ns + softirq_ns + steal_ns + iowait_ns + idle_ns, 0) / 100.0
        AS cpu, nullif(length_ns, 0) / 100.0 AS time
    FROM host
)
SELECT run, start_ns / 1e9 AS second, length_ns / 1e9 AS seconds, (user_ns + nice_ns) / cpu AS user_percent,
    (system_ns + irq_ns + softirq_ns) / cpu AS system_percent, iowait_ns / cpu AS iowait_percent,
    steal_ns / cpu AS steal_percent, idle_ns / cpu AS idle_percent, cpu_some_ns / time AS cpu_some_percent,
    io_some_ns / time AS io_some_percent, io_full_ns / time AS io_full_percent,
    memory_some_ns / time AS memory_some_percent, memory_full_ns / time AS memory_full_percent,
    available_bytes, cached_bytes, dirty_bytes, writeback_bytes
FROM known;

CREATE VIEW host_seconds AS
WITH second AS (
    SELECT host.run, row.value AS v, nullif((row.value ->> 2) + (row.value ->> 3) + (row.value ->> 4) + (row.value ->> 5)
        + (row.value ->> 6) + (row.value ->> 7) + (row.value ->> 8) + (row.value ->> 9), 0) / 100.0 AS cpu,
        nullif(row.value ->> 1, 0) / 100.0 AS time
    FROM host, json_each(host_rows(host.rows)) AS row
)
SELECT run, (v ->> 0) / 1e9 AS second, (v ->> 1) / 1e9 AS seconds, ((v ->> 2) + (v ->> 3)) / cpu AS user_percent,
    ((v ->> 4) + (v ->> 5) + (v ->> 6)) / cpu AS system_percent, (v ->> 8) / cpu AS iowait_percent,
    (v ->> 7) / cpu AS steal_percent, (v ->> 9) / cpu AS idle_percent, (v ->> 10) / time AS cpu_some_percent,
    (v ->> 11) / time AS io_some_percent, (v ->> 12) / time AS io_full_percent,
    (v ->> 13) / time AS memory_some_percent, (v ->> 14) / time AS memory_full_percent,
    v ->> 15 AS available_bytes, v ->> 16 AS cached_bytes, v ->> 17 AS dirty_bytes, v ->> 18 AS writeback_bytes
FROM second;

CREATE VIEW device_minutes AS
SELECT run, name AS device, start_ns / 1e9 AS second, length_ns / 1e9 AS seconds,
    busy_ns * 100.0 / nullif(length_ns, 0) AS busy_percent, in_queue_ns * 1.0 / nullif(length_ns, 0) AS queue,
    reads * 1e9 / nullif(length_ns, 0) AS read_iops, read_bytes * 1e3 / nullif(length_ns, 0) AS read_mb_s,
    read_ns / 1e3 / nullif(reads, 0) AS read_await_us, writes * 1e9 / nullif(length_ns, 0) AS write_iops,
    write_bytes * 1e3 / nullif(length_ns, 0) AS write_mb_s, write_ns / 1e3 / nullif(writes, 0) AS write_await_us
FROM device;

CREATE VIEW device_seconds AS
WITH second AS (
    SELECT device.run, device.name, row.value AS v, nullif(row.value ->> 1, 0) AS time
    FROM device, json_each(device_rows(device.rows)) AS row
)
SELECT run, name AS device, (v ->> 0) / 1e9 AS second, (v ->> 1) / 1e9 AS seconds,
    (v ->> 2) * 100.0 / time AS busy_percent, (v ->> 3) * 1.0 / time AS queue, (v ->> 4) * 1e9 / time AS read_iops,
    (v ->> 5) * 1e3 / time AS read_mb_s, (v ->> 6) / 1e3 / nullif(v ->> 4, 0) AS read_await_us,
    (v ->> 7) * 1e9 / time AS write_iops, (v ->> 8) * 1e3 / time AS write_mb_s,
    (v ->> 9) / 1e3 / nullif(v ->> 7, 0) AS write_await_us
FROM second;
