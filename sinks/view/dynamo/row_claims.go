package dynamo

import (
	"context"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.ItemStore   = (*Store)(nil)
	_ view.ClaimLister = (*Store)(nil)
)

// RowClaims reads the claims on each row. A claim is an item's request for the row. If a row has no claims, it also
// reads the row itself, because the row may belong to another sink.
func (s *Store) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	found, err := s.DB.RowClaims(ctx, t.State(), rows)
	if err != nil {
		return nil, err
	}
	claims := make([]view.RowClaims, len(rows))
	var unclaimed []int   // indexes of the rows without claims
	var refs []dynamo.Ref // their items, in the same order
	for i := range found {
		claims[i].RowClaims = found[i]
		isClaimed := found[i].Revision != ""
		if isClaimed {
			continue
		}
		ref, err := refOf(t.Table, rows[i])
		if err != nil {
			return nil, err
		}
		unclaimed, refs = append(unclaimed, i), append(refs, ref)
	}

	stored, err := s.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for n, i := range unclaimed {
		if stored[n] == nil {
			continue
		}
		owner, _ := metaOf(stored[n])
		if owner.belongsTo(t) {
			continue
		}
		if owner.sameSink(t) { // the row was written under another birth of the sink's output, which is fatal
			return nil, notOwned(t, rows[i], owner)
		}
		claims[i].Foreign = foreignRow(t, rows[i], owner)
	}
	return claims, nil
}

// claimActions returns the actions of merged writes. subjects describes the item that each action writes, for errors.
// The actions on rows come last.
func claimActions(t view.Target, m *dynamo.MergedWrite) (all []dynamo.Action, subjects []string, err error) {
	all, subjects = m.Actions()
	for i := range m.Rows() {
		row, err := claimedRowAction(t, &m.Rows()[i])
		if err != nil {
			return nil, nil, err
		}
		all, subjects = append(all, row), append(subjects, "a row")
	}
	return all, subjects, nil
}

// claimedRowAction returns the action that puts the row with the attributes of its owner's claim, or deletes the row if
// it has no owner. Its condition is that there is no row, or that the row belongs to the target. It does not compare
// versions, because the conditions on guards and claims in the same transaction exclude late changes.
func claimedRowAction(t view.Target, r *dynamo.RowChange) (dynamo.Action, error) {
	ref, err := refOf(t.Table, r.Row)
	if err != nil {
		return dynamo.Action{}, err
	}
	owned := withOwner(t, "attribute_not_exists(#pk) OR ("+ownerMatches+")", "#pk", t.PK)
	if r.Owner.Source == "" {
		return dynamo.Delete(ref, owned), nil
	}
	pk, sk, _ := r.Row.Decode() // refOf has decoded it
	m := view.Mutation{PK: pk, SK: sk, Source: r.Owner.Source, Attributes: r.Owner.Attributes}
	return dynamo.Put(t.Name, tableItem(t, &m, r.Owner.Version.String(), 0), owned), nil
}
