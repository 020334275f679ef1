-- `items`
-- Each change is an object of its own, and every query reads all of them: for more than some thousands write layout: log.
-- The objects have no folder of their own: every object in s3://b/ must be one of this archive.
-- Athena does not read objects of the storage class GLACIER: restore them, and say 'read_restored_glacier_objects' = 'true' in TBLPROPERTIES.
CREATE EXTERNAL TABLE IF NOT EXISTS `items` (
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
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
WITH SERDEPROPERTIES (
  'case.insensitive' = 'false'
)
LOCATION 's3://b/';

-- "items__once"
-- Each version of an item once: objects repeat what was delivered again.
CREATE OR REPLACE VIEW "items__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END ORDER BY "version") AS "#"
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
      "new"
    FROM "items"
  )
)
WHERE "#" = 1;

-- "items__current"
-- The items as their last archived change left them. An item that was never changed since the archive began is not among them.
CREATE OR REPLACE VIEW "items__current" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new",
    ROW_NUMBER() OVER (PARTITION BY "table", "key" ORDER BY "version" DESC) AS "#"
  FROM "items__once"
)
WHERE "#" = 1 AND "kind" = 'change';

