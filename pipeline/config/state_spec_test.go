package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/mask"
)

func TestAggregateSpecs(t *testing.T) {
	cfg, err := load(t, "testdata/good/aggregates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sales, lines := cfg.Sinks[0].Aggregate, cfg.Sinks[1].Aggregate
	if sales.Table.Name != "v" || sales.Shards != 256 || !sales.KeepOnTTL || len(sales.Group) != 2 || sales.ForEach != "" {
		t.Errorf("sales %+v", sales)
	}
	want := []config.AggregateValue{
		{Name: "total", Kind: "sum", Path: "Total"}, {Name: "n", Kind: "count"}, {Name: "first", Kind: "min", Path: "At"},
		{Name: "last", Kind: "max", Path: "At"}, {Name: "buyers", Kind: "distinct", Path: "PK"},
	}
	if !reflect.DeepEqual(sales.Values, want) {
		t.Errorf("values of sales are %+v, want %+v", sales.Values, want)
	}
	if lines.ForEach != "Lines" || lines.Shards != 1 || lines.Group[0].Template.EachPaths()[0] != "each.sku" {
		t.Errorf("lines %+v", lines)
	}
	want = []config.AggregateValue{
		{Name: "qty", Kind: "sum", Path: "qty", Each: true}, {Name: "totals", Kind: "sum", Path: "Total"}, {Name: "whole", Kind: "distinct", Each: true},
		{Name: "deep", Kind: "max", Path: "[0].x", Each: true}, {Name: "named", Kind: "min", Path: `["first-name"]`, Each: true}, {Name: "item", Kind: "max", Path: `["each"].x`},
	}
	if !reflect.DeepEqual(lines.Values, want) {
		t.Errorf("values of lines are %+v, want %+v", lines.Values, want)
	}
}

// The shop example has specs that no other file of testdata has.
func TestShopSpecs(t *testing.T) {
	cfg, err := load(t, "testdata/examples/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s := cfg.State; s.Line != 4 || s.GuardRetention != 720*time.Hour {
		t.Errorf("state %+v", s)
	}
	if want := (config.Connection{Name: "os", Line: 5, OpenSearch: environment["OS_URL"], Auth: "sigv4"}); len(cfg.Connections) != 1 || cfg.Connections[0] != want {
		t.Errorf("connections %+v", cfg.Connections)
	}
	if d := cfg.DeadLetters; d.MaxHold != 12*time.Hour || d.NoQuarantine {
		t.Errorf("dead letters %+v", d)
	}
	orders, user, products, deleted, history := cfg.Sinks[0], cfg.Sinks[3], cfg.Sinks[6].Search, cfg.Sinks[8].Archive, cfg.Sinks[9]
	if orders.View.Collision != "dead_letter" || orders.View.InPlace || len(orders.AllowSensitive) != 0 {
		t.Errorf("orders %+v", orders.View)
	}
	if len(user.AllowSensitive) != 1 || user.AllowSensitive[0].String() != "Email" {
		t.Errorf("allowed %v", user.AllowSensitive)
	}
	if products.Connection != "os" || string(products.Mapping[:14]) != `{"properties":` {
		t.Errorf("products %+v", products)
	}
	if !deleted.Masked || deleted.StorageClass != "GLACIER" || history.Archive.Masked || len(history.AllowSensitive) != 2 {
		t.Errorf("archives %+v, %+v", deleted, history)
	}
}

func TestStateSpecs(t *testing.T) {
	cfg, err := load(t, "testdata/good/guarded_by_item.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c := cfg.Sinks[0].View.Collision; c != "last" {
		t.Errorf("collision %q", c)
	}
	if cfg.Sinks[0].View.InPlace || cfg.Sinks[3].View.InPlace || !cfg.Sinks[4].View.InPlace {
		t.Error("tombstones stand elsewhere")
	}
	if d := cfg.DeadLetters; d.MaxHold != 23*time.Hour || !d.NoQuarantine {
		t.Errorf("dead letters %+v", d)
	}
	if cfg, err = load(t, "testdata/good/sensitive.yaml"); err != nil {
		t.Fatal(err)
	}
	users := cfg.Sinks[2].Search
	if !users.HashID || !reflect.DeepEqual(users.Fields.Hash, []string{"Email", "Phone"}) || !reflect.DeepEqual(users.Fields.Include, []string{"Name", "Email", "Phone"}) {
		t.Errorf("what is hashed is included, once: %+v", users)
	}
	mask, err := mask.New(cfg.Sensitive, []byte(cfg.HMACKey))
	if err != nil || !mask.Hides("Lines[2].serial") || mask.Hides("Name") {
		t.Errorf("mask of %v: %v", cfg.Sensitive, err)
	}
}
