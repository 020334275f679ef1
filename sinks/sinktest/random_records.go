package sinktest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// drawRecords draws a random history of a table with few items.
func drawRecords(t *rapid.T, o StreamOptions) []Record {
	keys := drawKeys(t, o)
	table := make([]Item, len(keys)) // current image of each item; nil if the item does not exist
	var records []Record
	if o.Snapshots {
		epochZero := rapid.Bool().Draw(t, "stream unknown")
		for i, k := range keys {
			if rapid.Bool().Draw(t, "older") {
				table[i] = drawImage(t, o, k)
				records = append(records, Record{EventName: snapshot, Keys: k, New: table[i], EpochZero: epochZero})
			}
		}
	}
	// The sequence numbers may get longer within the stream, which shows whether they are compared as texts.
	start := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(rapid.IntRange(21, 39).Draw(t, "digits"))), nil)
	next := newSequence(start.Sub(start, big.NewInt(int64(rapid.IntRange(1, 40).Draw(t, "below")))))
	second := int64(epoch)
	for range rapid.IntRange(1, o.Records).Draw(t, "records") {
		i := rapid.IntRange(0, len(keys)-1).Draw(t, "item")
		r := drawChange(t, o, keys[i], table[i])
		second += int64(rapid.IntRange(0, 1).Draw(t, "seconds"))
		r.Second = second
		r.Sequence = next(int64(rapid.IntRange(1, 9).Draw(t, "sequence")))
		table[i] = r.New
		records = append(records, r)
	}
	return records
}

// drawChange draws the next change of an item. item is the item's current image, or nil if the item does not exist.
func drawChange(t *rapid.T, o StreamOptions, keys, item Item) Record {
	r := Record{Keys: keys, Old: item}
	if item == nil || rapid.IntRange(0, 3).Draw(t, "op") > 0 {
		r.New = drawImage(t, o, keys)
	}
	switch {
	case r.Old == nil:
		r.EventName = "INSERT"
	case r.New == nil:
		r.EventName = "REMOVE"
		r.TTL = rapid.Bool().Draw(t, "ttl")
	default:
		r.EventName = "MODIFY"
	}
	if rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
		r.EventName, r.TTL = "EVOLVE", false
	}
	return r
}

// drawImage draws an image of an item. If o.flaws is set, the image may have a flaw.
func drawImage(t *rapid.T, o StreamOptions, keys Item) Item {
	image := drawItem(t, keys)
	if o.flaws {
		drawFlaw(t, image)
	}
	return image
}

// drawKeys draws the keys of different items. Some differ only in separators.
func drawKeys(t *rapid.T, o StreamOptions) []Item {
	n := rapid.IntRange(1, o.Items).Draw(t, "items")
	names := slices.Sorted(maps.Keys(o.Keys))
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Item {
		k := Item{}
		for _, name := range names {
			k[name] = drawKeyAttr(t, o.Keys[name])
		}
		return k
	}), n, n, func(k Item) string { return Canonical(k) }).Draw(t, "keys")
}

func drawKeyAttr(t *rapid.T, kind string) Attr {
	switch kind {
	case "N":
		return Attr{"N": rapid.SampledFrom([]string{"0", "1", "-1", "10", "0.5", "12345678901234567890.5"}).Draw(t, "key")}
	case "B":
		return Attr{"B": base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "key"))}
	default:
		return Attr{"S": rapid.OneOf(
			rapid.SampledFrom([]string{"a", "b", "a#b", "a,b", "a%2Cb", "A", "é", "\u0001", "PROFILE"}),
			rapid.StringN(1, 6, -1),
		).Draw(t, "key")}
	}
}

func drawItem(t *rapid.T, keys Item) Item {
	item := maps.Clone(keys)
	add := func(name string, g *rapid.Generator[Attr]) {
		if rapid.IntRange(0, 7).Draw(t, "has "+name) > 0 {
			item[name] = g.Draw(t, name)
		}
	}
	add("Type", texts("Order", "Order", "User"))
	add("Status", rapid.OneOf(texts("paid", "shipped", "a#b", "a%23b", ""), rapid.Just(Attr{"NULL": true})))
	add("Rank", rapid.Map(rapid.IntRange(-2, 2), func(i int) Attr { return Attr{"N": fmt.Sprint(i)} }))
	add("CreatedAt", texts("2026-01-02T23:59:59Z", "2026-01-03T00:00:00Z", "2026-01-04T01:02:03.5+02:00"))
	add("Total", rapid.Custom(drawNumber))
	add("Any", attrs(2))
	add("Lines", rapid.Custom(drawLines))
	return item
}

// drawLines draws a list like the lines of an order.
func drawLines(t *rapid.T) Attr {
	lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Attr {
		line := Item{}
		if sku := rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "sku"); sku != "" {
			line["sku"] = Attr{"S": sku}
		}
		if qty := rapid.IntRange(-1, 3).Draw(t, "qty"); qty >= 0 {
			line["qty"] = Attr{"N": fmt.Sprint(qty)}
		}
		return Attr{"M": line}
	}), 0, 3).Draw(t, "lines")
	return Attr{"L": append([]Attr{}, lines...)}
}

func texts(choices ...string) *rapid.Generator[Attr] {
	return rapid.Map(rapid.SampledFrom(choices), func(s string) Attr { return Attr{"S": s} })
}

// drawNumber draws any number that DynamoDB can store, without an exponent, as DynamoDB writes numbers.
func drawNumber(t *rapid.T) Attr { return Attr{"N": drawDigits(t)} }

func drawDigits(t *rapid.T) string {
	digits := rapid.StringMatching(`[1-9][0-9]{0,36}[1-9]|[1-9]|0`).Draw(t, "digits")
	if digits == "0" {
		return "0"
	}
	const maxDecimals = 130
	exp := rapid.IntRange(-maxDecimals, 125).Draw(t, "exp") // exponent of the first digit
	integerLen := exp + 1
	var n string
	switch {
	case exp < 0:
		zeros := -integerLen // between the point and the first digit
		n = "0." + strings.Repeat("0", zeros) + digits[:min(len(digits), maxDecimals-zeros)]
		if strings.Trim(n, "0.") == "" {
			return "0"
		}
	case integerLen >= len(digits):
		n = digits + strings.Repeat("0", integerLen-len(digits))
	default:
		n = digits[:integerLen] + "." + digits[integerLen:]
	}
	if rapid.Bool().Draw(t, "negative") {
		n = "-" + n
	}
	return n
}

// attrs generates values of any type, nested up to depth.
func attrs(depth int) *rapid.Generator[Attr] {
	binary := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 5), base64.StdEncoding.EncodeToString)
	kinds := []*rapid.Generator[Attr]{
		rapid.Map(rapid.String(), func(s string) Attr { return Attr{"S": s} }),
		rapid.Custom(drawNumber),
		rapid.Map(binary, func(b string) Attr { return Attr{"B": b} }),
		rapid.Map(rapid.Bool(), func(b bool) Attr { return Attr{"BOOL": b} }),
		rapid.Just(Attr{"NULL": true}),
		set("SS", rapid.StringN(1, 5, -1)),
		set("BS", binary),
		set("NS", rapid.Map(rapid.IntRange(-99, 99), func(i int) string { return fmt.Sprint(i) })),
	}
	if depth > 0 {
		inner := rapid.Deferred(func() *rapid.Generator[Attr] { return attrs(depth - 1) })
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []Attr) Attr { return Attr{"L": l} }),
			rapid.Map(rapid.MapOfN(rapid.StringN(1, 5, -1), inner, 0, 3),
				func(m map[string]Attr) Attr { return Attr{"M": Item(m)} }))
	}
	return rapid.OneOf(kinds...)
}

func set(tag string, members *rapid.Generator[string]) *rapid.Generator[Attr] {
	return rapid.Map(rapid.SliceOfNDistinct(members, 1, 3, rapid.ID), func(l []string) Attr { return Attr{tag: l} })
}
