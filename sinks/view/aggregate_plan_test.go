package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// group parses NAME=TEMPLATE as a part of a group's key. The template may use {each}.
func group(t testing.TB, s string) view.Attribute {
	t.Helper()
	name, src, _ := strings.Cut(s, "=")
	tmpl, err := template.Parse(src, template.Options{Each: true})
	if err != nil {
		t.Fatal(err)
	}
	return view.Attribute{Name: name, Template: tmpl}
}

// revenue returns the options of an aggregate that sums the totals of Orders by status.
func revenue(t testing.TB, store view.GroupStore) view.AggregateOptions {
	t.Helper()
	return view.AggregateOptions{
		Name: "revenue", Pipeline: "shop", Table: "shop-views", Store: store,
		PK:   group(t, "PK=REVENUE#{Status}"),
		SK:   group(t, "SK=ALL"),
		When: pipeline.ItemConditionFunc(isOrder),
		Values: []view.Value{
			{Name: "revenue", Kind: "sum", Path: "Total"},
			{Name: "orders", Kind: "count"},
			{Name: "first", Kind: "min", Path: "CreatedAt"},
			{Name: "notes", Kind: "distinct", Path: "Note"},
		},
	}
}

// sold returns the options of an aggregate that sums the quantities of products over the lines of Orders.
func sold(t testing.TB, store view.GroupStore) view.AggregateOptions {
	t.Helper()
	return view.AggregateOptions{
		Name: "sold", Pipeline: "shop", Table: "shop-views", Store: store,
		PK:      group(t, "PK=PRODUCT#{each.sku}"),
		SK:      group(t, "SK={Type}"),
		ForEach: "Lines",
		Values: []view.Value{
			{Name: "units", Kind: "sum", Path: "qty", Each: true},
			{Name: "lines", Kind: "count"},
			{Name: "best", Kind: "max", Path: "qty", Each: true},
			{Name: "buyers", Kind: "distinct", Path: "PK"},
		},
	}
}

func newAggregate(t testing.TB, o view.AggregateOptions) *view.Aggregate {
	t.Helper()
	a, err := view.NewAggregate(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func line(sku, qty string) sinktest.Attr {
	m := sinktest.Item{}
	if sku != "" {
		m["sku"] = sinktest.Attr{"S": sku}
	}
	if qty != "" {
		m["qty"] = sinktest.Attr{"N": qty}
	}
	return sinktest.Attr{"M": m}
}

// with sets an attribute of an item and returns the item.
func with(it sinktest.Item, name string, a sinktest.Attr) sinktest.Item {
	it[name] = a
	return it
}

func lines(ls ...sinktest.Attr) sinktest.Item {
	return with(order(), "Lines", sinktest.Attr{"L": append([]sinktest.Attr{}, ls...)})
}

const replaces = " (replaces what the item counted for)"

// TestAggregatePlan checks the effects of a change on groups.
func TestAggregatePlan(t *testing.T) {
	var (
		paid = order("Status=paid", "Total=#10.50", "CreatedAt=2026", "Note=x")
		user = itemOf("Type=User", "Status=paid")
	)
	const (
		countPaid = `count in group PK="REVENUE#paid" SK="ALL": `
		nowhere   = "count nowhere (%; what the item counted for is taken out)"
	)
	because := func(reason string) string { return strings.Replace(nowhere, "%", reason, 1) }
	null := sinktest.Attr{"NULL": true}
	for _, c := range []struct {
		name    string
		options func(testing.TB, view.GroupStore) view.AggregateOptions
		record  sinktest.Record
		want    string
	}{
		{"counts", revenue, sinktest.Record{EventName: "INSERT", New: paid},
			countPaid + `revenue +10.5, orders +1, first min "2026", notes distinct "x"` + replaces},
		{"counts alike whatever it was", revenue, sinktest.Record{EventName: "MODIFY", Old: user, New: paid},
			countPaid + `revenue +10.5, orders +1, first min "2026", notes distinct "x"` + replaces},
		{"backfill", revenue, sinktest.Record{EventName: "SNAPSHOT", New: order("Status=paid")}, countPaid + "orders +1" + replaces},
		{"without an old image", revenue, sinktest.Record{EventName: "MODIFY", New: order("Status=paid"), ViewType: "NEW_IMAGE"}, countPaid + "orders +1" + replaces},
		{"negative", revenue, sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total=#-1.0")}, countPaid + "revenue -1, orders +1" + replaces},
		{"a NULL value adds nothing", revenue, sinktest.Record{EventName: "INSERT", New: with(order("Status=paid"), "Total", null)}, countPaid + "orders +1" + replaces},
		{"a NULL list", sold, sinktest.Record{EventName: "INSERT", New: with(order(), "Lines", null)}, because("sparse")},
		{"condition", revenue, sinktest.Record{EventName: "MODIFY", Old: paid, New: user}, because("when")},
		{"no part of the key", revenue, sinktest.Record{EventName: "INSERT", New: order()}, because("sparse")},
		{"an empty part of the key", revenue, sinktest.Record{EventName: "INSERT", New: order("Status=")}, because("sparse")},
		{"removed", revenue, sinktest.Record{EventName: "REMOVE", Old: paid}, because("removed")},
		{"removed by TTL", revenue, sinktest.Record{EventName: "REMOVE", Old: paid, TTL: true}, because("removed")},
		{"elements", sold, sinktest.Record{EventName: "INSERT", New: lines(line("a", "2"), line("b", ""), line("a", "0.5"))},
			`count in group PK="PRODUCT#a" SK="Order": units +2, lines +1, best max 2, buyers distinct "u"` + replaces + "\n" +
				`count in group PK="PRODUCT#b" SK="Order": lines +1, buyers distinct "u"` + replaces + "\n" +
				`count in group PK="PRODUCT#a" SK="Order": units +0.5, lines +1, best max 0.5, buyers distinct "u"` + replaces},
		{"elements without a group", sold, sinktest.Record{EventName: "INSERT", New: lines(line("", "2"), line("b", "1"), sinktest.Attr{"S": "no map"})},
			`count in group PK="PRODUCT#b" SK="Order": units +1, lines +1, best max 1, buyers distinct "u"` + replaces},
		{"no element has a group", sold, sinktest.Record{EventName: "INSERT", New: lines(line("", "2"))}, because("sparse")},
		{"no elements", sold, sinktest.Record{EventName: "INSERT", New: lines()}, because("sparse")},
		{"no list", sold, sinktest.Record{EventName: "INSERT", New: order()}, because("sparse")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pipeline.Delivery{Change: changes(t, c.record)[0]}
			if err := newAggregate(t, c.options(t, nil)).Plan(&d); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(planned(&d), "; count in", "\ncount in"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestAggregatePlan_Keep(t *testing.T) {
	o := revenue(t, nil)
	o.KeepOnTTL = true
	a := newAggregate(t, o)
	for _, c := range []struct {
		old  sinktest.Item
		ttl  bool
		want string
	}{
		{order("Status=paid", "Total=#2"), true, `keep in group PK="REVENUE#paid" SK="ALL": revenue +2, orders +1 (expired; replaces what the item counted for)`},
		{itemOf("Type=User"), true, "count nowhere (when; what the item counted for is taken out)"},
		{order(), true, "count nowhere (sparse; what the item counted for is taken out)"},
		{order("Status=paid"), false, "count nowhere (removed; what the item counted for is taken out)"},
	} {
		d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "REMOVE", Old: c.old, TTL: c.ttl})[0]}
		if err := a.Plan(&d); err != nil || planned(&d) != c.want {
			t.Errorf("TTL %t: got %s (%v), want %s", c.ttl, planned(&d), err, c.want)
		}
	}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "REMOVE", Keys: itemOf(), TTL: true, ViewType: "NEW_IMAGE"})[0]}
	if err := a.Plan(&d); err == nil || !strings.Contains(err.Error(), "NEW_AND_OLD_IMAGES") {
		t.Errorf("without an old image: got %v, want an error with the view type to set", err)
	}
	o = view.AggregateOptions{Name: "n", Pipeline: "p", Table: "t", PK: group(t, "PK=ALL"), Values: []view.Value{{Name: "n", Kind: "count"}}, KeepOnTTL: true}
	if err := newAggregate(t, o).Plan(&d); err != nil || planned(&d) != `keep in group PK="ALL": n +1 (expired; replaces what the item counted for)` {
		t.Errorf("a count of everything: got %s (%v)", planned(&d), err)
	}
}

// The elements of a list may be texts instead of maps. Then each element is a value itself.
func TestAggregatePlan_ElementsThatAreNoMaps(t *testing.T) {
	o := sold(t, nil)
	o.PK = group(t, "PK=TAG#{each}")
	o.Values = []view.Value{{Name: "last", Kind: "max", Each: true}, {Name: "inner", Kind: "sum", Each: true, Path: "[1].n"}}
	list := []sinktest.Attr{{"S": "x"}, {"L": []sinktest.Attr{{"S": "y"}, {"M": sinktest.Item{"n": {"N": "7"}}}}}}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: lines(list[0])})[0]}
	if err := newAggregate(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if got, want := planned(&d), `count in group PK="TAG#x" SK="Order": last max "x"`+replaces; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	o.PK, o.Values = group(t, "PK=TAG#{each[0]}"), o.Values[1:]
	d = pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: lines(list[1])})[0]}
	if err := newAggregate(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if got, want := planned(&d), `count in group PK="TAG#y" SK="Order": inner +7`+replaces; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// With shards, the plan shows the shard of the item, and the partition key is a text.
func TestAggregatePlan_Shards(t *testing.T) {
	o := revenue(t, nil)
	o.PK, o.Shards, o.Values = group(t, "PK={Rank}"), 4, o.Values[1:2]
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: order("Rank=#1.0")})[0]}
	if err := newAggregate(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if got, want := planned(&d), `count in group PK="1" SK="ALL" shard 1: orders +1`+replaces; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAggregatePlan_Errors(t *testing.T) {
	const secret = "SECRET"
	withList := func(name string) sinktest.Item {
		it := order("Status=paid")
		it[name] = sinktest.Attr{"L": []sinktest.Attr{{"S": secret}}}
		return it
	}
	inLine := lines(sinktest.Attr{"M": sinktest.Item{"sku": {"S": "a"}, "qty": {"S": secret}}})
	for _, c := range []struct {
		name    string
		options func(testing.TB, view.GroupStore) view.AggregateOptions
		record  sinktest.Record
		want    []string
	}{
		{"a sum of a text", revenue, sinktest.Record{EventName: "INSERT", New: order("Status=paid", "Total="+secret)}, []string{"revenue", "Total", "type S"}},
		{"a min of a list", revenue, sinktest.Record{EventName: "INSERT", New: withList("CreatedAt")}, []string{"first", "CreatedAt", "type L"}},
		{"a distinct of a list", revenue, sinktest.Record{EventName: "INSERT", New: withList("Note")}, []string{"notes", "Note", "type L"}},
		{"a sum of an element's text", sold, sinktest.Record{EventName: "INSERT", New: inLine}, []string{"units", "each.qty", "element 0 of Lines"}},
		{"no list", sold, sinktest.Record{EventName: "INSERT", New: order("Lines=" + secret)}, []string{"for_each", "Lines", "type S"}},
		{"condition", revenue, sinktest.Record{EventName: "INSERT", New: itemOf("Type=broken")}, []string{"the condition fails"}},
		{"a list in the key", revenue, sinktest.Record{EventName: "INSERT", New: withList("Status")}, []string{"Status"}},
		{"no new image", revenue, sinktest.Record{EventName: "MODIFY", Keys: itemOf(), ViewType: "KEYS_ONLY"}, []string{"NEW_IMAGE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pipeline.Delivery{Change: changes(t, c.record)[0]}
			err := newAggregate(t, c.options(t, nil)).Plan(&d)
			if err == nil { // Plan first removes the contribution of the item
				text, ok := strings.CutPrefix(planned(&d), "count nowhere (the change goes to dead letters: ")
				if !ok {
					t.Fatalf("got %s, want an error", planned(&d))
				}
				err = errors.New(text)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
					t.Errorf("got the error %v, want one that says %q and shows no value", err, want)
				}
			}
			if _, again := pipeline.Retryable(err); again {
				t.Errorf("%v is marked as worth retrying", err)
			}
		})
	}
}

func TestAggregateRequires(t *testing.T) {
	if got := newAggregate(t, revenue(t, nil)).Requires(); got != (pipeline.Needs{New: true}) {
		t.Errorf("got %+v, want the new image alone", got)
	}
	keeping := revenue(t, nil)
	keeping.KeepOnTTL = true
	if got := newAggregate(t, keeping).Requires(); got != (pipeline.Needs{New: true, Old: true}) {
		t.Errorf("if expired items are kept: got %+v, want both images", got)
	}
	o := view.AggregateOptions{Name: "n", Pipeline: "p", Table: "t", PK: group(t, "PK=ALL"), Values: []view.Value{{Name: "n", Kind: "count"}}}
	a := newAggregate(t, o)
	if got := a.Requires(); got != (pipeline.Needs{}) {
		t.Errorf("got %+v, want no image", got)
	}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "MODIFY", Keys: itemOf(), ViewType: "KEYS_ONLY"})[0]}
	if err := a.Plan(&d); err != nil || planned(&d) != `count in group PK="ALL": n +1`+replaces {
		t.Errorf("a count of everything: got %s (%v)", planned(&d), err)
	}
}
