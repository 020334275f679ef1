package viewtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// elementViews returns views with a row for each element of an item. The elements are identified by position or by an
// attribute. byPosition has a condition on the item, and bySKU has one on the element. Each view is returned twice:
// with the limit of the store for the actions of a transaction, and with a low limit, so that its changes need several
// transactions.
func elementViews() []*testView {
	byPosition := testView{
		rowShape: rowShape{
			name: "ElementsByPosition",
			key:  []string{"PK", "SK"}, templates: []string{"SKU#{each.sku}", "{@key}#{@each}"}, when: isOrder,
		},
		forEach:    sinktest.LinesBy(""),
		attributes: map[string]string{"qty": "{each.qty}", "rank": "{Rank?}"},
		elements:   rowsByPosition,
	}
	bySKU := testView{
		rowShape: rowShape{
			name: "ElementsBySKU", flawKey: -1, keys: map[string]string{"id": "B", "n": "N"},
			key: []string{"source", "sku"}, templates: []string{"{@key}", "{@each}"},
		},
		forEach:     sinktest.LinesBy("sku"),
		whenElement: sinktest.HasQuantity,
		attributes:  map[string]string{"qty": "{each.qty}", "status": "{Status}"},
		elements:    rowsBySKU,
	}
	inParts := func(v testView, actions int) *testView {
		v.name, v.maxActions = v.name+"InParts", actions
		return &v
	}
	return []*testView{&byPosition, &bySKU, inParts(byPosition, 2), inParts(bySKU, 3)}
}

// rowsByPosition is the model of ElementsByPosition.
func rowsByPosition(it sinktest.Item) (rows []sinktest.Item) {
	if it.Text("Type") != "Order" {
		return nil
	}
	for i, line := range it.Lines() {
		if sku := line.Text("sku"); sku != "" {
			row := sinktest.Item{"PK": text("SKU#" + sku), "SK": text(fmt.Sprintf("%s#%d", keyOf(it, "PK", "SK"), i))}
			addAttribute(row, "qty", line["qty"])
			addAttribute(row, "rank", it["Rank"])
			rows = append(rows, row)
		}
	}
	return rows
}

// rowsBySKU is the model of ElementsBySKU.
func rowsBySKU(it sinktest.Item) (rows []sinktest.Item) {
	seen := make(map[string]bool)
	for _, line := range it.Lines() {
		sku := line.Text("sku")
		if sku == "" {
			continue
		}
		if seen[sku] {
			return nil // two elements with one identity: the change is dead-lettered
		}
		seen[sku] = true
		if line["qty"] == nil {
			continue
		}
		row := sinktest.Item{"source": text(keyOf(it, "id", "n")), "sku": text(sku), "qty": line["qty"]}
		addAttribute(row, "status", it["Status"])
		rows = append(rows, row)
	}
	return rows
}

var _ view.ItemRowsStore = (*faultyStore)(nil)

var errNoItemRows = errors.New("the store does not implement ItemRowsStore")

// Contributions reads contributions, unless the suite makes the call fail.
func (f *faultyStore) Contributions(
	ctx context.Context, t state.Target, items []item.Key,
) ([]state.Contribution, error) {
	return readWithFaults(f.faults, func() ([]state.Contribution, error) {
		s, ok := f.Store.(view.ItemRowsStore)
		if !ok {
			return nil, errNoItemRows
		}
		return s.Contributions(ctx, t, items)
	})
}

// ReplaceItemRows writes rows. The suite can make the call fail between any two writes.
func (f *faultyStore) ReplaceItemRows(
	ctx context.Context, t view.Target, ws []state.ItemRowsWrite,
) ([]view.Result, error) {
	return writeWithFaults(f.faults, ws, refusesItemRows, func(ws []state.ItemRowsWrite) ([]view.Result, error) {
		return f.Store.(view.ItemRowsStore).ReplaceItemRows(ctx, t, ws)
	})
}

// MaxActions returns the limit of the test, if it has one. Otherwise it returns the limit of the store.
func (f *faultyStore) MaxActions() int {
	if f.maxActions > 0 {
		return f.maxActions
	}
	return f.Store.(view.ItemRowsStore).MaxActions()
}

func refusesItemRows(w *state.ItemRowsWrite) bool {
	return slices.ContainsFunc(w.Puts, func(r state.RowPut) bool { return refusesFlaws(r.Attributes) })
}
