package view

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

func TestUniqueNamesGuardRows(t *testing.T) {
	p, err := entity.ParsePattern("ORDER#{Date}#{OrderId}")
	if err != nil {
		t.Fatal(err)
	}
	scope := entity.NewSet(&entity.Entity{Name: "Order", Key: []entity.KeyPattern{{Attribute: "SK", Pattern: p}}}).Scope("Order")
	for _, tt := range []struct {
		pk, sk    string
		collision Collision
		unique    bool
	}{
		{"STATUS#{Status}", "ORDER#{Date}#{OrderId}", "", true},
		{"AMOUNT#{Total|sortable}#{OrderId}", "x", DeadLetterCollision, true},
		{"{OrderId}", "x", KeepFirst, false}, // the first item keeps the row: only guards by item know which item was first
		{"{Status}#{OrderId}", "x", "", false},
		{"{OrderId|hash}", "x", "", false},
		{"{OrderId?}", "x", "", false},
		{"{item.OrderId}", "x", "", false},
		{"{OrderId}#{@key}", "x", "", false}, // {@key} already makes the key unique
	} {
		o := Options{Name: "v", Pipeline: "p", Table: "t", Unique: []string{"OrderId"}, Collision: tt.collision}
		for _, a := range []struct {
			to  *Attribute
			src string
		}{{&o.PK, tt.pk}, {&o.SK, tt.sk}} {
			a.to.Name = a.src
			if a.to.Template, err = template.Parse(a.src, template.Options{Scope: scope}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if s.target.RefuseOtherItem != tt.unique || tt.unique && s.GuardMode(nil).ByItem {
			t.Errorf("%s, %s: unique %v, %+v", tt.pk, tt.sk, s.target.RefuseOtherItem, s.guardMode)
		}
	}
}

func TestOneItemPerRow(t *testing.T) {
	unique := &Target{RefuseOtherItem: true}
	at := func(source item.Key, row, version string) attempt[*Op] {
		v, err := record.ParseVersion("1767323045" + "000000000000000000000000000000000000000" + version)
		if err != nil {
			t.Fatal(err)
		}
		return attempt[*Op]{op: &Op{Target: unique, rowText: row, Mutation: Mutation{Source: source, Version: v}}}
	}
	got := oneItemPerRow([]attempt[*Op]{at("two", "a", "6"), at("one", "a", "5"), at("one", "b", "7")})
	if len(got) != 2 || got[0].op.Mutation.Source != "one" || got[1].op.rowText != "b" {
		t.Errorf("%d attempts, the first of %s", len(got), got[0].op.Mutation.Source)
	}
	if a, b := at("one", "a", "1").op.orderKey(), at("two", "a", "1").op.orderKey(); a == b {
		t.Error("changes of two items are coalesced")
	}
}
