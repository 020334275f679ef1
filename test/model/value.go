package model

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// tag returns the type of a value: S, N, B, BOOL, NULL, M or L. It returns "" for a missing value.
func tag(a sinktest.Attr) string {
	for t := range a {
		return t
	}
	return ""
}

// empty reports whether a value counts as missing: no value, NULL, an empty text, or no bytes.
func empty(a sinktest.Attr) bool {
	switch tag(a) {
	case "", "NULL":
		return true
	case "S", "B":
		return a["S"] == "" || a["B"] == ""
	}
	return false
}

// plainText returns the text of an S, N, BOOL or B. It returns false for another type.
func plainText(a sinktest.Attr) (string, bool) {
	switch tag(a) {
	case "", "NULL":
		return "", true
	case "S":
		return a["S"].(string), true
	case "N":
		return decimal(number(a)), true
	case "BOOL":
		return fmt.Sprint(a["BOOL"]), true
	case "B":
		return base64.RawURLEncoding.EncodeToString(raw(a)), true
	}
	return "", false
}

// number returns the number in an N.
func number(a sinktest.Attr) *big.Rat {
	r, ok := new(big.Rat).SetString(a["N"].(string))
	if !ok {
		panic("no number: " + a["N"].(string))
	}
	return r
}

func raw(a sinktest.Attr) []byte {
	b, err := base64.StdEncoding.DecodeString(a["B"].(string))
	if err != nil {
		panic(err)
	}
	return b
}

// decimal returns a number with all its digits, without an exponent.
func decimal(r *big.Rat) string {
	n, _ := r.FloatPrec()
	return r.FloatString(n)
}

// at returns the value that an item has under a path of member names.
func at(it sinktest.Item, path []string) sinktest.Attr {
	for i, name := range path {
		a := it[name]
		if i == len(path)-1 {
			return a
		}
		it = members(a)
	}
	return nil
}

// members returns the members of an M, or nil for another type.
func members(a sinktest.Attr) sinktest.Item {
	m, _ := a["M"].(sinktest.Item)
	return m
}

// kinds lists the types that have an order, in their order.
var kinds = []string{"S", "N", "B", "BOOL"}

// compare orders S before N before B before BOOL, and values of one type by value.
func compare(a, b sinktest.Attr) int {
	if c := cmp.Compare(slices.Index(kinds, tag(a)), slices.Index(kinds, tag(b))); c != 0 {
		return c
	}
	switch tag(a) {
	case "N":
		return number(a).Cmp(number(b))
	case "B":
		return strings.Compare(string(raw(a)), string(raw(b)))
	}
	x, _ := plainText(a)
	y, _ := plainText(b)
	return strings.Compare(x, y)
}

// CanonicalKey returns the key of an item as the documentation defines it: the key attributes in the order of their
// names, joined by commas. An S is percent-encoded. An N is a plus sign and the number. A B is an equals sign and
// base64url.
func CanonicalKey(keys sinktest.Item) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		a := keys[name]
		text, _ := plainText(a)
		parts = append(parts, map[string]string{"S": "", "N": "+", "B": "="}[tag(a)]+escapedUnless(tag(a) != "S", text))
	}
	return strings.Join(parts, ",")
}

func escapedUnless(plain bool, text string) string {
	if plain {
		return text
	}
	return escaped(text)
}

// escaped returns the text with every byte except A-Z a-z 0-9 _ . - written as % and two digits.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		isDigit := '0' <= c && c <= '9'
		if isLetter || isDigit || strings.IndexByte("_.-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
