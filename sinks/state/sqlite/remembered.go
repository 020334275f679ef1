package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// rememberedTable holds the statements of a table with one entry for each item: a version, whether it is void, and a value.
type rememberedTable struct{ name, value, what, read, insert, update string }

func newRememberedTable(table, value, what string) rememberedTable {
	return rememberedTable{
		name: table, value: value, what: what,
		read:   "SELECT j.key, m.version, m.void, m." + value + " FROM json_each(?) j CROSS JOIN " + table + " m WHERE m.target = ? AND m.item = j.value",
		insert: "INSERT INTO " + table + " (target, item, version, void, " + value + ", written) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		update: "UPDATE " + table + " SET version = ?, void = ?, " + value + " = ?, written = ? WHERE target = ? AND item = ? AND version = ? AND void = ?",
	}
}

var (
	guards        = newRememberedTable(`"_tws_guards"`, "row", "the guard of item ")
	contributions = newRememberedTable(`"_tws_contributions"`, "shares", "the contribution of item ")
)

// readRemembered reads the entries of items, and returns them in the order of items; the zero T for an item without an entry.
func readRemembered[T any](
	ctx context.Context, w *Writer, table rememberedTable, target int64, items []item.Key, parse func(v record.Version, void bool, value []byte) (T, error),
) ([]T, error) {
	all := make([]T, len(items))
	err := w.QueryRows(ctx, table.read, []any{JSONArray(items), target}, func(rows *sql.Rows) error {
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
			return w.db.Damaged(table.what+string(items[i]), err)
		}
		return nil
	})
	return all, err
}

// remembered is a new entry of a rememberedTable.
type remembered struct {
	version record.Version
	void    bool
	value   any
	empty   bool // the entry may be purged one day
}

// replaceRemembered replaces the entry of an item, within a transaction. It returns false, and changes nothing, if the
// stored entry does not have the version was and the void wasVoid.
func (w *Writer) replaceRemembered(ctx context.Context, table rememberedTable, target int64, item item.Key, was record.Version, wasVoid bool, now remembered) (bool, error) {
	var written any // NULL
	if now.empty {
		written = time.Now().UnixNano()
	}
	var n int64
	var err error
	if was.IsZero() {
		n, err = w.ExecCount(ctx, table.insert, target, string(item), now.version.String(), now.void, now.value, written)
	} else {
		n, err = w.ExecCount(ctx, table.update, now.version.String(), now.void, now.value, written, target, string(item), was.String(), wasVoid)
	}
	return n > 0, err
}

// Guards reads the guards of items, and returns them in the order of items.
func (db *DB) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return readTarget(ctx, db, guards, t, items, parseGuard)
}

// readTarget is readRemembered of a target, with the writing connection: this process writes nothing meanwhile.
func readTarget[T any](
	ctx context.Context, db *DB, table rememberedTable, t state.Target, items []item.Key, parse func(v record.Version, void bool, value []byte) (T, error),
) (all []T, err error) {
	err = db.WithTarget(ctx, t, func(w *Writer, id int64) error {
		all, err = readRemembered(context.WithoutCancel(ctx), w, table, id, items, parse)
		return err
	})
	return all, err
}

func parseGuard(v record.Version, void bool, row []byte) (state.Guard, error) {
	return state.Guard{Version: v, Void: void, Row: state.Row(row)}, nil
}

// setGuard replaces the guard of an item as replaceRemembered does.
func (w *Writer) setGuard(ctx context.Context, target int64, iw *state.ItemWrite) (bool, error) {
	now := remembered{iw.Guard.Version, iw.Guard.Void, string(iw.Guard.Row), iw.Guard.Row == ""}
	return w.replaceRemembered(ctx, guards, target, iw.Source, iw.Was, iw.WasVoid, now)
}

// Contributions reads the contributions of items, and returns them in the order of items.
func (db *DB) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return readTarget(ctx, db, contributions, t, items, parseContribution)
}

func parseContribution(v record.Version, void bool, shares []byte) (state.Contribution, error) {
	c, err := state.ParseContribution(v, shares)
	c.Void = void
	return c, err
}

// SetContribution replaces the contribution of an item, within a transaction. It returns false, and changes nothing, if
// the stored contribution is not as expected.
func (w *Writer) SetContribution(ctx context.Context, target int64, c *state.ContributionWrite) (bool, error) {
	if c.WholeWas {
		stored, err := readRemembered(ctx, w, contributions, target, []item.Key{c.Source}, parseContribution)
		if err != nil || !c.Expects(stored[0]) {
			return false, err
		}
	}
	w.buf = c.Now.AppendShares(w.buf[:0])
	now := remembered{c.Now.Version, c.Now.Void, w.buf, len(c.Now.Shares) == 0}
	return w.replaceRemembered(ctx, contributions, target, c.Source, c.Was.Version, c.Was.Void, now)
}

// JSONArray returns texts as a JSON array, the argument of json_each.
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
