package audit

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// ItemState is the state of an item, and what it was read from.
//
// A sink may have a newer change of the item than the state: see MayLack. Then a difference is no fault of the sink,
// and a repair would write an older state.
type ItemState struct {
	Change   record.Change // the item as a SNAPSHOT; or its REMOVE, with or without images
	Evidence Evidence
}

// Evidence is what the state of an item was read from.
type Evidence int

// The kinds of evidence.
const (
	// TableRead is a consistent read of the table. The state has every change.
	TableRead Evidence = iota
	// LastRecord is the last of the saved records of the item. The state has every change up to the record's version.
	LastRecord
	// TableSnapshot is a copy of the table as of a time: an export or a backfill. The state is newer than every earlier
	// backfill. It is unknown whether it has a given change of the stream.
	TableSnapshot
	// NoEvidence means that no record and no copy of the table was read. The state is unknown.
	NoEvidence
)

// LastState returns the state of an item whose last saved record is c. An archive may have an item of a backfill as a
// record.
func LastState(c record.Change) ItemState {
	state := ItemState{c, LastRecord}
	if c.Op == record.Snapshot {
		state.Evidence = TableSnapshot
	}
	if !c.Removed() {
		state.Change.Op, state.Change.EventName, state.Change.Old = record.Snapshot, "SNAPSHOT", item.Image{}
	}
	return state
}

// MayLack reports whether a sink may have a change of the item that the state does not have. newest is the newest
// version of the item in the sink, of a change or of a repair; zero if the sink has none.
func (k *ItemState) MayLack(newest record.Version) bool {
	version := k.Change.Version
	newest = newest.WithoutRepair()
	hasHigherNumber := record.CompareSequence(newest.Sequence(), version.Sequence()) > 0
	hasNoEpoch := version.Epoch() == 0
	switch {
	case newest.IsZero() || k.Evidence == TableRead:
		return false
	case k.Evidence == NoEvidence:
		return true
	case hasNoEpoch:
		return hasHigherNumber
	case k.Evidence == TableSnapshot && hasHigherNumber:
		return true // every change of a stream, even of an earlier one, has a higher number than an item of a snapshot
	}
	return newest.Compare(version) > 0
}

// repairVersion returns the version that a repair stores. stored is the newest stored version of what the repair
// replaces; zero if nothing is stored. If nothing is stored, or if the state is a newer saved record, the version is
// that of the state. Otherwise it is that of the next repair after stored. k is nil if the item is unknown.
func (k *ItemState) repairVersion(stored record.Version) record.Version {
	if k != nil && (stored.IsZero() || k.isRecordAfter(stored)) {
		return k.Change.Version
	}
	return stored.NextRepair()
}

// isFoundOrRepaired reports whether the version present is still the version that the audit found, or that of a repair
// since then: the repair of another finding of the item may have changed it. k is nil if the item is unknown.
func (k *ItemState) isFoundOrRepaired(found, present record.Version) bool {
	change := present.WithoutRepair()
	return change == found.WithoutRepair() || k != nil && change == k.Change.Version
}

// isRecordAfter reports whether the state is the last saved record of the item, and newer than a stored version. After
// a repair with the version of this record, earlier records of the item are refused. The epochs must be the same: a
// record that names a wrong stream may have too high an epoch, and a repair with it would refuse all later changes.
func (k *ItemState) isRecordAfter(stored record.Version) bool {
	version := k.Change.Version
	isSameStream := version.Epoch() == stored.Epoch() || version.Kinesis() && stored.Kinesis() // there, each has an epoch
	return k.Evidence == LastRecord && isSameStream && version.Compare(stored) > 0
}

// change returns the item as a change; nil if the item is unknown.
func (k *ItemState) change() *record.Change {
	if k == nil {
		return nil
	}
	return &k.Change
}
