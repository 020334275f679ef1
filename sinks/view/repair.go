package view

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Repairer is implemented by a [Store] that sets rows to what the items of the source table make of them, where a
// comparison found that they differ.
type Repairer interface {
	// RepairRows applies each repair on condition that what it read is still stored, and returns one Result for each,
	// in order. A repair is Lost if something else is stored by now: another repair or a change of the stream was
	// first. Then nothing was changed, and the row is to be compared again. It fails with a [ForeignRowError] if the
	// row belongs to another sink. A row of another birth is a fatal error of the call, as in Apply.
	//
	// A repair keeps the version of what it read, so later changes of the item replace the repaired row and older ones
	// do not. If a tombstone apart is newer than the row beside it, the repaired row has the version of the tombstone,
	// which is deleted.
	//
	// It blocks, and may be called by several goroutines and processes. Each repair of a call has another row. A
	// successful result is durable. An error means that the whole call failed; any part of it may have been applied.
	// It is marked with pipeline.Transient or pipeline.Fatal.
	RepairRows(ctx context.Context, t Target, rs []RowRepair) ([]Result, error)
}

// RowRepair replaces what is stored at the key of a row that guards itself.
type RowRepair struct {
	Was StoredRow // as [Inspector] read it; zero: nothing is stored
	Now Mutation  // the row or the tombstone to store. Its Version counts only if nothing is stored; hints have no effect
}

// Version returns the version of the repaired row or tombstone.
func (r *RowRepair) Version() record.Version {
	if r.Was.Exists {
		return r.Was.Version
	}
	return r.Now.Version
}

// Matches reports whether r and s are the same row or tombstone. It compares neither owners nor expiry nor revisions.
func (r *StoredRow) Matches(s *StoredRow) bool {
	return r.Exists == s.Exists && r.Tombstone == s.Tombstone && r.Version == s.Version && r.Item.Equal(s.Item)
}

// GroupRepairer is implemented by a [GroupStore] that sets groups to what the contributions of their items sum up to.
type GroupRepairer interface {
	// RepairGroups applies each repair on condition that the group still has the revision that was read, and returns one
	// Result for each, in order. Every write of a group gives it another revision. So a repair is Lost if another
	// repair, or a change of an item that the sum does not have, was first. Then nothing was changed, and the group is
	// to be compared again. It fails with a [ForeignRowError] if the row belongs to another sink. A row of another
	// birth is a fatal error of the call.
	//
	// It blocks, and may be called by several goroutines and processes. Each repair of a call has another row. A
	// successful result is durable. Errors are those of Contribute.
	RepairGroups(ctx context.Context, t Target, rs []GroupRepair) ([]Result, error)
}

// GroupRepair replaces one row of an aggregate, with its members.
type GroupRepair struct {
	Was Group // as [GroupLister] or [GroupReader] read it; the zero Group: there is no row
	Now Group // what the row is to have: Row with its shard, Shares, Version, Counts, Sums and all Members. 0 Shares delete the row
}
