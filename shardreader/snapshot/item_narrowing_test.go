package snapshot_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// image parses an item in DynamoDB JSON; "" is an image that does not exist.
func image(t testing.TB, doc string) item.Image {
	t.Helper()
	if doc == "" {
		return item.Image{}
	}
	m, err := item.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func narrowing(t testing.TB, o snapshot.NarrowingOptions) *snapshot.ItemSelection {
	t.Helper()
	n, err := snapshot.NewItemSelection(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A record that cannot be decoded may be selected, unless its key or its text shows that it is not.
func TestNarrowing_MayMatch(t *testing.T) {
	const order = `{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Total":{"N":"x"}}`
	for _, test := range []struct {
		o    snapshot.NarrowingOptions
		line string
		want bool
	}{
		{snapshot.NarrowingOptions{Types: []string{"Refund", "Order"}}, order, true},
		{snapshot.NarrowingOptions{Types: []string{"Ord"}}, order, false},
		{snapshot.NarrowingOptions{Types: []string{"Ord"}}, strings.Replace(order, "er", `\u0065r`, 1), true},
		{snapshot.NarrowingOptions{Types: []string{"Ord"}}, strings.Replace(order, "#1", `\n1`, 1), false},
		{snapshot.NarrowingOptions{KeyPrefix: "ORDER#", PartitionKey: "PK"}, order, true},
		{snapshot.NarrowingOptions{KeyPrefix: "x", PartitionKey: "PK"}, order, false},
		{snapshot.NarrowingOptions{KeyPrefix: "x", PartitionKey: "PK"}, `{"PK":{"S":"ORDER`, false},
		{snapshot.NarrowingOptions{Types: []string{"Order"}, KeyPrefix: "x", PartitionKey: "PK"}, order, false},
		{snapshot.NarrowingOptions{Filter: `item.Total > 5`}, order, false},
		{snapshot.NarrowingOptions{KeyPrefix: "ORDER#", PartitionKey: "PK", Filter: `item.Total > 5`}, order, true},
	} {
		p := decoder.DecodeLines([]byte(test.line))
		if n := narrowing(t, test.o); len(p.Errors) != 1 || n.MayMatch(p.Errors[0]) != test.want {
			t.Errorf("%s, %s: %t", n, test.line, !test.want)
		}
	}
}

func TestNarrowing_Match(t *testing.T) {
	const (
		order   = `{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Total":{"N":"12.5"}}`
		refund  = `{"PK":{"S":"ORDER#2"},"Type":{"S":"Refund"},"Total":{"N":"3"}}`
		client  = `{"PK":{"S":"CLIENT#1"},"kind":{"S":"Client"},"Type":{"N":"1"}}`
		blob    = `{"PK":{"B":"T1JERVIjMQ=="},"Type":{"S":"Order"}}` // ORDER#1
		strange = `{"PK":{"S":"ORDER#3"},"Type":{"S":"Order"},"Total":{"S":"much"}}`
	)
	snapshots := []string{order, refund, client, blob, strange}
	for _, test := range []struct {
		name string
		o    snapshot.NarrowingOptions
		want string // y, n and f (fails), by item
	}{
		{"nothing", snapshot.NarrowingOptions{}, "yyyyy"},
		{"type", snapshot.NarrowingOptions{Types: []string{"Order"}}, "ynnyy"},
		{"types", snapshot.NarrowingOptions{Types: []string{"Order", "Refund"}}, "yynyy"},
		{"types of other attributes", snapshot.NarrowingOptions{Types: []string{"Refund", "kind=Client"}}, "nyynn"},
		{"key prefix", snapshot.NarrowingOptions{KeyPrefix: "ORDER#", PartitionKey: "PK"}, "yynyy"},
		{"filter", snapshot.NarrowingOptions{Filter: `item.Total > 5`}, "ynnnf"},
		{"all", snapshot.NarrowingOptions{Types: []string{"Order"}, KeyPrefix: "ORDER#1", PartitionKey: "PK", Filter: `item.Total > 5`}, "ynnnn"},
	} {
		n := narrowing(t, test.o)
		got := ""
		for _, doc := range snapshots {
			m := image(t, doc)
			ok, err := n.Match(&record.Change{Op: record.Snapshot, Keys: m, New: m})
			switch {
			case err != nil:
				got += "f"
			case ok:
				got += "y"
			default:
				got += "n"
			}
		}
		if got != test.want {
			t.Errorf("%s selects %s, want %s", test.name, got, test.want)
		}
	}
}

// A line of an incremental export is selected if the item was or is selected, or may have been.
func TestNarrowing_Lines(t *testing.T) {
	const keys, order, refund = `{"PK":{"S":"1"}}`, `{"PK":{"S":"1"},"Type":{"S":"Order"}}`, `{"PK":{"S":"1"},"Type":{"S":"Refund"}}`
	n := narrowing(t, snapshot.NarrowingOptions{Types: []string{"Order"}, KeyPrefix: "1", PartitionKey: "PK"})
	for _, test := range []struct {
		op       record.Operation
		view     record.ViewType
		old, new string
		want     bool
	}{
		{record.Insert, record.NewAndOldImages, "", order, true},
		{record.Insert, record.NewAndOldImages, "", refund, false},
		{record.Modify, record.NewAndOldImages, refund, order, true},
		{record.Modify, record.NewAndOldImages, order, refund, true}, // it leaves the sink
		{record.Modify, record.NewAndOldImages, refund, refund, false},
		{record.Remove, record.NewAndOldImages, order, "", true},
		{record.Remove, record.NewAndOldImages, refund, "", false},
		{record.Modify, record.NewImage, "", refund, true}, // it may have been an order
		{record.Remove, record.NewImage, "", "", true},
	} {
		c := &record.Change{Op: test.op, ViewType: test.view, Keys: image(t, keys), Old: image(t, test.old), New: image(t, test.new)}
		if ok, err := n.Match(c); ok != test.want || err != nil {
			t.Errorf("%s of %q with %q: %v, %v", test.op, test.old, test.new, ok, err)
		}
		c.Keys = image(t, `{"PK":{"S":"2"}}`)
		if ok, err := n.Match(c); ok || err != nil {
			t.Errorf("%s of another key: %v, %v", test.op, ok, err)
		}
	}
}

func TestNewNarrowing_Refuses(t *testing.T) {
	for want, o := range map[string]snapshot.NarrowingOptions{
		`Types: "=x" is neither`:    {Types: []string{"=x"}},
		`Types: "Type=" is neither`: {Types: []string{"Type="}},
		`KeyPrefix needs`:           {KeyPrefix: "x"},
		`Filter: expression line 1`: {Filter: "item.Total >"},
	} {
		if _, err := snapshot.NewItemSelection(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// The order of types makes no difference, and any other difference does.
func TestNarrowing_String(t *testing.T) {
	a := narrowing(t, snapshot.NarrowingOptions{Types: []string{"b", "k=v", "a", "b"}, KeyPrefix: "p", PartitionKey: "PK", Filter: "item.n > 1"})
	b := narrowing(t, snapshot.NarrowingOptions{Types: []string{"k=v", "Type=a", "b"}, KeyPrefix: "p", PartitionKey: "PK", Filter: "item.n > 1"})
	const want = `type "Type"="a" type "Type"="b" type "k"="v" key prefix "PK"="p" filter "item.n > 1"`
	if a.String() != want || b.String() != want {
		t.Errorf("the texts are %s and %s, want %s", a, b, want)
	}
}

func TestNarrowing_Covers(t *testing.T) {
	orders := snapshot.NarrowingOptions{Types: []string{"Order", "Refund"}, KeyPrefix: "ORDER#", PartitionKey: "PK"}
	for _, test := range []struct {
		o    snapshot.NarrowingOptions
		when string // "": all items
		want bool
	}{
		{snapshot.NarrowingOptions{}, ``, true},
		{orders, ``, false},
		{orders, `item.Type == "Order"`, false},
		{orders, `item.Type == "Order" && item.PK.startsWith("ORDER#A") && item.Total > 5`, true},
		{orders, `item.PK == "ORDER#1" && item.Type in ["Order", "Refund"]`, true},
		{orders, `item.PK == "ORDER#1" && item.Type in ["Order", "Client"]`, false},
		{orders, `item.PK.startsWith("ORDER") && item.Type == "Order"`, false},
		{orders, `item.PK.startsWith("ORDER#") && (item.Type == "Order" || item.Type == "Refund" && item.Total > 5)`, true},
		{orders, `item.PK.startsWith("ORDER#") && (item.Type == "Order" || item.Total > 5)`, false},
		{orders, `item.PK.startsWith("ORDER#") && item.Type != "Order"`, false},
		{snapshot.NarrowingOptions{Filter: `item.Total > 5`}, `item.Total > 5`, true},
		{snapshot.NarrowingOptions{Filter: `item.Total > 5`}, `item.Total > 6`, false},
		{snapshot.NarrowingOptions{Filter: `item.Paid == true && item.Type == "Order"`}, `item.Type == "Order" && item.Paid == true`, true},
		{snapshot.NarrowingOptions{Filter: `item.Paid == true`}, `item.Paid == false`, false},
		{snapshot.NarrowingOptions{Filter: `item.A == "x" || item.B == "y"`}, `item.B == "y"`, true},
		{snapshot.NarrowingOptions{Types: []string{"Order", "kind=Refund"}}, `item.kind == "Refund"`, true},
		{snapshot.NarrowingOptions{Types: []string{"Order", "kind=Refund"}}, `item.kind == "Order"`, false},
	} {
		var when *expr.Item
		if test.when != "" {
			var err error
			if when, err = (expr.Env{}).CompileItem(test.when); err != nil {
				t.Fatal(err)
			}
		}
		if n := narrowing(t, test.o); n.Covers(when) != test.want {
			t.Errorf("%s covers %q: %v", n, test.when, !test.want)
		}
	}
}

// A condition that a narrowing covers selects no item that the narrowing leaves out.
func TestNarrowing_CoversIsCertain(t *testing.T) {
	covered := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := drawFilter(rt, 3)
		when, err := expr.Env{}.CompileItem(text)
		if err != nil {
			rt.Fatal(err)
		}
		o := snapshot.NarrowingOptions{PartitionKey: "PK", Filter: drawFilter(rt, 2)}
		switch rapid.IntRange(0, 2).Draw(rt, "of") {
		case 0:
			o.Filter = "(" + text + " || " + o.Filter + ")"
		case 1:
			o.Types, o.Filter = []string{"A=x", "B=xy", "A=é"}, ""
		}
		o.KeyPrefix = rapid.SampledFrom([]string{"", "", "x"}).Draw(rt, "prefix")
		n := narrowing(t, o)
		if !n.Covers(when) {
			return
		}
		covered++
		values := []string{``, `{"S":"x"}`, `{"S":"xy"}`, `{"S":"é"}`, `{"S":"\""}`, `{"N":"1"}`, `{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`}
		for a := range values {
			for b := range values {
				doc := `{"PK":{"S":"x1"}`
				for name, v := range map[string]string{"A": values[a], "B": values[b], "Type": values[(a+b)%len(values)]} {
					if v != "" {
						doc += `,"` + name + `":` + v
					}
				}
				m := image(t, doc+"}")
				if is, err := when.Match(m); !is || err != nil {
					continue
				}
				if ok, err := n.Match(&record.Change{Op: record.Snapshot, Keys: m, New: m}); !ok && err == nil {
					rt.Fatalf("%s covers %s, and leaves out %s", n, when, m.Bytes())
				}
			}
		}
	})
	if covered == 0 {
		t.Error("no narrowing covers a condition")
	}
}
