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

// aggregate compares the planned shares of the item with its stored contribution.
func (sc *sinkComparison) aggregate(ctx context.Context, store view.GroupStore) error {
	var target view.Target
	var want []state.Share
	rows := make(map[state.Row]string) // printed key by row
	for _, op := range sc.plannedOps() {
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
		return nil // plannedOps has set the note
	}
	cs, err := store.Contributions(ctx, target, []item.Key{sc.Item.Key})
	if err != nil {
		return err
	}
	c := cs[0]
	p := Finding{Kind: "contribution", Where: string(sc.Mask.Key(&sc.Item)), Version: versionText(c.Version), Found: counts(len(c.Shares))}
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
		p.Differs = sc.shareDifferences(target.Table, c.Shares, want)
		p.Verdict = verdictOf(p.Differs)
	}
	sc.out.Findings = append(sc.out.Findings, p)
	in, ok := store.(view.Inspector)
	if !ok {
		return nil
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		found, err := in.StoredRows(ctx, target, []state.Row{row})
		if err != nil {
			return err
		}
		g := Finding{Kind: "group", Where: rows[row], Version: versionText(found[0].Version), Verdict: Missing, Found: "nothing"}
		switch st := found[0]; {
		case !st.Exists || st.Tombstone:
		case st.View != sc.spec.Name || st.Pipeline != sc.Config.Name:
			g.Verdict, g.Found = Differs, "a row of another sink"
		default:
			g.Verdict, g.Found = Info, "a row; its values are not compared, since other items may count in it too"
		}
		sc.out.Findings = append(sc.out.Findings, g)
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

// valueNames returns the names of the aggregate's values in the order of state.Share.Values.
func (sc *sinkComparison) valueNames() []string {
	names := make([]string, len(sc.spec.Aggregate.Values))
	for i, v := range sc.spec.Aggregate.Values {
		names[i] = v.Name
	}
	slices.Sort(names)
	return names
}

// shareDifferences describes the groups in which the item counts with other values than planned. It compares the shares
// by index, as the sink does.
func (sc *sinkComparison) shareDifferences(t view.Table, have, want []state.Share) []string {
	names := sc.valueNames()
	var lines []string
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			lines = append(lines, "does not count in "+sc.maskedRow(t, want[i].Group))
		case i >= len(want):
			lines = append(lines, "still counts in "+sc.maskedRow(t, have[i].Group))
		case have[i].Group != want[i].Group:
			lines = append(lines, "counts in "+sc.maskedRow(t, have[i].Group)+" and not in "+sc.maskedRow(t, want[i].Group))
		default:
			var other []string
			for n, name := range names {
				if n >= len(have[i].Values) || have[i].Values[n] != want[i].Values[n] {
					other = append(other, name)
				}
			}
			if len(other) > 0 {
				lines = append(lines, strings.Join(other, ", ")+" in "+sc.maskedRow(t, want[i].Group))
			}
		}
	}
	return lines
}
