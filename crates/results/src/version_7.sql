-- Version 7: how long the responses of each minute took, so that percentiles of any stretch of a run are known.

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
