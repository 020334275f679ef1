package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.GroupRepairer = (*Store)(nil)

// RepairGroups replaces rows of groups, as view.GroupRepairer defines. The members of a repaired row get a new epoch.
// The epoch is a text in the row and in its members. A repair first writes the new members. Then it writes the row by
// one conditional put, and deletes the former members. So a group may have any number of members, and no reader sees
// only some of them. An interrupted repair may leave members whose epoch is not in the row. Readers ignore such
// members.
func (s *Store) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitnesses); err != nil {
		return nil, err
	}
	return runEach(s.DB, len(rs), func(i int) (lost bool, err error) {
		w := groupRepairer{groupWriter: groupWriter{Store: s, target: t, stateTarget: t.State()}, repair: &rs[i]}
		return w.run(ctx)
	})
}

// groupRepairer makes one repair.
type groupRepairer struct {
	groupWriter
	repair    *view.GroupRepair
	tombstone bool // the stored item is a tombstone, put at the key by hand; it is handled like a missing row
}

// run makes the repair. It returns lost if the row has changed since it was read.
func (w *groupRepairer) run(ctx context.Context) (lost bool, err error) {
	next := &w.repair.Next
	ref, err := refOf(w.target.Table, next.Row)
	if err != nil {
		return false, err
	}
	release, err := w.rowQueue.Wait(ctx, rowID{w.target.Name, next.Row})
	defer release()
	if err != nil {
		return false, err
	}
	stored, err := w.Get(ctx, []dynamo.Ref{ref})
	if err != nil {
		return false, err
	}
	if lost, err := w.compare(stored[0]); lost || err != nil {
		return lost, err
	}

	oldEpoch := dynamo.Text(stored[0], epochAttribute)
	if next.Shares == 0 {
		lost, err = w.writeRow(ctx, dynamo.Delete(ref, w.unchangedCondition()))
	} else {
		lost, err = w.putGroup(ctx, ref)
	}
	if !lost && err == nil {
		w.dropMembers(ctx, oldEpoch)
	}
	return lost, err
}

// putGroup writes the new members under a new epoch, and then the row. It deletes the new members if the row has
// changed since it was read.
func (w *groupRepairer) putGroup(ctx context.Context, ref dynamo.Ref) (lost bool, err error) {
	next := &w.repair.Next
	g := groupRowWrite{ref: ref, GroupChange: &state.GroupChange{Row: next.Row, Version: next.Version,
		Counts: next.Counts, Sums: next.Sums}}
	row := groupRow{values: make(dynamo.Item)}
	if len(next.Members) > 0 {
		row.epoch = dynamo.NewEpoch()
		if row.values, err = w.PutMembers(ctx, w.stateTarget, next.Row, row.epoch, next.Members); err != nil {
			return false, err
		}
	}
	if err := row.addAmounts(g.GroupChange); err != nil {
		return false, err
	}
	lost, err = w.writeRow(ctx, dynamo.Put(w.target.Name, w.groupItem(&g, &row, next.Shares), w.unchangedCondition()))
	if lost {
		w.dropMembers(ctx, row.epoch)
	}
	return lost, err
}

// hadRow reports whether the repair expects a row.
func (w *groupRepairer) hadRow() bool {
	return w.repair.Expected.Revision != "" || w.repair.Expected.Item.Exists()
}

// compare compares the stored row with the row that the repair read, and sets w.tombstone. It returns lost if the rows
// differ, and an error if the stored row belongs to another sink or birth.
func (w *groupRepairer) compare(stored dynamo.Item) (lost bool, err error) {
	if stored == nil {
		return w.hadRow(), nil
	}
	meta, ok := metaOf(stored)
	if !ok || !meta.belongsTo(w.target) {
		return false, notOwned(w.target, w.repair.Next.Row, meta)
	}
	_, w.tombstone = stored[expiresAttribute]
	if w.tombstone {
		return w.hadRow(), nil
	}
	isUnchanged := w.hadRow() && meta.revision == w.repair.Expected.Revision
	return !isUnchanged, nil
}

// unchangedCondition returns the condition that the stored row has not changed since the repair read it.
func (w *groupRepairer) unchangedCondition() dynamo.Condition {
	switch {
	case w.tombstone:
		return withOwner(w.target, ownerMatches+" AND attribute_exists(#expires)", "#expires", expiresAttribute)
	case !w.hadRow():
		return rowIsMissing(w.target)
	case w.repair.Expected.Revision == "": // the revision was removed by hand
		return withOwner(w.target, ownerMatches+" AND attribute_not_exists(#tw.#rev)", "#rev", metaRevision)
	}
	return revisionIs(w.repair.Expected.Revision)
}

// writeRow sends the action on the row. It uses a transaction, so that the write can be repeated safely after a lost
// answer.
func (w *groupRepairer) writeRow(ctx context.Context, a dynamo.Action) (lost bool, err error) {
	err = w.Transact(ctx, []dynamo.Action{a})
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	if !refused {
		return false, err
	}
	return refusedRepair(w.target, w.repair.Next.Row, unmet.Unmet[0].Item)
}

// dropMembers deletes the members of an epoch that is not in the row. It ignores errors, because readers ignore such
// members.
func (w *groupRepairer) dropMembers(ctx context.Context, epoch string) {
	if epoch == "" {
		return
	}
	var names []string
	for _, m := range slices.Concat(w.repair.Expected.Members, w.repair.Next.Members) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	_ = w.DropMembers(ctx, w.stateTarget, w.repair.Next.Row, epoch, slices.Compact(names))
}
