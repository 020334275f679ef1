-- `my``db`.`__4fdd__2d__4eames`
-- Backfilled changes that have no time stand in the folder _none, which no projection of dates reads.
-- partition_1 is the year of the change, UTC, as text of 4 digits.
-- m is the time of the change, UTC. Folders before 2020-01 and after tomorrow are not read: widen projection.m.range for others.
-- partition_3_hour is the hour of the change, UTC, as text of 2 digits.
-- partition_3_minute is the minute of the change, UTC, as text of 2 digits.
-- Athena cannot list the values of partition_4 (@time as Jan 2006, in which a projection cannot count), which it takes from the query: every query has to say WHERE partition_4 = '...', with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.
-- t is the time of the change, UTC. Folders before 01T2020%3A01 and after tomorrow are not read: widen projection.t.range for others.
CREATE EXTERNAL TABLE IF NOT EXISTS `my``db`.`__4fdd__2d__4eames` (
  `key` string,
  `version` string,
  `op` string,
  `kind` string,
  `time` timestamp,
  `sequence` string,
  `event_id` string,
  `event_name` string,
  `stream_arn` string,
  `table` string,
  `region` string,
  `view_type` string,
  `identity_type` string,
  `identity_principal_id` string,
  `size_bytes` bigint,
  `keys` string,
  `old` string,
  `new` string
)
PARTITIONED BY (`partition_1` string, `m` string, `partition_3_hour` string, `partition_3_minute` string, `partition_4` string, `t` string)
STORED AS PARQUET
LOCATION 's3://b/it\'s-x/'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.partition_1.type' = 'integer',
  'projection.partition_1.range' = '2020,2120',
  'projection.partition_1.digits' = '4',
  'projection.m.type' = 'date',
  'projection.m.format' = 'yyyy-MM',
  'projection.m.range' = '2020-01,NOW+1DAYS',
  'projection.m.interval' = '1',
  'projection.m.interval.unit' = 'MONTHS',
  'projection.partition_3_hour.type' = 'integer',
  'projection.partition_3_hour.range' = '0,23',
  'projection.partition_3_hour.digits' = '2',
  'projection.partition_3_minute.type' = 'integer',
  'projection.partition_3_minute.range' = '0,59',
  'projection.partition_3_minute.digits' = '2',
  'projection.partition_4.type' = 'injected',
  'projection.t.type' = 'date',
  'projection.t.format' = 'dd\'T\'yyyy\'%3A\'MM',
  'projection.t.range' = '01T2020%3A01,NOW+1DAYS',
  'projection.t.interval' = '1',
  'projection.t.interval.unit' = 'DAYS',
  'storage.location.template' = 's3://b/it\'s-x/${partition_1}/m=${m}/${partition_3_hour}%3A${partition_3_minute}/${partition_4}/t=${t}/'
);

-- "my`db"."__4fdd__2d__4eames__once"
-- Each version of an item once: objects repeat what was delivered again.
-- A change is always in the same folder, so the folder's columns stand in PARTITION BY: a query's conditions on them then reach the table.
CREATE OR REPLACE VIEW "my`db"."__4fdd__2d__4eames__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "m", "partition_3_hour", "partition_3_minute", "partition_4", "t"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "m", "partition_3_hour", "partition_3_minute", "partition_4", "t",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END, "partition_1", "m", "partition_3_hour", "partition_3_minute", "partition_4", "t" ORDER BY "version") AS "#"
  FROM "my`db"."__4fdd__2d__4eames"
)
WHERE "#" = 1;

-- "my`db"."__4fdd__2d__4eames__current"
-- The items as their last archived change left them. An item that was never changed since the archive began is not among them.
-- It is read folder by folder of "partition_4": an item that has moved stands in both.
CREATE OR REPLACE VIEW "my`db"."__4fdd__2d__4eames__current" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "m", "partition_3_hour", "partition_3_minute", "partition_4", "t"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "m", "partition_3_hour", "partition_3_minute", "partition_4", "t",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", "partition_4" ORDER BY "version" DESC) AS "#"
  FROM "my`db"."__4fdd__2d__4eames__once"
)
WHERE "#" = 1 AND "kind" = 'change';

