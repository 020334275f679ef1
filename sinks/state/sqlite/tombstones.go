package sqlite

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

const (
	readTombstone = `SELECT version FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`

	writeTombstone = `INSERT INTO "_tws_tombstones" AS old (target, pk, sk, version, item, written) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (target, pk, sk) DO UPDATE SET version = excluded.version, item = excluded.item, written = excluded.written
WHERE excluded.version > old.version`
)

// Tombstone is the version of a row's tombstone, "" where there is none. The columns are
// those of the row's key.
func (w *Writer) Tombstone(ctx context.Context, target int64, pk, sk any) (version string, err error) {
	_, err = w.Row(ctx, readTombstone, []any{target, pk, sk}, &version)
	return version, err
}

// SetTombstone writes the tombstone of a row over a lower one, within a transaction. It
// returns the version of one that is not lower, and stays; "" where it wrote.
func (w *Writer) SetTombstone(ctx context.Context, target int64, pk, sk any, item pipeline.Key, version string) (before string, err error) {
	n, err := w.Changes(ctx, writeTombstone, target, pk, sk, version, string(item), time.Now().UnixNano())
	if err != nil || n > 0 {
		return "", err
	}
	return w.Tombstone(ctx, target, pk, sk)
}
