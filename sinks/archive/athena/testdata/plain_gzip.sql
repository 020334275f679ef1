-- `plain`
CREATE EXTERNAL TABLE IF NOT EXISTS `plain` (
  `key` string,
  `version` string,
  `op` string,
  `kind` string,
  `time` string,
  `sequence` string,
  `event_id` string,
  `stream_arn` string,
  `table` string,
  `identity` struct<type:string,principal_id:string>,
  `keys` string,
  `old` string,
  `new` string
)
PARTITIONED BY (`partition_1` string, `partition_2` string)
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
WITH SERDEPROPERTIES (
  'case.insensitive' = 'false'
)
LOCATION 's3://b/p/'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.partition_1.type' = 'enum',
  'projection.partition_1.values' = 'shop,a.b',
  'projection.partition_2.type' = 'enum',
  'projection.partition_2.values' = 'UNKNOWN,INSERT,MODIFY,REMOVE,SNAPSHOT',
  'storage.location.template' = 's3://b/p/${partition_1}/${partition_2}/'
);

-- "plain__once"
-- Each version of an item once: objects repeat what was delivered again.
-- A change is always in the same folder, so the folder's columns stand in PARTITION BY: a query's conditions on them then reach the table.
CREATE OR REPLACE VIEW "plain__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "partition_2"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "partition_2",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END, "partition_1", "partition_2" ORDER BY "version") AS "#"
  FROM (
    SELECT
      "key",
      "version",
      "op",
      "kind",
      CAST(from_iso8601_timestamp("time") AT TIME ZONE 'UTC' AS timestamp) AS "time",
      "sequence",
      "event_id",
      "stream_arn",
      "table",
      "keys",
      "old",
      "new",
      "partition_1",
      "partition_2"
    FROM "plain"
  )
)
WHERE "#" = 1;

-- "plain__current"
-- The items as their last archived change left them. An item that was never changed since the archive began is not among them.
CREATE OR REPLACE VIEW "plain__current" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "partition_2"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "partition_1", "partition_2",
    ROW_NUMBER() OVER (PARTITION BY "table", "key" ORDER BY "version" DESC) AS "#"
  FROM "plain__once"
)
WHERE "#" = 1 AND "kind" = 'change';

