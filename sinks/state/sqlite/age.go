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
