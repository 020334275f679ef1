package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readTombstoneItem = `SELECT version, item FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`

	readTombstone = `SELECT version, void FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`

	writeTombstone = `INSERT INTO "_tws_tombstones" AS old (target, pk, sk, version, void, item, written) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (target, pk, sk) DO UPDATE SET version = excluded.version, void = excluded.void, item = excluded.item, written = excluded.written
WHERE excluded.version > old.version OR excluded.version = old.version AND old.void > excluded.void`

	dropTombstone = `DELETE FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`
)

// StoredTombstone returns the version of a row's tombstone and the item that had the row; false if there is none. pk and
// sk are the columns of the row's key.
func (db *DB) StoredTombstone(ctx context.Context, t state.Target, pk, sk any) (version record.Version, item item.Key, found bool, err error) {
	const q = `SELECT s.version, s.item FROM "_tws_targets" t JOIN "_tws_tombstones" s ON s.target = t.id
WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND t.birth = ? AND s.pk = ? AND s.sk = ?`
	text, found, err := ReadFirst(ctx, db, q, []any{t.Pipeline, t.Table, t.View, t.Birth, pk, sk}, func(rows *sql.Rows) (text string, err error) {
		err = rows.Scan(&text, &item)
		return text, err
	})
	if found {
		if version, err = record.ParseVersion(text); err != nil {
			err = db.Damaged("the tombstone of a row of item "+string(item), err)
		}
	}
	return version, item, found, err
}

// Tombstone returns the version of a row's tombstone, "" if there is none, and whether it is
// void. pk and sk are the columns of the row's key.
func (w *Writer) Tombstone(ctx context.Context, target int64, pk, sk any) (version string, void bool, err error) {
	_, err = w.QueryRow(ctx, readTombstone, []any{target, pk, sk}, &version, &void)
	return version, void, err
}

// TombstoneItem returns the version of the tombstone of a row, and the item that the row belonged to; "" if there is none.
func (w *Writer) TombstoneItem(ctx context.Context, target int64, pk, sk any) (version string, of item.Key, err error) {
	_, err = w.QueryRow(ctx, readTombstoneItem, []any{target, pk, sk}, &version, &of)
	return version, of, err
}

// SetTombstone writes the tombstone of a row, within a transaction, unless the stored tombstone is newer.
// A stored tombstone of the same version is replaced only if it is void and the new one is not. It
// returns "" if it wrote, and the version of the stored tombstone otherwise.
func (w *Writer) SetTombstone(ctx context.Context, target int64, pk, sk any, item item.Key, version string, void bool) (before string, err error) {
	n, err := w.ExecCount(ctx, writeTombstone, target, pk, sk, version, void, string(item), time.Now().UnixNano())
	if err != nil || n > 0 {
		return "", err
	}
	before, _, err = w.Tombstone(ctx, target, pk, sk)
	return before, err
}

// DropTombstone deletes the tombstone of a row, within a transaction.
func (w *Writer) DropTombstone(ctx context.Context, target int64, pk, sk any) error {
	return w.Exec(ctx, dropTombstone, target, pk, sk)
}
