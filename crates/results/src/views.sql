-- What people and tools ask: the views of the newest version, made anew whenever a file takes a
-- step.

CREATE VIEW runs AS
SELECT run.id AS run, run.uuid, datetime(run.started_unix_ms / 1000, 'unixepoch') AS started, run.tool, run.title,
    run.state, run.clock, machine.host, run.storage, run.backend,
    (SELECT count(*) FROM actor WHERE actor.run = run.id) AS actors,
    (SELECT count(*) FROM point WHERE point.run = run.id) AS points,
    (SELECT (max(end_ns) - min(start_ns)) / 1e9 FROM point WHERE point.run = run.id) AS seconds,
    (SELECT sum(ops) FROM cell WHERE cell.run = run.id AND class = 'all') AS ops,
    (SELECT sum(bytes) FROM cell WHERE cell.run = run.id AND class = 'all') AS bytes,
    (SELECT sum(failed) FROM cell WHERE cell.run = run.id AND class = 'all') AS failed,
    (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'pass') AS passed,
    (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'fail') AS failed_criteria,
    (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'cannot_say') AS cannot_say,
    (SELECT group_concat(key || '=' || word, ' ' ORDER BY key) FROM label WHERE label.run = run.id) AS labels,
    run.command
FROM run JOIN machine ON machine.id = run.machine;

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

CREATE VIEW latencies AS
SELECT latency.run, point.name AS point_name, actor.name AS actor_name, latency.class, latency.kind, latency.count,
    latency.mean_ns / 1e3 AS mean_us, latency.min_ns / 1e3 AS min_us, latency.p50_ns / 1e3 AS p50_us,
    latency.p90_ns / 1e3 AS p90_us, latency.p95_ns / 1e3 AS p95_us, latency.p99_ns / 1e3 AS p99_us,
    latency.p999_ns / 1e3 AS p999_us, latency.p9999_ns / 1e3 AS p9999_us, latency.max_ns / 1e3 AS max_us
FROM latency
LEFT JOIN actor ON actor.run = latency.run AND actor.n = latency.actor
LEFT JOIN point ON point.run = latency.run AND point.n = latency.point;

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

-- Views of seconds begin with the actor, for nobody unpacks those of all: CROSS JOIN is how SQLite
-- is told the order. What these tables have belongs to an actor of the run.
CREATE VIEW seconds AS
SELECT minute.run, actor.name AS actor_name, minute.class, (slice.value ->> 0) / 1e9 AS second,
    (slice.value ->> 1) / 1e9 AS seconds, slice.value ->> 2 AS ops, slice.value ->> 3 AS bytes,
    (slice.value ->> 2) * 1e9 / nullif(slice.value ->> 1, 0) AS iops,
    (slice.value ->> 3) * 1e3 / nullif(slice.value ->> 1, 0) AS mb_s, slice.value ->> 4 AS failed,
    (slice.value ->> 6) / 1e3 AS mean_us, (slice.value ->> 7) / 1e3 AS p50_us, (slice.value ->> 8) / 1e3 AS p99_us,
    (slice.value ->> 9) / 1e3 AS p999_us, (slice.value ->> 10) / 1e3 AS max_us,
    (slice.value ->> 12) / 1e3 AS service_mean_us, (slice.value ->> 13) / 1e3 AS service_p50_us,
    (slice.value ->> 14) / 1e3 AS service_p99_us, (slice.value ->> 15) / 1e3 AS service_p999_us,
    (slice.value ->> 16) / 1e3 AS service_max_us, slice.value ->> 17 AS outstanding
FROM actor
CROSS JOIN minute ON minute.run = actor.run AND minute.actor = actor.n
CROSS JOIN block ON block.minute = minute.id
CROSS JOIN json_each(slices(block.slices)) AS slice;

CREATE VIEW gate_seconds AS
SELECT gate.run, actor.name AS actor_name, (row.value ->> 0) / 1e9 AS second, (row.value ->> 1) / 1e9 AS seconds,
    (row.value ->> 2) / 1e3 AS wait_ceiling_us, (row.value ->> 3) / 1e3 AS wait_floors_us,
    (row.value ->> 4) / 1e3 AS wait_turn_us, (row.value ->> 5) / 1e3 AS device_us, row.value ->> 6 AS held_by,
    object.path AS held_at, row.value ->> 8 AS floor, row.value ->> 9 AS floor_number
FROM actor
CROSS JOIN gate ON gate.run = actor.run AND gate.actor = actor.n
CROSS JOIN json_each(gate_rows(gate.rows)) AS row
LEFT JOIN object ON object.run = gate.run AND object.n = row.value ->> 7;

CREATE VIEW partitions AS
SELECT done.run, point.name AS point_name, done.name AS partition_name, done.size_bytes, done.resident_bytes,
    done.found, done.missed, done.found * 1.0 / nullif(done.found + done.missed, 0) AS hit_share, done.evicted
FROM cache_partition AS done
LEFT JOIN point ON point.run = done.run AND point.n = done.point;

CREATE VIEW verdicts AS
SELECT verdict.run, run.tool, run.title, verdict.question, verdict.outcome, verdict.measured, verdict.bound,
    verdict.unit, verdict.because
FROM verdict JOIN run ON run.id = verdict.run;

CREATE VIEW settings AS
SELECT setting.run, point.name AS point_name, actor.name AS actor_name, setting.key, setting.number, setting.word
FROM setting
LEFT JOIN actor ON actor.run = setting.run AND actor.n = setting.actor
LEFT JOIN point ON point.run = setting.run AND point.n = setting.point;

CREATE VIEW cycles AS
SELECT cycle.run, point.name AS point_name, actor.name AS actor_name, cycle.n AS cycle, cycle.due_ns / 1e9 AS due_s,
    cycle.start_ns / 1e9 AS start_s, cycle.sleep_ns / 1e9 AS sleep_s, cycle.wij_ns / 1e9 AS wij_s,
    cycle.write_ns / 1e9 AS write_s, cycle.cycle_ns / 1e9 AS cycle_s, cycle.blocks
FROM cycle
LEFT JOIN actor ON actor.run = cycle.run AND actor.n = cycle.actor
LEFT JOIN point ON point.run = cycle.run AND point.n = cycle.point;

-- The published table of RanRead, a row for each process of each batch, so that its published query
-- is answered. Batches are numbered through the file. Runs in virtual time read no storage and are
-- not in it. Iterations are the rounded mean of the processes that did something, so that the query
-- has the figure of the export, whichever row of a batch it takes them from; Requests are those of
-- this process. IOPS are those of the whole batch as its first versions estimate them, from the
-- time of this process: processes that did something × 1000 / ms.
CREATE VIEW RanRead AS
WITH batch AS (
    SELECT run.id AS run, point.n AS point, row_number() OVER (ORDER BY run.id, point.n) AS number,
        (run.started_unix_ms + point.start_ns / 1000000) / 1000 AS started,
        (SELECT group_concat(place.name, ',' ORDER BY place.n) FROM place WHERE place.run = run.id) AS database,
        (SELECT setting.number FROM setting WHERE setting.run = run.id AND setting.point = point.n
            AND setting.key = 'processes') AS processes,
        (SELECT setting.word FROM setting WHERE setting.run = run.id AND setting.point = point.n
            AND setting.key = 'batch') AS state
    FROM run JOIN point ON point.run = run.id
    WHERE run.tool = 'ranread' AND run.clock = 'wall'
), process AS (
    SELECT run, point, actor, ops, measured_ns, sum(ops) OVER batch AS done,
        nullif(count(*) FILTER (WHERE ops > 0) OVER batch, 0) AS active
    FROM cell WHERE class = 'all' WINDOW batch AS (PARTITION BY run, point)
)
SELECT date(batch.started, 'unixepoch') AS RunDate, time(batch.started, 'unixepoch') AS RunTime,
    batch.number AS Batch, batch.database AS Database, CAST(batch.processes AS INTEGER) AS Processes,
    process.actor + 1 AS Job, coalesce((process.done + process.active / 2) / process.active, 0) AS Iterations,
    process.measured_ns / 1e6 / nullif(process.ops, 0) AS ResponseTime,
    process.active * 1e9 * process.ops / nullif(process.measured_ns, 0) AS IOPS, process.ops AS Requests,
    CASE batch.state WHEN 'whole' THEN 'whole' WHEN 'stopped' THEN 'stopped' ELSE 'cut off' END AS State
FROM batch JOIN process ON process.run = batch.run AND process.point = batch.point;

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
