package viewtest

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// sharedViews returns a view for each collision rule. Several items may claim the same row of these views.
func sharedViews() []*testView {
	byStatus := func(it sinktest.Item) (sinktest.Item, bool) {
		if it.Text("Type") != "Order" || it.Text("Status") == "" {
			return nil, false
		}
		row := sinktest.Item{"PK": text("STATUS#" + strings.ToLower(it.Text("Status"))), "SK": text("ORDER"),
			"order": text(keyOf(it, "PK", "SK"))}
		addAttribute(row, "any", it["Any"])
		return row, true
	}
	attributes := map[string]string{"order": "{@key}", "any": "{Any?}"}
	return []*testView{
		{
			rowShape: rowShape{
				name: "SharedDeadLetter",
				key:  []string{"PK", "SK"}, templates: []string{"STATUS#{Status|lower}", "ORDER"}, when: isOrder,
			},
			attributes: attributes,
			model:      byStatus,
			collision:  view.DeadLetterCollision,
		},
		{
			rowShape: rowShape{
				name: "SharedLast",
				key:  []string{"PK", "SK"}, templates: []string{"STATUS#{Status|lower}", "ORDER"}, when: isOrder,
			},
			attributes: attributes,
			model:      byStatus,
			collision:  view.KeepLast,
		},
		{
			rowShape: rowShape{
				name: "SharedKeepFirst", flawKey: -1, keys: map[string]string{"id": "B", "n": "N"},
				// The first change shows that Rank is not a key attribute of the source table.
				key: []string{"rank"}, templates: []string{"{Rank}"},
			},
			attributes: map[string]string{"id": "{id}", "n": "{n}"},
			model: func(it sinktest.Item) (sinktest.Item, bool) {
				return sinktest.Item{"rank": it["Rank"], "id": it["id"], "n": it["n"]}, it.Number("Rank") != ""
			},
			collision: view.KeepFirst,
		},
	}
}

// expectedRows returns the expected rows of the view, by key. Each row is made of the item that owns the row.
func (v *testView) expectedRows(s *sinktest.Stream) map[string]string {
	last := make(map[string]sinktest.Record) // last record of each item
	for _, r := range s.Records {
		last[r.KeyText()] = r
	}
	rows := make(map[string]string)
	owners := make(map[string]sinktest.Record) // record of the owner of each row
	for _, r := range last {
		for _, row := range v.rowsOf(r.New) {
			name := rowName(row, v.key...)
			if owner, taken := owners[name]; taken && v.hasPriority(owner, r) {
				continue
			}
			owners[name] = r
			rows[name] = sinktest.Canonical(row)
		}
	}
	return rows
}

// rowsOf returns the rows of an item by the model.
func (v *testView) rowsOf(it sinktest.Item) []sinktest.Item {
	if it == nil {
		return nil
	}
	if v.forEach != nil {
		return v.elements(it)
	}
	if row, ok := v.model(it); ok {
		return []sinktest.Item{row}
	}
	return nil
}

// hasPriority reports whether the item of a owns a row that both a and b claim. With KeepLast, the item that changed
// later owns the row. Otherwise the item with the smaller key owns it.
func (v *testView) hasPriority(a, b sinktest.Record) bool {
	if v.collision == view.KeepLast {
		return v.later(a, b)
	}
	return v.itemKey(a) < v.itemKey(b)
}

// later reports whether the record a is later than b, by time, then version, then key.
func (v *testView) later(a, b sinktest.Record) bool {
	sequence := func(r sinktest.Record) *big.Int {
		n, _ := new(big.Int).SetString(cmp.Or(r.Sequence, "0"), 10)
		return n
	}
	return cmp.Or(cmp.Compare(a.Second, b.Second), sequence(a).Cmp(sequence(b)),
		cmp.Compare(v.itemKey(a), v.itemKey(b))) > 0
}

func (v *testView) itemKey(r sinktest.Record) string {
	if v.keys == nil {
		return keyOf(r.Keys, "PK", "SK")
	}
	return keyOf(r.Keys, "id", "n")
}

// isExpectedCollision reports whether err is a collision that the view is expected to report.
func (v *testView) isExpectedCollision(err error) bool {
	if v.forEach != nil {
		return sinktest.IsDuplicate(err)
	}
	_, ok := errors.AsType[*view.CollisionError](err)
	return ok && v.collision == view.DeadLetterCollision
}

var _ view.ItemStore = (*faultyStore)(nil)

// itemStore returns the store as an ItemStore. It is only called for views whose rows are guarded by item. These views
// need an ItemStore.
func (f *faultyStore) itemStore() view.ItemStore { return f.Store.(view.ItemStore) }

// Guards reads guards, unless the suite makes the call fail.
func (f *faultyStore) Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error) {
	return readWithFaults(f.faults, func() ([]state.Guard, error) { return f.itemStore().Guards(ctx, t, items) })
}

// RowClaims reads claims, unless the suite makes the call fail.
func (f *faultyStore) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	return readWithFaults(f.faults, func() ([]view.RowClaims, error) { return f.itemStore().RowClaims(ctx, t, rows) })
}

// WriteItems writes claims. The suite can make the call fail between any two writes.
func (f *faultyStore) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	return writeWithFaults(f.faults, ws, refusesClaim, func(ws []state.ItemWrite) ([]view.Result, error) {
		return f.itemStore().WriteItems(ctx, t, ws)
	})
}
