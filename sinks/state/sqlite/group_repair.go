package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

const readGroupRevision = `SELECT id, revision FROM "_tws_groups" WHERE target = ? AND row = ?`

// ReplaceGroup deletes the stored group of a row and creates a new one by the change c, within a transaction. It does
// not read the stored group, which may be damaged. was is the expected revision of the stored group, or "" if no group
// is stored. If the revision differs, ReplaceGroup returns false and changes nothing. The other results are those of
// [Group.Change].
func (w *Writer) ReplaceGroup(
	ctx context.Context, target int64, was string, c *state.GroupChange,
) (replaced bool, version record.Version, columns []state.Column, exists bool, err error) {
	var id int64
	var revision string
	_, err = w.QueryRow(ctx, readGroupRevision, []any{target, string(c.Row)}, &id, &revision)
	if err != nil || revision != was {
		return false, version, nil, false, err
	}
	if err := w.deleteGroup(ctx, id); err != nil {
		return false, version, nil, false, err
	}

	g := &Group{writer: w, target: target, row: c.Row}
	version, columns, exists, err = g.Change(ctx, c)
	return true, version, columns, exists, err
}
