package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.AgeReporter = (*DB)(nil)

// StoreAge returns when the file was made, and whether [DB.Purge] was ever called.
func (db *DB) StoreAge(ctx context.Context) (state.StoreAge, error) {
	m, _, err := ReadFirst(ctx, db, `SELECT born, forgets FROM "_tws_memory"`, nil, func(rows *sql.Rows) (state.StoreAge, error) {
		var born int64
		var m state.StoreAge
		err := rows.Scan(&born, &m.Forgets)
		m.Born = time.Unix(0, born).UTC()
		return m, err
	})
	return m, err
}
