package why

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// claim compares a row that is guarded by item, and its guard.
func (l *look) claim(ctx context.Context, store view.Store, in view.Inspector, o *view.ClaimOp) error {
	items, ok := store.(view.ItemStore)
	if !ok {
		return fmt.Errorf("its store keeps no guards")
	}
	guards, err := items.Guards(ctx, *o.Target, []item.Key{l.Item.Key})
	if err != nil {
		return err
	}
	g := guards[0]
	p := Place{Kind: "guard", Where: string(l.Mask.Key(&l.Item)), Version: versionText(g.Version)}
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
		p.Verdict, p.Found = Differs, "asks for "+l.elsewhere(o.Target.Table, g.Row)
	}
	l.out.Places = append(l.out.Places, p)
	if o.Row != "" {
		if err := l.claims(ctx, items, in, o); err != nil {
			return err
		}
	}
	if g.Row != "" && g.Row != o.Row {
		return l.row(ctx, in, *o.Target, g.Row, l.elsewhere(o.Target.Table, g.Row), false, nil)
	}
	return nil
}

// claims compares the row that the item requests, and names the waiting items.
func (l *look) claims(ctx context.Context, items view.ItemStore, in view.Inspector, o *view.ClaimOp) error {
	if err := l.row(ctx, in, *o.Target, o.Row, o.KeyText(), true, o.Claim.Attributes); err != nil {
		return err
	}
	rcs, err := items.RowClaims(ctx, *o.Target, []state.Row{o.Row})
	if err != nil {
		return err
	}
	for _, w := range rcs[0].Waiting {
		l.out.Places = append(l.out.Places, Place{Kind: "claim", Where: o.KeyText(), Version: versionText(w.Version), Found: "the item " + l.other(w.Source) + " waits"})
	}
	return nil
}
