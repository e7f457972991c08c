-- Version 4: any run of any tool. Times are nanoseconds from the start of the run's first point on unless a name says
-- otherwise, lengths nanoseconds, sizes bytes. NULL is what is not known, never 0. Numbers (`n`, `point`, `actor`,
-- `place`) count from 0 within their run. The class `all` is the whole of an actor, the others are parts of it.

CREATE TABLE machine (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu TEXT NOT NULL,
    cores INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    UNIQUE (host, kernel, cpu, cores, memory_bytes)
) STRICT;

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    title TEXT NOT NULL,
    command TEXT NOT NULL,
    text TEXT NOT NULL,
    version TEXT NOT NULL,
    seed INTEGER NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    clock TEXT NOT NULL CHECK (clock IN ('wall', 'virtual')),
    state TEXT NOT NULL CHECK (state IN ('running', 'ended', 'cut_short')),
    machine INTEGER NOT NULL REFERENCES machine,
    storage TEXT NOT NULL,
    backend TEXT NOT NULL,
    scale_factor REAL,
    scale_published_iops REAL,
    scale_measured_iops REAL
) STRICT;

CREATE TABLE label (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    key TEXT NOT NULL,
    word TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE place (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    size_bytes INTEGER,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE actor (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    grp INTEGER,
    place INTEGER,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE point (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    name TEXT NOT NULL,
    about TEXT NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    stalled_ns INTEGER,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- `form` is 'run' for a line as it was run (scaled) and 'published' for the line as the plan has it.
CREATE TABLE point_command (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    point INTEGER NOT NULL,
    form TEXT NOT NULL CHECK (form IN ('run', 'published')),
    n INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (run, point, form, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    point INTEGER,
    actor INTEGER,
    key TEXT NOT NULL,
    number REAL,
    word TEXT,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    point INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    class TEXT NOT NULL,
    n INTEGER NOT NULL,
    measured_ns INTEGER NOT NULL,
    ops INTEGER NOT NULL,
    bytes INTEGER,
    failed INTEGER,
    short INTEGER,
    late INTEGER,
    late_max_ns INTEGER,
    held INTEGER,
    never_sent INTEGER,
    PRIMARY KEY (run, point, actor, class)
) STRICT, WITHOUT ROWID;

-- `buckets` holds the filled buckets, see packed.rs; the percentiles are worked out from them for those who query.
CREATE TABLE latency (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    point INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    class TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK (kind IN ('response', 'service', 'submission', 'lateness', 'gate', 'device')),
    count INTEGER NOT NULL,
    sum_ns INTEGER NOT NULL,
    mean_ns INTEGER NOT NULL,
    min_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    p50_ns INTEGER NOT NULL,
    p90_ns INTEGER NOT NULL,
    p95_ns INTEGER NOT NULL,
    p99_ns INTEGER NOT NULL,
    p999_ns INTEGER NOT NULL,
    p9999_ns INTEGER NOT NULL,
    buckets BLOB NOT NULL,
    PRIMARY KEY (run, point, actor, class, kind)
) STRICT;

-- A minute of a class, and its slices of about a second in `block`.
CREATE TABLE minute (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    actor INTEGER NOT NULL,
    class TEXT NOT NULL,
    n INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    slices INTEGER NOT NULL,
    ops INTEGER NOT NULL,
    bytes INTEGER,
    failed INTEGER,
    response_mean_ns INTEGER,
    response_max_ns INTEGER,
    service_mean_ns INTEGER,
    service_max_ns INTEGER,
    UNIQUE (run, actor, class, n)
) STRICT;

-- Apart from `minute`, so that a query over minutes reads none of it. Unpacked by slices(slices); see block.rs.
CREATE TABLE block (
    minute INTEGER PRIMARY KEY REFERENCES minute ON DELETE CASCADE,
    slices BLOB NOT NULL
) STRICT;

-- What a QoS gate said of an actor over a minute, unpacked by gate_rows(rows); see block.rs.
CREATE TABLE gate (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    actor INTEGER NOT NULL,
    n INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    rows BLOB NOT NULL,
    UNIQUE (run, actor, n)
) STRICT;

CREATE TABLE event (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    point INTEGER,
    actor INTEGER,
    at_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number REAL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- A write cycle; times are from its point's start on, or lengths.
CREATE TABLE cycle (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    point INTEGER NOT NULL,
    due_ns INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    sleep_ns INTEGER NOT NULL,
    wij_ns INTEGER NOT NULL,
    write_ns INTEGER NOT NULL,
    cycle_ns INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- What a server saw of its objects; the space that they used, and dispatches to the device in bins of 10 ms from bin
-- number `first_bin` on, see packed.rs.
CREATE TABLE object (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    path TEXT NOT NULL,
    is_group INTEGER NOT NULL,
    used_start_bytes INTEGER,
    used_end_bytes INTEGER,
    first_bin INTEGER NOT NULL,
    bins BLOB NOT NULL,
    PRIMARY KEY (run, n)
) STRICT;

-- What was in force for an object in a point. NULL is no limit.
CREATE TABLE limits (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    object INTEGER NOT NULL,
    point INTEGER NOT NULL,
    policy TEXT NOT NULL,
    ceiling_iops INTEGER,
    ceiling_bytes INTEGER,
    floor_iops INTEGER,
    floor_bytes INTEGER,
    PRIMARY KEY (run, object, point)
) STRICT, WITHOUT ROWID;

-- `measured` and `bound` are NULL where the answer is not one figure against one bound.
CREATE TABLE verdict (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    question TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('pass', 'fail', 'cannot_say')),
    because TEXT NOT NULL,
    measured REAL,
    bound REAL,
    unit TEXT,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    n INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- The views are what people query. Latencies are in microseconds, MB is 10^6 bytes.

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
SELECT run.id AS run, run.tool, run.title, point.n AS point, point.name AS point_name, actor.n AS actor,
    actor.name AS actor_name, actor.host, place.name AS place, cell.class,
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
    minute.response_mean_ns / 1e3 AS mean_us, minute.response_max_ns / 1e3 AS max_us,
    minute.service_mean_ns / 1e3 AS service_mean_us, minute.service_max_ns / 1e3 AS service_max_us
FROM minute LEFT JOIN actor ON actor.run = minute.run AND actor.n = minute.actor;

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
FROM minute
LEFT JOIN actor ON actor.run = minute.run AND actor.n = minute.actor
JOIN block ON block.minute = minute.id, json_each(slices(block.slices)) AS slice;

CREATE VIEW gate_seconds AS
SELECT gate.run, actor.name AS actor_name, (row.value ->> 0) / 1e9 AS second, (row.value ->> 1) / 1e9 AS seconds,
    (row.value ->> 2) / 1e3 AS wait_ceiling_us, (row.value ->> 3) / 1e3 AS wait_floors_us,
    (row.value ->> 4) / 1e3 AS wait_turn_us, (row.value ->> 5) / 1e3 AS device_us, row.value ->> 6 AS held_by,
    object.path AS held_at, row.value ->> 8 AS floor, row.value ->> 9 AS floor_number
FROM gate
LEFT JOIN actor ON actor.run = gate.run AND actor.n = gate.actor, json_each(gate_rows(gate.rows)) AS row
LEFT JOIN object ON object.run = gate.run AND object.n = row.value ->> 7;

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
