// Package athena says in Athena's SQL how an archive is read: a table over its
// objects, whose partitions follow from the partition template and are never
// registered, a view that reads each version of an item once, and one of the items as they
// are.
//
// Every name is quoted, and no two sinks share one.
package athena

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
)

// Archive describes the archive that is to be read, as its sink writes it.
type Archive struct {
	Sink     string // its name, which the table takes
	Database string // of the table and the views. Default: the one that the query is run in
	Location string // required: before every object's name, with the prefix: "s3://bucket/changes/"

	Layout    archive.Layout     // Default: Log
	Format    archive.Format     // Default: JSONLZstd
	Images    archive.Images     // Default: DynamoDBJSON
	Kinds     []archive.Kind     // Default: all
	Partition *template.Template // nil: none
	Key       *template.Template // of PerItem objects
	Columns   []archive.Column   // of Parquet objects
	Mask      *mask.Mask         // of the sink. Default: nothing is hidden

	Tables  []string  // names of the source's tables
	Partial bool      // filters keep changes from the archive
	Class   string    // storage class of the objects; "": the bucket's default
	From    time.Time // the first day whose folders are read, UTC. Default: 2020-01-01
}

// Statement is one statement of SQL. Athena runs one at a time.
type Statement struct {
	Name  string   `json:"name"`  // of the table or the view, as SQL has it
	Notes []string `json:"notes"` // what is to be known of it
	SQL   string   `json:"sql"`
}

// earliest is the first day of the default From.
var earliest = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// locations of S3, as far as they can stand in SQL and in a template of Athena.
var location = regexp.MustCompile(`^s3://[a-zA-Z0-9._-]+/[^${}\x00-\x1f]*$`)

// Statements are the table's DDL, then its views. The error names the field.
func Statements(a Archive) ([]Statement, error) {
	a.Layout = cmp.Or(a.Layout, archive.Log)
	a.Format = cmp.Or(a.Format, archive.JSONLZstd)
	a.Images = cmp.Or(a.Images, archive.DynamoDBJSON)
	if a.From.IsZero() {
		a.From = earliest
	}
	switch {
	case a.Sink == "":
		return nil, errors.New("athena: Sink is empty")
	case !location.MatchString(a.Location):
		return nil, fmt.Errorf("athena: Location %q is no place of objects: write s3://BUCKET/PREFIX", a.Location)
	}
	t := table{Archive: a, name: tableName(a.Sink)}
	if err := t.project(); err != nil {
		return nil, err
	}
	statements := []Statement{t.ddl(), t.onceView()}
	if v, ok := t.currentView(); ok {
		statements = append(statements, v)
	}
	return statements, nil
}

// table is what is known of an archive's table.
type table struct {
	Archive
	name       string
	folder     string      // LOCATION
	template   string      // storage.location.template; "": no partitions
	partitions []partition // columns of the template, in order
	notes      []string
}

func (t *table) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
}

// taken tells whether a column of that name is there.
func (t *table) taken(name string) bool {
	return slices.ContainsFunc(t.partitions, func(p partition) bool { return p.column == name }) ||
		slices.ContainsFunc(t.Columns, func(c archive.Column) bool { return c.Name == name }) ||
		slices.ContainsFunc(t.columns(), func(c column) bool { return c.name == name }) ||
		slices.ContainsFunc(common, func(c column) bool { return c.name == name })
}

// ddl is the statement that makes the table.
func (t *table) ddl() Statement {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE EXTERNAL TABLE IF NOT EXISTS %s (\n", t.hiveName(t.name))
	columns := t.columns()
	for i, c := range columns {
		end := ","
		if i == len(columns)-1 {
			end = ""
		}
		fmt.Fprintf(&b, "  %s %s%s\n", hiveIdentifier(c.name), c.hiveType, end)
	}
	b.WriteString(")\n")
	if len(t.partitions) > 0 {
		names := make([]string, len(t.partitions))
		for i, p := range t.partitions {
			names[i] = hiveIdentifier(p.column) + " string"
		}
		fmt.Fprintf(&b, "PARTITIONED BY (%s)\n", strings.Join(names, ", "))
	}
	t.form(&b)
	fmt.Fprintf(&b, "LOCATION %s", hiveText(t.folder))
	if len(t.partitions) > 0 {
		var properties []property
		properties = append(properties, property{"projection.enabled", "true"})
		for _, p := range t.partitions {
			properties = append(properties, p.properties()...)
		}
		properties = append(properties, property{"storage.location.template", t.template})
		fmt.Fprintf(&b, "\nTBLPROPERTIES (\n%s\n)", joined(properties))
	}
	return Statement{Name: t.hiveName(t.name), Notes: t.notes, SQL: b.String()}
}

// property is one pair of TBLPROPERTIES or SERDEPROPERTIES.
type property struct{ key, value string }

func joined(ps []property) string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = "  " + hiveText(p.key) + " = " + hiveText(p.value)
	}
	return strings.Join(lines, ",\n")
}
