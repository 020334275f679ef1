package viewtest

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// testAggregate is an aggregate in two forms that share no code. The sink uses the templates and paths. The model uses
// the function shares.
type testAggregate struct {
	rowShape
	forEach    string
	values     []view.Value
	shards     int
	maxActions int // maximum number of actions in a transaction; 0 if there is none

	// shares returns the shares of an item: what the item counts for in each group. Each share has the attributes of
	// the group's key, and the values by name. A missing value adds nothing to the group.
	shares func(item sinktest.Item) []sinktest.Item
}

func (a *testAggregate) sink(store view.GroupStore) (*view.Aggregate, error) {
	o := view.AggregateOptions{
		Name: a.name, Pipeline: "test", Table: "groups", ForEach: a.forEach, Values: a.values, Shards: a.shards, Store: store,
	}
	var err error
	if o.PK, o.SK, o.When, err = a.rowOptions(template.Options{Each: a.forEach != ""}); err != nil {
		return nil, err
	}
	return view.NewAggregate(o)
}

func aggregates() []*testAggregate {
	byStatus := testAggregate{
		rowShape: rowShape{
			name: "ByStatus",
			key:  []string{"PK", "SK"}, templates: []string{"STATUS#{Status}", "{Type}"}, when: isOrder,
		},
		values: []view.Value{
			{Name: "revenue", Kind: "sum", Path: "Total"},
			{Name: "orders", Kind: "count"},
			{Name: "least", Kind: "min", Path: "Total"},
			{Name: "most", Kind: "max", Path: "Total"},
			{Name: "first", Kind: "min", Path: "CreatedAt"},
			{Name: "days", Kind: "distinct", Path: "CreatedAt"},
		},
		shares: sharesByStatus,
	}
	bySKU := testAggregate{
		rowShape: rowShape{
			name: "Lines",
			key:  []string{"group"}, templates: []string{"SKU#{each.sku}"},
		},
		forEach: "Lines",
		values: []view.Value{
			{Name: "units", Kind: "sum", Path: "qty", Each: true},
			{Name: "lines", Kind: "count"},
			{Name: "best", Kind: "max", Path: "qty", Each: true},
			{Name: "ranks", Kind: "distinct", Path: "Rank"},
		},
		shares: sharesBySKU,
	}
	byNumber := testAggregate{
		rowShape: rowShape{
			name: "ByNumber", flawKey: -1, keys: map[string]string{"id": "B", "n": "N"},
			key: []string{"rank"}, templates: []string{"{Rank}"},
		},
		values: []view.Value{{Name: "items", Kind: "count"}, {Name: "keys", Kind: "distinct", Path: "id"},
			{Name: "last", Kind: "max", Path: "n"}},
		shares: sharesByNumber,
	}
	withShards := func(a testAggregate, name string, shards int) *testAggregate {
		a.name, a.shards = name, shards
		return &a
	}
	withActions := func(a testAggregate, name string, actions int) *testAggregate {
		a.name, a.maxActions = name, actions
		return &a
	}
	byNumberSpread := withShards(byNumber, "ByNumberSpread", 3)
	byNumberSpread.shares = sharesByNumberText
	all := []*testAggregate{
		&byStatus, &bySKU, &byNumber,
		withShards(byStatus, "ByStatusSpread", 4), withShards(bySKU, "LinesSpread", 4), byNumberSpread,
		withActions(byStatus, "ByStatusInFewActions", 13), withActions(bySKU, "LinesInFewActions", 30),
	}
	for _, a := range all { // no item has these values; flawed gives them paths that fail on flaws
		a.values = append(slices.Clone(a.values), view.Value{Name: "spoilt", Kind: "sum", Path: "Nothing"},
			view.Value{Name: "refused", Kind: "max", Path: "Nothing"})
	}
	return all
}

// sharesByStatus is the model of ByStatus.
func sharesByStatus(it sinktest.Item) []sinktest.Item {
	if it.Text("Type") != "Order" || it.Text("Status") == "" {
		return nil
	}
	return []sinktest.Item{{
		"PK": text("STATUS#" + it.Text("Status")), "SK": text("Order"),
		"revenue": it["Total"], "least": it["Total"], "most": it["Total"],
		"first": it["CreatedAt"], "days": it["CreatedAt"],
	}}
}

// sharesBySKU is the model of Lines.
func sharesBySKU(it sinktest.Item) (shares []sinktest.Item) {
	for _, line := range it.Lines() {
		if sku := line.Text("sku"); sku != "" {
			shares = append(shares, sinktest.Item{
				"group": text("SKU#" + sku), "units": line["qty"], "best": line["qty"], "ranks": it["Rank"],
			})
		}
	}
	return shares
}

// sharesByNumber is the model of ByNumber.
func sharesByNumber(it sinktest.Item) []sinktest.Item {
	if it.Number("Rank") == "" {
		return nil
	}
	return []sinktest.Item{{"rank": it["Rank"], "keys": it["id"], "last": it["n"]}}
}

// sharesByNumberText is the model of ByNumberSpread. The partition key of a row with a shard is an S.
func sharesByNumberText(it sinktest.Item) []sinktest.Item {
	shares := sharesByNumber(it)
	for _, s := range shares {
		s["rank"] = text(it.Number("Rank"))
	}
	return shares
}
