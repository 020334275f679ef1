package viewtest

import (
	"bytes"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// modelRows returns the expected rows of the aggregate. It computes them in the simplest way, from all shares of all
// items.
func (a *testAggregate) modelRows(items []sinktest.Item) []sinktest.Item {
	groups := make(map[string][]sinktest.Item)
	for _, item := range items {
		for _, share := range a.shares(item) {
			name := rowName(share, a.key...)
			groups[name] = append(groups[name], share)
		}
	}
	var rows []sinktest.Item
	for _, shares := range groups {
		row := sinktest.Item{}
		for _, k := range a.key {
			row[k] = shares[0][k]
		}
		for _, v := range a.values {
			if attr := modelValue(v, shares); attr != nil {
				row[v.Name] = attr
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// modelValue returns the value v of the group that has these shares; nil for a min, max or distinct if no share has a
// value.
func modelValue(v view.Value, shares []sinktest.Item) sinktest.Attr {
	var present []sinktest.Attr
	for _, s := range shares {
		if _, isNull := s[v.Name]["NULL"]; s[v.Name] != nil && !isNull {
			present = append(present, s[v.Name])
		}
	}
	switch {
	case v.Kind == "count":
		return decimalAttr(big.NewRat(int64(len(shares)), 1))
	case v.Kind == "sum":
		sum := new(big.Rat)
		for _, p := range present {
			sum.Add(sum, toRational(p))
		}
		return decimalAttr(sum)
	case len(present) == 0:
		return nil
	case v.Kind == "min":
		return slices.MinFunc(present, compareAttrs)
	case v.Kind == "max":
		return slices.MaxFunc(present, compareAttrs)
	}
	distinct := make(map[string]bool)
	for _, p := range present {
		distinct[sinktest.Canonical(p)] = true
	}
	return decimalAttr(big.NewRat(int64(len(distinct)), 1))
}

func toRational(a sinktest.Attr) *big.Rat {
	n, _ := a["N"].(string)
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		panic("the suite's numbers are numbers")
	}
	return r
}

// compareAttrs compares two attributes of the same type.
func compareAttrs(a, b sinktest.Attr) int {
	switch {
	case a["N"] != nil:
		return toRational(a).Cmp(toRational(b))
	case a["B"] != nil:
		return bytes.Compare(bytesOf(a), bytesOf(b))
	default:
		x, _ := a["S"].(string)
		y, _ := b["S"].(string)
		return strings.Compare(x, y)
	}
}

func bytesOf(a sinktest.Attr) []byte {
	text, _ := a["B"].(string)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the suite encoded the value
	}
	return b
}

// decimalAttr returns a number as the attribute of a row. It returns an N if the number has at most 38 digits and is
// below 1e126, otherwise the text of the number as an S.
func decimalAttr(r *big.Rat) sinktest.Attr {
	text := r.FloatString(140) // no number of the suite has more decimals
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	integer, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := strings.Trim(integer+fraction, "0")
	if len(digits) > 38 || len(integer) > 126 {
		return sinktest.Attr{"S": text}
	}
	return sinktest.Attr{"N": text}
}
