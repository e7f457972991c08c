-- Times are nanoseconds from the run's first phase on, lengths nanoseconds, sizes bytes. `position` counts from 0.
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    plan TEXT NOT NULL,
    command TEXT NOT NULL,
    version TEXT NOT NULL,
    seed INTEGER NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    simulated INTEGER NOT NULL,
    cut_short INTEGER NOT NULL,
    host TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu TEXT NOT NULL,
    cores INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    storage TEXT NOT NULL,
    backend TEXT NOT NULL,
    -- All three are NULL where the plan was not scaled.
    scale_factor REAL,
    scale_published_iops REAL,
    scale_measured_iops REAL
) STRICT;

CREATE TABLE phase (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    about TEXT NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    stalled_ns INTEGER NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- `form` is 'run' for a line as it was run (scaled) and 'published' for the line as the plan has it.
CREATE TABLE phase_command (
    run INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    form TEXT NOT NULL CHECK (form IN ('run', 'published')),
    position INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (run, phase, form, position),
    FOREIGN KEY (run, phase) REFERENCES phase ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE workload (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    object TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- A second of a workload.
CREATE TABLE interval (
    run INTEGER NOT NULL,
    workload INTEGER NOT NULL,
    position INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    other INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    write_bytes INTEGER NOT NULL,
    faults INTEGER NOT NULL,
    response_count INTEGER NOT NULL,
    response_mean_ns INTEGER NOT NULL,
    response_p50_ns INTEGER NOT NULL,
    response_p99_ns INTEGER NOT NULL,
    response_p999_ns INTEGER NOT NULL,
    response_max_ns INTEGER NOT NULL,
    service_count INTEGER NOT NULL,
    service_mean_ns INTEGER NOT NULL,
    service_p50_ns INTEGER NOT NULL,
    service_p99_ns INTEGER NOT NULL,
    service_p999_ns INTEGER NOT NULL,
    service_max_ns INTEGER NOT NULL,
    outstanding INTEGER NOT NULL,
    wait_ceiling_ns INTEGER NOT NULL,
    wait_floors_ns INTEGER NOT NULL,
    wait_turn_ns INTEGER NOT NULL,
    device_ns INTEGER NOT NULL,
    held_by TEXT NOT NULL,
    PRIMARY KEY (run, workload, position),
    FOREIGN KEY (run, workload) REFERENCES workload ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A phase of a workload; `position` is the phase's.
CREATE TABLE tally (
    run INTEGER NOT NULL,
    workload INTEGER NOT NULL,
    position INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    other INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    write_bytes INTEGER NOT NULL,
    faults INTEGER NOT NULL,
    late INTEGER NOT NULL,
    late_max_ns INTEGER NOT NULL,
    PRIMARY KEY (run, workload, position),
    FOREIGN KEY (run, workload) REFERENCES workload ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- `buckets` holds the filled buckets, see packed.rs; the percentiles are worked out from them for those who query.
CREATE TABLE histogram (
    run INTEGER NOT NULL,
    workload INTEGER NOT NULL,
    tally INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('response', 'service', 'queued', 'device')),
    count INTEGER NOT NULL,
    sum_ns INTEGER NOT NULL,
    min_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    p50_ns INTEGER NOT NULL,
    p99_ns INTEGER NOT NULL,
    p999_ns INTEGER NOT NULL,
    buckets BLOB NOT NULL,
    PRIMARY KEY (run, workload, tally, kind),
    FOREIGN KEY (run, workload, tally) REFERENCES tally ON DELETE CASCADE
) STRICT;

CREATE TABLE object (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    path TEXT NOT NULL,
    is_group INTEGER NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- Dispatches to the device in bins of 10 ms from bin number `first_bin` on, see packed.rs.
CREATE TABLE object_trace (
    run INTEGER NOT NULL,
    object INTEGER NOT NULL,
    first_bin INTEGER NOT NULL,
    bins BLOB NOT NULL,
    PRIMARY KEY (run, object),
    FOREIGN KEY (run, object) REFERENCES object ON DELETE CASCADE
) STRICT;

-- What was in force for an object in a phase; `position` is the phase's. NULL is no limit.
CREATE TABLE limits (
    run INTEGER NOT NULL,
    object INTEGER NOT NULL,
    position INTEGER NOT NULL,
    policy TEXT NOT NULL,
    ceiling_iops INTEGER,
    ceiling_bytes INTEGER,
    floor_iops INTEGER,
    floor_bytes INTEGER,
    PRIMARY KEY (run, object, position),
    FOREIGN KEY (run, object) REFERENCES object ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    question TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('pass', 'fail', 'cannot_say')),
    because TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
