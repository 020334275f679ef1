package columnar

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// Metadata of a file.
const (
	imagesKey  = "tablewake.images"
	plainJSON  = "plain_json"
	typedJSON  = "dynamodb_json"
	formatKey  = "tablewake.format"
	formatOne  = "1"
	madeBy     = "tablewake"
	groupBytes = 8 << 20   // values of a row group, before compression
	pageBytes  = 128 << 10 // values of a page
	boundBytes = 64        // the page index cuts the bounds of a page to this length; a version has 50 or 77 bytes
)

// Writer writes one object. It is not safe for concurrent use.
type Writer struct {
	w       *parquet.Writer //nolint:staticcheck // the generic writer needs a Go type, which these rows lack
	columns []column
	digest  *Digest
	pending int // bytes of values in the current row group
	row     [1]parquet.Row
}

// NewWriter returns a Writer of an object. extra has the names of the columns that the configuration adds. plain means
// that images are plain JSON.
func NewWriter(out io.Writer, extra []string, plain bool) *Writer {
	w := &Writer{columns: columns(extra), digest: NewDigest(extra, plain)}
	options := []parquet.WriterOption{
		schema(w.columns),
		parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy(madeBy, formatOne, "parquet"),
		parquet.DataPageVersion(1), // every engine reads version 1
		parquet.PageBufferSize(pageBytes),
		parquet.DataPageStatistics(false), // the page index has the statistics
		parquet.ColumnIndexSizeLimit(func([]string) int { return boundBytes }),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending(Key.Name()), parquet.Ascending(Version.Name()))),
		parquet.KeyValueMetadata(formatKey, formatOne),
		parquet.KeyValueMetadata(imagesKey, imagesOf(plain)),
	}
	for _, c := range w.columns {
		if c.form == image {
			options = append(options, parquet.SkipPageBounds(c.name))
		}
	}
	w.w = parquet.NewWriter(out, options...)
	return w
}

// Write adds a row. It does not keep r.
func (w *Writer) Write(r Row) error {
	row := w.row[0][:0]
	for i, cell := range r {
		c := w.columns[i]
		if !cell.Set && c.required {
			return errs.Errorf("a change has no %s", c.name)
		}
		definitionLevel := 1 // of a value in an optional column
		if c.required {
			definitionLevel = 0
		}
		switch {
		case !cell.Set:
			row = append(row, parquet.NullValue().Level(0, 0, i))
		case isNumber(i):
			row = append(row, parquet.Int64Value(cell.Int).Level(0, definitionLevel, i))
			w.pending += 8
		default:
			row = append(row, parquet.ByteArrayValue(cell.Text).Level(0, definitionLevel, i))
			w.pending += len(cell.Text)
		}
	}
	w.row[0] = row
	w.digest.Add(r)
	if _, err := w.w.WriteRows(w.row[:]); err != nil {
		return err
	}
	if w.pending < groupBytes {
		return nil
	}
	w.pending = 0
	return w.w.Flush()
}

// imagesOf returns the text of the metadata imagesKey.
func imagesOf(plain bool) string {
	if plain {
		return plainJSON
	}
	return typedJSON
}

// Close writes the remaining rows and the footer.
func (w *Writer) Close() error { return w.w.Close() }

// Digest returns the digest of all rows; see [Digest].
func (w *Writer) Digest() []byte { return w.digest.Sum() }

// field is a node with a name in a group.
type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value is called only for Go structs. These rows are not structs.
func (f field) Value(reflect.Value) reflect.Value { return reflect.Value{} }
