package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

var _ state.Rememberer = (*DB)(nil)

// Memory is since when the file remembers: since it was made. It forgets from the first [DB.Purge] on.
func (db *DB) Memory(ctx context.Context) (state.Memory, error) {
	m, _, err := First(ctx, db, `SELECT born, forgets FROM "_tws_memory"`, nil, func(rows *sql.Rows) (state.Memory, error) {
		var born int64
		var m state.Memory
		err := rows.Scan(&born, &m.Forgets)
		m.Born = time.Unix(0, born).UTC()
		return m, err
	})
	return m, err
}
