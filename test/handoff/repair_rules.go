package handoff

import (
	"context"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// lost reports whether the write returned one result and this result is a loss.
func lost(rs []view.Result, err error) bool { return err == nil && len(rs) == 1 && rs[0].Lost }

// repairBy calls repair. expectStored makes the stored content the content that repair expects. The rule AnyStored does
// that before the call. The rule Insists does that before a second call, if the first one lost to a change.
func repairBy[R any](
	rules RepairRules, expectStored func() error, lost func([]R, error) bool, repair func() ([]R, error),
) ([]R, error) {
	if rules.AnyStored {
		if err := expectStored(); err != nil {
			return nil, err
		}
	}
	results, err := repair()
	if !rules.Insists || !lost(results, err) {
		return results, err
	}
	if err := expectStored(); err != nil {
		return nil, err
	}
	return repair()
}

// repairRows repairs rows under the rules of the world.
func (w *RepairWorld) repairRows(ctx context.Context, s RepairableRows, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	rules := w.rules.Repair
	if rules.OtherBirth {
		t.Birth += "-other"
	}
	if rules.Newer {
		m := rs[0].Next
		m.Version = w.head()
		return s.Apply(ctx, t, []view.Mutation{m})
	}
	r := rs[0]
	expectStored := func() error {
		row, err := state.MakeRow(r.Next.PK, r.Next.SK)
		if err != nil {
			return err
		}
		stored, err := s.StoredRows(ctx, t, []state.Row{row})
		if err == nil {
			r.Expected = stored[0]
		}
		return err
	}
	results, err := repairBy(rules, expectStored, lost, func() ([]view.Result, error) {
		return s.RepairRows(ctx, t, []view.RowRepair{r})
	})
	if rules.Zero {
		pk, _ := r.Next.PK.Text()
		sk, _ := r.Next.SK.Text()
		w.byHand(`UPDATE "_tw_rows" SET version = ? WHERE pk = ? AND sk = ?`, w.version(epoch, "0").String(), pk, sk)
	}
	return results, err
}

// repairGroups repairs groups under the rules of the world.
func (w *RepairWorld) repairGroups(ctx context.Context, s RepairableRows, t view.Target, rs []view.GroupRepair) ([]view.Result, error) {
	rules := w.rules.Repair
	if rules.OtherBirth {
		t.Birth += "-other"
	}
	r := rs[0]
	expectStored := func() error {
		values := w.valuesOf[t.View]
		groups, err := s.ReadGroups(ctx, t, values, []state.Row{r.Next.Row})
		if err == nil {
			r.Expected = groups[0]
		}
		return err
	}
	rules.AnyStored = rules.AnyStored || rules.AnyRevision
	return repairBy(rules, expectStored, lost, func() ([]view.Result, error) {
		return s.RepairGroups(ctx, t, []view.GroupRepair{r})
	})
}

// repairContributions repairs the contribution of an item under the rules of the world.
func (w *RepairWorld) repairContributions(ctx context.Context, s RepairableRows, t view.Target, ws []state.GroupWrite) ([]view.Result, error) {
	rules := w.rules.Repair
	if rules.OtherBirth {
		t.Birth += "-other"
	}
	write := ws[0]
	write.Items = slices.Clone(write.Items)
	it := &write.Items[0]
	if rules.SameVersion && !it.Expected.Version.IsZero() {
		it.Next.Version = it.Expected.Version
	}
	if rules.Newer {
		it.Next.Version = w.head()
	}
	if rules.Zero {
		it.Next.Version = w.version(epoch, "0")
	}
	expectStored := func() error {
		cs, err := s.Contributions(ctx, t.State(), []item.Key{it.Source})
		if err == nil {
			it.Expected = cs[0]
			it.Next.Version = cs[0].Version.NextRepair()
		}
		return err
	}
	return repairBy(rules, expectStored, lost, func() ([]view.Result, error) {
		return s.Contribute(ctx, t, []state.GroupWrite{write})
	})
}

// repairClaims repairs the claim of an item under the rules of the world.
func (w *RepairWorld) repairClaims(ctx context.Context, s RepairableRows, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	rules := w.rules.Repair
	if rules.OtherBirth {
		t.Birth += "-other"
	}
	ws = slices.Clone(ws)
	for i := range ws {
		it := &ws[i]
		version := it.Guard.Version
		if rules.SameVersion && !ws[0].Expected.IsZero() {
			version = ws[0].Expected
		}
		if rules.Newer {
			version = w.head()
		}
		if rules.Zero {
			version = w.version(epoch, "0")
		}
		it.Guard.Version = version
		if i > 0 {
			it.Expected = version
		}
	}
	expectStored := func() error {
		guards, err := s.Guards(ctx, t.State(), []item.Key{ws[0].Source})
		if err != nil {
			return err
		}
		ws = ws[:1]
		it := &ws[0]
		it.Expected, it.ExpectedVoid, it.Guard.Version = guards[0].Version, guards[0].Void, guards[0].Version.NextRepair()
		it.Rows = slices.Clone(it.Rows)
		for i := range it.Rows {
			claims, err := s.RowClaims(ctx, t, []state.Row{it.Rows[i].Row})
			if err != nil {
				return err
			}
			it.Rows[i].Expected = claims[0].Revision
		}
		return nil
	}
	return repairBy(rules, expectStored, lost, func() ([]view.Result, error) {
		return s.WriteItems(ctx, t, ws)
	})
}

// repairDocuments repairs documents under the rules of the world.
func (w *RepairWorld) repairDocuments(ctx context.Context, s RepairableDocuments, ds []search.DocumentRepair) ([]search.Result, error) {
	rules := w.rules.Repair
	d := ds[0]
	if rules.OtherBirth {
		d.Next.Birth += "-other"
	}
	if rules.Newer {
		m := d.Next
		m.Version = w.head()
		return s.Apply(ctx, []search.Mutation{m})
	}
	expectStored := func() (err error) {
		d.Expected, err = s.ReadStored(ctx, d.Next.Index, d.Next.ID, d.Next.Routing)
		return err
	}
	overtaken := func(rs []search.Result, err error) bool { return err == nil && rs[0].Overtaken }
	return repairBy(rules, expectStored, overtaken, func() ([]search.Result, error) {
		return s.RepairDocuments(ctx, []search.DocumentRepair{d})
	})
}
