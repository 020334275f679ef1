package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The usual record is filled from these values. Orders of a stream resemble each other in form, not in content, so a
// decoder must not be measured on a thousand copies of one order.
var (
	notes   = []string{"leave at the back door, ring twice", "call before you come, please", "the bell is broken: knock", "with the neighbour on the left", "not before nine in the morning", "gift: no invoice in the parcel", "fragile, this side up"}
	streets = []string{"Main Street", "Langstrasse", "Rue du Lac", "Ringstrasse", "Market Square", "Seeweg", "Via Nassa"}
	cities  = []string{"Zürich", "Genève", "Lugano", "Basel", "Bern", "Chur", "Sion"}
	tags    = []string{"express", "first", "gift", "pickup", "repeat", "weekend"}
)

// usual returns changes of one attribute in orders of 13 attributes. A record with both images has 1.5 KB.
func usual() *shape {
	return &shape{name: "usual", note: "an order of 13 attributes, both images, one attribute changed", of: func(i int) savedRecord {
		o := orderOf(i)
		return o.record(o)
	}}
}

// four returns the usual record with four changed attributes.
func four() *shape {
	return &shape{name: "four changed", note: "the usual record, four of its attributes changed", of: func(i int) savedRecord {
		before := orderOf(i)
		now := before
		now.cents++
		now.note = "changed: " + before.note
		now.zip++
		return before.record(now)
	}}
}

// orderItem has the values that differ between orders.
type orderItem struct {
	user, number        int
	cents, created, zip int
	paid                bool
	note, street, city  string
	tags                [2]string
	skus, quantities    [2]int
}

// orderOf returns the order at a place of the stream.
func orderOf(i int) orderItem {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	pick := func(of []string) string { return of[rng.IntN(len(of))] }
	o := orderItem{
		user: rng.IntN(100_000), number: i, cents: 100 + rng.IntN(100_000), created: 1795251600 + rng.IntN(86_400), zip: 1000 + rng.IntN(8999),
		paid: rng.IntN(4) > 0, note: pick(notes), street: fmt.Sprint(pick(streets), " ", 1+rng.IntN(90)), city: pick(cities),
		skus: [2]int{rng.IntN(100_000), rng.IntN(100_000)}, quantities: [2]int{1 + rng.IntN(9), 1 + rng.IntN(9)},
	}
	first := rng.IntN(len(tags) - 1)
	o.tags = [2]string{tags[first], tags[first+1+rng.IntN(len(tags)-1-first)]}
	return o
}

// record returns the change from o, which was shipped, to now, which is completed.
func (o orderItem) record(now orderItem) savedRecord {
	return savedRecord{Event: "MODIFY", Keys: "{" + o.keys() + "}", Old: o.image("shipped"), New: now.image("completed")}
}

func (o orderItem) keys() string {
	return fmt.Sprintf(`"PK":{"S":"USER#%06d"},"SK":{"S":"ORDER#2026-11-21#%06d"}`, o.user, o.number)
}

func (o orderItem) image(status string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{%s,"Type":{"S":"Order"},"Status":{"S":"%s"},"Total":{"N":"%d.%02d"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"%d"},"Paid":{"BOOL":%t}`,
		o.keys(), status, o.cents/100, o.cents%100, o.created, o.paid)
	fmt.Fprintf(&b, `,"Note":{"S":"%s"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"%s"},"City":{"S":"%s"},"Zip":{"S":"%d"}}}`, o.note, o.street, o.city, o.zip)
	fmt.Fprintf(&b, `,"Tags":{"SS":["%s","%s"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-%05d"},"qty":{"N":"%d"}}},{"M":{"sku":{"S":"SKU-%05d"},"qty":{"N":"%d"}}}]}}`,
		o.tags[0], o.tags[1], o.skus[0], o.quantities[0], o.skus[1], o.quantities[1])
	return b.String()
}
