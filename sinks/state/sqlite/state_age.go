package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.AgeReporter = (*DB)(nil)

// StoreAge returns when the file was created. Forgets is true if [DB.Purge] was ever called.
func (db *DB) StoreAge(ctx context.Context) (state.StoreAge, error) {
	age, _, err := ReadFirst(ctx, db, `SELECT born, forgets FROM "_tws_memory"`, nil,
		func(rows *sql.Rows) (age state.StoreAge, err error) {
			var born int64
			err = rows.Scan(&born, &age.Forgets)
			age.Born = time.Unix(0, born).UTC()
			return age, err
		})
	return age, err
}

var _ state.Purger = (*DB)(nil)

// Purge deletes tombstones, guards without a row, and contributions without shares that were written before a time.
// This state only refuses late changes. Purge deletes all of it in one transaction.
func (db *DB) Purge(ctx context.Context, before time.Time) (int, error) {
	total := int64(0)
	err := db.transact(ctx, func(w *Writer) error {
		if err := w.Exec(`UPDATE "_tws_memory" SET forgets = 1`); err != nil {
			return err
		}
		for _, q := range []string{
			// written is NULL while the guard has a row, or the contribution has shares
			`DELETE FROM "_tws_guards" WHERE written < ?`,
			`DELETE FROM "_tws_contributions" WHERE written < ?`,
			`DELETE FROM "_tws_tombstones" WHERE written < ?`,
		} {
			n, err := w.ExecCount(q, before.UnixNano())
			if err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int(total), nil
}
