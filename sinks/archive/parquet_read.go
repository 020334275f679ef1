package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
)

// parquetRun reads one Parquet object, one row group at a time.
type parquetRun struct {
	entries
	rows *columnar.Reader
}

func openParquet(ctx context.Context, s Store, name string, tableInKey bool) (*parquetRun, error) {
	r := &parquetRun{entries: entries{name: name, tableInKey: tableInKey}}
	tail, size, fetch, err := openRanges(ctx, s, name)
	if err != nil {
		return nil, err
	}
	if r.rows, err = columnar.Open(ctx, size, tail, fetch); err != nil {
		return nil, fmt.Errorf("archive: %s: %w", name, err)
	}
	return r, nil
}

// openRanges returns the last bytes of an object, its size, and a function that reads other bytes.
func openRanges(ctx context.Context, s Store, name string) (tail []byte, size int64, fetch columnar.Fetch, err error) {
	ranger, canReadRanges := s.(Ranger)
	if !canReadRanges {
		whole, err := getWhole(ctx, s, name)
		fetch = func(_ context.Context, offset, n int64) ([]byte, error) { return whole[offset : offset+n], nil }
		return whole, int64(len(whole)), fetch, err
	}
	fetch = func(ctx context.Context, offset, n int64) ([]byte, error) {
		b, _, err := getRange(ctx, ranger, name, offset, n)
		return b, err
	}
	tail, size, err = getRange(ctx, ranger, name, -columnar.TailBytes, columnar.TailBytes)
	return tail, size, fetch, err
}

// nextRow returns the next row, which is valid until the next call.
func (r *parquetRun) nextRow(ctx context.Context) (columnar.Row, error) {
	row, err := r.rows.Next(ctx)
	if err != nil && !pipeline.IsEnd(err) {
		return nil, r.wrapError(err)
	}
	return row, err
}

func (r *parquetRun) next(ctx context.Context) (Entry, error) {
	row, err := r.nextRow(ctx)
	if err != nil {
		return Entry{}, err
	}
	var line []byte
	if r.rows.Plain() {
		line = appendPlainRow(nil, row)
	} else if line, err = appendRowRecord(nil, row); err != nil {
		return Entry{}, r.wrapError(err)
	}
	return r.parse(line)
}

func (r *parquetRun) close() error { return r.rows.Close() }

// appendRowRecord appends a row as a record that decodes to the same change.
func appendRowRecord(dst []byte, row columnar.Row) ([]byte, error) {
	text := func(f columnar.Field) string { return string(row[f].Text) }
	c := record.Change{
		EventName: text(columnar.EventName),
		Sequence:  cmp.Or(text(columnar.Sequence), "0"), // a backfilled change has no sequence number
		EventID:   text(columnar.EventID),
		StreamARN: text(columnar.StreamARN),
		Table:     text(columnar.Table),
		Region:    text(columnar.Region),
		Identity:  record.Identity{Type: text(columnar.IdentityType), PrincipalID: text(columnar.IdentityPrincipal)},
		SizeBytes: row[columnar.Size].Int,
	}
	var err error
	if c.Version, err = record.ParseVersion(text(columnar.Version)); err != nil {
		return nil, fmt.Errorf("column version: %w", err)
	}
	if row[columnar.Time].Set {
		c.Time = time.UnixMicro(row[columnar.Time].Int).UTC()
	}
	for v := record.KeysOnly; v <= record.NewAndOldImages; v++ {
		if v.String() == text(columnar.ViewType) {
			c.ViewType = v
		}
	}
	if err := errors.Join(
		setImage(&c.Keys, row, columnar.Keys),
		setImage(&c.Old, row, columnar.Old),
		setImage(&c.New, row, columnar.New),
	); err != nil {
		return nil, err
	}
	return record.AppendRecord(dst, &c), nil
}

// appendPlainRow appends a row as the line that appendPlain would append for the same change.
func appendPlainRow(dst []byte, row columnar.Row) []byte {
	text := func(f columnar.Field) string { return string(row[f].Text) }
	dst = append(dst, `{"key":`...)
	dst = item.AppendJSONText(dst, text(columnar.Key))
	dst = appendMember(dst, "version", text(columnar.Version))
	dst = appendMember(dst, "op", text(columnar.Op))
	dst = appendMember(dst, "kind", text(columnar.Kind))
	if row[columnar.Time].Set {
		dst = appendTime(dst, time.UnixMicro(row[columnar.Time].Int).UTC())
	}
	dst = appendMember(dst, "sequence", text(columnar.Sequence))
	dst = appendMember(dst, "event_id", text(columnar.EventID))
	dst = appendMember(dst, "stream_arn", text(columnar.StreamARN))
	dst = appendMember(dst, "table", text(columnar.Table))
	if row[columnar.IdentityType].Set || row[columnar.IdentityPrincipal].Set {
		dst = appendIdentity(dst, text(columnar.IdentityType), text(columnar.IdentityPrincipal))
	}
	for _, f := range []columnar.Field{columnar.Keys, columnar.Old, columnar.New} {
		if row[f].Set {
			dst = append(appendName(dst, f.Name()), row[f].Text...)
		}
	}
	return append(dst, '}')
}

// setImage sets an image to the image of a row. It leaves the image as it is if the row has none.
func setImage(image *item.Image, row columnar.Row, f columnar.Field) (err error) {
	if !row[f].Set {
		return nil
	}
	if *image, err = item.Parse(row[f].Text); err != nil {
		return fmt.Errorf("column %s: %w", f.Name(), err)
	}
	return nil
}
