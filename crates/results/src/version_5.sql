-- Version 5: the published table of RanRead, a row for each process of each batch, so that its published query is answered.
-- Batches are numbered through the file. Runs in virtual time read no storage and are not in it. IOPS are those of the whole
-- batch as its first versions estimate them, from the time of this process: processes that did something × 1000 / ms.
CREATE VIEW RanRead AS
WITH batch AS (
    SELECT run.id AS run, point.n AS point, row_number() OVER (ORDER BY run.id, point.n) AS number,
        (run.started_unix_ms + point.start_ns / 1000000) / 1000 AS started,
        (SELECT group_concat(place.name, ',' ORDER BY place.n) FROM place WHERE place.run = run.id) AS database,
        (SELECT setting.number FROM setting WHERE setting.run = run.id AND setting.point = point.n
            AND setting.key = 'processes') AS processes
    FROM run JOIN point ON point.run = run.id
    WHERE run.tool = 'ranread' AND run.clock = 'wall'
)
SELECT date(batch.started, 'unixepoch') AS RunDate, time(batch.started, 'unixepoch') AS RunTime,
    batch.number AS Batch, batch.database AS Database, CAST(batch.processes AS INTEGER) AS Processes,
    cell.actor + 1 AS Job, cell.ops AS Iterations, cell.measured_ns / 1e6 / nullif(cell.ops, 0) AS ResponseTime,
    (count(*) FILTER (WHERE cell.ops > 0) OVER (PARTITION BY cell.run, cell.point))
        * 1e9 * cell.ops / nullif(cell.measured_ns, 0) AS IOPS
FROM batch JOIN cell ON cell.run = batch.run AND cell.point = batch.point AND cell.class = 'all';
