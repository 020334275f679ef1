// Package columnar is the Parquet form of archived changes: a row a change, in the
// order of items and versions.
//
// The same rows make the same bytes. Images are JSON text, so no digit and no type
// is lost; every other column is text too, but for a time and a size. Row groups are
// small enough for a reader to merge many objects in little memory.
package columnar

import (
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Field is a column that every object has, by its place in a [Row].
type Field int

// The columns that every object has. Key, Version, Op and Kind are never null.
const (
	Key          Field = iota // canonical key of the item
	Version                   // as text of fixed width
	Op                        // INSERT, MODIFY, REMOVE, SNAPSHOT or UNKNOWN
	Kind                      // ttl_delete, user_delete or change
	Time                      // microseconds since 1970, UTC
	Sequence                  // sequence number as sent
	EventID                   //
	EventName                 // the operation as sent
	StreamARN                 //
	Table                     //
	Region                    //
	ViewType                  // StreamViewType
	IdentityType              // of who made the change
	IdentityPrincipal
	Size // in bytes, as the record says
	Keys // images: JSON
	Old
	New
	Fields int = iota
)

// form is what a column holds.
type form int

const (
	text      form = iota
	repeated       // text of few different values
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

// Name is the column's name.
func (f Field) Name() string { return fixed[f].name }

// Reserved tells whether a column of that name is in every object.
func Reserved(name string) bool {
	return slices.ContainsFunc(fixed[:], func(c column) bool { return c.name == name })
}

// HiveType is the column's type in the DDL of Hive and Athena. Columns of a
// configuration are all `string`.
func (f Field) HiveType() string {
	switch fixed[f].form {
	case timestamp:
		return "timestamp"
	case number:
		return "bigint"
	}
	return "string"
}

// Row is one change: a cell for each Field, then one for each column of the
// configuration, in the writer's order.
type Row []Cell

// Cell is one value of a row. The zero Cell is null.
type Cell struct {
	Text []byte
	Int  int64 // of Time and Size
	Set  bool
}

// columns are those of an object that also has extra ones.
func columns(extra []string) []column {
	cs := slices.Clone(fixed[:])
	for _, name := range extra {
		cs = append(cs, column{name, text, false})
	}
	return cs
}

// schema is that of an object of these columns, in their order.
func schema(cs []column) *parquet.Schema {
	g := group{Group: parquet.Group{}}
	for _, c := range cs {
		node := c.node()
		g.Group[c.name] = node
		g.fields = append(g.fields, field{node, c.name})
	}
	return parquet.NewSchema("change", g)
}

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

// group is a parquet.Group whose fields keep their order.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

// imageType is a text whose pages all have the same bounds, which hold for every
// JSON object: the real ones would repeat whole images in the footer, and without any the
// page index would claim that pages are empty.
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
