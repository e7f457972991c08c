-- Version 11: bursts above ceilings, and floors by latency; only where a point's limits have any.
CREATE TABLE limits_beside (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    object INTEGER NOT NULL,
    point INTEGER NOT NULL,
    burst_ppm INTEGER,
    burst_ns INTEGER,
    floor_latency_ns INTEGER,
    PRIMARY KEY (run, object, point)
) STRICT, WITHOUT ROWID;
