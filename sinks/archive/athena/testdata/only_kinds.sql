-- `gone`
-- The objects have no folder of their own: every object in s3://b/ must be one of this archive.
CREATE EXTERNAL TABLE IF NOT EXISTS `gone` (
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
STORED AS PARQUET
LOCATION 's3://b/';

-- "gone__once"
-- Each version of an item once: objects repeat what was delivered again.
CREATE OR REPLACE VIEW "gone__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END ORDER BY "version") AS "#"
  FROM "gone"
)
WHERE "#" = 1;

