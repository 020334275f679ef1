package archive

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
)

// parquetBody builds a Parquet object. It encodes rows as they are added.
type parquetBody struct {
	versionRange
	writer *columnar.Writer
	out    bytes.Buffer
	images LineFormat
	row    columnar.Row
	text   []byte // text of the cells of row
}

func newParquetBody(columns []Column, images LineFormat) *parquetBody {
	b := &parquetBody{images: images, row: make(columnar.Row, columnar.Fields+len(columns))}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	b.writer = columnar.NewWriter(&b.out, names, images == PlainJSON)
	return b
}

func (b *parquetBody) free() {}

func (b *parquetBody) add(c *record.Change, columns []item.Value) error {
	b.include(c.Version)
	b.fill(c)
	for i, v := range columns {
		if v.Exists() {
			b.set(columnar.Field(columnar.Fields+i), func(dst []byte) []byte { return appendCell(dst, v) })
		}
	}
	if err := b.writer.Write(b.row); err != nil {
		return fmt.Errorf("archive: write Parquet: %w", err)
	}
	return nil
}

// fill sets the fixed columns of the row.
func (b *parquetBody) fill(c *record.Change) {
	clear(b.row)
	b.text = slices.Grow(b.text[:0], 256)
	b.put(columnar.Key, string(c.Key))
	b.set(columnar.Version, c.Version.Append)
	b.put(columnar.Op, c.Op.String())
	b.put(columnar.Kind, string(KindOf(c)))
	if !c.Time.IsZero() {
		b.row[columnar.Time] = columnar.Cell{Int: c.Time.UnixMicro(), Set: true}
	}
	b.put(columnar.Sequence, c.Sequence)
	b.put(columnar.EventID, c.EventID)
	b.put(columnar.EventName, c.EventName)
	b.put(columnar.StreamARN, c.StreamARN)
	b.put(columnar.Table, c.Table)
	b.put(columnar.Region, c.Region)
	if c.ViewType != record.ViewUnknown {
		b.put(columnar.ViewType, c.ViewType.String())
	}
	b.put(columnar.IdentityType, c.Identity.Type)
	b.put(columnar.IdentityPrincipal, c.Identity.PrincipalID)
	if c.SizeBytes != 0 {
		b.row[columnar.Size] = columnar.Cell{Int: c.SizeBytes, Set: true}
	}
	b.image(columnar.Keys, c.Keys)
	b.image(columnar.Old, c.Old)
	b.image(columnar.New, c.New)
}

func (b *parquetBody) put(f columnar.Field, text string) {
	if text != "" {
		b.set(f, func(dst []byte) []byte { return append(dst, text...) })
	}
}

func (b *parquetBody) image(f columnar.Field, m item.Image) {
	switch {
	case !m.Exists():
	case b.images == PlainJSON:
		b.set(f, m.AppendJSON)
	default:
		b.set(f, m.AppendDynamoDBJSON)
	}
}

// set sets a cell to the text that the function text appends. If the buffer grows, the texts of earlier cells stay in
// the old buffer.
func (b *parquetBody) set(f columnar.Field, text func([]byte) []byte) {
	start := len(b.text)
	b.text = text(b.text)
	b.row[f] = columnar.Cell{Text: b.text[start:len(b.text):len(b.text)], Set: true}
}

func (b *parquetBody) finish(o *Object, folder string) error {
	if err := b.writer.Close(); err != nil {
		return fmt.Errorf("archive: write Parquet: %w", err)
	}
	o.Name = b.name(folder, b.writer.Digest(), Parquet)
	o.Body, o.ContentType = b.out.Bytes(), Parquet.contentType()
	return nil
}
