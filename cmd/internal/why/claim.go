package why

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// claim compares the guard of the item, and the row that the item requests.
func (sc *sinkComparison) claim(ctx context.Context, store view.Store, in view.Inspector, o *view.ClaimOp) error {
	items, ok := store.(view.ItemStore)
	if !ok {
		return fmt.Errorf("its store keeps no guards")
	}
	guards, err := items.Guards(ctx, *o.Target, []item.Key{sc.Item.Key})
	if err != nil {
		return err
	}
	g := guards[0]
	p := Finding{Kind: "guard", Where: string(sc.Mask.Key(&sc.Item)), Version: versionText(g.Version)}
	switch {
	case g.Version.IsZero() && o.Row == "":
		p.Verdict, p.Found = Gone, "nothing"
	case g.Version.IsZero():
		p.Verdict, p.Found = Missing, "nothing"
	case o.Row == "" && g.Row == "":
		p.Verdict, p.Found = Gone, "asks for no row"
	case g.Row == o.Row:
		p.Verdict, p.Found = Same, "asks for that row"
	case g.Row == "":
		p.Verdict, p.Found = Differs, "asks for no row"
	default:
		p.Verdict, p.Found = Differs, "asks for "+sc.maskedRow(o.Target.Table, g.Row)
	}
	sc.out.Findings = append(sc.out.Findings, p)
	if o.Row != "" {
		if err := sc.claims(ctx, items, in, o); err != nil {
			return err
		}
	}
	if g.Row != "" && g.Row != o.Row {
		return sc.row(ctx, in, *o.Target, g.Row, sc.maskedRow(o.Target.Table, g.Row), false, nil)
	}
	return nil
}

// claims compares the requested row, and adds a finding for each waiting item.
func (sc *sinkComparison) claims(ctx context.Context, items view.ItemStore, in view.Inspector, o *view.ClaimOp) error {
	if err := sc.row(ctx, in, *o.Target, o.Row, o.KeyText(), true, o.Claim.Attributes); err != nil {
		return err
	}
	rcs, err := items.RowClaims(ctx, *o.Target, []state.Row{o.Row})
	if err != nil {
		return err
	}
	for _, w := range rcs[0].Waiting {
		sc.out.Findings = append(sc.out.Findings, Finding{Kind: "claim", Where: o.KeyText(), Version: versionText(w.Version), Found: "the item " + sc.maskedKey(w.Source) + " waits"})
	}
	return nil
}
