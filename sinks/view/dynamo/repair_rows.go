package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.Repairer = (*Store)(nil)
	_ view.Repairer = (*Rows)(nil)
)

// maxCompared is the maximum number of attributes that a condition compares. DynamoDB allows 300 operators and 4 KB in
// a condition.
const maxCompared = 100

// RepairRows repairs rows as view.Repairer defines. If tombstones are in place, each repair is one conditional put. If
// tombstones are apart, each repair is one transaction on the row and its tombstone.
//
// The condition compares the version, the revision, and the first 100 attributes in the order of their names. The
// revision changes with each repair, so of two repairs that read the same row only one succeeds. The attributes are
// compared because they may have been changed by hand.
func (s *Store) RepairRows(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitnesses); err != nil {
		return nil, err
	}
	if t.InPlace {
		return repairInPlace(ctx, s.views, t, rs)
	}
	return s.repairApart(ctx, t, rs)
}

// RepairRows repairs rows as [Store.RepairRows] does. The target must have its tombstones in place.
func (r *Rows) RepairRows(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	if !t.InPlace {
		return nil, noTombstones(t)
	}
	return repairInPlace(ctx, r.views, t, rs)
}

// rowRepairer repairs the rows of one call.
type rowRepairer struct {
	*dynamo.DB
	target view.Target
}

// repairInPlace puts rows and tombstones in place.
func repairInPlace(ctx context.Context, views *dynamo.DB, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	w := rowRepairer{views, t}
	return runEach(views, len(rs), func(i int) (lost bool, err error) { return w.putInPlace(ctx, &rs[i]) })
}

// putInPlace puts the row or the tombstone of a repair. If the response of DynamoDB is lost, the put is sent again. If
// the first put was applied, the condition of the second one is not met. But the stored row then has the revision of
// this repair, which shows that the repair succeeded.
func (w *rowRepairer) putInPlace(ctx context.Context, r *view.RowRepair) (lost bool, err error) {
	revision := rand.Text()
	put, err := rowPut(w.target, w.item(r, r.Next.Version, revision), w.unchangedCondition(&r.Expected))
	if err == nil {
		err = w.Write(ctx, put)
	}
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	if !refused {
		return false, err
	}
	stored := unmet.Unmet[0].Item
	if meta, ok := metaOf(stored); ok && meta.revision == revision {
		return false, nil
	}
	row, err := state.MakeRow(r.Next.PK, r.Next.SK)
	if err != nil {
		return false, err
	}
	return refusedRepair(w.target, row, stored)
}

// repairApart repairs rows whose tombstones are apart.
func (s *Store) repairApart(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	rows := make([]state.Row, len(rs))
	for i := range rs {
		var err error
		if rows[i], err = state.MakeRow(rs[i].Next.PK, rs[i].Next.SK); err != nil {
			return nil, err
		}
	}
	tombstones, err := s.Tombstones(ctx, t.State(), rows)
	if err != nil {
		return nil, err
	}
	w := rowRepairer{s.DB, t}
	return runEach(s.DB, len(rs), func(i int) (lost bool, err error) {
		return w.transact(ctx, &rs[i], rows[i], tombstones[i])
	})
}

// transact writes a row and its tombstone, on condition that both are as they were read. stored is the tombstone that
// is apart; nil if there is none. There may also be a row, or a tombstone in place, at the row's key.
func (w *rowRepairer) transact(
	ctx context.Context, r *view.RowRepair, row state.Row, stored *state.Tombstone,
) (lost bool, err error) {
	apart, err := r.Apart(stored)
	if err != nil {
		return false, w.Damaged("a tombstone of the view "+w.target.View, err)
	}
	if apart.Lost {
		return true, nil
	}
	unchanged := w.unchangedCondition(&apart.AtKey)
	rowAction, err := w.rowAction(r, apart.Version, unchanged)
	if err != nil {
		return false, err
	}
	tombstoneAction, err := w.ReplaceTombstone(w.target.State(), row, stored, apart.Tombstone)
	if err != nil {
		return false, err
	}

	err = w.Transact(ctx, []dynamo.Action{rowAction, tombstoneAction})
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	if !refused {
		return false, err
	}
	onlyTombstoneChanged := unmet.Unmet[0].ActionIndex > 0
	if onlyTombstoneChanged {
		return true, nil
	}
	return refusedRepair(w.target, row, unmet.Unmet[0].Item)
}

// rowAction returns the put of the row; if the repair puts a tombstone apart, the delete of the row.
func (w *rowRepairer) rowAction(
	r *view.RowRepair, version record.Version, unchanged dynamo.Condition,
) (dynamo.Action, error) {
	put, err := rowPut(w.target, w.item(r, version, rand.Text()), unchanged)
	if err != nil || !r.Next.Tombstone {
		return put, err
	}
	ref := dynamo.Ref{Table: w.target.Name, Key: keyItem(w.target.Table, r.Next.PK, r.Next.SK)}
	return dynamo.Delete(ref, unchanged), nil
}

// item returns the item to put: the row, or its tombstone in place.
func (w *rowRepairer) item(r *view.RowRepair, version record.Version, revision string) dynamo.Item {
	item := tableItem(w.target, &r.Next, version.String(), w.Expiry().Unix())
	item[metaAttribute].(*types.AttributeValueMemberM).Value[metaRevision] = dynamo.S(revision)
	return item
}

// unchangedCondition returns the condition that the stored item is still the item that a repair read.
func (w *rowRepairer) unchangedCondition(expected *view.StoredRow) dynamo.Condition {
	if !expected.Exists {
		return rowIsMissing(w.target)
	}
	c := withOwner(w.target, ownerMatches+" AND #tw.#v = :v", "#v", metaVersion, "#rev", metaRevision, "#expires",
		expiresAttribute)
	c.Values[":v"] = dynamo.S(expected.Version.String())
	if expected.Revision == "" {
		c.Text += " AND attribute_not_exists(#tw.#rev)"
	} else {
		c.Text += " AND #tw.#rev = :rev"
		c.Values[":rev"] = dynamo.S(expected.Revision)
	}
	if expected.Tombstone {
		c.Text += " AND attribute_exists(#expires)"
		return c
	}

	c.Text += " AND attribute_not_exists(#expires)"
	attributes := sdkvalue.Item(expected.Item)
	for i, attribute := range slices.Sorted(maps.Keys(attributes)) {
		if i == maxCompared {
			break
		}
		name, value := fmt.Sprintf("#a%d", i), fmt.Sprintf(":a%d", i)
		c.Text += " AND " + name + " = " + value
		c.Names[name], c.Values[value] = attribute, attributes[attribute]
	}
	return c
}

// refusedRepair returns the result of a repair whose condition was not met. stored is the stored item; nil if there is
// none.
func refusedRepair(t view.Target, row state.Row, stored dynamo.Item) (lost bool, err error) {
	meta, ok := metaOf(stored)
	isForeign := stored != nil && (!ok || !meta.belongsTo(t))
	if isForeign {
		return false, notOwned(t, row, meta)
	}
	return true, nil
}
