-- A write cycle of a workload; times are nanoseconds from its phase's start on, or lengths.
CREATE TABLE cycle (
    run INTEGER NOT NULL,
    workload INTEGER NOT NULL,
    position INTEGER NOT NULL,
    phase INTEGER NOT NULL,
    due_ns INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    sleep_ns INTEGER NOT NULL,
    wij_ns INTEGER NOT NULL,
    write_ns INTEGER NOT NULL,
    cycle_ns INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    PRIMARY KEY (run, workload, position),
    FOREIGN KEY (run, workload) REFERENCES workload ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Space that the object used when the run began and at its end; NULL where nobody told.
ALTER TABLE object ADD COLUMN used_start_bytes INTEGER;
ALTER TABLE object ADD COLUMN used_end_bytes INTEGER;
