package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

const (
	readTombstone = `SELECT version, item, void FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`

	targetTombstone = `SELECT s.version, s.item, s.void FROM "_tws_targets" t JOIN "_tws_tombstones" s ON s.target = t.id
WHERE ` + isTarget + ` AND s.pk = ? AND s.sk = ?`

	writeTombstone = `INSERT INTO "_tws_tombstones" AS old (target, pk, sk, version, void, item, written) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (target, pk, sk) DO UPDATE SET version = excluded.version, void = excluded.void, item = excluded.item, written = excluded.written
WHERE excluded.version > old.version OR excluded.version = old.version AND old.void > excluded.void`

	dropTombstone = `DELETE FROM "_tws_tombstones" WHERE target = ? AND pk = ? AND sk = ?`
)

// StoredTombstone returns the tombstone of a row, or the zero Tombstone if the row has no tombstone. pk and sk are the
// values of the row's key columns.
func (db *DB) StoredTombstone(ctx context.Context, t state.Target, pk, sk any) (state.Tombstone, error) {
	stored, _, err := ReadFirst(ctx, db, targetTombstone, targetArgs(t, pk, sk),
		func(rows *sql.Rows) (t state.Tombstone, err error) {
			err = rows.Scan(&t.Version, &t.Source, &t.Void)
			return t, err
		})
	return stored, err
}

// Tombstone returns the tombstone of a row, within a transaction. See [DB.StoredTombstone].
func (w *Writer) Tombstone(target int64, pk, sk any) (t state.Tombstone, err error) {
	_, err = w.QueryRow(readTombstone, []any{target, pk, sk}, &t.Version, &t.Source, &t.Void)
	return t, err
}

// SetTombstone writes the tombstone of a row, within a transaction, if t replaces the stored tombstone
// ([state.Tombstone.Replaces]).
func (w *Writer) SetTombstone(target int64, pk, sk any, t *state.Tombstone) error {
	return w.Exec(writeTombstone, target, pk, sk, t.Version, t.Void, string(t.Source), time.Now().UnixNano())
}

// DropTombstone deletes the tombstone of a row, within a transaction.
func (w *Writer) DropTombstone(target int64, pk, sk any) error {
	return w.Exec(dropTombstone, target, pk, sk)
}
