package view

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Repairer is implemented by a [Store] that can repair rows. A repair replaces a row after a comparison found that the
// row does not match its item in the source table.
type Repairer interface {
	// RepairRows applies each repair on condition that its Expected is still stored. It returns one Result for each
	// repair, in order. A repair is Lost if another repair or a change of the stream came first. Then nothing was
	// changed, and the caller compares the row again. A repair fails with a [ForeignRowError] if the row belongs to
	// another sink. If a row has another birth than t, it belongs to another output of the sink, and the whole call
	// fails with a fatal error.
	//
	// A repair stores the version of Next. Newer changes of the item replace the repaired row, and older changes do not.
	// If a tombstone apart from the row is newer than Next, the row gets the version of a repair after that tombstone. The
	// tombstone apart from a repaired row is deleted.
	//
	// RepairRows blocks, and may be called by several goroutines and processes. No two repairs of a call have the same
	// row. A successful result is durable. An error means that the whole call failed; any part of it may have been
	// applied. The error is marked with pipeline.Transient or pipeline.Fatal.
	RepairRows(ctx context.Context, t Target, rs []RowRepair) ([]Result, error)
}

// RowRepair replaces the stored row or tombstone of a row that guards itself.
type RowRepair struct {
	Expected StoredRow // the stored row or tombstone as [Inspector] read it; zero if there is none
	// Next is the row or tombstone to store. Its Version should be newer than that of Expected. Its hints are ignored.
	Next Mutation
}

// ApartRepair says what a repair expects and writes if tombstones are apart from their rows.
type ApartRepair struct {
	Lost      bool             // the tombstone apart is not as the repair expects it
	AtKey     StoredRow        // row or tombstone that must be stored at the row's key
	Version   record.Version   // version of the repaired row or tombstone
	Tombstone *state.Tombstone // tombstone that is apart after the repair; nil if there is none
}

// Apart returns the conditions and the writes of the repair. stored is the tombstone apart; nil if there is none. If it
// stays, it is ApartRepair.Tombstone. The error means that the version of the stored tombstone is damaged.
func (r *RowRepair) Apart(stored *state.Tombstone) (a ApartRepair, err error) {
	var storedVersion record.Version // zero is older than each version
	if stored != nil {
		if storedVersion, err = record.ParseVersion(stored.Version); err != nil {
			return a, err
		}
	}
	expectsApart := r.Expected.Tombstone && !r.Expected.InPlace
	if expectsApart {
		a.Lost = storedVersion != r.Expected.Version
	} else {
		// StoredRows does not look for a tombstone apart if it finds a row, so the repair accepts any.
		a.Lost = stored != nil && !r.Expected.Exists
		a.AtKey = r.Expected
	}

	a.Version = r.Next.Version
	refusesRow := stored != nil && storedVersion.Compare(a.Version) >= 0 // a row must be newer than its tombstone
	if refusesRow {
		a.Version = storedVersion.NextRepair()
	}

	switch {
	case !r.Next.Tombstone: // the row is newer than any tombstone
		a.Tombstone = nil
	case refusesRow && !expectsApart: // only the row is removed: the stored tombstone is newer
		a.Tombstone = stored
	default:
		a.Tombstone = r.Next.TombstoneAt(a.Version)
	}
	return a, nil
}

// Matches reports whether r and s have the same content and version. Owners, expiry and revisions may differ.
func (r *StoredRow) Matches(s *StoredRow) bool {
	return r.Exists == s.Exists && r.Tombstone == s.Tombstone && r.Version == s.Version && r.Item.Equal(s.Item)
}

// GroupRepairer is implemented by a [GroupStore] that can repair groups. A repair sets a group to the sum of the
// contributions of its items.
type GroupRepairer interface {
	// RepairGroups applies each repair on condition that the group still has the revision that was read. It returns one
	// Result for each repair, in order. Every write of a group changes its revision. So a repair is Lost if another
	// repair came first, or a change that the sum does not include. Then nothing was changed, and the caller compares
	// the group again. A repair fails with a [ForeignRowError] if the row belongs to another sink. If a row has another
	// birth, the whole call fails with a fatal error.
	//
	// RepairGroups blocks, and may be called by several goroutines and processes. No two repairs of a call have the
	// same row. A successful result is durable. The errors are those of Contribute.
	RepairGroups(ctx context.Context, t Target, rs []GroupRepair) ([]Result, error)
}

// GroupRepair replaces one row of an aggregate, with its members.
type GroupRepair struct {
	Expected Group // the stored group as [GroupLister] or [GroupReader] read it; zero if there is no row
	// the new group: Row with its shard, Shares, Version, Counts, Sums and all Members. If Shares is 0, the row is
	// deleted
	Next Group
}
