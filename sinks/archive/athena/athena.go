// Package athena generates Athena SQL to read an archive. It generates a table over the objects, a view that has each
// version of an item once, and a view of the current items. Athena computes the table's partitions from the partition
// template, so they are never registered.
//
// All names are quoted. The tables of two sinks have different names.
//
// [Statements] builds a table. table.setPartitions finds folders and partition columns, table.createTable writes the
// CREATE TABLE statement, and sql_views.go writes the views.
package athena

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/sinks/archive"
)

// Archive describes an archive, with the settings of its sink.
type Archive struct {
	Sink     string // name of the sink, and of the table
	Database string // database of the table and the views. Default: the database of the query
	Location string // required: beginning of every object's URL, with the prefix, such as "s3://bucket/changes/"

	archive.Options // options of the sink, without Store

	Tables       []string  // names of the source's tables
	Filtered     bool      // filters drop some changes before they reach the archive
	StorageClass string    // storage class of the objects. Default: the bucket's
	From         time.Time // first day of the folders that are read, UTC. Default: 2020-01-01
}

// Statement is one SQL statement. Athena runs one statement at a time.
type Statement struct {
	Name  string   `json:"name"`  // name of the table or view, as in SQL
	Notes []string `json:"notes"` // remarks for the user
	SQL   string   `json:"sql"`
}

// defaultFrom is the default of From.
var defaultFrom = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// locationPattern matches the S3 URLs that are safe in SQL and in Athena's location templates.
var locationPattern = regexp.MustCompile(`^s3://[a-zA-Z0-9._-]+/[^${}\x00-\x1f]*$`)

// Statements returns the statement that creates the table, and then the statements of its views. An error names the
// wrong field.
func Statements(a Archive) ([]Statement, error) {
	a.Layout = cmp.Or(a.Layout, archive.Log)
	a.Format = cmp.Or(a.Format, archive.JSONLZstd)
	a.Images = cmp.Or(a.Images, archive.DynamoDBJSON)
	if a.From.IsZero() {
		a.From = defaultFrom
	}
	switch {
	case a.Sink == "":
		return nil, errors.New("athena: Sink is empty")
	case !locationPattern.MatchString(a.Location):
		return nil, fmt.Errorf("athena: Location %q is not a place of objects: write s3://BUCKET/PREFIX", a.Location)
	}
	t := table{Archive: a, name: tableName(a.Sink)}
	if err := t.setPartitions(); err != nil {
		return nil, err
	}
	statements := []Statement{t.createTable(), t.distinctView()}
	if v, ok := t.currentView(); ok {
		statements = append(statements, v)
	}
	return statements, nil
}

// table is an archive with the columns and folders that follow from its settings.
type table struct {
	Archive
	name       string
	folder     string      // text after LOCATION
	template   string      // value of storage.location.template; "" without partitions
	partitions []partition // columns of the partition template, in order
	notes      []string
}

// addNote adds a note to the statement that creates the table, unless the table has it already.
func (t *table) addNote(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(t.notes, note) {
		t.notes = append(t.notes, note)
	}
}

// hasColumn reports whether a column of that name exists.
func (t *table) hasColumn(name string) bool {
	return slices.ContainsFunc(t.partitions, func(p partition) bool { return p.column == name }) ||
		slices.ContainsFunc(t.Columns, func(c archive.Column) bool { return c.Name == name }) ||
		slices.ContainsFunc(t.columns(), func(c column) bool { return c.name == name }) ||
		slices.ContainsFunc(commonColumns, func(c column) bool { return c.name == name })
}

// createTable returns the statement that creates the table.
func (t *table) createTable() Statement {
	var b strings.Builder
	var columns []string
	for _, c := range t.columns() {
		columns = append(columns, "  "+hiveIdentifier(c.name)+" "+c.hiveType)
	}
	fmt.Fprintf(&b, "CREATE EXTERNAL TABLE IF NOT EXISTS %s (\n%s\n)\n", t.hiveName(t.name), strings.Join(columns, ",\n"))
	if len(t.partitions) > 0 {
		names := make([]string, len(t.partitions))
		for i, p := range t.partitions {
			names[i] = hiveIdentifier(p.column) + " string"
		}
		fmt.Fprintf(&b, "PARTITIONED BY (%s)\n", strings.Join(names, ", "))
	}
	t.writeFormat(&b)
	fmt.Fprintf(&b, "LOCATION %s", hiveText(t.folder))
	if len(t.partitions) > 0 {
		properties := []property{{"projection.enabled", "true"}}
		for _, p := range t.partitions {
			properties = append(properties, p.properties()...)
		}
		properties = append(properties, property{"storage.location.template", t.template})
		fmt.Fprintf(&b, "\nTBLPROPERTIES (\n%s\n)", joinProperties(properties))
	}
	return Statement{Name: t.hiveName(t.name), Notes: t.notes, SQL: b.String()}
}

// property is a pair of TBLPROPERTIES or SERDEPROPERTIES.
type property struct{ key, value string }

// joinProperties returns the text of properties, one a line.
func joinProperties(ps []property) string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = "  " + hiveText(p.key) + " = " + hiveText(p.value)
	}
	return strings.Join(lines, ",\n")
}
