package columnar

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
)

// Fetch reads n bytes of an object from offset on.
type Fetch func(ctx context.Context, offset, n int64) ([]byte, error)

// errForeign means that this package did not write the object.
var errForeign = errs.New("it is not a Parquet object of an archive")

// TailBytes says how many of the last bytes of an object a caller passes to [Open]. Most footers fit into it.
const TailBytes = 64 << 10

// A Parquet file ends with a trailer: the length of the metadata before it, in four bytes, and magic.
const (
	magic        = "PAR1"
	trailerBytes = 8
)

// maxFooter is larger than any footer of this package.
const maxFooter = 256 << 20

// rowsPerRead is the number of rows that are read together.
const rowsPerRead = 16

// Reader reads the rows of one object in order, one row group at a time. It is not safe for concurrent use.
type Reader struct {
	fetch  Fetch
	window *window
	file   *parquet.File
	extra  []string
	cells  []int // index in a Row of each column of the file
	plain  bool

	groups    []parquet.RowGroup
	nextGroup int          // index in groups
	rows      parquet.Rows // rows of the current row group; may be nil
	heldRows  []parquet.Row
	next      int // index in heldRows
	row       Row
}

// Open reads the footer of an object. size is the size of the object, tail has its last bytes, and fetch reads other
// bytes.
func Open(ctx context.Context, size int64, tail []byte, fetch Fetch) (r *Reader, err error) {
	defer recoverPanic(&err)
	if len(tail) < trailerBytes || string(tail[len(tail)-len(magic):]) != magic {
		return nil, fmt.Errorf("%w, or it is %w", errForeign, inputs.ErrCut)
	}
	footer := trailerBytes + int64(binary.LittleEndian.Uint32(tail[len(tail)-trailerBytes:]))
	if footer > size || footer > maxFooter {
		return nil, errForeign
	}
	if footer > int64(len(tail)) {
		if tail, err = fetch(ctx, size-footer, footer); err != nil {
			return nil, err
		}
	}
	r = &Reader{fetch: fetch, window: &window{offset: size - int64(len(tail)), b: tail}}
	r.file, err = parquet.OpenFile(r.window, size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	if v, ok := r.file.Lookup(formatKey); !ok || v != formatOne {
		return nil, fmt.Errorf("%w: it was written by another program, or a later version", errForeign)
	}
	images, _ := r.file.Lookup(imagesKey)
	r.plain = images == plainJSON
	r.groups = r.file.RowGroups()
	return r, r.mapColumns()
}

// mapColumns finds the index in a Row for each column of the file. It returns an error if a fixed column is missing or
// has another type.
func (r *Reader) mapColumns() error {
	missing := Fields // number of fixed columns that were not found yet
	for _, path := range r.file.Schema().Columns() {
		name := path[0]
		cell := slices.IndexFunc(fixed[:], func(c column) bool { return c.name == name })
		if isFixed := cell >= 0; isFixed {
			missing--
		} else {
			cell = Fields + len(r.extra)
			r.extra = append(r.extra, name)
		}
		want := parquet.ByteArray
		if isNumber(cell) {
			want = parquet.Int64
		}
		leaf, ok := r.file.Schema().Lookup(path...)
		isNested := len(path) != 1
		if !ok || isNested || leaf.Node.Repeated() || leaf.Node.Type().Kind() != want {
			return fmt.Errorf("%w: its column %s is of another type", errForeign, name)
		}
		r.cells = append(r.cells, cell)
	}
	if missing > 0 {
		return fmt.Errorf("%w: it lacks columns", errForeign)
	}
	return nil
}

// Plain reports whether the images are plain JSON. If not, they are DynamoDB JSON.
func (r *Reader) Plain() bool { return r.plain }

// Extra returns the names of the configured columns.
func (r *Reader) Extra() []string { return r.extra }

// Next returns the next row, and io.EOF after the last row. The row is valid until the next call; its texts stay valid.
func (r *Reader) Next(ctx context.Context) (row Row, err error) {
	defer recoverPanic(&err)
	for r.next == len(r.heldRows) {
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
	}
	if r.row == nil {
		r.row = make(Row, Fields+len(r.extra))
	}
	for _, v := range r.heldRows[r.next] {
		cell := &r.row[r.cells[v.Column()]]
		switch {
		case v.IsNull():
			*cell = Cell{}
		case v.Kind() == parquet.Int64:
			*cell = Cell{Int: v.Int64(), Set: true}
		default:
			*cell = Cell{Text: v.ByteArray(), Set: true}
		}
	}
	r.next++
	return r.row, nil
}

// fill reads the next rows, from the next row group if the current one has ended.
func (r *Reader) fill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.rows == nil {
		if err := r.openGroup(ctx); err != nil {
			return err
		}
	}
	if r.heldRows == nil {
		r.heldRows = make([]parquet.Row, rowsPerRead)
	}
	r.heldRows = r.heldRows[:rowsPerRead]
	n, err := r.rows.ReadRows(r.heldRows)
	r.heldRows, r.next = r.heldRows[:n], 0
	if pipeline.IsEnd(err) {
		err = r.Close()
	}
	return err
}

// openGroup opens the next row group. It returns io.EOF if there is none.
func (r *Reader) openGroup(ctx context.Context) error {
	if r.nextGroup == len(r.groups) {
		return io.EOF
	}
	number := r.nextGroup
	r.nextGroup++
	start, end, err := r.groupRange(number)
	if err != nil {
		return err
	}
	if err := r.load(ctx, start, end); err != nil {
		return err
	}
	r.rows = r.groups[number].Rows()
	return nil
}

// groupRange returns the range of bytes of a row group.
func (r *Reader) groupRange(number int) (start, end int64, err error) {
	start, end = r.file.Size(), 0
	for _, chunk := range r.groups[number].ColumnChunks() {
		c, ok := chunk.(*parquet.FileColumnChunk)
		if !ok {
			return 0, 0, errForeign
		}
		m := &r.file.Metadata().RowGroups[number].Columns[c.Column()].MetaData
		first := m.DataPageOffset
		if m.DictionaryPageOffset != 0 {
			first = min(first, m.DictionaryPageOffset)
		}
		start, end = min(start, first), max(end, first+m.TotalCompressedSize)
	}
	if start < 0 || end > r.file.Size() || start > end {
		return 0, 0, errForeign
	}
	return start, end, nil
}

// load reads a range of bytes into the window, unless the window has them.
func (r *Reader) load(ctx context.Context, start, end int64) error {
	w := r.window
	if w.offset <= start && end <= w.offset+int64(len(w.b)) {
		return nil
	}
	b, err := r.fetch(ctx, start, end-start)
	if err != nil {
		return err
	}
	if int64(len(b)) != end-start {
		return io.ErrUnexpectedEOF
	}
	w.offset, w.b = start, b
	return nil
}

// Close closes the current row group.
func (r *Reader) Close() error {
	if r.rows == nil {
		return nil
	}
	err := r.rows.Close()
	r.rows = nil
	return err
}

// window is the part of an object that is in memory.
type window struct {
	offset int64
	b      []byte
}

func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if off < w.offset || off > w.offset+int64(len(w.b)) {
		return 0, errForeign
	}
	n := copy(p, w.b[off-w.offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// recoverPanic turns a panic into an error, because the Parquet decoder panics on some damaged objects.
func recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: its pages contradict each other", errForeign)
	}
}
