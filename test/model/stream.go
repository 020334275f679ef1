package model

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Stream is a table's schema and its records in the order of the stream.
type Stream struct {
	Keys    map[string]string // key attributes and their types
	Records []sinktest.Record
}

// Streams generates the histories of a few items whose attributes collide. They have few statuses, addresses, days
// and products, numbers of the whole range of DynamoDB, and lists with the same product twice. Values may be missing,
// NULL or empty, and sometimes have a type that gives an error.
func Streams(keys map[string]string, records int) *rapid.Generator[Stream] {
	return rapid.Custom(func(t *rapid.T) Stream {
		s := Stream{Keys: keys}
		items := drawKeys(t, keys)
		table := make([]sinktest.Item, len(items))
		second, sequence := int64(1767323045), int64(0)
		for range rapid.IntRange(1, records).Draw(t, "records") {
			i := rapid.IntRange(0, len(items)-1).Draw(t, "item")
			r := sinktest.Record{Keys: items[i], Old: table[i]}
			if r.Old == nil || rapid.IntRange(0, 4).Draw(t, "stays") > 0 {
				r.New = drawItem(t, items[i], r.Old)
			}
			switch {
			case r.Old == nil:
				r.EventName = "INSERT"
			case r.New != nil:
				r.EventName = "MODIFY"
			default:
				r.EventName = "REMOVE"
				r.TTL = rapid.Bool().Draw(t, "ttl")
			}
			if !r.TTL && rapid.IntRange(0, 19).Draw(t, "unknown") == 19 {
				r.EventName = "EVOLVE"
			}
			second += int64(rapid.IntRange(0, 1).Draw(t, "seconds"))
			sequence += int64(rapid.IntRange(1, 9).Draw(t, "sequence"))
			r.Second, r.Sequence = second, fmt.Sprintf("9999999999999999999%03d", sequence)
			if sequence > 60 { // more digits, although text order would put it before numbers that begin with a 9
				r.Sequence = fmt.Sprintf("10000000000000000000%03d", sequence)
			}
			table[i] = r.New
			s.Records = append(s.Records, r)
		}
		return s
	})
}

// drawKeys draws the keys of a few items.
func drawKeys(t *rapid.T, keys map[string]string) []sinktest.Item {
	n := rapid.SampledFrom([]int{1, 2, 3, 3, 4, 5}).Draw(t, "items")
	shared := rapid.Bool().Draw(t, "shared")
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) sinktest.Item {
		k := sinktest.Item{}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			switch keys[name] {
			case "N":
				k[name] = sinktest.Attr{"N": rapid.SampledFrom([]string{"0", "1", "-1", "2", "0.5", "12345678901234567890.5"}).Draw(t, "key")}
			case "B":
				k[name] = sinktest.Attr{"B": base64.StdEncoding.EncodeToString([]byte(rapid.SampledFrom([]string{"\x00", "a", "\xff\xfe", "b", "c", "~"}).Draw(t, "key")))}
			default:
				texts := []string{"u1", "u#2", "o,1", "o~0", "%", "é", "u1#2#3"}
				if name == "PK" && shared { // items then meet in rows whose names only seem to identify them
					texts = []string{"u1", "o,1", "o,1"}
				}
				k[name] = text(rapid.SampledFrom(texts).Draw(t, "key"))
			}
		}
		return k
	}), n, n, CanonicalKey).Draw(t, "keys")
}

func text(s string) sinktest.Attr { return sinktest.Attr{"S": s} }

func digits(n string) sinktest.Attr { return sinktest.Attr{"N": n} }

var (
	null    = sinktest.Attr{"NULL": true}
	nowhere = sinktest.Attr(nil)
)

// wrong lists values that have no text.
var wrong = []sinktest.Attr{{"L": []sinktest.Attr{}}, {"M": sinktest.Item{}}, {"SS": []string{"a"}}}

// drawItem draws a new image, which keeps most attributes of the old one.
func drawItem(t *rapid.T, keys, old sinktest.Item) sinktest.Item {
	it := maps.Clone(keys)
	for _, name := range attributes {
		if v, there := old[name]; there && rapid.IntRange(0, 2).Draw(t, "keeps") > 0 {
			it[name] = v
			continue
		}
		if v := drawAttribute(t, name); v != nil {
			it[name] = v
		}
	}
	return it
}

// attributes lists the attributes that an item may have beside its key.
var attributes = []string{"Type", "Status", "Email", "Day", "Total", "Qty", "Rank", "Tag", "Addr", "Flag", "Blob", "Lines"}

func drawAttribute(t *rapid.T, name string) sinktest.Attr {
	odd := rapid.IntRange(0, 39).Draw(t, name+" is")
	switch {
	case odd > 37 && name != "Type" && name != "Lines":
		return rapid.SampledFrom(wrong).Draw(t, "wrong")
	case odd > 34:
		return rapid.SampledFrom([]sinktest.Attr{null, nowhere}).Draw(t, "nothing")
	}
	from := func(as ...sinktest.Attr) sinktest.Attr { return rapid.SampledFrom(as).Draw(t, name) }
	switch name {
	case "Type":
		return from(text("Order"), text("Order"), text("Order"), text("User"), digits("1"))
	case "Status":
		return from(text("paid"), text("paid"), text("shipped"), text("1"), text(""), digits("1"), digits("1.0"), text("a#b~1"))
	case "Email":
		return from(text("A@x"), text("a@X"), text("a@x"), text("b@x"), text("É@x"), text(""))
	case "Day":
		return from(text("2026-01-02T23:59:59Z"), text("2026-01-03T01:00:00+02:00"), text("2026-01-03T00:00:00Z"), digits("1767312000"), digits("1767312000123"), text("yesterday"))
	case "Total":
		if rapid.IntRange(0, 3).Draw(t, "large") > 0 {
			return digits(rapid.SampledFrom([]string{"1", "2.50", "-2.5", "0", "1e2", "10.500"}).Draw(t, name))
		}
		return digits(drawNumber(t))
	case "Qty":
		return from(digits("1"), digits("2"), digits("-3"), digits("0.1"), digits("0"))
	case "Rank":
		return from(digits("1"), digits("2"), digits("1.0"))
	case "Tag":
		return from(text("a#x"), text("b#x"), text("a#"), text("a"), digits("7"), sinktest.Attr{"BOOL": true}, sinktest.Attr{"B": "YSN4"})
	case "Addr":
		return sinktest.Attr{"M": sinktest.Item{"City": from(text("Ulm"), text("Bonn"), text(""), null)}}
	case "Flag":
		return sinktest.Attr{"BOOL": rapid.Bool().Draw(t, name)}
	case "Blob":
		return from(sinktest.Attr{"B": "AA=="}, sinktest.Attr{"B": "/w=="}, sinktest.Attr{"B": ""})
	default:
		return drawLines(t)
	}
}

// drawLines draws a list of order lines, and rarely a value that is no list.
func drawLines(t *rapid.T) sinktest.Attr {
	if rapid.IntRange(0, 19).Draw(t, "no list") == 19 {
		return text("lines")
	}
	lines := []sinktest.Attr{}
	for range rapid.IntRange(0, 4).Draw(t, "lines") {
		switch rapid.IntRange(0, 15).Draw(t, "line") {
		case 15:
			lines = append(lines, text("no map"))
			continue
		case 14:
			lines = append(lines, null)
			continue
		}
		line := sinktest.Item{"sku": rapid.SampledFrom([]sinktest.Attr{text("lamp"), text("lamp"), text("desk"), text(""), null}).Draw(t, "sku")}
		if qty := rapid.SampledFrom([]sinktest.Attr{digits("1"), digits("2"), digits("2.0"), digits("-1e-3"), nowhere}).Draw(t, "qty"); qty != nil {
			line["qty"] = qty
		}
		lines = append(lines, sinktest.Attr{"M": line})
	}
	return sinktest.Attr{"L": lines}
}

// drawNumber draws a number of the range of DynamoDB: up to 38 digits, from 1e-130 to 1e126.
func drawNumber(t *rapid.T) string {
	digits := rapid.StringMatching(`[1-9][0-9]{0,37}`).Draw(t, "digits")
	exponent := rapid.IntRange(-130, 126-len(digits)).Draw(t, "exponent")
	if exponent < -130+40 && rapid.Bool().Draw(t, "short") {
		digits = digits[:1]
	}
	sign := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
	if rapid.Bool().Draw(t, "plain") && exponent >= -20 && exponent <= 20 {
		return sign + strings.TrimSuffix(decimal(rat(digits+fmt.Sprintf("e%d", exponent))), ".")
	}
	return sign + digits + fmt.Sprintf("e%d", exponent)
}
