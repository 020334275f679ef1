package rules_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// BenchmarkOf compares a filter by entity with an expression that selects the same items.
func BenchmarkOf(b *testing.B) {
	parse := func(src string) item.Image {
		m, err := item.Parse([]byte(src))
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	key := func(pk, sk string) (ks []entity.KeyPattern) {
		for i, src := range []string{pk, sk} {
			p, err := entity.ParsePattern(src)
			if err != nil {
				b.Fatal(err)
			}
			ks = append(ks, entity.KeyPattern{Attribute: []string{"PK", "SK"}[i], Pattern: p})
		}
		return ks
	}
	es := entity.NewSet(
		&entity.Entity{Name: "User", Key: key("USER#{UserId}", "META")},
		&entity.Entity{Name: "Order", Key: key("USER#{UserId}", "ORDER#{Date}#{OrderId}")},
	)
	when, err := expr.Env{}.CompileChange(`new.Type == "Order" && keys.SK.startsWith("ORDER#")`)
	if err != nil {
		b.Fatal(err)
	}
	c := &record.Change{
		Keys: parse(`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#2026-01-02#7"}}`),
		New:  parse(`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#2026-01-02#7"},"Status":{"S":"paid"},"Total":{"N":"12.5"},"Type":{"S":"Order"}}`),
	}
	for name, condition := range map[string]pipeline.Condition{"of": rules.OfEntities(es.Scope("Order")), "when": when} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := condition.Match(c); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
