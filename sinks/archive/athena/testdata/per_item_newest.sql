-- `items`
-- An object holds the newest change of its item. The changes before it are not in this archive.
-- Each item is an object of its own, and every query reads all of them: for more than some thousands write layout: log.
CREATE EXTERNAL TABLE IF NOT EXISTS `items` (
  `eventid` string,
  `eventname` string,
  `awsregion` string,
  `eventsourcearn` string,
  `tablename` string,
  `useridentity` struct<type:string,principalid:string,typeapi:string,principalidapi:string>,
  `dynamodb` struct<approximatecreationdatetime:string,keys:string,newimage:string,oldimage:string,sequencenumber:string,sizebytes:string,streamviewtype:string>
)
ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'
WITH SERDEPROPERTIES (
  'case.insensitive' = 'false',
  'mapping.eventid' = 'eventID',
  'mapping.eventname' = 'eventName',
  'mapping.awsregion' = 'awsRegion',
  'mapping.eventsourcearn' = 'eventSourceARN',
  'mapping.tablename' = 'tableName',
  'mapping.useridentity' = 'userIdentity',
  'mapping.principalid' = 'principalId',
  'mapping.typeapi' = 'Type',
  'mapping.principalidapi' = 'PrincipalId',
  'mapping.approximatecreationdatetime' = 'ApproximateCreationDateTime',
  'mapping.keys' = 'Keys',
  'mapping.newimage' = 'NewImage',
  'mapping.oldimage' = 'OldImage',
  'mapping.sequencenumber' = 'SequenceNumber',
  'mapping.sizebytes' = 'SizeBytes',
  'mapping.streamviewtype' = 'StreamViewType'
)
LOCATION 's3://b/archive/';

-- "items__once"
-- Each version of an item once: objects repeat what was delivered again.
CREATE OR REPLACE VIEW "items__once" AS
SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new"
FROM (
  SELECT "key", "version", "op", "kind", "time", "sequence", "event_id", "stream_arn", "table", "keys", "old", "new",
    ROW_NUMBER() OVER (PARTITION BY "table", "key", CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END ORDER BY "version") AS "#"
  FROM (
    SELECT
      json_format(json_parse("dynamodb"."keys")) AS "key",
      lpad(CAST(CAST(floor(coalesce(to_unixtime(from_iso8601_timestamp(regexp_extract("eventsourcearn", '/stream/(.+)$', 1) || 'Z')), 0)) AS bigint) AS varchar), 10, '0') || lpad("dynamodb"."sequencenumber", 40, '0') AS "version",
      CASE WHEN "eventname" IN ('INSERT', 'MODIFY', 'REMOVE', 'SNAPSHOT') THEN "eventname" ELSE 'UNKNOWN' END AS "op",
      CASE WHEN "eventname" = 'REMOVE' AND coalesce("useridentity"."type", "useridentity"."typeapi") = 'Service' AND coalesce("useridentity"."principalid", "useridentity"."principalidapi") = 'dynamodb.amazonaws.com' THEN 'ttl_delete' WHEN "eventname" = 'REMOVE' OR "eventname" NOT IN ('INSERT', 'MODIFY', 'SNAPSHOT') AND "dynamodb"."oldimage" IS NOT NULL AND "dynamodb"."newimage" IS NULL THEN 'user_delete' ELSE 'change' END AS "kind",
      CAST(coalesce(try(from_unixtime(CAST("dynamodb"."approximatecreationdatetime" AS double))), try(from_iso8601_timestamp("dynamodb"."approximatecreationdatetime"))) AT TIME ZONE 'UTC' AS timestamp) AS "time",
      "dynamodb"."sequencenumber" AS "sequence",
      "eventid" AS "event_id",
      "eventsourcearn" AS "stream_arn",
      coalesce(regexp_extract("eventsourcearn", ':table/([^/]+)/', 1), "tablename") AS "table",
      "dynamodb"."keys" AS "keys",
      "dynamodb"."oldimage" AS "old",
      "dynamodb"."newimage" AS "new"
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

