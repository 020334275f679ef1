package entity_test

import (
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// A table holds users and their orders. The key of an item shows to which entity the item belongs.
func ExampleSet() {
	pattern := func(attribute, src string) entity.KeyPattern {
		p, err := entity.ParsePattern(src)
		if err != nil {
			log.Fatal(err)
		}
		return entity.KeyPattern{Attribute: attribute, Pattern: p}
	}
	set := entity.NewSet(
		&entity.Entity{Name: "User", Key: []entity.KeyPattern{pattern("PK", "USER#{UserId}"), pattern("SK", "PROFILE")}},
		&entity.Entity{Name: "Order", Key: []entity.KeyPattern{pattern("PK", "USER#{UserId}"), pattern("SK", "ORDER#{Date}#{OrderId}")}},
	)
	for _, src := range []string{
		`{"PK":{"S":"USER#7"},"SK":{"S":"PROFILE"}}`,
		`{"PK":{"S":"USER#7"},"SK":{"S":"ORDER#2026-01-02#41"}}`,
		`{"PK":{"S":"USER#7"},"SK":{"S":"CART"}}`,
	} {
		m, err := item.Parse([]byte(src))
		if err != nil {
			log.Fatal(err)
		}
		e, err := set.Of(m)
		if err != nil {
			log.Fatal(err)
		}
		if e == nil {
			fmt.Println("of no entity")
			continue
		}
		fmt.Print(e.Name)
		for _, b := range set.Scope(e.Name).Bindings() {
			value, _ := b.Value(m).Text()
			fmt.Print(" ", b.Name(), "=", value)
		}
		fmt.Println()
	}
	// Output:
	// User UserId=7
	// Order UserId=7 Date=2026-01-02 OrderId=41
	// of no entity
}
