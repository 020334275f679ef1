package audit_test

import (
	"fmt"
	"slices"
	"testing"

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

// The sinks miss that an item was removed and another one moved. After the repair, the earlier changes of the items come
// again, and the output stays as it was repaired.
func TestRepair_ChangesComeAgain(t *testing.T) {
	for _, c := range []struct {
		file  string
		names []string
		image func(n int) string
	}{
		{shop, []string{"products", "names", "shelves", "tags", "documents"}, func(n int) string { return product(n, fmt.Sprintf("N%d", n), n) }},
		{lineShop, []string{"lines", "tags"}, func(n int) string { return order(fmt.Sprint(n), fmt.Sprintf("x%d", n), "y") }},
	} {
		w := newWorld(t, c.file)
		early := []string{w.change("P1", c.image(1)), w.change("P2", c.image(2))}
		w.send(early...)
		w.change("P1", "")
		w.change("P2", c.image(3))
		w.repaired(c.names...)
		w.send(early...)
		for _, name := range c.names {
			w.want(name)
		}
	}
}

// If the item was read from its last saved record, the repair has the version of this record. So an earlier change that
// the sinks missed does not undo the repair either. A view whose rows guard themselves has the version only at the
// repaired row.
func TestRepair_MissedChangeComesLate(t *testing.T) {
	for _, name := range []string{"products", "names", "shelves", "tags", "documents"} {
		w := newWorld(t, shop)
		w.put("P1", product(1, "N1", 1))
		missed := w.change("P1", product(1, "N2", 2))
		last := w.record(w.change("P1", ""))
		s := w.open(audit.Options{})[name]
		for range 3 { // a row that moved, and its groups
			for _, f := range w.differences(s) {
				if f.Kind == audit.Group {
					if _, err := s.(audit.GroupSink).RepairGroups(t.Context(), state.Listing{}, []audit.Finding{f}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if o, err := s.Repair(t.Context(), &last, f); err != nil || o.Result == audit.Refused {
					t.Errorf("%s: %+v, %v", name, o, err)
				}
			}
		}
		w.want(name)
		w.send(missed)
		w.want(name)
	}
}
