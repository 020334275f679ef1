package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.GroupRepairer = (*Store)(nil)

// RepairGroups replaces rows of groups in one transaction, as view.GroupRepairer defines. It compares not only the
// revision, but also the row in the table.
func (s *Store) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(rs), func(x *tx, i int) error { return x.repairGroup(&rs[i]) })
}

// repairGroup makes one repair. It returns errLost if the group or its row has changed since it was read.
func (x *tx) repairGroup(r *view.GroupRepair) error {
	next := &r.Next
	if err := x.checkOwned(next.Row); err != nil {
		return err
	}
	stored, err := x.storedItem(next.Row)
	if err != nil {
		return err
	}
	if !stored.Equal(r.Expected.Item) {
		return errLost
	}

	c := state.GroupChange{Row: next.Row}
	if next.Shares != 0 {
		c = state.GroupChange{Row: next.Row, Shares: next.Shares, Counts: next.Counts, Sums: next.Sums, Members: next.Members,
			Version: next.Version}
	}
	row, replaced, err := x.ReplaceGroup(x.id, r.Expected.Revision, &c)
	switch {
	case err != nil:
		return err
	case !replaced:
		return errLost
	default:
		return x.writeGroupRow(next.Row, row)
	}
}

// storedItem reads a row of the table. The result is absent if there is no row, or only a tombstone.
func (x *tx) storedItem(r state.Row) (item.Image, error) {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return item.Image{}, err
	}
	row, found, err := x.readRow(pk, sk)
	isRow := found && row.item != nil
	if err != nil || !isRow {
		return item.Image{}, err
	}
	image, err := item.Parse(row.item)
	if err != nil {
		err = x.store.Damaged("a row of the table "+x.target.Name, err)
	}
	return image, err
}
