package why

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// aggregate compares what the item counts for with what is stored of it.
func (l *look) aggregate(ctx context.Context, store view.GroupStore) error {
	var target view.Target
	var want []state.Share
	rows := make(map[state.Row]string) // as they are shown
	for _, op := range l.plans() {
		o, ok := op.(*view.GroupOp)
		if !ok {
			continue
		}
		target = o.Target()
		if row := o.Row(); row != "" {
			want = append(want, o.Share)
			rows[row] = o.KeyText()
		}
	}
	if target.View == "" {
		return nil // plans has said why
	}
	cs, err := store.Contributions(ctx, target, []item.Key{l.Item.Key})
	if err != nil {
		return err
	}
	c := cs[0]
	p := Place{Kind: "contribution", Where: string(l.Mask.Key(&l.Item)), Version: versionText(c.Version), Found: counts(len(c.Shares))}
	switch {
	case c.Version.IsZero() && len(want) == 0:
		p.Verdict, p.Found = Gone, "nothing"
	case c.Version.IsZero():
		p.Verdict, p.Found = Missing, "nothing"
	case len(want) == 0 && len(c.Shares) == 0:
		p.Verdict = Gone
	case len(want) == 0:
		p.Verdict = Leftover
	default:
		p.Differs = l.shareDifferences(target.Table, c.Shares, want)
		p.Verdict = sameUnless(p.Differs)
	}
	l.out.Places = append(l.out.Places, p)
	in, ok := store.(view.Inspector)
	if !ok {
		return nil
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		found, err := in.StoredRows(ctx, target, []state.Row{row})
		if err != nil {
			return err
		}
		g := Place{Kind: "group", Where: rows[row], Version: versionText(found[0].Version), Verdict: Missing, Found: "nothing"}
		switch st := found[0]; {
		case !st.Exists || st.Tombstone:
		case st.View != l.spec.Name || st.Pipeline != l.Config.Name:
			g.Verdict, g.Found = Differs, "a row of another sink"
		default:
			g.Verdict, g.Found = Info, "a row; its values are not compared, since other items may count in it too"
		}
		l.out.Places = append(l.out.Places, g)
	}
	return nil
}

func counts(n int) string {
	switch n {
	case 0:
		return "counts for nothing"
	case 1:
		return "counts once"
	}
	return fmt.Sprintf("counts %d times", n)
}

// valueNames are the aggregate's values in the order in which a share has them.
func (l *look) valueNames() []string {
	names := make([]string, len(l.spec.Aggregate.Values))
	for i, v := range l.spec.Aggregate.Values {
		names[i] = v.Name
	}
	slices.Sort(names)
	return names
}

// shareDifferences says in which groups the item counts otherwise than it should:
// element by element, as shares are compared when it changes.
func (l *look) shareDifferences(t view.Table, have, want []state.Share) []string {
	names := l.valueNames()
	var lines []string
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			lines = append(lines, "does not count in "+l.elsewhere(t, want[i].Group))
		case i >= len(want):
			lines = append(lines, "still counts in "+l.elsewhere(t, have[i].Group))
		case have[i].Group != want[i].Group:
			lines = append(lines, "counts in "+l.elsewhere(t, have[i].Group)+" and not in "+l.elsewhere(t, want[i].Group))
		default:
			var other []string
			for n, name := range names {
				if n >= len(have[i].Values) || have[i].Values[n] != want[i].Values[n] {
					other = append(other, name)
				}
			}
			if len(other) > 0 {
				lines = append(lines, strings.Join(other, ", ")+" in "+l.elsewhere(t, want[i].Group))
			}
		}
	}
	return lines
}
