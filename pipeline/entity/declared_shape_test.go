package entity

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

func TestFind(t *testing.T) {
	text, number := &Shape{Kind: item.KindS}, &Shape{Kind: item.KindN}
	line := &Shape{Kind: item.KindM, Members: []Member{{"sku", text}, {"qty", number}}}
	order := &Shape{Kind: item.KindM, Members: []Member{
		{"Status", text}, {"Items", &Shape{Kind: item.KindL, Elem: line}}, {"Address", &Shape{Kind: item.KindM}}, {"Tags", &Shape{Kind: item.KindSS}}, {"Log", &Shape{Kind: item.KindL}},
	}}
	refund := &Shape{Kind: item.KindM, Members: []Member{{"Reason", text}}}
	if got, want := order.Members[1].Shape.String(), `[{"sku": S, "qty": N}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, tt := range []struct {
		path, name, before string // name "": the path is declared
		members            bool   // whether some names are declared there
	}{
		{"Status", "", "", false},
		{"Reason", "", "", false},
		{"Statu", "Statu", "", true},
		{"Items[0].sku", "", "", false},
		{"Items[*].qty", "", "", false},
		{"Items[0].skew", "skew", "Items[0]", true},
		{"Items[*].skew", "skew", "Items", true},
		{"Items.sku", "sku", "Items", false},
		{"Status.x", "x", "Status", false},
		{"Address.City.Name", "", "", false},
		{"Address.*", "", "", false},
		{"Address[0]", "", "Address", false},
		{"Log[3].x", "", "", false},
		{"Tags[0]", "", "", false},
		{"*.sku", "", "", false}, // matches in the address
		{"Items.**", "", "", false},
		{"**", "", "", false},
	} {
		p, err := item.ParsePattern(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		u := FirstUndeclared([]*Shape{order, refund}, p.Segments())
		switch {
		case tt.path == "Address[0]":
			if u == nil || u.Path != tt.before {
				t.Errorf("%s: %+v: a map has no elements", tt.path, u)
			}
		case tt.name == "":
			if u != nil {
				t.Errorf("%s: %+v", tt.path, u)
			}
		case u == nil || u.Name != tt.name || u.Path != tt.before || (len(u.Known) > 0) != tt.members:
			t.Errorf("%s: %+v; want %q in %q", tt.path, u, tt.name, tt.before)
		}
	}
}
