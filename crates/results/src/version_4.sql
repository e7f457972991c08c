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
