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

// look looks at one sink.
type look struct {
	Question
	spec config.Sink
	plan pipeline.RouteTrace // of the item
	gone []pipeline.Op       // of its removal, where that needs no image

	shown, shownGone []pipeline.Op // plan.Ops and gone as people may see them
	out              *Sink
}

func (l *look) run(ctx context.Context) error {
	switch s := l.spec; {
	case s.View != nil:
		l.out.Kind = "view"
		store, err := l.Stores.View(ctx, l.Config, s)
		if err != nil {
			return err
		}
		return l.view(ctx, store)
	case s.Aggregate != nil:
		l.out.Kind = "aggregate"
		store, err := l.Stores.Aggregate(ctx, l.Config, s)
		if err != nil {
			return err
		}
		return l.aggregate(ctx, store)
	case s.Search != nil:
		l.out.Kind = "search"
		store, err := l.Stores.Search(ctx, l.Config, s)
		if err != nil {
			return err
		}
		return l.search(ctx, store)
	case s.Archive != nil:
		l.out.Kind, l.out.Says = "archive", "holds changes, not items: tablewake query archive"
	case s.Notify != nil:
		l.out.Kind, l.out.Says = "notify", "keeps nothing"
	default:
		l.out.Kind, l.out.Says = "custom", "what it keeps is the Go sink's to know"
	}
	return nil
}

// plans is what the item should come to in the sink, and, where it should be nowhere,
// where something of it may be left.
func (l *look) plans() []pipeline.Op {
	switch {
	case l.plan.Err != nil && l.Item.Removed():
		l.out.Says = "the item is gone"
	case l.plan.Err != nil:
		l.out.Says = "the item cannot be written: " + l.plan.Err.Error()
	case !l.plan.Taken:
		l.out.Says = "a filter of the sink drops the item"
	case len(l.plan.Ops) == 0:
		l.out.Says = "the item has no place in it (" + cmp.Or(l.plan.Reason, "no_effect") + ")"
	default:
		if len(l.gone) == 0 { // the places change with the item, and no guard knows of them
			l.out.Says = "other places, where it was before, are not searched: what is stale there is not found"
		}
		return l.plan.Ops
	}
	l.shown = l.shownGone
	if len(l.gone) == 0 {
		l.out.Says += "; where it may have been, no image tells"
	}
	return l.gone
}

func (l *look) view(ctx context.Context, store view.Store) error {
	inspector, ok := store.(view.Inspector)
	if !ok {
		l.out.Says = "its store cannot be looked into"
		return nil
	}
	for _, op := range l.plans() {
		switch o := op.(type) {
		case *view.Op:
			row, err := state.MakeRow(o.Mutation.PK, o.Mutation.SK)
			if err != nil {
				return err
			}
			want := o.Mutation.Attributes
			if err := l.row(ctx, inspector, *o.Target, row, o.KeyText(), !o.Mutation.Tombstone, want); err != nil {
				return err
			}
		case *view.ClaimOp:
			if err := l.claim(ctx, store, inspector, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// row compares one row, which is shown as where, with the attributes that it should
// have.
func (l *look) row(ctx context.Context, in view.Inspector, t view.Target, row state.Row, where string, there bool, want []state.Column) error {
	found, err := in.StoredRows(ctx, t, []state.Row{row})
	if err != nil {
		return err
	}
	st := found[0]
	p := Place{Kind: "row", Where: where, Version: versionText(st.Version)}
	switch stands := st.Exists && !st.Tombstone; {
	case !there && stands && (st.View != l.spec.Name || st.Pipeline != l.Config.Name):
		p.Verdict, p.Found = Gone, "a row of another sink"
	case st.Exists && (st.View != l.spec.Name || st.Pipeline != l.Config.Name):
		p.Verdict, p.Found = Differs, fmt.Sprintf("a row of %s of the pipeline %s", cmp.Or(st.View, "nothing that tablewake wrote"), cmp.Or(st.Pipeline, "none"))
	case !there && stands && st.Source == l.Item.Key:
		p.Verdict, p.Found = Leftover, "a row of this item"
	case !there && stands:
		p.Verdict, p.Found = Gone, "a row of the item "+l.other(st.Source)
	case !there && st.Tombstone:
		p.Verdict, p.Found = Gone, "a tombstone"
	case !there:
		p.Verdict, p.Found = Gone, "nothing"
	case st.Tombstone:
		p.Verdict, p.Found = Missing, "a tombstone"
	case !stands:
		p.Verdict, p.Found = Missing, "nothing"
	case st.Source != l.Item.Key:
		p.Verdict, p.Found = Taken, "a row of the item "+l.other(st.Source)
	default:
		p.Found, p.Differs = "a row", differing(st.Item, t.Table, want)
		p.Verdict = sameUnless(p.Differs)
	}
	l.out.Places = append(l.out.Places, p)
	return nil
}

// differing names the attributes of a row, beside its key, that are not as wanted.
func differing(row item.Image, t view.Table, want []state.Column) []string {
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

func sameUnless(differs []string) Verdict {
	if len(differs) > 0 {
		return Differs
	}
	return Same
}

// other is the key of another item as people may see it.
func (l *look) other(key item.Key) string {
	if _, hidden := l.Mask.HiddenKey(&l.Item); hidden {
		return l.Mask.Text(string(key))
	}
	return string(key)
}

// elsewhere is the key of a row that no plan shows. What it is made of cannot be told,
// so that it is masked as a whole where the sink may hold what is sensitive.
func (l *look) elsewhere(t view.Table, row state.Row) string {
	_, hidden := l.Mask.HiddenKey(&l.Item)
	if l.Mask != nil && (hidden || len(l.spec.AllowSensitive) > 0) {
		return l.Mask.Text(string(row))
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
