package athena

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/archive"
)

// commonColumns has the columns of the views of every archive, whatever its format.
var commonColumns = []column{
	{"key", "string"}, {"version", "string"}, {"op", "string"}, {"kind", "string"}, {"time", "timestamp"},
	{"sequence", "string"},
	{"event_id", "string"}, {"stream_arn", "string"}, {"table", "string"}, {"keys", "string"}, {"old", "string"},
	{"new", "string"},
}

// viewColumns returns the columns of a view.
func (t *table) viewColumns() []string {
	var names []string
	for _, c := range commonColumns {
		names = append(names, sqlIdentifier(c.name))
	}
	for _, c := range t.Columns {
		names = append(names, sqlIdentifier(c.Name))
	}
	return append(names, t.folders("")...)
}

// folders returns the quoted names of the folder columns of a kind; kind "" means all kinds.
func (t *table) folders(kind string) []string {
	var names []string
	for _, p := range t.partitions {
		if kind == "" || p.kind == kind {
			names = append(names, sqlIdentifier(p.column))
		}
	}
	return names
}

// changeIdentity is the SQL expression that identifies a change of an item, usually by its version. Kinesis may deliver
// a change twice with different sequence numbers. So creation time and event id identify a change from Kinesis.
const changeIdentity = `CASE WHEN "version" LIKE 'k%' THEN substr("version", 1, 17) || coalesce(nullif("event_id", ''), "version") ELSE "version" END`

// distinctView returns the view that has each version of an item once.
func (t *table) distinctView() Statement {
	sameChange := append([]string{`"table"`, `"key"`, changeIdentity}, t.folders("")...)
	notes := []string{"Each version of an item once: objects repeat what was delivered again."}
	if len(t.partitions) > 0 {
		notes = append(notes,
			"A change is always in the same folder, so the folder's columns stand in PARTITION BY: a query's conditions on them then reach the table.")
	}
	return t.view("__once", notes, t.numberedQuery(sameChange, ` ORDER BY "version"`, t.changes()), `"#" = 1`)
}

// currentView returns the view of the last version of each existing item. ok is false if the archive does not have all
// changes, and so has no such view.
func (t *table) currentView() (view Statement, ok bool) {
	for _, kind := range []archive.Kind{archive.AnyChange, archive.TTLDelete, archive.UserDelete} {
		if len(t.Kinds) > 0 && !slices.Contains(t.Kinds, kind) {
			return Statement{}, false
		}
	}
	injected := t.folders("injected")
	sameItem := append([]string{`"table"`, `"key"`}, injected...)
	notes := []string{"The items as their last archived change left them. An item that was never changed since the archive began is not among them."}
	if t.Filtered {
		notes = append(notes,
			"Filters keep changes from this archive: an item whose last change was not kept stands here as it was before.")
	}
	if len(injected) > 0 {
		notes = append(notes, fmt.Sprintf("It is read folder by folder of %s: an item that has moved stands in both.",
			strings.Join(injected, ", ")))
	}
	query := t.numberedQuery(sameItem, ` ORDER BY "version" DESC`, t.sqlName(t.name+"__once"))
	return t.view("__current", notes, query, `"#" = 1 AND "kind" = `+sqlText(string(archive.AnyChange))), true
}

// view returns the statement that creates a view of the rows of a query that match the condition.
func (t *table) view(suffix string, notes []string, query, condition string) Statement {
	name := t.sqlName(t.name + suffix)
	return Statement{
		Name:  name,
		Notes: notes,
		SQL: fmt.Sprintf("CREATE OR REPLACE VIEW %s AS\nSELECT %s\nFROM (\n%s\n)\nWHERE %s",
			name, strings.Join(t.viewColumns(), ", "), indentSQL(query), condition),
	}
}

// numberedQuery returns a query of changes with an additional column "#". No other column has this name. The column
// numbers the rows that have the same values in equalColumns, in the given order.
func (t *table) numberedQuery(equalColumns []string, order, changes string) string {
	return fmt.Sprintf("SELECT %s,\n  ROW_NUMBER() OVER (PARTITION BY %s%s) AS \"#\"\nFROM %s",
		strings.Join(t.viewColumns(), ", "), strings.Join(equalColumns, ", "), order, changes)
}

func indentSQL(sql string) string { return "  " + strings.ReplaceAll(sql, "\n", "\n  ") }

// changes returns the table, or a query that reads the common columns from it.
func (t *table) changes() string {
	var columns []string
	switch {
	case t.Format == archive.Parquet:
		return t.sqlName(t.name)
	case t.Images == archive.PlainJSON:
		for _, c := range commonColumns {
			column := sqlIdentifier(c.name)
			if c.name == "time" {
				column = utcTimestamp(`from_iso8601_timestamp("time")`) + ` AS "time"`
			}
			columns = append(columns, column)
		}
	default:
		columns = slices.Clone(recordColumns)
	}
	columns = append(columns, t.folders("")...)
	return fmt.Sprintf("(\n  SELECT\n    %s\n  FROM %s\n)", strings.Join(columns, ",\n    "), t.sqlName(t.name))
}

// utcTimestamp converts a time with a zone to a timestamp in UTC, since views have no zones.
func utcTimestamp(at string) string { return "CAST(" + at + " AT TIME ZONE 'UTC' AS timestamp)" }

// recordColumns selects the common columns from a record, with the values that the archive itself uses. The key is the
// JSON of the key attributes, with its members in a fixed order. The version is the time of the stream's label, in
// seconds, and the sequence number.
var recordColumns = []string{
	`json_format(json_parse("dynamodb"."keys")) AS "key"`,
	`lpad(CAST(CAST(floor(coalesce(to_unixtime(from_iso8601_timestamp(regexp_extract("eventsourcearn", '/stream/(.+)$', 1) || 'Z')), 0)) AS bigint) AS varchar), 10, '0') || lpad("dynamodb"."sequencenumber", 40, '0') AS "version"`,
	`CASE WHEN "eventname" IN ('INSERT', 'MODIFY', 'REMOVE', 'SNAPSHOT') THEN "eventname" ELSE 'UNKNOWN' END AS "op"`,
	`CASE WHEN "eventname" = 'REMOVE' AND coalesce("useridentity"."type", "useridentity"."typeapi") = 'Service' AND coalesce("useridentity"."principalid", "useridentity"."principalidapi") = 'dynamodb.amazonaws.com' THEN 'ttl_delete' ` +
		`WHEN "eventname" = 'REMOVE' OR "eventname" NOT IN ('INSERT', 'MODIFY', 'SNAPSHOT') AND "dynamodb"."oldimage" IS NOT NULL AND "dynamodb"."newimage" IS NULL THEN 'user_delete' ELSE 'change' END AS "kind"`,
	utcTimestamp(`coalesce(try(from_unixtime(CAST("dynamodb"."approximatecreationdatetime" AS double))), try(from_iso8601_timestamp("dynamodb"."approximatecreationdatetime")))`) + ` AS "time"`,
	`"dynamodb"."sequencenumber" AS "sequence"`,
	`"eventid" AS "event_id"`,
	`"eventsourcearn" AS "stream_arn"`,
	`coalesce(regexp_extract("eventsourcearn", ':table/([^/]+)/', 1), "tablename") AS "table"`,
	`"dynamodb"."keys" AS "keys"`,
	`"dynamodb"."oldimage" AS "old"`,
	`"dynamodb"."newimage" AS "new"`,
}
