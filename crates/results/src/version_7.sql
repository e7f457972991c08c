-- Version 7: how long the responses of each minute took, so that percentiles of any stretch of a run are known, and which
-- arm of an experiment a point belongs to.

-- Apart from `minute` and `block`, so that a query reads what it asks for. Unpacked by times_buckets(response); see block.rs.
CREATE TABLE times (
    minute INTEGER PRIMARY KEY REFERENCES minute ON DELETE CASCADE,
    response BLOB NOT NULL
) STRICT;

-- Views are asked by the names of actors: with it only the minutes of those are read.
CREATE INDEX actor_name ON actor (run, name);

DROP VIEW minutes;

CREATE VIEW minutes AS
SELECT minute.run, actor.name AS actor_name, minute.class, minute.start_ns / 1e9 AS second,
    minute.length_ns / 1e9 AS seconds, minute.ops, minute.bytes,
    minute.ops * 1e9 / nullif(minute.length_ns, 0) AS iops,
    minute.bytes * 1e3 / nullif(minute.length_ns, 0) AS mb_s, minute.failed,
    minute.response_mean_ns / 1e3 AS mean_us,
    percentile_ns(times_buckets(times.response), 50) / 1e3 AS p50_us,
    percentile_ns(times_buckets(times.response), 99) / 1e3 AS p99_us,
    percentile_ns(times_buckets(times.response), 99.9) / 1e3 AS p999_us,
    minute.response_max_ns / 1e3 AS max_us,
    minute.service_mean_ns / 1e3 AS service_mean_us, minute.service_max_ns / 1e3 AS service_max_us,
    times_buckets(times.response) AS buckets
FROM minute
LEFT JOIN actor ON actor.run = minute.run AND actor.n = minute.actor
LEFT JOIN times ON times.minute = minute.id;

-- Of points alone that have one.
CREATE TABLE point_arm (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    point INTEGER NOT NULL,
    arm TEXT NOT NULL,
    PRIMARY KEY (run, point)
) STRICT, WITHOUT ROWID;

DROP VIEW results;

CREATE VIEW results AS
SELECT run.id AS run, run.tool, run.title, point.n AS point, point.name AS point_name,
    point_arm.arm, actor.n AS actor, actor.name AS actor_name, actor.host, place.name AS place, cell.class,
    cell.measured_ns / 1e9 AS seconds, cell.ops, cell.bytes,
    cell.ops * 1e9 / nullif(cell.measured_ns, 0) AS iops,
    cell.bytes * 1e3 / nullif(cell.measured_ns, 0) AS mb_s,
    latency.mean_ns / 1e3 AS mean_us, latency.p50_ns / 1e3 AS p50_us, latency.p90_ns / 1e3 AS p90_us,
    latency.p95_ns / 1e3 AS p95_us, latency.p99_ns / 1e3 AS p99_us, latency.p999_ns / 1e3 AS p999_us,
    latency.p9999_ns / 1e3 AS p9999_us, latency.max_ns / 1e3 AS max_us,
    cell.failed, cell.short, cell.late, cell.late_max_ns / 1e3 AS late_max_us, cell.held, cell.never_sent
FROM cell
JOIN run ON run.id = cell.run
LEFT JOIN actor ON actor.run = cell.run AND actor.n = cell.actor
LEFT JOIN point ON point.run = cell.run AND point.n = cell.point
LEFT JOIN point_arm ON point_arm.run = cell.run AND point_arm.point = cell.point
LEFT JOIN place ON place.run = cell.run AND place.n = actor.place
LEFT JOIN latency ON latency.run = cell.run AND latency.point = cell.point AND latency.actor = cell.actor
    AND latency.class = cell.class AND latency.kind = 'response';
