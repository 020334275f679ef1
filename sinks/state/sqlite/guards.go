package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// Guards reads the guards of items, in their order.
func (w *Writer) Guards(ctx context.Context, target int64, items []pipeline.Key) ([]state.Guard, error) {
	const q = `SELECT j.key, g.version, g.void, g.row FROM json_each(?) j CROSS JOIN "_tws_guards" g WHERE g.target = ? AND g.item = j.value`
	gs := make([]state.Guard, len(items))
	err := w.Rows(ctx, q, []any{List(items), target}, func(rows *sql.Rows) error {
		var i int
		var version, row string
		var void bool
		err := rows.Scan(&i, &version, &void, &row)
		if err != nil {
			return w.db.Failed("read", err)
		}
		gs[i].Row, gs[i].Void = state.Row(row), void
		if gs[i].Version, err = pipeline.ParseVersion(version); err != nil {
			return w.db.Damaged("the guard of item "+string(items[i]), err)
		}
		return nil
	})
	return gs, err
}

// setGuard replaces the guard of an item; false where it is not as it was read, and nothing is changed.
func (w *Writer) setGuard(ctx context.Context, target int64, iw *state.ItemWrite) (bool, error) {
	var n int64
	var err error
	now := iw.Guard
	if iw.Was.IsZero() {
		n, err = w.Changes(ctx, `INSERT INTO "_tws_guards" (target, item, version, void, row, written) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			target, string(iw.Source), now.Version.String(), now.Void, string(now.Row), written(now.Row == ""))
	} else {
		n, err = w.Changes(ctx, `UPDATE "_tws_guards" SET version = ?, void = ?, row = ?, written = ? WHERE target = ? AND item = ? AND version = ? AND void = ?`,
			now.Version.String(), now.Void, string(now.Row), written(now.Row == ""), target, string(iw.Source), iw.Was.String(), iw.WasVoid)
	}
	return n > 0, err
}

// written is the time of what may be forgotten one day, and NULL of what may not.
func written(empty bool) any {
	if !empty {
		return nil
	}
	return time.Now().UnixNano()
}

// List is texts as the argument of json_each.
func List[T ~string](texts []T) string {
	b := make([]byte, 0, 48*len(texts)+2)
	b = append(b, '[')
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = pipeline.StringValue(string(t)).AppendJSON(b)
	}
	return string(append(b, ']'))
}
