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

// add adds the row of a change, with the values of the configured columns.
func (b *parquetBody) add(c *record.Change, columns []item.Value) error {
	b.include(c.Version)
	b.setFixed(c)
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

// setFixed clears the row, and sets its fixed columns.
func (b *parquetBody) setFixed(c *record.Change) {
	clear(b.row)
	b.text = slices.Grow(b.text[:0], 256)
	b.setText(columnar.Key, string(c.Key))
	b.set(columnar.Version, c.Version.Append)
	b.setText(columnar.Op, c.Op.String())
	b.setText(columnar.Kind, string(KindOf(c)))
	if !c.Time.IsZero() {
		b.row[columnar.Time] = columnar.Cell{Int: c.Time.UnixMicro(), Set: true}
	}
	b.setText(columnar.Sequence, c.Sequence)
	b.setText(columnar.EventID, c.EventID)
	b.setText(columnar.EventName, c.EventName)
	b.setText(columnar.StreamARN, c.StreamARN)
	b.setText(columnar.Table, c.Table)
	b.setText(columnar.Region, c.Region)
	if c.ViewType != record.ViewUnknown {
		b.setText(columnar.ViewType, c.ViewType.String())
	}
	b.setText(columnar.IdentityType, c.Identity.Type)
	b.setText(columnar.IdentityPrincipal, c.Identity.PrincipalID)
	if c.SizeBytes != 0 {
		b.row[columnar.Size] = columnar.Cell{Int: c.SizeBytes, Set: true}
	}
	b.setImage(columnar.Keys, c.Keys)
	b.setImage(columnar.Old, c.Old)
	b.setImage(columnar.New, c.New)
}

// setText sets a cell to a text, unless the text is "".
func (b *parquetBody) setText(f columnar.Field, text string) {
	if text != "" {
		b.set(f, func(dst []byte) []byte { return append(dst, text...) })
	}
}

// setImage sets a cell to an image, if the image exists.
func (b *parquetBody) setImage(f columnar.Field, image item.Image) {
	switch {
	case !image.Exists():
	case b.images == PlainJSON:
		b.set(f, image.AppendJSON)
	default:
		b.set(f, image.AppendDynamoDBJSON)
	}
}

// set sets a cell to the text that appendText appends. If the buffer grows, the texts of earlier cells stay in the old
// buffer.
func (b *parquetBody) set(f columnar.Field, appendText func([]byte) []byte) {
	start := len(b.text)
	b.text = appendText(b.text)
	end := len(b.text)
	b.row[f] = columnar.Cell{Text: b.text[start:end:end], Set: true}
}

func (b *parquetBody) finish(o *Object, folder string) error {
	if err := b.writer.Close(); err != nil {
		return fmt.Errorf("archive: write Parquet: %w", err)
	}
	o.Name = b.name(folder, b.writer.Digest(), Parquet)
	o.Body, o.ContentType = b.out.Bytes(), Parquet.contentType()
	return nil
}
