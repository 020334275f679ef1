-- `by__54enant`
-- Athena cannot list the values of tenant (TenantId), which it takes from the query: every query has to say WHERE tenant = '...', with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.
-- Athena cannot list the values of key_2 (Email, masked), which it takes from the query: every query has to say WHERE key_2 = '...', with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.
-- Athena cannot list the values of born (Born, masked), which it takes from the query: every query has to say WHERE born = '...', with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.
-- Changes without CreatedAt stand in the folder _none, which no projection of dates reads.
-- dt_2 is the time of CreatedAt, UTC. Folders before 2020-01-01 and after tomorrow are not read: widen projection.dt_2.range for others.
CREATE EXTERNAL TABLE IF NOT EXISTS `by__54enant` (
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
  `new` string,
  `dt` string,
  `select` string
)
PARTITIONED BY (`tenant` string, `key_2` string, `born` string, `dt_2` string)
STORED AS PARQUET
LOCATION 's3://b/'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.tenant.type' = 'injected',
  'projection.key_2.type' = 'injected',
  'projection.born.type' = 'injected',
  'projection.dt_2.type' = 'date',
  'projection.dt_2.format' = 'yyyy-MM-dd',
  'projection.dt_2.range' = '2020-01-01,NOW+1DAYS',
  'projection.dt_2.interval' = '1',
  'projection.dt_2.interval.unit' = 'DAYS',
  'storage.location.template' = 's3://b/Tenant=${tenant}/key=${key_2}/born=${born}/dt=${dt_2}/'
);

-- "by__54enant__once"
-- Each version of an item once: objects repeat what was delivered again.
-- A change is always in the same folder, so the folder's columns stand in PARTITION BY: a query's conditions on them then reach the table.
CREATE OR REPLACE VIEW "by__54enant__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "dt", "select", "tenant", "key_2", "born", "dt_2"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "dt", "select", "tenant", "key_2", "born", "dt_2",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END, "tenant", "key_2", "born", "dt_2" ORDER BY "version") AS "#"
  FROM "by__54enant"
)
WHERE "#" = 1;

-- "by__54enant__current"
-- The items as their last archived change left them. An item that was never changed since the archive began is not among them.
-- Filters keep changes from this archive: an item whose last change was not kept stands here as it was before.
-- It is read folder by folder of "tenant", "key_2", "born": an item that has moved stands in both.
CREATE OR REPLACE VIEW "by__54enant__current" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "dt", "select", "tenant", "key_2", "born", "dt_2"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new", "dt", "select", "tenant", "key_2", "born", "dt_2",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", "tenant", "key_2", "born" ORDER BY "version" DESC) AS "#"
  FROM "by__54enant__once"
)
WHERE "#" = 1 AND "kind" = 'change';

