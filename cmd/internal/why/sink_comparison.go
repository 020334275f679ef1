package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// sinkComparison compares the item with one sink.
type sinkComparison struct {
	Request
	spec config.Sink
	plan pipeline.RouteTrace // for the item
	gone []pipeline.Op       // for the removal of the item, if that needs no image

	shown, shownGone []pipeline.Op // plan.Ops and gone, masked
	out              *Sink
}

func (sc *sinkComparison) run(ctx context.Context) error {
	switch s := sc.spec; {
	case s.View != nil:
		sc.out.Kind = "view"
		store, err := sc.Stores.View(ctx, sc.Config, s)
		if err != nil {
			return err
		}
		return sc.view(ctx, store)
	case s.Aggregate != nil:
		sc.out.Kind = "aggregate"
		store, err := sc.Stores.Aggregate(ctx, sc.Config, s)
		if err != nil {
			return err
		}
		return sc.aggregate(ctx, store)
	case s.Search != nil:
		sc.out.Kind = "search"
		store, err := sc.Stores.Search(ctx, sc.Config, s)
		if err != nil {
			return err
		}
		return sc.search(ctx, store)
	case s.Archive != nil:
		sc.out.Kind, sc.out.Note = "archive", "holds changes, not items: tablewake query archive"
	case s.Notify != nil:
		sc.out.Kind, sc.out.Note = "notify", "keeps nothing"
	default:
		sc.out.Kind, sc.out.Note = "custom", "what it keeps is the Go sink's to know"
	}
	return nil
}

// plannedOps returns the planned writes of the item. If the item should not be in the sink, these are the writes of its
// removal. plannedOps sets the note of the sink.
func (sc *sinkComparison) plannedOps() []pipeline.Op {
	switch {
	case sc.plan.Err != nil && sc.Item.Removed():
		sc.out.Note = "the item is gone"
	case sc.plan.Err != nil:
		sc.out.Note = "the item cannot be written: " + sc.plan.Err.Error()
	case !sc.plan.Taken:
		sc.out.Note = "a filter of the sink drops the item"
	case len(sc.plan.Ops) == 0:
		sc.out.Note = "the item has no place in it (" + cmp.Or(sc.plan.Reason, "no_effect") + ")"
	default:
		if len(sc.gone) == 0 { // the row's key depends on the item, and there is no guard with the old key
			sc.out.Note = "other places, where it was before, are not searched: what is stale there is not found"
		}
		return sc.plan.Ops
	}
	sc.shown = sc.shownGone
	if len(sc.gone) == 0 {
		sc.out.Note += "; where it may have been, no image tells"
	}
	return sc.gone
}

func (sc *sinkComparison) view(ctx context.Context, store view.Store) error {
	inspector, ok := store.(view.Inspector)
	if !ok {
		sc.out.Note = "its store cannot be looked into"
		return nil
	}
	for _, op := range sc.plannedOps() {
		switch o := op.(type) {
		case *view.Op:
			row, err := state.MakeRow(o.Mutation.PK, o.Mutation.SK)
			if err != nil {
				return err
			}
			want := o.Mutation.Attributes
			if err := sc.row(ctx, inspector, *o.Target, row, o.KeyText(), !o.Mutation.Tombstone, want); err != nil {
				return err
			}
		case *view.ClaimOp:
			if err := sc.claim(ctx, store, inspector, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// row compares one row with the wanted attributes. where is its printed key; expected reports whether it should exist.
func (sc *sinkComparison) row(ctx context.Context, in view.Inspector, t view.Target, row state.Row, where string, expected bool, want []state.Column) error {
	found, err := in.StoredRows(ctx, t, []state.Row{row})
	if err != nil {
		return err
	}
	st := found[0]
	p := Finding{Kind: "row", Where: where, Version: versionText(st.Version)}
	switch stands := st.Exists && !st.Tombstone; {
	case !expected && stands && (st.View != sc.spec.Name || st.Pipeline != sc.Config.Name):
		p.Verdict, p.Found = Gone, "a row of another sink"
	case st.Exists && (st.View != sc.spec.Name || st.Pipeline != sc.Config.Name):
		p.Verdict, p.Found = Differs, fmt.Sprintf("a row of %s of the pipeline %s", cmp.Or(st.View, "nothing that tablewake wrote"), cmp.Or(st.Pipeline, "none"))
	case !expected && stands && st.Source == sc.Item.Key:
		p.Verdict, p.Found = Leftover, "a row of this item"
	case !expected && stands:
		p.Verdict, p.Found = Gone, "a row of the item "+sc.maskedKey(st.Source)
	case !expected && st.Tombstone:
		p.Verdict, p.Found = Gone, "a tombstone"
	case !expected:
		p.Verdict, p.Found = Gone, "nothing"
	case st.Tombstone:
		p.Verdict, p.Found = Missing, "a tombstone"
	case !stands:
		p.Verdict, p.Found = Missing, "nothing"
	case st.Source != sc.Item.Key:
		p.Verdict, p.Found = Taken, "a row of the item "+sc.maskedKey(st.Source)
	default:
		p.Found, p.Differs = "a row", differingAttributes(st.Item, t.Table, want)
		p.Verdict = verdictOf(p.Differs)
	}
	sc.out.Findings = append(sc.out.Findings, p)
	return nil
}

// differingAttributes returns the names of the attributes, without the key, that differ.
func differingAttributes(row item.Image, t view.Table, want []state.Column) []string {
	wanted := make(map[string]item.Value, len(want))
	var names []string
	for _, c := range want {
		wanted[c.Name] = c.Value
		if v, ok := row.Get(c.Name); !ok || !v.Equal(c.Value) {
			names = append(names, c.Name)
		}
	}
	for name := range row.All() {
		if _, ok := wanted[name]; !ok && name != t.PK && name != t.SK {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func verdictOf(differs []string) Verdict {
	if len(differs) > 0 {
		return Differs
	}
	return Same
}

// maskedKey returns the key of another item. It is masked if the key of this item has sensitive attributes.
func (sc *sinkComparison) maskedKey(key item.Key) string {
	if _, hidden := sc.Mask.HiddenKey(&sc.Item); hidden {
		return sc.Mask.Text(string(key))
	}
	return string(key)
}

// maskedRow returns the key of a row that is not in the plans. It is unknown which attributes are in the key, so it is
// masked completely if the sink may hold sensitive attributes.
func (sc *sinkComparison) maskedRow(t view.Table, row state.Row) string {
	_, hidden := sc.Mask.HiddenKey(&sc.Item)
	if sc.Mask != nil && (hidden || len(sc.spec.AllowSensitive) > 0) {
		return sc.Mask.Text(string(row))
	}
	return rowText(t, row)
}

func rowText(t view.Table, row state.Row) string {
	pk, sk, err := row.Decode()
	if err != nil {
		return string(row)
	}
	b := append(append([]byte(t.PK), '='), pk.AppendJSON(nil)...)
	if t.SK != "" {
		b = append(append(append(b, ' '), t.SK...), '=')
		b = sk.AppendJSON(b)
	}
	return string(b)
}
