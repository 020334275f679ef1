// Package searchtest tests search sinks and their stores. It computes the documents that an index must have after each
// record of the generator (sinktest) was delivered once. It computes them without the planner of package search. It
// also reads the documents of an index back.
package searchtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Model returns the required documents of the items whose Type is kind, in the form of [State]. If kind is "", it
// returns the documents of all items with a Type. The keys of the map are the keys of the items.
func Model(s *sinktest.Stream, kind string) map[string]string {
	want := make(map[string]string)
	for _, item := range s.Items() {
		if typ := item.Text("Type"); typ != "" && (kind == "" || typ == kind) {
			doc, _ := plainJSON(map[string]any{"M": item}).(map[string]any)
			want[keyOf(doc)] = show(doc)
		}
	}
	return want
}

// show returns plain JSON as text. Equal documents have equal texts. Numbers are compared by value, so 1 and 1.0 have
// the same text.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make(map[string]string)
		for name, m := range v {
			parts[name] = show(m)
		}
		return fmt.Sprintf("%q", parts) // fmt prints maps by key
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return "no number: " + v.String()
		}
		return "number " + r.RatString()
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
}

// plainJSON returns a DynamoDB value as plain JSON. It follows the documentation of search.NumberExact. It reads the
// generator's maps and does not use the planner.
func plainJSON(attr map[string]any) any {
	for tag, v := range attr {
		switch v := v.(type) {
		case sinktest.Item:
			doc := make(map[string]any)
			for name, a := range maps.All(v) {
				doc[name] = plainJSON(a)
			}
			return doc
		case []sinktest.Attr:
			list := make([]any, len(v))
			for i, a := range v {
				list[i] = plainJSON(a)
			}
			return list
		case []string:
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
				if tag == "NS" {
					list[i] = number(s)
				}
			}
			return list
		case string:
			if tag == "N" {
				return number(v)
			}
			return v
		case bool:
			if tag == "NULL" {
				return nil
			}
			return v
		}
	}
	return "no value"
}

func number(n string) any {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(n, "-"), ".")
	digits := strings.TrimLeft(whole+strings.TrimRight(fraction, "0"), "0")
	if strings.Trim(fraction, "0") != "" && len(digits) > 15 {
		return strings.TrimRight(n, "0")
	}
	return json.Number(n)
}
