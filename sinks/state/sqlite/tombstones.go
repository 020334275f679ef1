package sqlite

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

const (
	readTombstone = `SELECT version, void FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`

	writeTombstone = `INSERT INTO "_tws_tombstones" AS old (target, pk, sk, version, void, item, written) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (target, pk, sk) DO UPDATE SET version = excluded.version, void = excluded.void, item = excluded.item, written = excluded.written
WHERE excluded.version > old.version OR excluded.version = old.version AND old.void > excluded.void`
)

// Tombstone is the version of a row's tombstone, "" where there is none, and whether it is
// void: no row could be made of its change. The columns are those of the row's key.
func (w *Writer) Tombstone(ctx context.Context, target int64, pk, sk any) (version string, void bool, err error) {
	_, err = w.Row(ctx, readTombstone, []any{target, pk, sk}, &version, &void)
	return version, void, err
}

// SetTombstone writes the tombstone of a row over a lower one, or over a void of its
// version unless it is void itself, within a transaction. It returns the version of one
// that stays; "" where it wrote.
func (w *Writer) SetTombstone(ctx context.Context, target int64, pk, sk any, item pipeline.Key, version string, void bool) (before string, err error) {
	n, err := w.Changes(ctx, writeTombstone, target, pk, sk, version, void, string(item), time.Now().UnixNano())
	if err != nil || n > 0 {
		return "", err
	}
	before, _, err = w.Tombstone(ctx, target, pk, sk)
	return before, err
}
