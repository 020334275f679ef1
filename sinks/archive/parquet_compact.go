package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
)

// A compaction copies Parquet objects row by row. While it reads, an encoded row takes the place of a line.

// parquetSchema has the settings that Parquet objects must share to be merged.
type parquetSchema struct {
	columns []string // configured columns
	plain   bool
}

func schemaOf(ctx context.Context, s Store, name string) (parquetSchema, error) {
	r, err := openParquet(ctx, s, name, false)
	if err != nil {
		return parquetSchema{}, err
	}
	return parquetSchema{r.rows.Extra(), r.rows.Plain()}, r.close()
}

// rowRun reads the rows of a Parquet object as encoded rows.
type rowRun struct{ *parquetRun }

func (r rowRun) next(ctx context.Context) (Entry, error) {
	row, err := r.nextRow(ctx)
	if err != nil {
		return Entry{}, err
	}
	v, err := record.ParseVersion(string(row[columnar.Version].Text))
	if err != nil {
		return Entry{}, r.wrapError(err)
	}
	e := Entry{Key: item.Key(row[columnar.Key].Text), Version: v, Line: row.Append(nil)}
	return e, r.checkOrder(e)
}

// rowsBody builds a Parquet object of encoded rows.
type rowsBody struct {
	*parquetBody
	columns int
}

func (b *rowsBody) add(line []byte, v record.Version) error {
	row, err := columnar.ParseRow(line, b.columns)
	if err == nil {
		err = b.writer.Write(row)
	}
	if err != nil {
		return fmt.Errorf("archive: write Parquet: %w", err)
	}
	b.include(v)
	return nil
}

// rowsDigest reads an object back, and returns the digest of its rows.
func rowsDigest(ctx context.Context, s Store, name string) (digest []byte, err error) {
	r, err := openParquet(ctx, s, name, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	sum := columnar.NewDigest(r.rows.Extra(), r.rows.Plain())
	for {
		switch row, err := r.nextRow(ctx); {
		case pipeline.IsEnd(err):
			return sum.Sum(), nil
		case err != nil:
			return nil, err
		default:
			sum.Add(row)
		}
	}
}
