package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// memories is a table of what is remembered of items: a version, whether it is void, and a value.
type memories struct{ what, read, insert, update string }

func memoriesIn(table, value, what string) memories {
	return memories{
		what:   what,
		read:   "SELECT j.key, m.version, m.void, m." + value + " FROM json_each(?) j CROSS JOIN " + table + " m WHERE m.target = ? AND m.item = j.value",
		insert: "INSERT INTO " + table + " (target, item, version, void, " + value + ", written) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		update: "UPDATE " + table + " SET version = ?, void = ?, " + value + " = ?, written = ? WHERE target = ? AND item = ? AND version = ? AND void = ?",
	}
}

var (
	guards        = memoriesIn(`"_tws_guards"`, "row", "the guard of item ")
	contributions = memoriesIn(`"_tws_contributions"`, "shares", "the contribution of item ")
)

// recall reads what is remembered of items, in their order; the zero T of those that are not known.
func recall[T any](
	ctx context.Context, w *Writer, of memories, target int64, items []item.Key, parse func(v record.Version, void bool, value []byte) (T, error),
) ([]T, error) {
	all := make([]T, len(items))
	err := w.QueryRows(ctx, of.read, []any{JSONArray(items), target}, func(rows *sql.Rows) error {
		var i int
		var version string
		var void bool
		var value sql.RawBytes
		if err := rows.Scan(&i, &version, &void, &value); err != nil {
			return w.db.WrapError("read", err)
		}
		v, err := record.ParseVersion(version)
		if err == nil {
			all[i], err = parse(v, void, value)
		}
		if err != nil {
			return w.db.Damaged(of.what+string(items[i]), err)
		}
		return nil
	})
	return all, err
}

// memory is what is remembered of an item from now on.
type memory struct {
	version record.Version
	void    bool
	value   any
	empty   bool // it may be forgotten one day
}

// remember replaces what is remembered of an item, within a transaction; false where it is not as it was read, and
// nothing is changed.
func (w *Writer) remember(ctx context.Context, in memories, target int64, item item.Key, was record.Version, wasVoid bool, now memory) (bool, error) {
	var written any // NULL
	if now.empty {
		written = time.Now().UnixNano()
	}
	var n int64
	var err error
	if was.IsZero() {
		n, err = w.ExecCount(ctx, in.insert, target, string(item), now.version.String(), now.void, now.value, written)
	} else {
		n, err = w.ExecCount(ctx, in.update, now.version.String(), now.void, now.value, written, target, string(item), was.String(), wasVoid)
	}
	return n > 0, err
}

// Guards reads the guards of items, in their order.
func (w *Writer) Guards(ctx context.Context, target int64, items []item.Key) ([]state.Guard, error) {
	return recall(ctx, w, guards, target, items, func(v record.Version, void bool, row []byte) (state.Guard, error) {
		return state.Guard{Version: v, Void: void, Row: state.Row(row)}, nil
	})
}

// setGuard replaces the guard of an item as remember does.
func (w *Writer) setGuard(ctx context.Context, target int64, iw *state.ItemWrite) (bool, error) {
	now := memory{iw.Guard.Version, iw.Guard.Void, string(iw.Guard.Row), iw.Guard.Row == ""}
	return w.remember(ctx, guards, target, iw.Source, iw.Was, iw.WasVoid, now)
}

// Contributions reads what items count for, in their order.
func (w *Writer) Contributions(ctx context.Context, target int64, items []item.Key) ([]state.Contribution, error) {
	return recall(ctx, w, contributions, target, items, func(v record.Version, void bool, shares []byte) (state.Contribution, error) {
		c, err := state.ParseContribution(v, shares)
		c.Void = void
		return c, err
	})
}

// SetContribution replaces what an item counts for, within a transaction; false where
// it is not as it was read, and nothing is changed.
func (w *Writer) SetContribution(ctx context.Context, target int64, c *state.ContributionWrite) (bool, error) {
	w.buf = c.Now.AppendShares(w.buf[:0])
	now := memory{c.Now.Version, c.Now.Void, w.buf, len(c.Now.Shares) == 0}
	return w.remember(ctx, contributions, target, c.Source, c.Was, c.WasVoid, now)
}

// JSONArray is texts as the argument of json_each.
func JSONArray[T ~string](texts []T) string {
	b := make([]byte, 0, 48*len(texts)+2)
	b = append(b, '[')
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = item.StringValue(string(t)).AppendJSON(b)
	}
	return string(append(b, ']'))
}
