// Package columnar is the Parquet format of archived changes: one row per change, sorted by item and version.
//
// The same rows make the same bytes. Images are JSON text, so that no digit and no type is lost. All other columns are
// text, except a time and a size. Row groups are small, so that a reader can merge many objects in little memory.
//
// columnar.go has the columns. parquet_writer.go writes objects, parquet_reader.go reads them, and content_digest.go
// compares their contents.
package columnar

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("archive")

// Field is a column that every object has. Its value is the index in a [Row].
type Field int

// The columns of every object. Key, Version, Op and Kind are never null.
const (
	Key          Field = iota // canonical key of the item
	Version                   // text of fixed width, so that texts sort like versions
	Op                        // INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN
	Kind                      // ttl_delete, user_delete or change
	Time                      // microseconds since 1970, UTC
	Sequence                  // as the record has it
	EventID                   //
	EventName                 // operation as the record has it
	StreamARN                 //
	Table                     //
	Region                    //
	ViewType                  // StreamViewType of the record
	IdentityType              // userIdentity of the record
	IdentityPrincipal
	Size // SizeBytes of the record
	Keys // images: JSON
	Old
	New
	Fields int = iota
)

// form is the type of a column's values.
type form int

const (
	text      form = iota
	repeated       // text with few different values
	image          // JSON object
	timestamp      // microseconds
	number
)

// column is one column of an object.
type column struct {
	name     string
	form     form
	required bool
}

var fixed = [Fields]column{
	Key:               {"key", text, true},
	Version:           {"version", text, true},
	Op:                {"op", repeated, true},
	Kind:              {"kind", repeated, true},
	Time:              {"time", timestamp, false},
	Sequence:          {"sequence", text, false},
	EventID:           {"event_id", text, false},
	EventName:         {"event_name", repeated, false},
	StreamARN:         {"stream_arn", repeated, false},
	Table:             {"table", repeated, false},
	Region:            {"region", repeated, false},
	ViewType:          {"view_type", repeated, false},
	IdentityType:      {"identity_type", repeated, false},
	IdentityPrincipal: {"identity_principal_id", repeated, false},
	Size:              {"size_bytes", number, false},
	Keys:              {"keys", image, false},
	Old:               {"old", image, false},
	New:               {"new", image, false},
}

// Name returns the name of the column.
func (f Field) Name() string { return fixed[f].name }

// Reserved reports whether every object has a column of that name.
func Reserved(name string) bool {
	return slices.ContainsFunc(fixed[:], func(c column) bool { return c.name == name })
}

// HiveType returns the column's type in the DDL of Hive and Athena. Configured columns have the type `string`.
func (f Field) HiveType() string {
	switch fixed[f].form {
	case timestamp:
		return "timestamp"
	case number:
		return "bigint"
	}
	return "string"
}

// Row is one change. It has a cell for each Field, and then one for each configured column, in the writer's order.
type Row []Cell

// Cell is one value of a row. The zero Cell is null.
type Cell struct {
	Text []byte
	Int  int64 // value of Time and Size
	Set  bool
}

// columns returns the columns of an object with these configured columns.
func columns(extra []string) []column {
	all := slices.Clone(fixed[:])
	for _, name := range extra {
		all = append(all, column{name, text, false})
	}
	return all
}

// schema returns the Parquet schema of these columns, in this order.
func schema(cs []column) *parquet.Schema {
	g := group{Group: parquet.Group{}}
	for _, c := range cs {
		node := c.node()
		g.Group[c.name] = node
		g.fields = append(g.fields, field{node, c.name})
	}
	return parquet.NewSchema("change", g)
}

// node returns the Parquet type of a column.
func (c column) node() parquet.Node {
	var n parquet.Node
	switch c.form {
	case timestamp:
		n = parquet.Timestamp(parquet.Microsecond)
	case number:
		n = parquet.Int(64)
	case repeated:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case image:
		n = parquet.Leaf(imageType{parquet.String().Type()})
	default:
		n = parquet.String()
	}
	if !c.required {
		n = parquet.Optional(n)
	}
	return n
}

// group is a parquet.Group with a fixed order of fields.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

// imageType is a text type that has the same bounds (least and greatest value) for all pages. The bounds are valid for
// every JSON object. Real bounds would repeat whole images in the footer, and without bounds the page index would mark
// pages as empty.
type imageType struct{ parquet.Type }

func (t imageType) NewColumnIndexer(limit int) parquet.ColumnIndexer {
	return imageIndexer{t.Type.NewColumnIndexer(limit)}
}

type imageIndexer struct{ parquet.ColumnIndexer }

var lowest, highest = parquet.ByteArrayValue([]byte("{")), parquet.ByteArrayValue([]byte("|"))

func (i imageIndexer) IndexPage(values, nulls int64, least, most parquet.Value) {
	if nulls < values {
		least, most = lowest, highest
	}
	i.ColumnIndexer.IndexPage(values, nulls, least, most)
}
