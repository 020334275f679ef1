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

// RepairGroups replaces rows of groups, as view.GroupRepairer defines. The members of a repaired row get another epoch.
// They are written before the row, which is one conditional put, and the former members are deleted after it. So a
// group may have any number of members, and nobody sees a part of them. Members of an epoch that no row has are ignored:
// a repair that is cut off may leave some.
func (s *Store) RepairGroups(ctx context.Context, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := s.beforeWrite(ctx, t, noWitness); err != nil {
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
	tombstone bool // a person put a tombstone in place of the row, which counts as no row
}

// run makes the repair. It returns true if the row is not the one that was read.
func (w *groupRepairer) run(ctx context.Context) (lost bool, err error) {
	now := &w.repair.Now
	g := groupRowWrite{GroupChange: &state.GroupChange{Row: now.Row, Version: now.Version, Counts: now.Counts, Sums: now.Sums}}
	if g.ref, err = refOf(w.target.Table, now.Row); err != nil {
		return false, err
	}
	release, err := w.rowQueue.Wait(ctx, rowID{w.target.Name, now.Row})
	defer release()
	if err != nil {
		return false, err
	}
	stored, err := w.Get(ctx, []dynamo.Ref{g.ref})
	if err != nil {
		return false, err
	}
	if lost, err := w.compare(stored[0]); lost || err != nil {
		return lost, err
	}
	former := dynamo.Text(stored[0], epochAttribute)
	if now.Shares == 0 {
		if lost, err = w.write(ctx, dynamo.Delete(g.ref, w.unchanged())); !lost && err == nil {
			w.drop(ctx, former)
		}
		return lost, err
	}
	r := groupRow{values: make(dynamo.Item)}
	if len(now.Members) > 0 {
		r.epoch = dynamo.NewEpoch()
		if r.values, err = w.PutMembers(ctx, w.stateTarget, now.Row, r.epoch, now.Members); err != nil {
			return false, err
		}
	}
	if err := r.addAmounts(g.GroupChange); err != nil {
		return false, err
	}
	lost, err = w.write(ctx, dynamo.Put(w.target.Name, w.groupItem(&g, &r, now.Shares), w.unchanged()))
	switch {
	case lost:
		w.drop(ctx, r.epoch)
	case err == nil:
		w.drop(ctx, former)
	}
	return lost, err
}

// exists reports whether the repair read a row.
func (w *groupRepairer) exists() bool {
	return w.repair.Was.Revision != "" || w.repair.Was.Item.Exists()
}

// compare compares the stored row with the one that was read. The error is that of another sink's row.
func (w *groupRepairer) compare(stored dynamo.Item) (lost bool, err error) {
	if stored == nil {
		return w.exists(), nil
	}
	meta, ok := metaOf(stored)
	if !ok || !meta.belongsTo(w.target) {
		return false, notOwned(w.target, w.repair.Now.Row, meta)
	}
	if _, w.tombstone = stored[expiresAttribute]; w.tombstone {
		return w.exists(), nil
	}
	return !w.exists() || meta.revision != w.repair.Was.Revision, nil
}

// unchanged is the condition that the table still has the row that was read.
func (w *groupRepairer) unchanged() dynamo.Condition {
	switch {
	case w.tombstone:
		return withOwner(w.target, ownerMatches+" AND attribute_exists(#expires)", "#expires", expiresAttribute)
	case !w.exists():
		return rowIsMissing(w.target)
	case w.repair.Was.Revision == "": // a person removed it
		return withOwner(w.target, ownerMatches+" AND attribute_not_exists(#tw.#rev)", "#rev", metaRevision)
	}
	return revisionIs(w.repair.Was.Revision)
}

// write writes the row. It is a transaction, so that it can be sent again after a lost answer.
func (w *groupRepairer) write(ctx context.Context, a dynamo.Action) (lost bool, err error) {
	err = w.Transact(ctx, []dynamo.Action{a})
	unmet, refused := errors.AsType[*dynamo.ConditionError](err)
	if !refused {
		return false, err
	}
	stored := unmet.Unmet[0].Item
	if meta, ok := metaOf(stored); stored != nil && (!ok || !meta.belongsTo(w.target)) {
		return false, notOwned(w.target, w.repair.Now.Row, meta)
	}
	return true, nil
}

// drop deletes the members of an epoch that the row does not have. Those that stay after an error are ignored, as those of
// a deleted row are.
func (w *groupRepairer) drop(ctx context.Context, epoch string) {
	if epoch == "" {
		return
	}
	var names []string
	for _, ms := range [][]state.Member{w.repair.Was.Members, w.repair.Now.Members} {
		for _, m := range ms {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	_ = w.DropMembers(ctx, w.stateTarget, w.repair.Now.Row, epoch, slices.Compact(names))
}
