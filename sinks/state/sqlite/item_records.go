package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// itemTable has the statements of a table with one record for each item. There are two such tables. A guard holds the
// version of an item and the row that the item claims. A contribution holds the version of an item and the shares that
// it adds to groups. A record has a version, a value and a void flag. The flag means that the change with this version
// could not be applied. The value is the row of a guard, or the shares of a contribution.
type itemTable struct{ name, value, label, read, insert, update string }

// newItemTable returns the statements of a table. value is the column with the value. label begins the description of a
// record in errors.
func newItemTable(table, value, label string) itemTable {
	return itemTable{
		name: table, value: value, label: label,
		read: "SELECT j.key, m.version, m.void, m." + value + " FROM json_each(?) j CROSS JOIN " + table +
			" m WHERE m.target = ? AND m.item = j.value",
		insert: "INSERT INTO " + table + " (target, item, version, void, " + value +
			", written) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		update: "UPDATE " + table + " SET version = ?, void = ?, " + value +
			" = ?, written = ? WHERE target = ? AND item = ? AND version = ? AND void = ?",
	}
}

var (
	guardTable        = newItemTable(`"_tws_guards"`, "row", "the guard of item ")
	contributionTable = newItemTable(`"_tws_contributions"`, "shares", "the contribution of item ")
)

// readItemRecords reads the records of items. It returns them in the order of items, with the zero T for an item
// without a record.
func readItemRecords[T any](
	w *Writer, table itemTable, target int64, items []item.Key,
	parse func(v record.Version, void bool, value []byte) (T, error),
) ([]T, error) {
	all := make([]T, len(items))
	err := w.QueryRows(table.read, []any{JSONArray(items), target}, func(rows *sql.Rows) error {
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
			return w.db.Damaged(table.label+string(items[i]), err)
		}
		return nil
	})
	return all, err
}

// itemRecord is a new record of an itemTable.
type itemRecord struct {
	version   record.Version
	void      bool
	value     any
	purgeable bool // the record may be purged: the guard has no row, or the contribution has no shares
}

// replaceItemRecord replaces the record of an item by next, within a transaction. The stored record must have the
// version was and the void flag wasVoid. If was is zero, no record may be stored. If the stored record is not as
// expected, replaceItemRecord returns false and changes nothing.
func (w *Writer) replaceItemRecord(
	table itemTable, target int64, item item.Key, was record.Version, wasVoid bool, next itemRecord,
) (bool, error) {
	var purgeableSince any // NULL
	if next.purgeable {
		purgeableSince = time.Now().UnixNano()
	}
	if was.IsZero() {
		n, err := w.ExecCount(table.insert, target, string(item), next.version.String(), next.void, next.value,
			purgeableSince)
		return n > 0, err
	}
	n, err := w.ExecCount(table.update, next.version.String(), next.void, next.value, purgeableSince, target,
		string(item), was.String(), wasVoid)
	return n > 0, err
}

// Guards reads the guards of items. It returns them in the order of items.
func (db *DB) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return readTargetRecords(ctx, db, guardTable, t, items, parseGuard)
}

// readTargetRecords reads records of a target with the writing connection, so that this process writes nothing during
// the read. See readItemRecords.
func readTargetRecords[T any](
	ctx context.Context, db *DB, table itemTable, t state.Target, items []item.Key,
	parse func(v record.Version, void bool, value []byte) (T, error),
) (all []T, err error) {
	err = db.WithTarget(ctx, t, func(w *Writer, id int64) error {
		all, err = readItemRecords(w, table, id, items, parse)
		return err
	})
	return all, err
}

func parseGuard(v record.Version, void bool, row []byte) (state.Guard, error) {
	return state.Guard{Version: v, Void: void, Row: state.Row(row)}, nil
}

// setGuard replaces the guard of an item. It returns false, and changes nothing, if the stored guard is not as
// expected.
func (w *Writer) setGuard(target int64, iw *state.ItemWrite) (bool, error) {
	next := itemRecord{iw.Guard.Version, iw.Guard.Void, string(iw.Guard.Row), iw.Guard.Row == ""}
	return w.replaceItemRecord(guardTable, target, iw.Source, iw.Expected, iw.ExpectedVoid, next)
}

// Contributions reads the contributions of items. It returns them in the order of items.
func (db *DB) Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error) {
	return readTargetRecords(ctx, db, contributionTable, t, items, parseContribution)
}

func parseContribution(v record.Version, void bool, shares []byte) (state.Contribution, error) {
	c, err := state.ParseContribution(v, shares)
	c.Void = void
	return c, err
}

// SetContribution replaces the contribution of an item, within a transaction. It returns false, and changes nothing, if
// the stored contribution is not as c expects.
func (w *Writer) SetContribution(target int64, c *state.ContributionWrite) (bool, error) {
	if c.CompareShares {
		stored, err := readItemRecords(w, contributionTable, target, []item.Key{c.Source}, parseContribution)
		if err != nil || !c.Expects(stored[0]) {
			return false, err
		}
	}
	w.buf = c.Next.AppendShares(w.buf[:0])
	next := itemRecord{c.Next.Version, c.Next.Void, w.buf, len(c.Next.Shares) == 0}
	return w.replaceItemRecord(contributionTable, target, c.Source, c.Expected.Version, c.Expected.Void, next)
}

// JSONArray returns texts as a JSON array, which is an argument for json_each.
func JSONArray[T ~string](texts []T) string {
	b := make([]byte, 0, 48*len(texts)+2)
	b = append(b, '[')
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = item.AppendJSONText(b, string(t))
	}
	return string(append(b, ']'))
}
