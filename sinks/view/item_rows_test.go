package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// linesOptions returns the options of a view with a row for each line.
func linesOptions(t *testing.T, by, pk, sk string) view.Options {
	t.Helper()
	attribute := func(name, src string) view.Attribute {
		parsed, err := template.Parse(src, template.Options{Each: true, Identity: true})
		if err != nil {
			t.Fatal(err)
		}
		return view.Attribute{Name: name, Template: parsed}
	}
	path, err := item.ParsePath("Lines")
	if err != nil {
		t.Fatal(err)
	}
	return view.Options{
		Name: "lines", Pipeline: "shop", Table: "shop-views", ForEach: &elements.Spec{Path: path, By: by},
		PK: attribute("PK", pk), SK: attribute("SK", sk), Attributes: []view.Attribute{attribute("qty", "{each.qty}")},
	}
}

// The key of each row must contain the item and the element. Options for views with one row for each item are refused.
func TestItemRows_Options(t *testing.T) {
	for _, tt := range []struct {
		pk, sk string
		change func(*view.Options)
		want   string // part of the error; "": no error
	}{
		{"{@key}", "{@each}", nil, ""},
		{"SKU#{each.sku}", "{@key}#{@each}", nil, ""},
		{"{PK|esc}", "{SK|esc}#{@each}", nil, ""},
		{"SKU#{each.sku}", "{@each}", nil, "several items may have this key: put {@key} into it"},
		{"{@key}{@each}", "x", nil, "run together"},
		{"{@key}", "{each.sku}", nil, "put {@each} into it"},
		{"{@key}", "{@each|lower}", nil, "put {@each} into it"},
		{"{@key}", "{@each}", func(o *view.Options) { o.InPlace = true }, "InPlace"},
		{"{@key}", "{@each}", func(o *view.Options) { o.Collision = view.KeepLast }, "Collision is last"},
	} {
		o := linesOptions(t, "", tt.pk, tt.sk)
		if tt.change != nil {
			tt.change(&o)
		}
		_, err := view.New(o)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: %v, want %q", tt.pk, tt.sk, err, tt.want)
		}
	}
}

// The pipeline stops if the key attributes of the table are not those that the row key escapes.
func TestItemRows_ItemNotInKey(t *testing.T) {
	s := newSink(t, linesOptions(t, "", "{PK|esc}", "{@each}"))
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: order()})[0]}
	if err := s.Plan(&d); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "{SK|esc}") {
		t.Errorf("got %v", err)
	}
}

// An explained plan shows the rows that an item has, and the rows that leave.
func TestItemRows_Explained(t *testing.T) {
	lines := func(skus ...string) sinktest.Item {
		it, list := order(), []sinktest.Attr{}
		for i, sku := range skus {
			list = append(list, sinktest.Attr{"M": sinktest.Item{"sku": {"S": sku}, "qty": {"N": fmt.Sprint(i)}}})
		}
		it["Lines"] = sinktest.Attr{"L": list}
		return it
	}
	s := newSink(t, linesOptions(t, "sku", "{@key}", "L#{@each}"))
	cs := changes(t,
		sinktest.Record{EventName: "INSERT", New: lines("a", "b#")},
		sinktest.Record{EventName: "MODIFY", Old: lines("a", "b#"), New: lines("a")},
		sinktest.Record{EventName: "MODIFY", Old: lines("a"), New: lines("a", "a")},
		sinktest.Record{EventName: "REMOVE", Old: lines("a", "a")},
	)
	for i, want := range []string{
		`2 rows of the item (guarded by item: the item and the element are in this key); put row PK="o,1" SK="L#a" (element 0); put row PK="o,1" SK="L#b%23" (element 1)`,
		`1 row of the item, and 1 leaves: PK="o,1" SK="L#b%23" (guarded by item: the item and the element are in this key); put row PK="o,1" SK="L#a" (element 0)`,
		`no rows of the item, and 1 leaves: PK="o,1" SK="L#a" (the change goes to dead letters: the elements 0 and 1 of Lines have the same identity (sku): it must differ among the elements of an item; guarded by item: the item and the element are in this key)`,
		`no rows of the item (item removed; guarded by item: the item and the element are in this key)`,
	} {
		d := pipeline.Delivery{Change: cs[i]}
		if err := s.Plan(&d); err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, op := range d.Ops {
			ops = append(ops, strings.ReplaceAll(op.String(), string(cs[i].Key), "o,1"))
		}
		if got := strings.Join(ops, "; "); got != want {
			t.Errorf("change %d: got\n\t%s\nwant\n\t%s", i, got, want)
		}
	}
}
