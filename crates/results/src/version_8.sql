-- Version 8: the minutes of a run in the order in which they were written. A run that goes on writes those of all actors by turns,
-- and sums over all of them went through the table in the order of the actors: of a day of 100 workloads 1.15 s for 0.15 s.
CREATE INDEX minute_run ON minute (run);
