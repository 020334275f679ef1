package sqlite

import (
	"cmp"
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.GroupRepairer = (*Store)(nil)

// RepairGroups replaces rows of groups in one transaction, as view.GroupRepairer defines. Besides the revision, it also
// compares the row in the table.
func (s *Store) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(rs), func(x *tx, i int) error { return x.repairGroup(&rs[i]) })
}

// repairGroup makes one repair. It returns errLost if the group or its row has changed since it was read.
func (x *tx) repairGroup(r *view.GroupRepair) error {
	next := &r.Next
	pk, sk, err := x.decodeRow(next.Row)
	if err != nil {
		return err
	}
	if err := x.checkOwned(next.Row); err != nil {
		return err
	}
	row, found, err := x.rowAt(pk, sk)
	if err != nil {
		return err
	}
	var stored item.Image
	if found && row.item != nil {
		if stored, err = item.Parse(row.item); err != nil {
			return x.store.Damaged("a row of the table "+x.target.Name, err)
		}
	}
	if !stored.Equal(r.Expected.Item) {
		return errLost
	}
	c := state.GroupChange{Row: next.Row}
	if next.Shares != 0 {
		c = state.GroupChange{Row: next.Row, Shares: next.Shares, Counts: next.Counts, Sums: next.Sums, Members: next.Members,
			Version: next.Version}
	}
	replaced, version, columns, exists, err := x.ReplaceGroup(x.ctx, x.id, r.Expected.Revision, &c)
	switch {
	case err != nil || !replaced:
		return cmp.Or(err, errLost)
	case !exists:
		return x.deleteRow(next.Row)
	}
	return x.replaceRow(next.Row, version, "", columns)
}
