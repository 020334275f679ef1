package audit_test

import (
	"slices"

	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/state"
)

// repaired repairs all differences of the named sinks. It checks that no difference is left and that a second repair of
// the same finding writes nothing.
func (w *world) repaired(names ...string) {
	w.t.Helper()
	ctx := w.t.Context()
	for _, name := range names {
		s := w.open(audit.Options{})[name]
		fs := w.differences(s)
		if len(fs) == 0 {
			w.t.Errorf("%s: nothing to repair", name)
		}
		dry := w.open(audit.Options{DryRun: true})[name]
		for _, f := range fs {
			if f.Kind == audit.Group || !f.Verdict.Differs() {
				continue
			}
			c := w.snapshotFor(f)
			would, err := dry.Repair(ctx, c, f)
			if err != nil {
				w.t.Fatal(err)
			}
			o, err := s.Repair(ctx, c, f)
			if err != nil || o != would || o.Result == audit.Refused || o.Result == audit.Repaired && o.WriteText == "" {
				w.t.Errorf("%s: repair of %s %s %s: %+v, dry run %+v, %v", name, f.Verdict, f.Kind, f.PlaceText, o, would, err)
			}
			if o, err := s.Repair(ctx, c, f); err != nil || o.Result == audit.Repaired {
				w.t.Errorf("%s: second repair of %s %s %s: %+v, %v", name, f.Verdict, f.Kind, f.PlaceText, o, err)
			}
		}
		groups := slices.DeleteFunc(w.differences(s), func(f audit.Finding) bool { return f.Kind != audit.Group })
		if g, ok := s.(audit.GroupSink); ok && len(groups) > 0 {
			os, err := g.RepairGroups(ctx, state.Listing{}, groups)
			if err != nil {
				w.t.Fatal(err)
			}
			again, err := g.RepairGroups(ctx, state.Listing{}, groups)
			if err != nil {
				w.t.Fatal(err)
			}
			for i, o := range os {
				if o.Result != audit.Repaired && o.Result != audit.AlreadyEqual || again[i].Result != audit.AlreadyEqual {
					w.t.Errorf("%s: repair of %s: %+v, a second repair: %+v", name, groups[i].PlaceText, o, again[i])
				}
			}
		}
		for _, f := range w.differences(s) {
			if f.Verdict.Differs() {
				w.t.Errorf("%s, repaired: %s %s %s: %v %s", name, f.Verdict, f.Kind, f.PlaceText, f.Differences, f.FoundText)
			}
		}
	}
}

func (w *world) snapshotFor(f audit.Finding) *audit.ItemState { return w.snapshotOf(f.Item) }

// movesBeforeRepair finds the differences of a sink, calls change, and checks that a repair of the old findings writes
// nothing.
func (w *world) movesBeforeRepair(name string, change func()) {
	w.t.Helper()
	s := w.open(audit.Options{})[name]
	fs := w.differences(s)
	change()
	for _, f := range fs {
		if o, err := s.Repair(w.t.Context(), w.snapshotFor(f), f); err != nil || o.Result == audit.Repaired {
			w.t.Errorf("%s %s: %+v, %v", f.Kind, f.PlaceText, o, err)
		}
	}
}
